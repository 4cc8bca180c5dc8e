"""One run of one plan, from top to bottom. Everything that could be decided was decided in the plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakepact.errors import QualityError, UnbalancedError
from lakepact.names import TableRef, quote, quoted
from lakepact.plan.commits import Commit, commit_text, holds_same_rows
from lakepact.plan.outcome import Outcome, imbalance, reasons_to_stop
from lakepact.plan.plan import Plan
from lakepact.plan.rules import ColumnsRule
from lakepact.plan.state import TableState
from lakepact.secrets import Provider
from lakepact.spark.read import read_source
from lakepact.spark.session import new_session

MOST_DOUBLES = 20
EFFECTS = ("insert", "update", "delete", "soft_delete", "expire", "move", "tombstone")
METADATA = "spark.databricks.delta.commitInfo.userMetadata"

Progress = Callable[[str, str, Outcome], None]
Step = Callable[[str], AbstractContextManager[None]]


class Tables(Protocol):
    """Who knows a table's commits: its own log, or Spark's catalog."""

    def state(self, table: TableRef) -> TableState | None: ...

    def commit(self, table: TableRef, run_id: str, after: int) -> Commit | None: ...


@dataclass(frozen=True)
class Engine:
    """What a run is done with."""

    spark: SparkSession
    tables: Tables
    provider: Provider
    progress: Progress


def run_plan(plan: Plan, engine: Engine, outcome: Outcome) -> None:
    """Do what the plan says; `outcome` holds what happened, also when this raises."""
    session = _session(plan, engine.spark)
    step = _steps(plan.contract.name, engine.progress, outcome)
    outcome.version_before = plan.world.target.version if plan.world.target else None
    with step("read"):
        source = read_source(session, plan.read, engine.provider, outcome.secrets)
        source.createOrReplaceTempView("source")
        _parse_expressions(plan)
        _look_for_columns(plan, session, source, outcome)
    with ExitStack() as kept:
        follow = _judge_first if plan.materialise else _write_at_once
        follow(plan, session, engine.tables, outcome, step, kept)
    with step("balance"):
        _balance(plan, outcome, engine.tables)


def _judge_first(
    plan: Plan, session: SparkSession, tables: Tables, outcome: Outcome, step: Step, kept: ExitStack
) -> None:
    """The batch is kept and counted; nothing is written until everything was checked."""
    with step("judge"):
        batch, counted = _keep(plan, session.sql(plan.judgement.sql), _metrics(plan), kept)
        _note_counts(outcome, counted)
        _show_batch(plan, session, batch)
    with step("check"):
        _check(plan, session, outcome)
    with step("prepare"):
        _prepare(plan, session, outcome)
    with step("quarantine"):
        _quarantine(plan, session, outcome, tables)
    with step("write"):
        if _has_changes(plan, session, outcome, kept):
            _write(plan, session, outcome)


def _write_at_once(
    plan: Plan, session: SparkSession, tables: Tables, outcome: Outcome, step: Step, kept: ExitStack
) -> None:
    """Nothing can stop this write: rows go straight into the table, and are counted on the way."""
    del kept
    observed = Observation()
    with step("check"):
        _check(plan, session, outcome)
    with step("prepare"):
        _prepare(plan, session, outcome)
    with step("write"):
        _show_batch(plan, session, session.sql(plan.judgement.sql).observe(observed, *_metrics(plan)))
        _write(plan, session, outcome)
        _note_counts(outcome, observed.get)
    with step("quarantine"):
        if outcome.counts["quarantined"]:
            _quarantine_again(plan, session, outcome, tables)


def _quarantine_again(plan: Plan, session: SparkSession, outcome: Outcome, tables: Tables) -> None:
    """Rejected rows by a second scan, which must find just as many."""
    observed = Observation()
    again = session.sql(plan.judgement.sql).observe(observed, F.count_if(F.col("_rejected")).alias("rejected"))
    _show_batch(plan, session, again)
    _quarantine(plan, session, outcome, tables)
    if observed.get["rejected"] != outcome.counts["quarantined"]:
        first, second = outcome.counts["quarantined"], observed.get["rejected"]
        raise UnbalancedError(f"the source changed while it was read: {first} row(s) rejected, then {second}")


def _show_batch(plan: Plan, session: SparkSession, batch: DataFrame) -> None:
    batch.createOrReplaceTempView("judged")
    session.sql(plan.accepted).createOrReplaceTempView("accepted")


def _prepare(plan: Plan, session: SparkSession, outcome: Outcome) -> None:
    for statement in plan.ddl:
        _sql(session, statement, commit_text(plan, outcome))


def _write(plan: Plan, session: SparkSession, outcome: Outcome) -> None:
    """Only this commit says which rows it left; one that made or altered the table left none."""
    outcome.wrote = True
    _sql(session, plan.write, commit_text(plan, outcome, outcome.content))


def source_columns(plan: Plan, engine: Engine, outcome: Outcome) -> dict[str, str]:
    """The columns a source brings after its transforms, for a contract that declares none."""
    session = _session(plan, engine.spark)
    read_source(session, plan.read, engine.provider, outcome.secrets).createOrReplaceTempView("source")
    schema = session.sql(plan.judgement.prepared).schema
    return {field.name: field.dataType.simpleString() for field in schema}


def _session(plan: Plan, spark: SparkSession) -> SparkSession:
    """One for this run alone: its views and settings are nobody else's."""
    session = new_session(spark)
    for key, value in plan.settings.items():
        session.conf.set(key, value)
    return session


def _steps(table: str, progress: Progress, outcome: Outcome) -> Step:
    """Each step is announced, named in case it fails, and timed."""

    @contextmanager
    def step(name: str) -> Iterator[None]:
        outcome.step = name
        progress(table, name, outcome)
        began = time.monotonic()
        try:
            yield
        finally:
            outcome.steps[name] = time.monotonic() - began

    return step


