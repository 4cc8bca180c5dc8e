"""One projection over the prepared rows: types, the names of the rules each row breaks, and its fate.

typed    each column as its declared type; what cannot be read is NULL and marked
judged   `_failed`: the names of the rules that are not TRUE for the row
final    `_kept` (not filtered), `_rejected` (goes to quarantine), `_duplicate` (another row was kept)
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from lakepact.contract.model import Contract, Deduplicate, Rule
from lakepact.names import literal, quote, quoted
from lakepact.plan.columns import CORRUPT, SOURCE_FILE, TableColumn, is_nested, stamp_value
from lakepact.plan.read import Read
from lakepact.plan.rules import ACCEPTED, BatchRule, RowRule
from lakepact.plan.state import RunIdentity
from lakepact.plan.transform import bad_flag, cast_columns, prepare, raw_text, unreadable

UNREADABLE_RECORD = RowRule(
    "record_readable", "malformed_record", f"`{CORRUPT}` IS NULL", frozenset(),
    description="the source's own parser can read the line",
)  # fmt: skip


@dataclass(frozen=True)
class Judgement:
    """The SQL that prepares and judges a batch, over the view `source`."""

    prepared: str
    sql: str
    metrics: tuple[tuple[str, str], ...]
    content: str


def implicit_rules(
    contract: Contract, columns: Iterable[TableColumn], keeps_corrupt: bool, exact: Set[str]
) -> tuple[RowRule, ...]:
    """What every contract asks without saying so: values can be read, and are there where they must be."""
    typed = [c for c in columns if c.stamp is None and c.type != "string" and c.name not in exact]
    names = dict.fromkeys((*cast_columns(contract), *(c.name for c in typed)))
    kinds = {column.name: column.type for column in columns}
    asked = {name for r in contract.quality if _keeps_out(r) for name in r.not_null or ()}
    needed = [c.name for c in columns if not c.nullable and c.name not in asked]
    return (
        *((UNREADABLE_RECORD,) if keeps_corrupt else ()),
        *(_readable(name, kinds.get(name, "")) for name in names),
        *(_present(name) for name in needed),
    )


def _keeps_out(rule: Rule) -> bool:
    """Whether no row that breaks the rule can reach the table."""
    return rule.when is None and not rule.tolerance and rule.action != "warn"


def _readable(name: str, kind: str) -> RowRule:
    text = f"{name} can be read as {kind}" if kind else f"{name} can be read as its type"
    return RowRule(
        f"{name}_readable", f"malformed_{name}", f"NOT {quote(bad_flag(name))}", frozenset(), description=text
    )


def _present(name: str) -> RowRule:
    return RowRule(
        f"{name}_present", f"missing_{name}", f"{quote(name)} IS NOT NULL", frozenset({name.lower()}),
        description=f"{name} is required",
    )  # fmt: skip


def ranking_rule(contract: Contract) -> tuple[RowRule, ...]:
    """Deduplication is a rule too where the rows it leaves out go to quarantine."""
    dedupe = deduplication(contract)
    if dedupe is None or dedupe.rejected_as is None:
        return ()
    first = f"first of its {', '.join(dedupe.keys)} by {dedupe.order_by}"
    return (RowRule(dedupe.name, dedupe.rejected_as, first, frozenset(), description=first, ranks=True),)


def deduplication(contract: Contract) -> Deduplicate | None:
    return next((step.deduplicate for step in contract.transform if step.deduplicate), None)


def judge(
    contract: Contract,
    columns: tuple[TableColumn, ...],
    rules: tuple[RowRule, ...],
    batch_rules: tuple[BatchRule, ...],
    key_missing: str | None,
    read: Read,
    run: RunIdentity,
    exact: Set[str],
) -> Judgement:
    """Everything that is decided about a row, in one SELECT; `exact` columns come in the type they have here."""
    business = tuple(c for c in columns if c.stamp is None)
    flags = _flags(contract, business, exact)
    dedupe = deduplication(contract)
    keeps_corrupt = read.keeps_corrupt
    brought = (*((CORRUPT,) if keeps_corrupt else ()), *((SOURCE_FILE,) if read.tells_file else ()))
    prepared = prepare(contract, brought)
    names, rejects = [c.name for c in columns], any(rule.action == "quarantine" for rule in rules)
    typed = ("typed", _typed(contract, columns, flags, keeps_corrupt, rejects, run))
    verdict = _verdict([rule for rule in rules if not rule.ranks], columns, flags, keeps_corrupt)
    judging = [
        ("judged", f"SELECT *,\n    {verdict} AS `_failed`\n  FROM typed AS j"),
        ("ranked", _ranked(columns, rules, dedupe)),
    ]
    stays = not rejects and dedupe is None
    return Judgement(
        prepared=_chain(prepared, "SELECT * FROM prepared"),
        sql=_chain([*prepared, typed], _none_leaves(names, verdict))
        if stays
        else _chain([*prepared, typed, *judging], _final(names, dedupe, rejects)),
        metrics=(*_metrics(contract, rules, key_missing), *_batch_metrics(batch_rules)),
        content=_content(business),
    )


def _chain(relations: Iterable[tuple[str, str]], final: str) -> str:
    return "WITH\n" + ",\n".join(f"{name} AS (\n  {text}\n)" for name, text in relations) + f"\n{final}"


def _none_leaves(names: list[str], verdict: str) -> str:
    """Where no rule rejects a row, it is only marked and passed on."""
    return (
        f"SELECT {quoted(names)}, `_kept`,\n    {verdict} AS `_failed`,\n"
        f"  FALSE AS `_rejected`, FALSE AS `_duplicate`\nFROM typed AS j"
    )


def _flags(contract: Contract, columns: Iterable[TableColumn], exact: Set[str]) -> tuple[str, ...]:
    typed = [c.name for c in columns if c.type != "string" and c.name not in exact]
    return tuple(dict.fromkeys((*cast_columns(contract), *typed)))


def _typed(
    contract: Contract,
    columns: tuple[TableColumn, ...],
    flags: tuple[str, ...],
    corrupt: bool,
    rejects: bool,
    run: RunIdentity,
) -> str:
    """Each value in its type; where rows may be rejected, beside it the row as it came and as text."""
    cast = cast_columns(contract)
    values = [
        f"{stamp_value(c.stamp, run)} AS {quote(c.name)}"
        if c.stamp
        else f"try_cast({quote(c.name)} AS {c.type}) AS {quote(c.name)}"
        for c in columns
    ]
    kinds = {c.name: c.type for c in columns}
    marks = [f"{_mark(name, kinds.get(name), name in cast)} AS {quote(bad_flag(name))}" for name in flags]
    texts = ", ".join([
        *(f"{_as_text(c, c.name in cast)} AS {quote(c.name)}" for c in columns if c.stamp is None),
        *(quote(raw_text(name)) for name in cast if name not in kinds),
    ])  # fmt: skip
    raw = [f"struct({texts}) AS `_text`", "`_source`"] if rejects else []
    parts = [*values, *marks, *raw, "`_kept`", *([quote(CORRUPT)] if corrupt else [])]
    return "SELECT " + ",\n    ".join(parts) + "\n  FROM prepared"


def _mark(name: str, kind: str | None, already_cast: bool) -> str:
    sides = [f"coalesce({quote(bad_flag(name))}, FALSE)"] if already_cast else []
    sides += [unreadable(quote(name), kind)] if kind and kind != "string" else []
    return " OR ".join(sides)


def _as_text(column: TableColumn, already_cast: bool) -> str:
    text = f"to_json({quote(column.name)})" if is_nested(column.type) else f"CAST({quote(column.name)} AS STRING)"
    return f"coalesce({quote(raw_text(column.name))}, {text})" if already_cast else text


def _verdict(rules: list[RowRule], columns: tuple[TableColumn, ...], flags: tuple[str, ...], corrupt: bool) -> str:
    """The names of the rules a row breaks; none is asked about a value that could not be read.

    Spark compiles `array_remove`; `array_compact` it would interpret, and with it the whole projection.
    """
    bad = {name.lower(): quote(bad_flag(name)) for name in flags}
    failed = []
    for rule in rules:
        unread = [bad[column] for column in sorted(rule.columns) if column in bad]
        unread += [f"`{CORRUPT}` IS NOT NULL"] if corrupt and rule is not UNREADABLE_RECORD else []
        excused = "".join(f"{flag} OR " for flag in unread)
        good = f"coalesce(({rule.predicate}), FALSE){_numbers_only(rule, columns)}"
        failed.append(f"CASE WHEN {excused}{good} THEN '' ELSE {literal(rule.name)} END")
    array = ",\n      ".join(failed)
    return f"array_remove(array(\n      {array}\n    ), '')" if failed else "CAST(array() AS ARRAY<STRING>)"


def _numbers_only(rule: RowRule, columns: tuple[TableColumn, ...]) -> str:
    """To Spark NaN is larger than any number; a rule that does not speak of it is not true for it."""
    if "nan" in rule.predicate.lower() or " IS NOT NULL" in rule.predicate.upper():
        return ""
    floating = [c.name for c in columns if c.type in ("float", "double") and c.name.lower() in rule.columns]
    return "".join(f" AND NOT coalesce(isnan({quote(name)}), FALSE)" for name in floating)


def _rejecting(rules: tuple[RowRule, ...]) -> str:
    names = [literal(rule.name) for rule in rules if rule.action == "quarantine" and not rule.ranks]
    return f"arrays_overlap(`_failed`, array({', '.join(names)}))" if names else "FALSE"


def _ranked(columns: tuple[TableColumn, ...], rules: tuple[RowRule, ...], dedupe: Deduplicate | None) -> str:
    """Among rows that may be accepted, each key's rows are put in order; the contract may rank all rows."""
    rejected = _rejecting(rules)
    if dedupe is None:
        return f"SELECT *, {rejected} AS `_broken`, FALSE AS `_again` FROM judged"
    among = "`_kept`" if dedupe.before_rules else f"`_kept` AND NOT {rejected}"
    ties = [quote(c.name) for c in columns if c.stamp is None and not c.type.startswith(("map<", "variant"))]
    order = ", ".join([dedupe.order_by, *ties])
    rank = f"row_number() OVER (PARTITION BY {quoted(dedupe.keys)}, {among} ORDER BY {order})"
    return f"SELECT *, {rejected} AS `_broken`,\n    {among} AND {rank} > 1 AS `_again`\n  FROM judged"


