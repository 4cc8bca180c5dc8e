"""cdc_merge: events of inserts, updates and deletes; the latest of each key counts, whatever order they come in.

A deleted row stays, marked, with its last values: it is the tombstone that keeps an older event from bringing it back.
"""

from __future__ import annotations

from lakepact.contract.model import Write
from lakepact.names import literal, quote, quoted
from lakepact.plan.columns import TableColumn
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
    return (
        f"SELECT {quoted(target.names, 's.')}, s.`_last`, s.`_gone` AS {mark},\n"
        f"  CASE WHEN s.`_gone` AND {target.is_new} THEN 'tombstone' WHEN s.`_gone` THEN 'soft_delete'\n"
        f"    WHEN {target.is_new} THEN 'insert' ELSE 'update' END AS {EFFECT}{target.was_in}\n"
        f"FROM ({_latest(target)}) AS s LEFT JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE ({target.is_new} OR {_is_later(target)}){nothing_to_delete}"
    )


def _is_later(target: Target) -> str:
    """Later by its time, no time being the oldest; at the same time as `_latest` has it, and a delete is the end."""
    sequence, values = quote(target.write.sequence_by or ""), target.compared
    larger = f"struct({quoted(values, 's.')}) > struct({quoted(values, 't.')})"
    same_time = f"s.{sequence} <=> t.{sequence} AND NOT {_was_deleted(target)} AND (s.`_gone` OR {larger})"
    return f"{_later(f's.{sequence}', f't.{sequence}')} OR ({same_time})"


def _later(one: str, other: str) -> str:
    return f"coalesce({one} > {other}, {one} IS NOT NULL)"


def _was_deleted(target: Target) -> str:
    return "FALSE" if target.write.hard_delete else f"coalesce(t.{quote(target.write.deleted_column)}, FALSE)"


def _latest(target: Target) -> str:
    """One row a key: of two events at once a delete counts, then the larger values, so that it is always the same."""
    order = dict.fromkeys([target.write.sequence_by or "", "_gone", *target.compared, *target.names])
    return (
        f"SELECT `row`.*, `_last` FROM (\n"
        f"    SELECT max(struct({quoted(order)})) AS `row`, max(IF(`_gone`, NULL, {_place(target)})) AS `_last`\n"
        f"    FROM (SELECT *, {_gone(target)} AS `_gone` FROM {BATCH}) GROUP BY {quoted(target.keys)})"
    )


def _place(target: Target, relation: str = "") -> str:
    """Where an event that is no delete stands among those of its key, and its values."""
    return f"struct({quoted(dict.fromkeys([target.write.sequence_by or '', *target.compared]), relation)})"


def _gone(target: Target) -> str:
    codes = [code.upper() for code, meaning in target.write.op_codes.items() if meaning == "delete"]
    known = ", ".join(literal(code) for code in codes)
    return f"upper(trim({quote(target.write.op_column)})) IN ({known})" if codes else "FALSE"


def _value(target: Target, column: TableColumn, otherwise: str) -> str:
    """A deleted row keeps the newest values there were: those of an event of the batch, or the table's own."""
    name, sequence = quote(column.name), quote(target.write.sequence_by or "")
    ours = (*target.keys, target.write.sequence_by, target.write.op_column)
    if column.name in ours or column.stamp is not None:
        return f"s.{name}"
    after_delete = _later(f"s.`_last`.{sequence}", f"t.{sequence}")
    newer = f"IF({_was_deleted(target)}, {after_delete}, s.`_last` > {_place(target, 't.')})"
    if otherwise == "NULL":
        return f"IF(s.{quote(target.write.deleted_column)}, s.`_last`.{name}, s.{name})"
    alive = f"NOT s.{quote(target.write.deleted_column)}"
    return f"CASE WHEN {alive} THEN s.{name} WHEN {newer} THEN s.`_last`.{name} ELSE {otherwise} END"


def statement(target: Target) -> str:
    sequence, mark = quote(target.write.sequence_by or ""), target.write.deleted_column
    newer = f"(t.{sequence} IS NULL OR s.{sequence} >= t.{sequence})"
    marked = [] if target.write.hard_delete else [mark]
    delete = f"WHEN MATCHED AND s.{EFFECT} = 'soft_delete' AND {newer} THEN DELETE\n" if not marked else ""
    kept = {column.name: column for column in target.columns}
    update = [f"t.{quote(n)} = {_value(target, kept[n], f't.{quote(n)}')}" for n in target.updated]
    insert = [_value(target, column, "NULL") for column in target.columns]
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.merge_on}\n"
        f"{delete}WHEN MATCHED AND {newer} THEN UPDATE SET {', '.join([*update, *assigned(marked)])}\n"
        f"WHEN NOT MATCHED{_unless_deleted(target)} THEN INSERT ({quoted([*target.names, *marked])})\n"
        f"  VALUES ({', '.join([*insert, *(f's.{quote(n)}' for n in marked)])})"
    )


def assigned(names: list[str]) -> list[str]:
    return [assignments(names)] if names else []


def _unless_deleted(target: Target) -> str:
    return f" AND s.{EFFECT} <> 'soft_delete'" if target.write.hard_delete else ""


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    if commit is None:
        return Written(unchanged=accepted)
    inserted = effects.get("insert", 0) + effects.get("tombstone", 0)
    updated = effects.get("update", 0) + effects.get("soft_delete", 0)
    deleted = commit.get("numTargetRowsDeleted", 0)
    gone = effects.get("soft_delete", 0) - deleted
    return Written(inserted, updated, accepted - inserted - updated, deleted=deleted, soft_deleted=gone)


def adds(write: Write) -> tuple[TableColumn, ...]:
    return () if write.hard_delete else (TableColumn(write.deleted_column, "boolean"),)


CDC = Mode("cdc_merge", statement, counts, changes, needs_keys=True, adds=adds, metrics_source="mixed")
