"""Statements that commit: each carries who made it, and is tried again where another writer was faster."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pyspark.sql import SparkSession

from lakepact.plan.plan import Retry
from lakepact.plan.state import Transaction

METADATA = "spark.databricks.delta.commitInfo.userMetadata"
APP_ID = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
LONGEST_PAUSE = 30.0

# Delta's own classes; over Spark Connect only the names of the conditions arrive.
CONFLICTS = frozenset({
    "ConcurrentAppendException", "ConcurrentDeleteReadException", "ConcurrentDeleteDeleteException",
    "ConcurrentTransactionException", "ConcurrentWriteException", "MetadataChangedException",
    "ProtocolChangedException",
})  # fmt: skip
CONDITIONS = (
    "DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "TABLE_OR_VIEW_ALREADY_EXISTS",
    "DELTA_TABLE_ALREADY_EXISTS", "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
)  # fmt: skip
# For making and altering a table: another run may be doing the same this very moment, but not for long.
SOON = Retry(6, 0.2)

T = TypeVar("T")


class TableMovedError(Exception):
    """Someone wrote between the look at the table and our write to it."""

    def __init__(self) -> None:
        super().__init__("DELTA_CONCURRENT_WRITE: the table changed between the look at it and the write")


def commit(session: SparkSession, statement: str, note: str, transaction: Transaction | None = None) -> None:
    """Note and transaction land in the same commit as the data; a transaction that is there already writes nothing."""
    session.conf.set(METADATA, note)
    with _transaction(session, transaction):
        session.sql(statement).collect()


@contextmanager
def _transaction(session: SparkSession, transaction: Transaction | None) -> Iterator[None]:
    if transaction is None:
        yield
        return
    session.conf.set(APP_ID, transaction.app_id)
    session.conf.set(VERSION, str(transaction.version))
    try:
        yield
    finally:
        session.conf.unset(APP_ID)
        session.conf.unset(VERSION)


def again_on_conflict(work: Callable[[], T], retry: Retry) -> T:
    """Bounded: the pause doubles, and is spread so that two writers do not meet again."""
    for number in range(1, retry.attempts):
        try:
            return work()
        except Exception as error:  # noqa: PERF203 - trying again is a loop around a try
            if not is_conflict(error):
                raise
            longest = min(retry.pause * 2 ** (number - 1), LONGEST_PAUSE)
            time.sleep(longest * random.uniform(0.5, 1))  # noqa: S311 - no secret
    return work()


def is_conflict(error: Exception) -> bool:
    """Whether trying again can help: by the class of what was thrown, never by its wording."""
    if isinstance(error, TableMovedError):
        return True
    condition = str(getattr(error, "getCondition", lambda: None)() or "")
    return condition.startswith(CONDITIONS) or any(name in CONFLICTS for name in _classes(error))


def _classes(error: Exception) -> Iterator[str]:
    yield type(error).__name__
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        yield java.getClass().getSimpleName()
        java = java.getCause()
