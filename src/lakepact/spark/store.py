"""The `spark_table` store: each grain a table, with types that never change."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakepact.evidence.grains import GRAINS, grains
from lakepact.evidence.record import RunRecord
from lakepact.names import TableRef, literal, quote
from lakepact.plan.layout import create_schema
from lakepact.spark.session import frame_of, new_session


class SparkTables:
    """`{catalog}.{schema}.{prefix}{grain}`, made on first use and appended to from then on."""

    def __init__(self, spark: SparkSession, tables: dict[str, TableRef], table_format: str = "delta") -> None:
        self.spark, self.tables, self.format = spark, tables, table_format

    def write(self, record: RunRecord) -> None:
        """Only grains that have something to say make a commit."""
        session = new_session(self.spark)
        session.conf.set(
            "spark.databricks.delta.commitInfo.userMetadata",
            f'{{"lakepact": 1, "evidence_of": "{record.run_id}"}}',
        )
        for grain, rows in grains(record).items():
            if rows:
                self._append(session, grain, [tuple(row.values()) for row in rows])

    def _append(self, session: SparkSession, grain: str, rows: list[tuple[object, ...]]) -> None:
        table, columns = self.tables[grain], GRAINS[grain]
        made = ", ".join(f"{quote(name)} {kind}" for name, kind in columns.items())
        if table.path and self.format != "delta":
            frame_of(session, rows, made).write.format(self.format).mode("append").save(table.path)
            return
        comment = literal(f"Lakepact evidence: {grain}")
        for statement in create_schema(table):
            session.sql(statement)
        session.sql(f"CREATE TABLE IF NOT EXISTS {table.sql} ({made}) USING {self.format} COMMENT {comment}")
        frame_of(session, rows, made).createOrReplaceTempView("evidence")
        session.sql(f"INSERT INTO {table.sql} BY NAME SELECT * FROM `evidence`")
