"""cdc_merge, stored as SCD type 2: every version of a key, from one change event to the next.

Each event keeps its row, also one that begins no version: a delete of a key that is gone, or an event that says what
the one before it said. Such a row has a `valid_to` that is its `valid_from`, so that no moment lies in it. Because
nothing is forgotten, the timelines of the batch's keys can be told anew from all their events, and are the same
whatever order and batches the events came in.
"""

from __future__ import annotations

from lakepact.contract.write import Write
from lakepact.names import equal_keys, quote, quoted, same
from lakepact.plan.columns import TableColumn
from lakepact.plan.modes.events import is_delete, sequence_type, struct_of, timed_only
from lakepact.plan.target import (
    BATCH,
    CHANGES,
    EFFECT,
    Counted,
    Mode,
    Target,
    Written,
    assignments,
    insert_columns,
)

EVENT = "_event"


def changes(target: Target) -> str:
    """Rows that are new, or that must show something else."""
    relations = {
        "incoming": _incoming(target),
        "standing": _standing(target),
        "told": _told(target),
        "states": _states(target),
        "marked": _marked(target),
        "versions": _versions(target),
    }
    chain = ",\n".join(f"{name} AS (\n  {sql}\n)" for name, sql in relations.items())
    return f"WITH\n{chain}\n{_difference(target)}"


def _values(target: Target) -> list[str]:
    """What an event says of its key; when it happened stands beside it."""
    beside = {*target.keys, target.write.sequence_by}
    return [column.name for column in target.columns if column.name not in beside and column.stamp is None]


def _timed(target: Target) -> list[str]:
    """The column that says when, where the table keeps it."""
    return [name for name in target.names if name == target.write.sequence_by]


def _stamps(target: Target) -> list[str]:
    return [column.name for column in target.columns if column.stamp is not None]


def _tracked(target: Target) -> list[str]:
    write, excluded = target.write, target.write.track_history_except_column_list
    wanted = write.track_history_column_list or _values(target)
    return [name for name in _values(target) if name in wanted and name not in excluded]


def _untracked(target: Target) -> list[str]:
    return [name for name in _values(target) if name not in _tracked(target)]


def _keeps_event(write: Write) -> bool:
    """Whether a row may show other values than its event brought, which are then kept beside it."""
    tracks = write.track_history_column_list or write.track_history_except_column_list
    return bool(tracks) or write.ignore_null_updates


def _incoming(target: Target) -> str:
    """One event for each moment of a key: a delete counts, then the larger values, so that it is always the same."""
    at, stamps = quote(target.write.sequence_by or ""), _stamps(target)
    said = f"struct({is_delete(target.write)} AS `gone`, struct({_columns(target)}) AS `said`)"
    beside = "".join(f", max({quote(name)}) AS {quote(name)}" for name in stamps)
    return (
        f"SELECT {quoted(target.keys)}, {at} AS `_at`, max({said}) AS `_e`{beside} FROM {BATCH}\n"
        f"  GROUP BY {quoted(target.keys)}, {at}"
    )


def _columns(target: Target) -> str:
    return ", ".join(quote(name) for name in _values(target)) or "TRUE AS `_nothing`"


def _standing(target: Target) -> str:
    """The table's rows of the batch's keys: the event of each, and the row as it is."""
    names, mark = target.write.history, quote(target.write.deleted_column)
    said = f"t.`{EVENT}`" if _keeps_event(target.write) else f"struct({_columns(target)})"
    own = f"{_columns(target)}, {quote(names.valid_to)} AS `_until`, {quote(names.is_current)} AS `_current`"
    return (
        f"SELECT {quoted(target.keys, 't.')}, t.{quote(names.valid_from)} AS `_at`,\n"
        f"    struct(coalesce(t.{mark}, FALSE) AS `gone`, {said} AS `said`) AS `_e`, struct({own}) AS `_was`\n"
        f"  FROM {target.table} AS t\n"
        f"  WHERE EXISTS (SELECT 1 FROM incoming AS i WHERE {equal_keys(target.keys, 'i', 't')})"
    )


def _told(target: Target) -> str:
    """All events of a key, one for each moment, by the rule that holds inside of a batch too."""
    keys, stamps = quoted(target.keys), _stamps(target)
    none = "".join(f", NULL AS {quote(name)}" for name in stamps)
    beside = "".join(f", max({quote(name)}) AS {quote(name)}" for name in stamps)
    both = (
        f"SELECT {keys}, `_at`, `_e`, NULL AS `_was`{''.join(f', {quote(n)}' for n in stamps)} FROM incoming\n"
        f"    UNION ALL SELECT {keys}, `_at`, `_e`, `_was`{none} FROM standing"
    )
    before = "max(IF(`_was` IS NULL, NULL, `_e`)) AS `_stood`"
    return (
        f"SELECT {keys}, `_at`, max(`_e`) AS `_e`, max(`_was`) AS `_was`, {before}{beside}\n"
        f"  FROM ({both}) GROUP BY {keys}, `_at`"
    )


def _line(target: Target, by: str = "") -> str:
    return f"OVER (PARTITION BY {quoted(target.keys)}{by} ORDER BY `_at`)"


