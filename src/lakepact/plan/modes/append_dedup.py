"""append_dedup: rows whose key the table does not hold yet are added, each key once."""

from __future__ import annotations

from lakepact.names import quoted
from lakepact.plan.target import BATCH, CHANGES, EFFECT, Mode, Target, insert_columns, merge_counts


def changes(target: Target) -> str:
    """Of several new rows with one key the first by sequence, then by content, is taken."""
    order = [*([target.write.sequence_by] if target.write.sequence_by else []), *target.compared]
    ranked = f"row_number() OVER (PARTITION BY {quoted(target.keys)} ORDER BY {quoted(order) or '1'}) AS `_rank`"
    return (
        f"SELECT {quoted(target.names, 's.')}, 'insert' AS {EFFECT}\n"
        f"FROM (SELECT *, {ranked} FROM {BATCH}) AS s LEFT ANTI JOIN {target.table} AS t ON {target.on_keys}\n"
        f"WHERE s.`_rank` = 1"
    )


def statement(target: Target) -> str:
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.on_keys}\n"
        f"WHEN NOT MATCHED THEN {insert_columns(target.names)}"
    )


APPEND_DEDUP = Mode("append_dedup", statement, merge_counts, changes, needs_keys=True)
