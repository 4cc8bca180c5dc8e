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
    insert_columns,
)


def changes(target: Target) -> str:
    """The latest event of each key, if it is newer than the table; a delete brings the values it found."""
    write = target.write
    sequence, op, mark = quote(write.sequence_by or ""), quote(write.op_column), quote(write.deleted_column)
    deletes = ", ".join(literal(code.upper()) for code, meaning in write.op_codes.items() if meaning == "delete")
    gone = f"upper(trim({op})) IN ({deletes})" if deletes else "FALSE"
    keys, values = f"OVER (PARTITION BY {quoted(target.keys)})", quoted(target.compared)
    latest = (
        f"SELECT *, {gone} AS `_gone`,\n"
        f"    max_by(struct({values}), IF({gone}, NULL, {sequence})) {keys} AS `_last`,\n"
        f"    max(IF({gone}, NULL, {sequence})) {keys} AS `_last_at`,\n"
        f"    row_number() OVER (PARTITION BY {quoted(target.keys)} "
        f"ORDER BY {sequence} DESC NULLS LAST, {gone} DESC, {values}) AS `_rank`\n  FROM {BATCH}"
    )
    nothing_to_delete = f" AND NOT ({target.is_new} AND s.`_gone`)" if write.hard_delete else ""
    return (
        f"SELECT {', '.join(_value(target, c) for c in target.columns)}, s.`_gone` AS {mark},\n"
        f"  CASE WHEN s.`_gone` AND {target.is_new} THEN 'tombstone' WHEN s.`_gone` THEN 'soft_delete'\n"
        f"    WHEN {target.is_new} THEN 'insert' ELSE 'update' END AS {EFFECT}{target.was_in}\n"
        f"FROM ({latest}) AS s LEFT JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE s.`_rank` = 1 AND ({target.is_new} OR t.{sequence} IS NULL OR s.{sequence} > t.{sequence})"
        + nothing_to_delete
    )


def _value(target: Target, column: TableColumn) -> str:
    """A deleted row keeps the newest values there were: those of an event of the batch, or the table's own."""
    name, sequence = quote(column.name), quote(target.write.sequence_by or "")
    ours = (*target.keys, target.write.sequence_by, target.write.op_column)
    if column.name in ours or column.stamp is not None:
        return f"s.{name}"
    newer = f"s.`_last_at` IS NOT NULL AND (t.{sequence} IS NULL OR s.`_last_at` > t.{sequence})"
    return f"CASE WHEN NOT s.`_gone` THEN s.{name} WHEN {newer} THEN s.`_last`.{name} ELSE t.{name} END AS {name}"


def statement(target: Target) -> str:
    sequence, mark = quote(target.write.sequence_by or ""), target.write.deleted_column
    newer = f"(t.{sequence} IS NULL OR s.{sequence} >= t.{sequence})"
    if target.write.hard_delete:
        return (
            f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.merge_on}\n"
            f"WHEN MATCHED AND s.{EFFECT} = 'soft_delete' AND {newer} THEN DELETE\n"
            f"WHEN MATCHED AND {newer} THEN UPDATE SET {assignments(target.updated)}\n"
            f"WHEN NOT MATCHED AND s.{EFFECT} <> 'soft_delete' THEN {insert_columns(target.names)}"
        )
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.merge_on}\n"
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {assignments([*target.updated, mark])}\n"
        f"WHEN NOT MATCHED THEN {insert_columns([*target.names, mark])}"
    )


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
