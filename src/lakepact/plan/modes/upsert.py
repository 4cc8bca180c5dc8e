"""scd1_upsert: one row a key; changed rows are updated, new ones inserted, unchanged ones left alone."""

from __future__ import annotations

from collections.abc import Mapping

from lakepact.names import equal_keys, quote, quoted, same
from lakepact.plan.target import Mode, Target, Written


def statement(target: Target) -> str:
    changes = ", ".join(f"t.{quote(name)} = s.{quote(name)}" for name in target.updated)
    update = f"WHEN MATCHED AND NOT ({same(target.compared, 't', 's')}) THEN UPDATE SET {changes}\n"
    return (
        f"MERGE INTO {target.table} AS t\n"
        f"USING (SELECT {quoted(target.names)} FROM {target.batch}) AS s\n"
        f"ON {equal_keys(target.keys, 't', 's')}\n"
        f"{update if target.compared else ''}"
        f"WHEN NOT MATCHED THEN INSERT ({quoted(target.names)}) VALUES ({quoted(target.names, 's.')})"
    )


def counts(commit: Mapping[str, int] | None, accepted: int) -> Written:
    inserted = commit.get("numTargetRowsInserted", 0) if commit else 0
    updated = commit.get("numTargetRowsUpdated", 0) if commit else 0
    return Written(inserted=inserted, updated=updated, unchanged=accepted - inserted - updated)


UPSERT = Mode("scd1_upsert", statement, counts, needs_keys=True)
