"""scd1_hash_diff: an upsert that knows a changed row by a hash kept in the table."""

from __future__ import annotations

from lakepact.contract.write import Write
from lakepact.names import quote, quoted
from lakepact.plan.columns import TableColumn
from lakepact.plan.hashing import ALGORITHM, row_hash
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
    merge_counts,
    write_keys,
)

HASH = "row_hash"


def changes(target: Target) -> str:
    names = quoted(target.names, "s.")
    hashed = f"(SELECT *, {_hash(target)} AS `{HASH}` FROM {BATCH}) AS s"
    if target.write.append_versions:
        return (
            f"SELECT {names}, s.`{HASH}`, 'insert' AS {EFFECT} FROM {hashed}\n"
            f"LEFT JOIN ({_latest(target)}) AS t ON {target.on_keys}\n"
            f"WHERE {target.is_new} OR (NOT t.`{HASH}` <=> s.`{HASH}` AND NOT EXISTS ({_same_version(target)}))"
        )
    return (
        f"SELECT {names}, s.`{HASH}`, IF({target.is_new}, 'insert', 'update') AS {EFFECT}{target.was_in}\n"
        f"FROM {hashed}\n"
        f"LEFT JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE {target.is_new} OR (NOT t.`{HASH}` <=> s.`{HASH}`{target.not_older})"
    )


def statement(target: Target) -> str:
    if target.write.append_versions:
        names = quoted([*target.names, HASH])
        return f"INSERT INTO {target.table} BY NAME\nSELECT {names} FROM {CHANGES}"
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.merge_on}\n"
        f"WHEN MATCHED{target.not_older} THEN UPDATE SET {assignments([*target.updated, HASH])}\n"
        f"WHEN NOT MATCHED THEN {insert_columns([*target.names, HASH])}"
    )


def straight(target: Target) -> str:
    """A small batch into a large table, compared by the merge itself."""
    hashed = f"(SELECT *, {_hash(target)} AS `{HASH}` FROM {BATCH})"
    return (
        f"MERGE INTO {target.table} AS t USING {hashed} AS s ON {target.on_keys}\n"
        f"WHEN MATCHED AND NOT t.`{HASH}` <=> s.`{HASH}`{target.not_older}"
        f" THEN UPDATE SET {assignments([*target.updated, HASH])}\n"
        f"WHEN NOT MATCHED THEN {insert_columns([*target.names, HASH])}"
    )


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    """An INSERT of versions reports output rows, a MERGE what it did."""
    if commit and "numOutputRows" in commit and "numTargetRowsInserted" not in commit:
        return Written(inserted=commit["numOutputRows"], unchanged=accepted - commit["numOutputRows"])
    return merge_counts(commit, effects, accepted)


def _hash(target: Target) -> str:
    excluded = {*target.keys, *target.write.hash_exclude_columns} - set(target.write.hash_keys)
    wanted = target.write.hash_keys or target.compared
    return row_hash([c for c in target.columns if c.name in wanted and c.name not in excluded])


def _latest(target: Target) -> str:
    """The newest version of each key: by its sequence, then by its hash, so that the answer is always the same."""
    sequence = quote(target.write.sequence_by or "")
    order = f"struct({sequence}, `{HASH}`)"
    keys = quoted(target.keys)
    return f"SELECT {keys}, max_by(`{HASH}`, {order}) AS `{HASH}` FROM {target.table} GROUP BY {keys}"


def _same_version(target: Target) -> str:
    sequence = quote(target.write.sequence_by or "")
    keys = " AND ".join(f"v.{quote(k)} = s.{quote(k)}" for k in target.keys)
    return (
        f"SELECT 1 FROM {target.table} AS v WHERE {keys} AND v.`{HASH}` = s.`{HASH}` AND v.{sequence} <=> s.{sequence}"
    )


def adds(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    del write, columns
    return (TableColumn(HASH, "string", description=f"hash of the row ({ALGORITHM})"),)


HASH_DIFF = Mode(
    "scd1_hash_diff", statement, counts, changes, needs_keys=True, unique=write_keys, adds=adds, straight=straight
)
