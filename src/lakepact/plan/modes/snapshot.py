"""snapshot_soft_delete: the active rows become the batch; what is no longer in it is marked, or deleted."""

from __future__ import annotations

from lakepact.contract.write import Write
from lakepact.names import equal_keys, literal, quote, quoted, same
from lakepact.plan.columns import TableColumn
from lakepact.plan.target import (
    BATCH,
    CHANGES,
    EFFECT,
    Counted,
    Guard,
    Mode,
    Target,
    Written,
    assignments,
    write_keys,
)

ACTIVE, DELETED_AT = "is_active", "deleted_at"


def changes(target: Target) -> str:
    """Batch and table side by side: what is new or different, and what the source no longer has."""
    names = ", ".join(
        f"coalesce(s.{quote(n)}, t.{quote(n)}) AS {quote(n)}" if n in target.keys else f"s.{quote(n)}"
        for n in target.names
    )
    gone = f"s.{quote(target.keys[0])} IS NULL"
    return (
        f"SELECT {names},\n"
        f"  CASE WHEN {gone} THEN 'soft_delete' WHEN {target.is_new} THEN 'insert' ELSE 'update' END AS {EFFECT}\n"
        f"FROM {BATCH} AS s FULL JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE {target.is_new} OR IF({gone}, t.`{ACTIVE}`{_not_rejected(target)},\n"
        f"  NOT t.`{ACTIVE}` OR NOT ({same(target.compared, 't', 's')}))"
    )


def _not_rejected(target: Target) -> str:
    """A row in quarantine is there, if not as it should be."""
    keys = equal_keys(target.keys, "b", "t")
    return f" AND NOT EXISTS (SELECT 1 FROM `judged` AS b WHERE b.`_rejected` AND {keys})" if target.rejects else ""


def _vanished(target: Target) -> str:
    """Active rows that the source no longer has."""
    keys = equal_keys(target.keys, "b", "t")
    return (
        f"FROM {target.table} AS t WHERE t.`{ACTIVE}`\n"
        f"  AND NOT EXISTS (SELECT 1 FROM {BATCH} AS b WHERE {keys}){_not_rejected(target)}"
    )


def statement(target: Target) -> str:
    gone = "DELETE" if target.write.hard_delete else f"UPDATE SET t.`{ACTIVE}` = FALSE, t.`{DELETED_AT}` = {target.now}"
    back = f"t.`{ACTIVE}` = TRUE, t.`{DELETED_AT}` = NULL"
    update = ", ".join(part for part in (assignments(target.updated), back) if part)
    insert = f"INSERT ({quoted([*target.names, ACTIVE])}) VALUES ({quoted(target.names, 's.')}, TRUE)"
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.on_keys}\n"
        f"WHEN MATCHED AND s.{EFFECT} = 'soft_delete' THEN {gone}\n"
        f"WHEN MATCHED THEN UPDATE SET {update}\n"
        f"WHEN NOT MATCHED AND s.{EFFECT} <> 'soft_delete' THEN {insert}"
    )


def guards(target: Target) -> tuple[Guard, ...]:
    ceiling = target.write.max_delete_ratio
    if ceiling is None:
        return ()
    active = f"(SELECT count(*) FROM {target.table} WHERE `{ACTIVE}`)"
    gone = f"(SELECT count(*) {_vanished(target)})"
    sql = f"SELECT IF({gone} > {active} * {literal(ceiling)}, {gone}, 0)"
    return (Guard(sql, f"active row(s) would disappear, more than the {ceiling:.1%} allowed"),)


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    if commit is None:
        return Written(unchanged=accepted)
    inserted, updated = effects.get("insert", 0), effects.get("update", 0)
    gone = effects.get("soft_delete", 0)
    deleted = commit.get("numTargetRowsDeleted", 0)
    rest = accepted - inserted - updated
    return Written(inserted, updated, rest, deleted=deleted, soft_deleted=gone - deleted)


def adds(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    del write, columns
    return (TableColumn(ACTIVE, "boolean"), TableColumn(DELETED_AT, "timestamp"))


SNAPSHOT = Mode(
    "snapshot_soft_delete", statement, counts, changes, needs_keys=True, complete=True, unique=write_keys,
    adds=adds, guards=guards, metrics_source="mixed",
)  # fmt: skip
