"""cdc_merge: events of inserts, updates and deletes; the latest of each key counts, whatever order they come in.

A deleted row stays, marked, with its last values: it is the tombstone that keeps an older event from bringing it back.
A truncation ends every key; a tombstone without a key keeps older events of any key away from then on.
"""

from __future__ import annotations

from lakepact.contract.write import Write
from lakepact.names import equal_keys, quote, quoted
from lakepact.plan.columns import TableColumn
from lakepact.plan.modes.events import (
    SEQUENCE,
    all_events,
    is_truncate,
    sequence_column,
    sequence_name,
)
from lakepact.plan.target import (
    BATCH,
    CHANGES,
    EFFECT,
    Counted,
    Mode,
    Target,
    Written,
    assignments,
)


def changes(target: Target) -> str:
    """The latest event of each key, if it is newer than the table; `_last` are the newest values in the batch."""
    write = target.write
    mark = quote(write.deleted_column)
    nothing_to_delete = f" AND NOT ({target.is_new} AND s.`_gone`)" if write.hard_delete else ""
    latest = (
        f"SELECT {quoted(_names(target), 's.')}, s.`_last`, s.`_gone` AS {mark},\n"
        f"  CASE WHEN s.`_gone` AND {target.is_new} THEN 'tombstone' WHEN s.`_gone` THEN 'soft_delete'\n"
        f"    WHEN {target.is_new} THEN 'insert' ELSE 'update' END AS {EFFECT}{target.was_in}\n"
        f"FROM ({_latest(target)}) AS s LEFT JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE ({target.is_new} OR {_is_later(target)}){nothing_to_delete}"
    )
    return f"{latest}{_swept(target)}" if write.apply_as_truncates else latest


def _names(target: Target) -> list[str]:
    return [*target.names, *([SEQUENCE] if sequence_name(target) == SEQUENCE else [])]


def _is_later(target: Target) -> str:
    """Later by its time, no time being the oldest; at the same time as `_latest` has it, and a delete is the end."""
    sequence, values = quote(sequence_name(target)), target.compared
    larger = f"struct({quoted(values, 's.')}) > struct({quoted(values, 't.')})" if values else "FALSE"
    same_time = f"s.{sequence} <=> t.{sequence} AND NOT {_was_deleted(target)} AND (s.`_gone` OR {larger})"
    return f"{_later(f's.{sequence}', f't.{sequence}')} OR ({same_time})"


def _later(one: str, other: str) -> str:
    return f"coalesce({one} > {other}, {one} IS NOT NULL)"


def _was_deleted(target: Target) -> str:
    return "FALSE" if target.write.hard_delete else f"coalesce(t.{quote(target.write.deleted_column)}, FALSE)"


def _latest(target: Target) -> str:
    """One row a key: of two events at once a delete counts, then the larger values, so that it is always the same."""
    order = dict.fromkeys([sequence_name(target), "_gone", *target.compared, *target.names])
    return (
        f"SELECT `row`.*, `_last` FROM (\n"
        f"    SELECT max(struct({quoted(order)})) AS `row`, max(IF(`_gone`, NULL, {_place(target)})) AS `_last`\n"
        f"    FROM ({_standing_events(target)}) GROUP BY {quoted(target.keys)})"
    )


def _place(target: Target, relation: str = "") -> str:
    """Where an event that is no delete stands among those of its key, and its values."""
    return f"struct({quoted(dict.fromkeys([sequence_name(target), *target.compared]), relation)})"


# --- truncation ---


def _standing_events(target: Target) -> str:
    """Events of single keys, but for those that a truncation made void."""
    if target.write.apply_as_truncates is None:
        return all_events(target)
    sequence = quote(sequence_name(target))
    both = f"SELECT {_truncated(target)} AS `at` UNION ALL SELECT {_remembered(target)}"
    void = f"coalesce({sequence} <= (SELECT max(`at`) FROM ({both})), FALSE)"
    return f"SELECT * FROM ({all_events(target)}) WHERE NOT {is_truncate(target.write)} AND NOT {void}"


def _truncated(target: Target) -> str:
    """When the batch last truncated the table."""
    return f"(SELECT max({quote(target.write.sequence_by or '')}) FROM {BATCH} WHERE {is_truncate(target.write)})"


def _remembered(target: Target) -> str:
    """When an earlier batch did."""
    return f"(SELECT max({quote(sequence_name(target))}) FROM {target.table} WHERE {quote(target.keys[0])} IS NULL)"


