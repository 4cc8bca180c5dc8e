"""scd0_overwrite: the table, one partition, or the partitions in the batch become the accepted rows."""

from __future__ import annotations

from collections.abc import Mapping

from lakepact.contract.write import Write
from lakepact.names import literal, quote, quoted
from lakepact.plan.target import BATCH, Counted, Mode, RowGuard, Target, Written


def statement(target: Target) -> str:
    rows = f"SELECT {quoted(target.names)} FROM {BATCH}"
    if target.write.named_partition:
        return f"INSERT INTO {target.table} BY NAME REPLACE WHERE {_partition(target.write)}\n{rows}"
    return f"INSERT OVERWRITE {target.table} BY NAME\n{rows}"


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    del effects
    return Written(unchanged=accepted) if commit is None else Written(inserted=commit.get("numOutputRows", 0))


def row_guards(target: Target) -> tuple[RowGuard, ...]:
    """One partition is replaced by rows of that partition alone."""
    if not target.write.named_partition:
        return ()
    others = f"NOT coalesce({_partition(target.write)}, FALSE)"
    return (RowGuard(others, f"row(s) do not belong to the partition {_partition(target.write)}"),)


def settings(write: Write) -> Mapping[str, str]:
    mode = "dynamic" if write.replace_partitions else "static"
    return {"spark.sql.sources.partitionOverwriteMode": mode}


def _partition(write: Write) -> str:
    return " AND ".join(f"{quote(column)} = {literal(value)}" for column, value in write.named_partition.items())


OVERWRITE = Mode("scd0_overwrite", statement, counts, replaces=True, row_guards=row_guards, settings=settings)
