"""OPTIMIZE and VACUUM: after a write, or between runs."""

from __future__ import annotations

import json
import time
from dataclasses import replace

from pyspark.sql import Row, SparkSession

from lakepact.plan.commits import commit_text, note_of
from lakepact.plan.maintain import Chore, Optimized, Vacuumed
from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Plan, Retry
from lakepact.spark.commit import METADATA, again_on_conflict, commit
from lakepact.spark.failures import engine_error
from lakepact.spark.session import new_session

RETRY = Retry(5, 0.5)
RECENT = 20


def tidy_up(statement: str, plan: Plan, session: SparkSession, outcome: Outcome) -> None:
    """After the write: the rows are in the table, so that a failure here is noted and fails nothing."""
    note = commit_text(plan, outcome)
    try:
        again_on_conflict(lambda: commit(session, statement, note), plan.retry)
    except Exception as error:  # noqa: BLE001 - whatever it was, a run that wrote its rows did not fail
        outcome.notes.append(f"the rows are written, but OPTIMIZE failed: {engine_error(error)}")


def optimize(spark: SparkSession, chore: Chore, token: str) -> Optimized:
    """Files before and after; a table that has nothing to compact gets no commit."""
    if chore.state is None:
        return Optimized(chore.table.name, "missing")
    began = time.monotonic()
    before = Optimized(
        chore.table.name, "unchanged", chore.state.files, chore.state.files, chore.state.bytes, chore.state.bytes
    )
    try:
        found = _done(spark, chore, token)[0]["metrics"]
    except Exception as error:  # noqa: BLE001 - the other tables get their turn
        return replace(before, status="failed", error=str(engine_error(error)), seconds=time.monotonic() - began)
    return replace(_after(before, found), seconds=time.monotonic() - began)


def _after(before: Optimized, found: Row) -> Optimized:
    added, removed = found["filesAdded"], found["filesRemoved"]
    if not added["totalFiles"] and not removed["totalFiles"]:
        return before
    return replace(
        before,
        status="done",
        files_after=_plus(before.files_before, added["totalFiles"] - removed["totalFiles"]),
        bytes_after=_plus(before.bytes_before, added["totalSize"] - removed["totalSize"]),
    )


def _plus(count: int | None, more: int) -> int | None:
    return None if count is None else count + more


def vacuum(spark: SparkSession, chore: Chore, token: str) -> Vacuumed:
    """How many files went, or would go."""
    if chore.state is None:
        return Vacuumed(chore.table.name, "missing")
    began = time.monotonic()
    try:
        found = _done(spark, chore, token)
        counted = Vacuumed(chore.table.name, "would", len(found)) if chore.dry_run else _removed(spark, chore, token)
    except Exception as error:  # noqa: BLE001 - the other tables get their turn
        counted = Vacuumed(chore.table.name, "failed", error=str(engine_error(error)))
    return replace(counted, seconds=time.monotonic() - began)


def _removed(spark: SparkSession, chore: Chore, token: str) -> Vacuumed:
    """VACUUM itself tells nothing; its two commits do."""
    history = spark.sql(f"DESCRIBE HISTORY {chore.table.sql} LIMIT {RECENT}").collect()
    own = [entry for entry in history if note_of(entry["userMetadata"]).get("upkeep") == token]
    counted = {name: int(value) for entry in own for name, value in (entry["operationMetrics"] or {}).items()}
    files = counted.get("numDeletedFiles")
    return Vacuumed(chore.table.name, "done" if files else "unchanged", files, counted.get("sizeOfDataToDelete"))


def _done(spark: SparkSession, chore: Chore, token: str) -> list[Row]:
    """In a session of its own, so that its settings are nobody else's."""
    session = new_session(spark)
    for key, value in chore.settings.items():
        session.conf.set(key, value)
    session.conf.set(METADATA, json.dumps({"lakepact": 1, "upkeep": token, "table": chore.table.name}))
    return again_on_conflict(lambda: session.sql(chore.statement).collect(), RETRY)
