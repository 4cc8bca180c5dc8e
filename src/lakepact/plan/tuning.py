"""How Spark should work on a batch of this size: cluster defaults cost a small table more than its rows."""

from __future__ import annotations

from lakepact.plan.state import TableState, World

SMALL = 2**20

# Compiling a query for a few thousand rows takes longer than interpreting it, and one task beats two.
FOR_SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}

# VACUUM lists folders in this many tasks: thousands by default, which take a minute to list ten files.
LISTING = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "2"}

# Whoever started Spark: times are UTC, overflows are errors, and a CSV line with too many fields is a bad line
# also where only some of its columns are wanted.
ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


def session_settings(world: World) -> dict[str, str]:
    """Settings for this run's own session; whoever started Spark, a contract means the same."""
    known = world.source_bytes
    target = world.target.bytes if world.target else 0
    if known is None or target is None or known + target > SMALL:
        return dict(ALWAYS)
    return {**ALWAYS, **FOR_SMALL}


def upkeep_settings(state: TableState) -> dict[str, str]:
    """Settings for OPTIMIZE and VACUUM of a table of this size."""
    small = state.bytes is not None and state.bytes <= SMALL
    return {**FOR_SMALL, **LISTING} if small else {}