def _parse_expressions(plan: Plan) -> None:
    """Spark's own parser reads each of the user's expressions alone, before it stands in a statement."""
    for text in plan.expressions:
        F.expr(text)


def _look_for_columns(plan: Plan, session: SparkSession, source: DataFrame, outcome: Outcome) -> None:
    """Names are compared before any row is read: a clear error, not a half-run job."""
    arrived = {name.lower() for name in source.columns}
    for rule in plan.rules:
        if isinstance(rule, ColumnsRule):
            missing = [name for name in rule.columns if name.lower() not in arrived]
            outcome.missing[rule.name] = missing
            if missing and rule.action == "fail":
                raise QualityError(f"rule {rule.name}: the source lacks {', '.join(missing)}")
    if not plan.contract.columns:
        return
    if plan.contract.transform:
        source = session.sql(plan.judgement.prepared)
        arrived = {name.lower() for name in source.columns}
    wanted = [column.name for column in plan.contract.columns]
    missing = [name for name in wanted if name.lower() not in arrived]
    if missing:
        brings = ", ".join(name for name in source.columns if not name.startswith("_"))
        raise QualityError(f"the source lacks the column(s) {', '.join(missing)}; it brings {brings}")


def _metrics(plan: Plan) -> list[Column]:
    content = [("content", plan.judgement.content)] if plan.skip_unchanged else []
    return [F.expr(sql).alias(name) for name, sql in (*plan.judgement.metrics, *content)]


def _keep(plan: Plan, frame: DataFrame, metrics: list[Column], kept: ExitStack) -> tuple[DataFrame, Mapping[str, Any]]:
    """The frame, computed once and counted on the way; Spark Connect caches it, and counts what it cached."""
    if plan.world.observes_writes:
        observed = Observation()
        once = frame.observe(observed, *metrics).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
        return once, observed.get
    cached = frame.persist(StorageLevel.DISK_ONLY)
    kept.callback(cached.unpersist)
    return cached, cached.agg(*metrics).collect()[0].asDict()


def _note_counts(outcome: Outcome, counted: Mapping[str, Any]) -> None:
    counts = dict(counted)
    content = counts.pop("content", None)
    outcome.content = None if content is None else f"{content}/{counts['accepted']}"
    outcome.counts = {name: int(value) for name, value in counts.items()}


def _check(plan: Plan, session: SparkSession, outcome: Outcome) -> None:
    """All that can stop the write, before anything is written."""
    for rule in plan.key_rules:
        keys = quoted(rule.keys)
        known = " AND ".join(f"{quote(key)} IS NOT NULL" for key in rule.keys)
        sql = f"SELECT {keys}, count(*) AS n FROM `accepted` WHERE {known} GROUP BY {keys} HAVING count(*) > 1"
        found = session.sql(f"{sql} ORDER BY n DESC, {keys} LIMIT {MOST_DOUBLES + 1}").collect()
        hidden = [key in plan.contract.masks for key in rule.keys]
        outcome.doubles[rule.name] = [
            " / ".join("***" if masked else str(value) for value, masked in zip(row[:-1], hidden, strict=True))
            for row in found
        ]
    for guard in plan.guards:
        answer = session.sql(guard.sql).collect()[0][0]
        outcome.refusals += [f"{answer:,} {guard.message}"] if answer else []
    if plan.refuse_empty and not plan.materialise and not session.sql(plan.probe).take(1):
        outcome.counts["accepted"] = 0
    reasons = reasons_to_stop(plan, outcome)
    if reasons:
        raise QualityError("; ".join(reasons))


def _sql(session: SparkSession, statement: str, note: str) -> None:
    """Every commit carries who made it and why, in the same step as the data."""
    session.conf.set(METADATA, note)
    session.sql(statement).collect()


def _quarantine(plan: Plan, session: SparkSession, outcome: Outcome, tables: Tables) -> None:
    if plan.quarantine is None or not outcome.counts["quarantined"]:
        return
    state = plan.world.quarantine
    for statement in (*plan.quarantine.prepare, plan.quarantine.insert):
        _sql(session, statement, commit_text(plan, outcome))
    commit = tables.commit(plan.quarantine.table, plan.run.run_id, state.version if state else -1)
    outcome.quarantine_added = commit.metrics.get("numOutputRows", 0) if commit else 0


def _has_changes(plan: Plan, session: SparkSession, outcome: Outcome, kept: ExitStack) -> bool:
    """Whether there is anything to write; modes that compare with the table keep and count their changes first."""
    if plan.changes is None:
        return not holds_same_rows(plan, outcome)
    changes, counted = _keep(plan, session.sql(plan.changes), [_count_effect(name) for name in EFFECTS], kept)
    outcome.effects = {name: int(count) for name, count in counted.items() if count}
    changes.createOrReplaceTempView("changes")
    return bool(outcome.effects)


def _count_effect(name: str) -> Column:
    return F.count_if(F.col("_effect") == name).alias(name)


def _balance(plan: Plan, outcome: Outcome, tables: Tables) -> None:
    before = -1 if outcome.version_before is None else outcome.version_before
    commit = tables.commit(plan.target, plan.run.run_id, before)
    outcome.version_after = commit.version if commit else outcome.version_before
    outcome.commits = 1 if commit else 0
    if outcome.wrote and commit is None and outcome.counts["accepted"]:
        raise UnbalancedError("the write left no commit of this run in the table's history")
    outcome.written = plan.mode.counts(commit.metrics if commit else None, outcome.effects, outcome.counts["accepted"])
    wrong = imbalance(outcome)
    if wrong:
        raise UnbalancedError(f"rows do not add up: {wrong}")
