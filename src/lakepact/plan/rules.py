"""RULES: each kind of rule is a function to SQL that is true for good data.

A rule of rows becomes a predicate, a rule of the batch becomes bounds on a number that is counted
anyway, a rule of keys becomes one look for doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lakepact.contract.model import Action, Rule
from lakepact.names import TableRef, literal, quote
from lakepact.plan.expressions import columns_of

Locate = Callable[[str], TableRef]


@dataclass(frozen=True)
class RowRule:
    """A predicate that must be TRUE for a row; unknown is not good. One that `ranks` compares rows."""

    name: str
    label: str
    predicate: str
    columns: frozenset[str]
    action: Action = "quarantine"
    tolerance: float = 0
    description: str = ""
    severity: str = "high"
    category: str = ""
    ranks: bool = False


@dataclass(frozen=True)
class BatchRule:
    """Bounds on a counted number, or on its share of another."""

    name: str
    metric: str
    count: str
    low: float | None = None
    high: float | None = None
    share_of: str | None = None
    action: Action = "fail"
    description: str = ""
    severity: str = "high"
    category: str = ""


@dataclass(frozen=True)
class KeyRule:
    """No two accepted rows agree on these columns."""

    name: str
    keys: tuple[str, ...]
    action: Action = "fail"
    description: str = ""
    severity: str = "high"
    category: str = ""


@dataclass(frozen=True)
class ColumnsRule:
    """The source must bring these columns."""

    name: str
    columns: tuple[str, ...]
    action: Action = "fail"
    description: str = ""
    severity: str = "high"
    category: str = ""


AnyRule = RowRule | BatchRule | KeyRule | ColumnsRule

ACCEPTED = "`_kept` AND NOT `_rejected` AND NOT `_duplicate`"


def compile_rules(rules: Iterable[Rule], locate: Locate) -> tuple[AnyRule, ...]:
    """All rules of a contract as what Spark can check."""
    return tuple(compiled for rule in rules for compiled in RULES[rule.kind](rule, locate))


def named(rules: Iterable[AnyRule]) -> tuple[AnyRule, ...]:
    """The same rules; a name that is already taken gets a number."""
    seen: dict[str, int] = {}
    result = []
    for rule in rules:
        seen[rule.name] = seen.get(rule.name, 0) + 1
        number = seen[rule.name]
        result.append(rule if number == 1 else _renamed(rule, f"{rule.name}_{number}"))
    return tuple(result)


def _renamed(rule: AnyRule, name: str) -> AnyRule:
    return type(rule)(**{**vars(rule), "name": name})


def _row(rule: Rule, name: str, predicate: str, columns: Iterable[str], label: str | None = None) -> RowRule:
    read = frozenset(column.lower() for column in columns)
    if rule.when:
        predicate = f"NOT coalesce(({rule.when}), FALSE) OR ({predicate})"
        read |= columns_of(rule.when)
    return RowRule(
        rule.name or name,
        rule.rejected_as or rule.name or label or name,
        predicate,
        read,
        rule.action or "quarantine",
        rule.tolerance,
        rule.description,
        rule.severity,
        rule.category,
    )


def _check(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    text = rule.check or ""
    return [_row(rule, text, text, columns_of(text))]


def _not_null(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    columns = rule.not_null or ()
    if rule.name:
        return [_row(rule, "", " AND ".join(f"{quote(c)} IS NOT NULL" for c in columns), columns)]
    return [_row(rule, f"{c}_present", f"{quote(c)} IS NOT NULL", [c], f"missing_{c}") for c in columns]


def _accepted_values(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    found: list[AnyRule] = []
    for column, values in (rule.accepted_values or {}).items():
        allowed = ", ".join(literal(value) for value in values) or "NULL"
        predicate = _or_null(column, f"{quote(column)} IN ({allowed})")
        found.append(_row(rule, f"{column}_accepted", predicate, [column], f"unaccepted_{column}"))
    return found


def _range(rule: Rule, locate: Locate) -> list[AnyRule]:
    """NaN is larger than any number to Spark, and in no range to us."""
    del locate
    assert rule.range is not None
    column, bounds = quote(rule.range.column), rule.range
    equal = "=" if bounds.inclusive else ""
    sides = [f"{column} >{equal} {literal(bounds.min)}"] if bounds.min is not None else []
    sides += [f"{column} <{equal} {literal(bounds.max)}"] if bounds.max is not None else []
    if not isinstance(bounds.max if bounds.min is None else bounds.min, str):
        sides += [f"NOT ({column} <=> CAST('NaN' AS DOUBLE))"]
    predicate = _or_null(bounds.column, " AND ".join(sides))
    return [_row(rule, f"{bounds.column}_in_range", predicate, [bounds.column], f"{bounds.column}_out_of_range")]


def _regex(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    assert rule.regex_match is not None
    column = rule.regex_match.column
    predicate = _or_null(column, f"{quote(column)} RLIKE {literal(rule.regex_match.pattern)}")
    return [_row(rule, f"{column}_matches", predicate, [column], f"malformed_{column}")]


def _length(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    assert rule.length is not None
    column, size = rule.length.column, f"length({quote(rule.length.column)})"
    sides = [f"{size} >= {rule.length.min}"] if rule.length.min is not None else []
    sides += [f"{size} <= {rule.length.max}"] if rule.length.max is not None else []
    predicate = _or_null(column, " AND ".join(sides) or "TRUE")
    return [_row(rule, f"{column}_length", predicate, [column], f"{column}_wrong_length")]


def _reference(rule: Rule, locate: Locate) -> list[AnyRule]:
    assert rule.referential_integrity is not None
    given = rule.referential_integrity
    match = f"r.{quote(given.key)} = j.{quote(given.column)}"
    predicate = _or_null(given.column, f"EXISTS (SELECT 1 FROM {locate(given.table).sql} AS r WHERE {match})", "j")
    return [_row(rule, f"{given.column}_known", predicate, [given.column], f"unknown_{given.column}")]


def _lifecycle(rule: Rule, locate: Locate) -> list[AnyRule]:
    """Any of the key's intervals may hold the event; an open end counts as the default."""
    assert rule.lifecycle_window is not None
    given = rule.lifecycle_window
    event, table = f"j.{quote(given.event_ts)}", locate(given.table).sql
    end = f"coalesce(CAST(r.{quote(given.end_field)} AS TIMESTAMP), TIMESTAMP {literal(given.end_default)})"
    inside = (
        f"r.{quote(given.reference_key)} = j.{quote(given.event_key)} "
        f"AND {event} >= CAST(r.{quote(given.start_field)} AS TIMESTAMP) AND {event} <= {end}"
    )
    predicate = f"EXISTS (SELECT 1 FROM {table} AS r WHERE {inside})"
    return [_row(rule, "lifecycle_window", predicate, [given.event_ts, given.event_key], "outside_lifecycle")]