def _final(names: list[str], dedupe: Deduplicate | None, rejects: bool) -> str:
    if dedupe and dedupe.rejected_as:
        failed = f"IF(`_again`, array_append(`_failed`, {literal(dedupe.name)}), `_failed`)"
        rejected, duplicate = "(`_broken` OR `_again`)", "FALSE"
    else:
        failed, rejected, duplicate = "`_failed`", "`_broken`", "(`_again` AND NOT `_broken`)"
    kept = f"`_kept` AND {rejected}"
    raw = f",\n  IF({kept}, to_json(`_source`), NULL) AS `_row`,\n  IF({kept}, `_text`, NULL) AS `_text`"
    return (
        f"SELECT {quoted(names)}, `_kept`,\n  {failed} AS `_failed`,\n"
        f"  {kept} AS `_rejected`,\n  {duplicate} AS `_duplicate`{raw if rejects else ''}\nFROM ranked"
    )


def _filters(contract: Contract) -> bool:
    return any(step.filter for step in contract.transform) or bool(contract.source and contract.source.filter)


def _metrics(contract: Contract, rules: tuple[RowRule, ...], key_missing: str | None) -> tuple[tuple[str, str], ...]:
    """Of what becomes of a row, only what can happen here is counted."""
    dedupe = deduplication(contract)
    leaves = (
        *((("filtered", "count_if(NOT `_kept`)"),) if _filters(contract) else ()),
        *((("quarantined", "count_if(`_rejected`)"),) if any(rule.action == "quarantine" for rule in rules) else ()),
        *((("deduplicated", "count_if(`_kept` AND `_duplicate`)"),) if dedupe and not dedupe.rejected_as else ()),
    )
    return (
        ("read", "count(*)"),
        *leaves,
        ("accepted", f"count_if({ACCEPTED})" if leaves else "count(*)"),
        *((("null_keys", f"count_if({ACCEPTED} AND ({key_missing}))"),) if key_missing else ()),
        *(
            (f"failed:{rule.name}", f"count_if(`_kept` AND array_contains(`_failed`, {literal(rule.name)}))")
            for rule in rules
        ),
    )


def _batch_metrics(rules: tuple[BatchRule, ...]) -> tuple[tuple[str, str], ...]:
    return tuple({rule.metric: rule.count for rule in rules if rule.metric != "accepted"}.items())


def _content(columns: tuple[TableColumn, ...]) -> str:
    """A number that two batches share only if they hold the same rows, in whatever order."""
    values = ", ".join(f"{literal(c.name)}, isnull({_hashable(c)}), {_hashable(c)}" for c in columns) or "1"
    return f"sum(IF({ACCEPTED}, CAST(xxhash64({values}) AS DECIMAL(38,0)), 0))"


def _hashable(column: TableColumn) -> str:
    """A hash passes over the NULLs inside a value; its text does not."""
    name = quote(column.name)
    return f"to_json({name}, map('ignoreNullFields', 'false'))" if is_nested(column.type) else name
