"""A table without a batch: count and delete rows by a condition that was checked before."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakepact.names import TableRef, quote
from lakepact.spark.commit import commit
from lakepact.spark.session import new_session


def count_rows(spark: SparkSession, table: TableRef, condition: str) -> int:
    F.expr(condition)  # Spark's own parser reads it alone first
    return int(new_session(spark).sql(f"SELECT count(*) FROM {table.sql} WHERE ({condition})").collect()[0][0])


def highest(spark: SparkSession, table: TableRef, column: str) -> object:
    """The largest value of a column, None where there is none."""
    found: object = new_session(spark).sql(f"SELECT max({quote(column)}) FROM {table.sql}").collect()[0][0]
    return found.astimezone(timezone.utc) if isinstance(found, datetime) else found


def delete_rows(spark: SparkSession, table: TableRef, condition: str, run_id: str) -> None:
    """One commit, or none where no row is concerned."""
    F.expr(condition)
    note = json.dumps({"lakepact": 1, "run_id": run_id, "table": table.name})
    commit(new_session(spark), f"DELETE FROM {table.sql} WHERE ({condition})", note)
