"""append_dedup: rows whose key the table does not hold yet are added, each key once."""

from __future__ import annotations

from lakepact.names import quoted
from lakepact.plan.target import BATCH, Mode, Target, insert_columns, merge_counts


def statement(target: Target) -> str:
    """Of several new rows with one key the first by sequence, then by content, is taken."""
    sequence = [target.write.sequence_by] if target.write.sequence_by else []
    order = dict.fromkeys([*sequence, *target.compared, *target.names])
    first = f"SELECT min(struct({quoted(order)})) AS `row` FROM {BATCH} GROUP BY {quoted(target.keys)}"
    return (
        f"MERGE INTO {target.table} AS t USING (SELECT `row`.* FROM ({first})) AS s ON {target.on_keys}\n"
        f"WHEN NOT MATCHED THEN {insert_columns(target.names)}"
    )


APPEND_DEDUP = Mode("append_dedup", statement, merge_counts, needs_keys=True)
