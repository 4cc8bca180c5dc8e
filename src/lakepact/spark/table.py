"""A table without a batch: altered, or its rows counted and deleted by a condition that was checked before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakepact.names import TableRef, quote
from lakepact.spark.commit import SOON, again_on_conflict, commit
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
    commit(new_session(spark), f"DELETE FROM {table.sql} WHERE ({condition})", _note(table, run_id))


def alter_table(spark: SparkSession, table: TableRef, statements: Sequence[str], run_id: str) -> None:
    """Each statement is a commit; one that meets another writer is tried again."""
    session = new_session(spark)
    for statement in statements:
        again_on_conflict(partial(commit, session, statement, _note(table, run_id)), SOON)


def _note(table: TableRef, run_id: str) -> str:
    return json.dumps({"lakepact": 1, "run_id": run_id, "table": table.name})
