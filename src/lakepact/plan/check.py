"""What is dangerous or contradictory in a contract, found before any table is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lakepact.contract.model import Contract, Rule, Step
from lakepact.errors import Problem
from lakepact.plan.check_source import SOURCE_CHECKS
from lakepact.plan.check_write import WRITE_CHECKS
from lakepact.plan.columns import CORRUPT, SOURCE_FILE, STAMPS, stamp_columns, table_columns
from lakepact.plan.expressions import expression_problems, order_problems, predicate_problems
from lakepact.plan.known import known_columns, unknown_columns
from lakepact.plan.layout import layout_problems
from lakepact.plan.modes import mode_of
from lakepact.plan.tables import select_problems, tables_in

Found = Iterator[Problem]


def find_problems(contract: Contract) -> list[Problem]:
    """Every reason why this contract must not run, each with the field it is about."""
    return [problem for check in CHECKS for problem in check(contract)]


def _columns(contract: Contract) -> Found:
    seen: set[str] = set()
    for number, column in enumerate(contract.columns):
        if column.name.lower() in seen:
            yield Problem(f"the column {column.name!r} is declared twice", f"columns.{number}.name")
        seen.add(column.name.lower())
    for stamp in stamp_columns(contract):
        if stamp.name.lower() in seen:
            yield Problem(f"the column {stamp.name!r} is declared and stamped; leave one out", "columns")


def _quarantine(contract: Contract) -> Found:
    if contract.quarantine_table == contract.name:
        yield Problem("rejected rows would be written into the table itself", "quarantine.table")


def _layout(contract: Contract) -> Found:
    """A table described alone is judged without its columns: whoever fills it may stamp some of its own."""
    added = mode_of(contract.write).adds(contract.write, table_columns(contract, None)) if contract.write else ()
    columns = {column.name: column.type for column in contract.columns}
    columns |= {column.name: column.type for column in (*stamp_columns(contract), *added)}
    known = contract.columns and contract.source is not None
    yield from layout_problems(contract.layout, columns if known else None)


def _steps(contract: Contract) -> Found:
    kinds = [step.kind for step in contract.transform]
    ending = [n for n, kind in enumerate(kinds) if kind not in ("deduplicate", "stamp")]
    for number, step in enumerate(contract.transform):
        field = f"transform.{number}"
        if step.sql is not None and number > 0:
            yield Problem("must be the first step: it sees `source`", f"{field}.sql")
        if step.deduplicate is not None and any(n > number for n in ending):
            yield Problem("must be the last step", f"{field}.deduplicate")
        if step.kind in kinds[:number] and step.kind in ("deduplicate", "sql"):
            yield Problem(f"a second {step.kind}; one is enough", field)
        yield from _step_texts(contract, step, field)


def _step_texts(contract: Contract, step: Step, field: str) -> Found:
    if step.sql is not None:
        yield from (Problem(message, f"{field}.sql") for message in _source_only(step.sql))
    if step.filter is not None:
        yield from (Problem(message, f"{field}.filter") for message in predicate_problems(step.filter))
    for name, text in (step.derive or {}).items():
        yield from (Problem(message, f"{field}.derive.{name}") for message in expression_problems(text))
    if step.deduplicate is not None:
        columns = _readable_columns(contract)
        place = f"{field}.deduplicate"
        yield from unknown_columns(contract, step.deduplicate.keys, f"{place}.keys")
        found = order_problems(step.deduplicate.order_by, columns)
        yield from (Problem(message, f"{place}.order_by") for message in found)
    if step.stamp and "source_file" in step.stamp and contract.source and contract.source.path is None:
        yield Problem(f"{STAMPS['source_file'].column} needs a source of files", f"{field}.stamp")


def _source_only(sql: str) -> list[str]:
    """A step sees `source`; other tables are joined in `source.sql`, where they count as read."""
    problems = select_problems(sql)
    others = [] if problems else [name for name in tables_in(sql) if name != "source"]
    return problems or [f"reads {name}; a step sees only `source`, so join it in source.sql" for name in others]


def _readable_columns(contract: Contract) -> list[str] | None:
    known = known_columns(contract)
    return None if known is None else [*known, CORRUPT, SOURCE_FILE]


def _rules(contract: Contract) -> Found:
    names: set[str] = set()
    for number, rule in enumerate(contract.quality):
        field = f"quality.{number}"
        if rule.name and rule.name in names:
            yield Problem(f"a second rule called {rule.name!r}", f"{field}.name")
        names.add(rule.name or "")
        yield from _rule(contract, rule, field)


def _rule(contract: Contract, rule: Rule, field: str) -> Found:
    columns = known_columns(contract)
    for key, text in (("check", rule.check), ("when", rule.when)):
        if text is not None:
            yield from (Problem(message, f"{field}.{key}") for message in predicate_problems(text, columns))
    yield from unknown_columns(contract, _rule_columns(rule), f"{field}.{rule.kind}")
    if rule.kind in BATCH_KINDS and (rule.when or rule.tolerance or rule.rejected_as):
        yield Problem(f"{rule.kind} is about the batch: when, tolerance and rejected_as are for rows", field)
    if rule.kind in BATCH_KINDS - {"unique"} and rule.action == "quarantine":
        yield Problem(f"{rule.kind} is about the batch: it can warn or fail, there is no row to quarantine", field)
    if rule.tolerance and rule.action != "fail":
        yield Problem("tolerance is for rules whose action is fail", f"{field}.tolerance")


BATCH_KINDS = frozenset({"unique", "required_columns", "null_ratio", "min_rows", "max_rows", "row_count_between"})


def _rule_columns(rule: Rule) -> tuple[str, ...]:
    """The columns a rule names outside of expressions; required columns are the source's, not the table's."""
    one = [part.column for part in (rule.range, rule.regex_match, rule.length, rule.null_ratio) if part]
    one += [rule.referential_integrity.column] if rule.referential_integrity else []
    one += [rule.lifecycle_window.event_ts, rule.lifecycle_window.event_key] if rule.lifecycle_window else []
    return (*(rule.not_null or ()), *(rule.unique or ()), *(rule.accepted_values or ()), *one)


CHECKS: tuple[Callable[[Contract], Found], ...] = (
    _columns, *SOURCE_CHECKS, _steps, _rules, *WRITE_CHECKS, _quarantine, _layout,
)  # fmt: skip


def _named(contract: Contract) -> bool:
    """Whether a batch is known again: by its key, by its files, or as a micro-batch of its stream."""
    source = contract.source
    by_source = source is not None and (source.only_new or source.load_type == "streaming")
    return by_source or bool(contract.write and contract.write.idempotency_key)


def find_warnings(contract: Contract) -> list[str]:
    """What is allowed, and should be known."""
    warnings = []
    if contract.write and contract.write.mode == "scd0_append" and not _named(contract):
        warnings.append(
            "scd0_append adds the batch each time it runs; an idempotency_key keeps a repeated run from repeating rows"
        )
    if contract.write and contract.write.mode == "cdc_merge" and contract.write.hard_delete:
        warnings.append("a deleted row leaves nothing behind: an older event that comes in a later run brings it back")
    if not contract.columns:
        warnings.append("no columns are declared: the table takes the source's columns and types as they are")
    if contract.freshness:
        warnings.append("freshness is declared and recorded; this version does not check it")
    return warnings