def _states(target: Target) -> str:
    """What is true of a key after each event: what it says or, where it says nothing, what was said since the key
    began."""
    if not target.write.ignore_null_updates:
        return "SELECT *, `_e`.`gone` AS `_gone`, `_e`.`said` AS `_s` FROM told"
    lived = f"SELECT *, `_e`.`gone` AS `_gone`, count_if(`_e`.`gone`) {_line(target)} AS `_life` FROM told"
    last = [
        f"last_value(IF(`_gone`, NULL, `_e`.`said`.{quote(n)})) IGNORE NULLS {_line(target, ', `_life`')} AS {quote(n)}"
        for n in _values(target)
    ]
    return f"SELECT *, struct({', '.join(last) or 'TRUE AS `_nothing`'}) AS `_s` FROM ({lived})"


def _marked(target: Target) -> str:
    """An event begins a version unless it deletes, or says what the one before said."""
    tracked = "".join(f", `_s`.{quote(name)}" for name in _tracked(target))
    before = f"lag(struct(`_gone`{tracked})) {_line(target)}"
    said = same(_tracked(target), "`_s`", "`_before`")
    begins = f"NOT `_gone` AND NOT coalesce(NOT `_before`.`_gone` AND {said}, FALSE)"
    return f"SELECT *, {begins} AS `_begins` FROM (SELECT *, {before} AS `_before` FROM states)"


def _versions(target: Target) -> str:
    """Each version until the next begins or its key ends; columns that are not tracked are those of its last event."""
    parts = f"count_if(`_begins` OR `_gone`) {_line(target)} AS `_run`"
    until = f"lead(IF(`_begins` OR `_gone`, `_at`, NULL)) IGNORE NULLS {_line(target)} AS `_next`"
    runs = f"SELECT *, {parts}, {until} FROM marked"
    untracked = _untracked(target)
    if not untracked:
        return runs
    last = f"max_by(struct({quoted(untracked, '`_s`.')}), `_at`) OVER (PARTITION BY {quoted(target.keys)}, `_run`)"
    return f"SELECT *, {last} AS `_last` FROM ({runs})"


def _difference(target: Target) -> str:
    names, mark = target.write.history, quote(target.write.deleted_column)
    untracked = set(_untracked(target))
    shown = [
        f"IF(`_begins`, `_last`.{quote(n)}, `_s`.{quote(n)}) AS {quote(n)}"
        if n in untracked
        else f"`_s`.{quote(n)} AS {quote(n)}"
        for n in _values(target)
    ]
    shown += [f"`_at` AS {quote(n)}" for n in _timed(target)]
    own = [
        f"`_at` AS {quote(names.valid_from)}", f"IF(`_begins`, `_next`, `_at`) AS {quote(names.valid_to)}",
        f"`_begins` AND `_next` IS NULL AS {quote(names.is_current)}", f"`_gone` AS {mark}",
    ]  # fmt: skip
    own += [f"`_e`.`said` AS `{EVENT}`"] if _keeps_event(target.write) else []
    rest = [*(quote(name) for name in _stamps(target)), "`_was`", "NOT `_e` <=> `_stood` AS `_other`"]
    rows = f"SELECT {', '.join([quoted(target.keys), *shown, *own, *rest])} FROM versions"
    until, current = quote(names.valid_to), quote(names.is_current)
    known = f"{until} <=> `_was`.`_until` AND {same(_values(target), 'v', '`_was`')}"
    effect = (
        f"CASE WHEN `_was` IS NULL THEN 'insert' WHEN `_other` THEN 'update' WHEN {known} THEN NULL\n"
        f"    WHEN `_was`.`_current` AND NOT {current} THEN 'expire' ELSE 'move' END"
    )
    return f"SELECT * FROM (SELECT *, {effect} AS {EFFECT} FROM (\n  {rows}\n) AS v) WHERE {EFFECT} IS NOT NULL"


def statement(target: Target) -> str:
    names = target.write.history
    own = [names.valid_to, names.is_current, target.write.deleted_column]
    own += [EVENT] if _keeps_event(target.write) else []
    begins, values, kept = quote(names.valid_from), _values(target), {*target.updated}
    stamped = [name for name in _stamps(target) if name in kept]
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s\n"
        f"ON {target.on_keys} AND t.{begins} = s.{begins} AND s.{EFFECT} <> 'insert'\n"
        f"WHEN MATCHED AND s.{EFFECT} = 'update' THEN UPDATE SET {assignments([*values, *stamped, *own])}\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments([*values, *own])}\n"
        f"WHEN NOT MATCHED AND s.{EFFECT} = 'insert' THEN {insert_columns([*target.names, names.valid_from, *own])}"
    )


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    """Events that are new, events that say something else of their moment, and the rest."""
    if commit is None:
        return Written(unchanged=accepted)
    inserted, updated = effects.get("insert", 0), effects.get("update", 0)
    return Written(inserted, updated, accepted - inserted - updated, expired=effects.get("expire", 0))


def adds(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    names, kind = write.history, sequence_type(write, columns)
    left_out = {*write.keys, *write.except_column_list, write.sequence_by}
    said = [(c.name, c.type) for c in columns if c.name not in left_out and c.stamp is None]
    event = struct_of(said or [("_nothing", "boolean")])
    kept = (TableColumn(EVENT, event, description="what the event itself said"),)
    return (
        TableColumn(names.valid_from, kind),
        TableColumn(names.valid_to, kind, description="where the next version begins"),
        TableColumn(names.is_current, "boolean"),
        TableColumn(write.deleted_column, "boolean", description="the event ended its key"),
        *(kept if _keeps_event(write) else ()),
    )


CDC_HISTORY = Mode(
    "cdc_merge", statement, counts, changes, needs_keys=True, adds=adds, row_guards=timed_only,
    metrics_source="mixed",
)  # fmt: skip