def _swept(target: Target) -> str:
    """Rows that a truncation ends, and the row that remembers it."""
    sequence, mark, at = sequence_name(target), quote(target.write.deleted_column), _truncated(target)
    ended = ", ".join(f"{at} AS {quote(n)}" if n == sequence else f"t.{quote(n)}" for n in _names(target))
    survives = f"SELECT 1 FROM ({_standing_events(target)}) AS e WHERE {equal_keys(target.keys, 'e', 't')}"
    swept = (
        f"\nUNION ALL SELECT {ended}, NULL, TRUE, 'sweep'{target.was_in}\n"
        f"FROM {target.table} AS t WHERE t.{quote(target.keys[0])} IS NOT NULL AND NOT {_was_deleted(target)}\n"
        f"  AND {_later(at, f't.{quote(sequence)}')} AND NOT EXISTS ({survives})"
    )
    if target.write.hard_delete:
        return swept
    memory = ", ".join(f"{at} AS {quote(n)}" if n == sequence else f"NULL AS {quote(n)}" for n in _names(target))
    nowhere = ", NULL" if target.was_in else ""
    newer = _later(at, _remembered(target))
    return f"{swept}\nUNION ALL SELECT {memory}, NULL, TRUE AS {mark}, 'tombstone'{nowhere} WHERE {newer}"


# --- the write ---


def _value(target: Target, column: TableColumn, otherwise: str) -> str:
    """A deleted row keeps the newest values there were: those of an event of the batch, or the table's own."""
    name, sequence = quote(column.name), quote(sequence_name(target))
    ours = (*target.keys, sequence_name(target), target.write.op_column)
    if column.name in ours or column.stamp is not None:
        return f"s.{name}"
    after_delete = _later(f"s.`_last`.{sequence}", f"t.{sequence}")
    newer = f"IF({_was_deleted(target)}, {after_delete}, s.`_last` > {_place(target, 't.')})"
    if otherwise == "NULL":
        return f"IF(s.{quote(target.write.deleted_column)}, s.`_last`.{name}, s.{name})"
    alive = f"NOT s.{quote(target.write.deleted_column)}"
    return f"CASE WHEN {alive} THEN s.{name} WHEN {newer} THEN s.`_last`.{name} ELSE {otherwise} END"


def statement(target: Target) -> str:
    sequence, mark = sequence_name(target), target.write.deleted_column
    hard = target.write.hard_delete
    newer = f"(t.{quote(sequence)} IS NULL OR s.{quote(sequence)} >= t.{quote(sequence)})"
    own = [*([] if hard else [mark]), *([SEQUENCE] if sequence == SEQUENCE else [])]
    delete = f"WHEN MATCHED AND s.{EFFECT} IN ('soft_delete', 'sweep') AND {newer} THEN DELETE\n" if hard else ""
    kept = {column.name: column for column in target.columns}
    update = [f"t.{quote(n)} = {_value(target, kept[n], f't.{quote(n)}')}" for n in target.updated]
    update += [assignments(own)] if own else []
    insert = [*(_value(target, column, "NULL") for column in target.columns), *(f"s.{quote(n)}" for n in own)]
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.merge_on}\n"
        f"{delete}WHEN MATCHED AND {newer} THEN UPDATE SET {', '.join(update)}\n"
        f"WHEN NOT MATCHED{_unless_deleted(target)} THEN INSERT ({quoted([*target.names, *own])})\n"
        f"  VALUES ({', '.join(insert)})"
    )


def _unless_deleted(target: Target) -> str:
    return f" AND s.{EFFECT} <> 'soft_delete'" if target.write.hard_delete else ""


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    """A truncation counts once as inserted: its tombstone. The rows it ends are none of the batch's."""
    if commit is None:
        return Written(unchanged=accepted)
    inserted = effects.get("insert", 0) + effects.get("tombstone", 0)
    updated = effects.get("update", 0) + effects.get("soft_delete", 0)
    deleted = commit.get("numTargetRowsDeleted", 0)
    gone = effects.get("soft_delete", 0) + effects.get("sweep", 0) - deleted
    return Written(inserted, updated, accepted - inserted - updated, deleted=deleted, soft_deleted=gone)


def adds(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    mark = () if write.hard_delete else (TableColumn(write.deleted_column, "boolean"),)
    return (*mark, *sequence_column(write, columns))


CDC = Mode("cdc_merge", statement, counts, changes, needs_keys=True, adds=adds, metrics_source="mixed")
