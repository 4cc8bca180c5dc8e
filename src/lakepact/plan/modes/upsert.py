"""scd1_upsert: one row a key; changed rows are updated, new ones inserted, unchanged ones left alone."""

from __future__ import annotations

from lakepact.names import quoted, same
from lakepact.plan.target import (
    BATCH,
    CHANGES,
    EFFECT,
    Mode,
    Target,
    assignments,
    insert_columns,
    merge_counts,
    write_keys,
)


def changes(target: Target) -> str:
    """What the table does not hold yet; a row that is older than the table's is no change."""
    differs = f"NOT ({same(target.compared, 't', 's')})" + target.not_older
    return (
        f"SELECT {quoted(target.names, 's.')}, IF({target.is_new}, 'insert', 'update') AS {EFFECT}{target.was_in}\n"
        f"FROM {BATCH} AS s LEFT JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE {target.is_new} OR ({differs})"
    )


def straight(target: Target) -> str:
    """A small batch into a large table: rows that say nothing new are left alone by the merge itself."""
    differs = f"NOT ({same(target.compared, 't', 's')})" + target.not_older
    update = f"WHEN MATCHED AND {differs} THEN UPDATE SET {assignments(target.updated)}\n"
    return (
        f"MERGE INTO {target.table} AS t USING {BATCH} AS s ON {target.on_keys}\n"
        f"{update if target.compared else ''}"
        f"WHEN NOT MATCHED THEN {insert_columns(target.names)}"
    )


def statement(target: Target) -> str:
    update = f"WHEN MATCHED{target.not_older} THEN UPDATE SET {assignments(target.updated)}\n"
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.merge_on}\n"
        f"{update if target.updated else ''}"
        f"WHEN NOT MATCHED THEN {insert_columns(target.names)}"
    )


UPSERT = Mode("scd1_upsert", statement, merge_counts, changes, needs_keys=True, unique=write_keys, straight=straight)
