"""State and commits of tables that only a catalog can find: asked through Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakepact.names import TableName, TableRef
from lakepact.plan.commits import Commit, find_commit
from lakepact.plan.state import TableState

RECENT = 50


class CatalogTables:
    """Tables by name, in the catalog of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def state(self, table: TableRef) -> TableState | None:
        """What a plan needs to know of the table; None if the catalog does not have it."""
        if not self.spark.catalog.tableExists(TableName.parse(table.name).sql):
            return None
        newest = self.spark.sql(f"DESCRIBE HISTORY {table.sql} LIMIT 1").collect()[0]
        detail = self.spark.sql(f"DESCRIBE DETAIL {table.sql}").collect()[0]
        fields = self.spark.table(table.sql).schema.fields
        return TableState(
            version=int(newest["version"]),
            columns={f.name: f.dataType.simpleString() for f in fields},
            required=frozenset(f.name for f in fields if not f.nullable),
            partition_by=tuple(detail["partitionColumns"]),
            properties=dict(detail["properties"]),
            last_commit=newest["userMetadata"],
        )

    def commit(self, table: TableRef, run_id: str, after: int) -> Commit | None:
        history = self.spark.sql(f"DESCRIBE HISTORY {table.sql} LIMIT {RECENT}").collect()
        return find_commit((entry.asDict() for entry in history), run_id, after)
