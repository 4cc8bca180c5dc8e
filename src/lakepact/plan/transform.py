"""STEPS: each step of `transform` is a function from the relation before it to a SELECT.

A filter marks rows instead of dropping them, so that what is left out can be counted.
"""

from __future__ import annotations

from collections.abc import Callable

from lakepact.contract.model import Contract, Step
from lakepact.names import quote, quoted
from lakepact.plan.columns import is_nested
from lakepact.plan.expressions import columns_of

Carried = tuple[str, ...]
Select = Callable[[Step, str, Carried], str]

# Rides along with each row: the row as it came, and whether the filters so far let it pass.
CARRIED = ("_source", "_kept")


def prepare(contract: Contract, brought: Carried = ()) -> tuple[tuple[str, str], ...]:
    """Named SELECTs from `source` on, each over the one before; the last is called `prepared`."""
    steps = [step for step in contract.transform if step.kind not in ("deduplicate", "stamp")]
    start = "`source`"
    if steps and steps[0].sql:
        start, steps = f"(\n{steps[0].sql.strip().rstrip(';')}\n)", steps[1:]
    wanted = contract.source.filter if contract.source else None
    kept = f"coalesce(({wanted}), FALSE)" if wanted else "TRUE"
    selects = [f"SELECT *, struct(*) AS `_source`, {kept} AS `_kept` FROM {start}"]
    names = ["source_rows" if steps else "prepared"]
    carried: Carried = (*CARRIED, *brought)
    for number, step in enumerate(steps, 1):
        selects.append(STEPS[step.kind](step, names[-1], carried))
        names.append("prepared" if number == len(steps) else f"step_{number}")
        added = [flag(name) for name in step.cast or () for flag in (bad_flag, raw_text)]
        carried = tuple(dict.fromkeys((*carried, *added)))
    return tuple(zip(names, selects, strict=True))


def bad_flag(column: str) -> str:
    """The mark of a row whose value for this column could not be read as its type."""
    return f"_bad_{column}"


def raw_text(column: str) -> str:
    """What such a value was."""
    return f"_raw_{column}"


def cast_columns(contract: Contract) -> tuple[str, ...]:
    """Columns that a `cast` step has already judged."""
    return tuple(dict.fromkeys(name for step in contract.transform for name in step.cast or ()))


def asked_of_source(contract: Contract) -> tuple[str, ...]:
    """The columns a source must bring: those of the table and those that steps read, less those that steps make.

    Nothing where a contract does not tell: it declares no columns, or begins with a query of its own.
    """
    if not contract.columns or any(step.sql for step in contract.transform):
        return ()
    names = [column.name for column in contract.columns]
    for step in reversed(contract.transform):
        made = {*(step.derive or ()), *(step.rename or {}).values()}
        names = [*(name for name in names if name not in made), *_used(step)]
    names += sorted(columns_of(contract.source.filter)) if contract.source and contract.source.filter else ()
    return tuple({name.lower(): name for name in reversed(names)}.values())


def _used(step: Step) -> list[str]:
    texts = [step.filter or "TRUE", *(step.derive or {}).values()]
    named = (step.select, step.drop, step.rename, step.cast, step.standardize)
    return [
        *(name for some in named for name in some or ()),
        *(name for text in texts for name in sorted(columns_of(text))),
    ]


def _select(step: Step, before: str, carried: Carried) -> str:
    return f"SELECT {quoted((*(step.select or ()), *carried))} FROM {before}"


def _drop(step: Step, before: str, carried: Carried) -> str:
    del carried
    return f"SELECT * EXCEPT ({quoted(step.drop or ())}) FROM {before}"


def _rename(step: Step, before: str, carried: Carried) -> str:
    del carried
    renamed = ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in (step.rename or {}).items())
    return f"SELECT * EXCEPT ({quoted(step.rename or ())}), {renamed} FROM {before}"


def _derive(step: Step, before: str, carried: Carried) -> str:
    del carried
    new = ", ".join(f"({expression}) AS {quote(name)}" for name, expression in (step.derive or {}).items())
    return f"SELECT *, {new} FROM {before}"


def _standardize(step: Step, before: str, carried: Carried) -> str:
    del carried
    values: dict[str, str] = {}
    for name, standards in (step.standardize or {}).items():
        value = quote(name)
        for standard in standards:
            value = STANDARDS[standard].format(value)
        values[name] = value
    new = ", ".join(f"{value} AS {quote(name)}" for name, value in values.items())
    return f"SELECT * EXCEPT ({quoted(values)}), {new} FROM {before}"


def _filter(step: Step, before: str, carried: Carried) -> str:
    del carried
    kept = f"`_kept` AND coalesce(({step.filter}), FALSE) AS `_kept`"
    return f"SELECT * EXCEPT (`_kept`), {kept} FROM {before}"


def _cast(step: Step, before: str, carried: Carried) -> str:
    """A value that cannot be read as its type is NULL from here on, and its row is marked."""
    casts = step.cast or {}
    again = [flag(name) for name in casts for flag in (bad_flag, raw_text) if flag(name) in carried]
    new = [f"try_cast({quote(n)} AS {kind}) AS {quote(n)}" for n, kind in casts.items()]
    for name, kind in casts.items():
        bad, raw = quote(bad_flag(name)), quote(raw_text(name))
        earlier = (f"{bad} OR ", f"{raw}, ") if bad_flag(name) in carried else ("", "")
        now = unreadable(quote(name), kind)
        new.append(f"({earlier[0]}{now}) AS {bad}")
        new.append(f"coalesce({earlier[1]}IF({now}, CAST({quote(name)} AS STRING), NULL)) AS {raw}")
    return f"SELECT * EXCEPT ({quoted((*casts, *again))}), {', '.join(new)} FROM {before}"


def unreadable(value: str, kind: str) -> str:
    """True where a value is there but cannot be read as the type, in part or without loss."""
    cast = f"try_cast({value} AS {kind})"
    lost = f"{cast} IS NULL"
    if kind.startswith("decimal("):
        lost += f" OR coalesce(typeof({value}) = 'string' AND try_cast({value} AS DECIMAL(38,18)) <> {cast}, FALSE)"
    if is_nested(kind) and not kind.startswith("variant"):
        lost += f" OR {_leaves(value)} <> {_leaves(cast)}"
    return f"({value} IS NOT NULL AND ({lost}))"


def _leaves(value: str) -> str:
    """How much there is inside a nested value: fields that have a value, and NULLs in its lists."""
    text = f"to_json({value})"
    return f"regexp_count({text}, '\":') - regexp_count({text}, 'null')"


STANDARDS = {
    "trim": "trim({})",
    "lower": "lower({})",
    "upper": "upper({})",
    "normalize_whitespace": "trim(regexp_replace({}, '\\\\s+', ' '))",
    "empty_as_null": "nullif({}, '')",
}

STEPS: dict[str, Select] = {
    "select": _select,
    "drop": _drop,
    "rename": _rename,
    "derive": _derive,
    "standardize": _standardize,
    "filter": _filter,
    "cast": _cast,
}
