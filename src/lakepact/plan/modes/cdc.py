"""cdc_merge: events of inserts, updates and deletes; the latest of each key counts, whatever order they come in.

A deleted row stays, marked, with its last values: it is the tombstone that keeps an older event from bringing it back.
"""

from __future__ import annotations

from lakepact.contract.model import Write
from lakepact.names import literal, quote, quoted, same
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
    write = target.write
    sequence, op, mark = quote(write.sequence_by or ""), quote(write.op_column), quote(write.deleted_column)
    deletes = ", ".join(literal(code.upper()) for code, meaning in write.op_codes.items() if meaning == "delete")
    gone = f"upper(trim({op})) IN ({deletes})" if deletes else "FALSE"
    latest = (
        f"SELECT *, {gone} AS `_gone`,\n    row_number() OVER (PARTITION BY {quoted(target.keys)} "
        f"ORDER BY {sequence} DESC NULLS LAST, {gone} DESC, {quoted(target.compared)}) AS `_rank`\n  FROM {BATCH}"
    )
    differs = f"NOT ({same([n for n in target.compared if n != write.op_column], 't', 's')}) OR t.{mark} <> s.`_gone`"
    return (
        f"SELECT {quoted(target.names, 's.')}, s.`_gone` AS {mark},\n"
        f"  CASE WHEN s.`_gone` AND {target.is_new} THEN 'tombstone' WHEN s.`_gone` THEN 'soft_delete'\n"
        f"    WHEN {target.is_new} THEN 'insert' ELSE 'update' END AS {EFFECT}\n"
        f"FROM ({latest}) AS s LEFT JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE s.`_rank` = 1 AND ({target.is_new} OR (s.{sequence} > t.{sequence})\n"
        f"  OR (s.{sequence} <=> t.{sequence} AND ({differs}) AND NOT (t.{mark} AND s.`_gone`)))"
    )


def statement(target: Target) -> str:
    write = target.write
    sequence, mark = write.sequence_by or "", quote(write.deleted_column)
    newer = f"(t.{quote(sequence)} IS NULL OR s.{quote(sequence)} >= t.{quote(sequence)})"
    ended = assignments([n for n in (sequence, write.op_column) if n in target.names])
    names = [*target.names, write.deleted_column]
    kept = [*target.keys, sequence, write.op_column, write.deleted_column]
    values = ", ".join(f"s.{quote(n)}" if n in kept else f"IF(s.{mark}, NULL, s.{quote(n)})" for n in names)
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.on_keys}\n"
        f"WHEN MATCHED AND {newer} AND s.{mark} THEN UPDATE SET {ended}, t.{mark} = TRUE\n"
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {assignments(target.updated)}, t.{mark} = FALSE\n"
        f"WHEN NOT MATCHED THEN INSERT ({quoted(names)}) VALUES ({values})"
    )


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    if commit is None:
        return Written(unchanged=accepted)
    inserted = effects.get("insert", 0) + effects.get("tombstone", 0)
    updated = effects.get("update", 0) + effects.get("soft_delete", 0)
    gone = effects.get("soft_delete", 0)
    return Written(inserted, updated, accepted - inserted - updated, soft_deleted=gone)


def adds(write: Write) -> tuple[TableColumn, ...]:
    return (TableColumn(write.deleted_column, "boolean"),)


CDC = Mode("cdc_merge", statement, counts, changes, needs_keys=True, adds=adds)