def _unique(rule: Rule, locate: Locate) -> list[AnyRule]:
    """Quarantine takes every row of a double; the other actions look at what is accepted."""
    del locate
    keys = rule.unique or ()
    name = rule.name or f"unique_{'_'.join(keys)}"
    if rule.action == "quarantine":
        over = ", ".join(quote(key) for key in keys)
        unknown = " OR ".join(f"{quote(key)} IS NULL" for key in keys)
        return [
            _row(
                rule,
                name,
                f"{unknown} OR count_if(`_kept`) OVER (PARTITION BY {over}) = 1",
                keys,
                f"duplicate_{'_'.join(keys)}",
            )
        ]
    return [KeyRule(name, keys, rule.action or "fail", rule.description, rule.severity, rule.category)]


def _required(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    name = rule.name or "required_columns"
    columns = rule.required_columns or ()
    return [ColumnsRule(name, columns, rule.action or "fail", rule.description, rule.severity, rule.category)]


def _batch(rule: Rule, name: str, metric: str, count: str, **bounds: float | str | None) -> list[AnyRule]:
    made = BatchRule(
        rule.name or name,
        metric,
        count,
        action=rule.action or "fail",
        description=rule.description,
        severity=rule.severity,
        category=rule.category,
        **bounds,  # type: ignore[arg-type]
    )
    return [made]


def _null_ratio(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    assert rule.null_ratio is not None
    column = rule.null_ratio.column
    count = f"count_if({ACCEPTED} AND {quote(column)} IS NULL)"
    name = f"{column}_null_ratio"
    return _batch(rule, name, f"nulls:{column}", count, high=rule.null_ratio.max, share_of="accepted")


def _rows(rule: Rule, locate: Locate) -> list[AnyRule]:
    del locate
    between = rule.row_count_between
    low = rule.min_rows if between is None else between.min
    high = rule.max_rows if between is None else between.max
    return _batch(rule, rule.kind, "accepted", f"count_if({ACCEPTED})", low=low, high=high)


def _or_null(column: str, predicate: str, relation: str = "") -> str:
    value = f"{relation}.{quote(column)}" if relation else quote(column)
    return f"{value} IS NULL OR {predicate}"


RULES: dict[str, Callable[[Rule, Locate], list[AnyRule]]] = {
    "check": _check,
    "not_null": _not_null,
    "accepted_values": _accepted_values,
    "range": _range,
    "regex_match": _regex,
    "length": _length,
    "referential_integrity": _reference,
    "lifecycle_window": _lifecycle,
    "unique": _unique,
    "required_columns": _required,
    "null_ratio": _null_ratio,
    "min_rows": _rows,
    "max_rows": _rows,
    "row_count_between": _rows,
}
