"""One run of one plan, from top to bottom. Everything that could be decided was decided in the plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakepact.errors import AlreadyWrittenError, UnbalancedError
from lakepact.names import TableRef
from lakepact.plan.commits import commit_text, holds_same_rows
from lakepact.plan.idempotency import in_order
from lakepact.plan.loaded import Loaded, LoadedFile
from lakepact.plan.outcome import FATES, Outcome, imbalance, what_was_written
from lakepact.plan.plan import Plan
from lakepact.plan.state import Commit, TableState, Transaction
from lakepact.plan.target import total
from lakepact.secrets import Provider
from lakepact.spark.checks import check, check_again, look_for_columns, parse_expressions
from lakepact.spark.commit import SOON, TableMovedError, again_on_conflict, commit
from lakepact.spark.files import keep_loaded
from lakepact.spark.maintain import tidy_up
from lakepact.spark.read import read_source, with_all_columns
from lakepact.spark.session import new_session

MEANWHILE = "the batch was written by another run meanwhile"
ANY_REJECTED = "SELECT 1 FROM `judged` WHERE `_rejected` LIMIT 1"
COUNT_EFFECTS = "SELECT `_effect`, count(*) FROM `changes` GROUP BY `_effect`"

Progress = Callable[[str, str, Outcome], None]
Step = Callable[[str], AbstractContextManager[None]]


class Tables(Protocol):
    """Who knows a table's commits: its own log, or Spark's catalog."""

    def state(self, table: TableRef) -> TableState | None: ...

    def version(self, table: TableRef) -> int: ...

    def commit(self, table: TableRef, run_id: str, after: int) -> Commit | None: ...

    def transaction(self, table: TableRef, app_id: str) -> int | None: ...

    def writer_of(self, table: TableRef, key: str) -> str | None: ...

    def make_way(self, table: TableRef) -> None: ...

    def loaded(self, table: TableRef, kept: TableRef) -> Loaded: ...


@dataclass(frozen=True)
class Engine:
    """What a run is done with."""

    spark: SparkSession
    tables: Tables
    provider: Provider
    progress: Progress


@dataclass(frozen=True)
class Run:
    """One run while it is under way: its plan, its own session, and where it notes what happens."""

    plan: Plan
    session: SparkSession
    tables: Tables
    outcome: Outcome
    step: Step
    kept: ExitStack


def run_plan(plan: Plan, engine: Engine, outcome: Outcome) -> None:
    """Do what the plan says; `outcome` holds what happened, also when this raises."""
    step = _steps(plan.contract.name, engine.progress, outcome)
    outcome.version_before = plan.world.target.version if plan.world.target else None
    with ExitStack() as kept:
        run = Run(plan, _session(plan, engine.spark), engine.tables, outcome, step, kept)
        with step("read"):
            source = read_source(run.session, plan.read, engine.provider, outcome.secrets)
            source, missing = with_all_columns(source, plan.read)
            outcome.notes += [*plan.notes, *([f"no file brings {', '.join(missing)}"] if missing else [])]
            outcome.bad_files = len(plan.world.bad_files)
            source.createOrReplaceTempView("source")
            parse_expressions(plan)
            look_for_columns(plan, run.session, source, outcome)
        if plan.materialise:
            _judge_first(run)
        else:
            _write_at_once(run)
    with step("balance"):
        _balance(plan, outcome)
    if plan.world.new_files:
        with step("files"):
            _keep_files(run)
    if plan.optimize is not None and outcome.commits:
        with step("optimize"):
            tidy_up(plan.optimize, plan, run.session, outcome)


def _keep_files(run: Run) -> None:
    """What the commits say of files is written down, for commits are forgotten one day."""
    plan, version = run.plan, run.outcome.version_after
    _write_down(run, [LoadedFile(file, version or 0, plan.run.run_id) for file in plan.world.new_files or ()])


def _write_down(run: Run, files: list[LoadedFile]) -> None:
    table, exists = run.plan.files_table, _is_there(run, run.plan.files_table)
    again_on_conflict(partial(keep_loaded, run.session, table, files, exists), run.plan.retry)


def make_good(plan: Plan, engine: Engine) -> None:
    """A run died after its write: the rows that it rejected are set aside, and its files written down."""
    outcome = Outcome()
    with ExitStack() as kept:
        step = _steps(plan.contract.name, engine.progress, outcome)
        run = Run(plan, _session(plan, engine.spark), engine.tables, outcome, step, kept)
        if plan.quarantine is not None and plan.world.new_files:
            read_source(run.session, plan.read, engine.provider, []).createOrReplaceTempView("source")
            _show_batch(plan, run.session, run.session.sql(plan.judgement.sql))
            if run.session.sql(ANY_REJECTED).collect():
                again_on_conflict(lambda: _set_aside(run), plan.retry)
        _write_down(run, list(plan.world.unkept_files))


def _judge_first(run: Run) -> None:
    """The batch is kept and counted; nothing is written until everything was checked."""
    plan, session, outcome = run.plan, run.session, run.outcome
    with run.step("judge"):
        batch = session.sql(plan.judgement.sql)
        _show_batch(plan, session, _kept(run, batch) if plan.keeps else batch)
        _note_counts(outcome, session.sql(plan.count).collect()[0].asDict())
    with run.step("check"):
        check(plan, session, outcome)
    with run.step("prepare"):
        _prepare(run)
    with run.step("quarantine"):
        _quarantine(run)
    with run.step("write"):
        again_on_conflict(lambda: _write_changes(run), plan.retry)


def _write_at_once(run: Run) -> None:
    """Nothing can stop this write: rows go straight into the table, and are counted on the way."""
    with run.step("check"):
        check(run.plan, run.session, run.outcome)
    with run.step("prepare"):
        _prepare(run)
    with run.step("write"):
        again_on_conflict(lambda: _write_counting(run), run.plan.retry)
    with run.step("quarantine"):
        if run.outcome.counts["quarantined"]:
            _quarantine_again(run)


def _write_counting(run: Run) -> None:
    if run.outcome.tries:
        _look_again(run)
    plan, outcome, observed = run.plan, run.outcome, Observation()
    judged = run.session.sql(plan.judgement.sql)
    metrics = [F.expr(sql).alias(name) for name, sql in plan.judgement.metrics]
    _show_batch(plan, run.session, judged if plan.commit_counts else judged.observe(observed, *metrics))
    own = _write(run, run.tables.version(plan.target), plan.world.transaction)
    told = own.metrics.get("numOutputRows", 0) if own else 0
    _note_counts(outcome, {name: told for name, _ in plan.judgement.metrics} if plan.commit_counts else observed.get)


def _write_changes(run: Run) -> None:
    """The look at the table and the write are two steps: where another run wrote between them, both are done again."""
    plan, outcome = run.plan, run.outcome
    seen = run.tables.version(plan.target)
    if outcome.tries:
        _look_again(run)
    if not _has_changes(run):
        return
    keyed = plan.world.transaction if not outcome.commits else None
    own = _write(run, seen, keyed or (in_order(seen) if plan.changes else None))
    if plan.changes and own and own.read_version is not None and own.read_version > seen:
        raise TableMovedError


def _look_again(run: Run) -> None:
    """After another writer was faster: it may have been the same batch, or have changed what the guards ask about."""
    keyed = run.plan.world.transaction
    if keyed is not None and not run.outcome.commits and _holds(run, keyed):
        raise AlreadyWrittenError(MEANWHILE)
    check_again(run.plan, run.session, run.outcome)


def _write(run: Run, seen: int, transaction: Transaction | None) -> Commit | None:
    """Only this commit says which rows it left; one that made or altered the table left none."""
    plan, outcome = run.plan, run.outcome
    outcome.tries += 1
    outcome.wrote = False
    try:
        note = commit_text(plan, outcome, outcome.content, transaction)
        commit(run.session, plan.write, note, transaction)
    except Exception:
        if run.tables.commit(plan.target, plan.run.run_id, seen) is None:
            raise
    own = run.tables.commit(plan.target, plan.run.run_id, seen)
    outcome.wrote = True
    if own is not None:
        outcome.commits.append(own)
    elif transaction is not None and _holds(run, transaction):
        if transaction == plan.world.transaction:
            raise AlreadyWrittenError(MEANWHILE)
        raise TableMovedError
    return own


def _holds(run: Run, transaction: Transaction) -> bool:
    """Whether the table's log already has the transaction, so that Delta wrote nothing."""
    there = run.tables.transaction(run.plan.target, transaction.app_id)
    return there is not None and there >= transaction.version


def _quarantine_again(run: Run) -> None:
    """Rejected rows by a second scan, which must find just as many."""
    observed, outcome = Observation(), run.outcome
    judged = run.session.sql(run.plan.judgement.sql)
    again = judged.observe(observed, F.count_if(F.col("_rejected")).alias("rejected"))
    _show_batch(run.plan, run.session, again)
    made = _quarantine(run)
    # Spark observes no statement that makes its table; there every rejected row was added, and Delta counted them.
    first, second = outcome.counts["quarantined"], outcome.quarantine_added if made else observed.get["rejected"]
    if first != second:
        raise UnbalancedError(f"the source changed while it was read: {first} row(s) rejected, then {second}")


def _show_batch(plan: Plan, session: SparkSession, batch: DataFrame) -> None:
    batch.createOrReplaceTempView("judged")
    session.sql(plan.accepted).createOrReplaceTempView("accepted")


def _prepare(run: Run) -> None:
    note = commit_text(run.plan, run.outcome)
    if run.plan.world.target is None:
        run.tables.make_way(run.plan.target)
    for statement in run.plan.ddl:
        again_on_conflict(partial(commit, run.session, statement, note), SOON)


def look_at_source(plan: Plan, engine: Engine, outcome: Outcome) -> tuple[str, dict[str, str]]:
    """The schema of a source, as Spark writes it, and the columns it brings after its transforms with their types."""
    session = _session(plan, engine.spark)
    source, _ = with_all_columns(read_source(session, plan.read, engine.provider, outcome.secrets), plan.read)
    source.createOrReplaceTempView("source")
    prepared = session.sql(plan.judgement.prepared).schema if plan.contract.transform else source.schema
    return source.schema.json(), {field.name: field.dataType.simpleString() for field in prepared}


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


def _kept(run: Run, frame: DataFrame) -> DataFrame:
    """The same frame, computed when it is first asked for and kept from then on; Spark Connect caches it."""
    if run.plan.world.observes_writes:
        return frame.localCheckpoint(eager=False, storageLevel=StorageLevel.DISK_ONLY)
    cached = frame.persist(StorageLevel.DISK_ONLY)
    run.kept.callback(cached.unpersist)
    return cached


def _changes(run: Run, sql: str) -> DataFrame:
    """What must change, kept, or made of stages that are; plain changes are so cheap that they are made again."""
    empty = False
    for name, stage in run.plan.stages:
        frame = _kept(run, run.session.sql(stage))
        frame.createOrReplaceTempView(name)
        empty = frame.isEmpty()
    if empty and run.plan.plain_changes:
        return run.session.sql(run.plan.plain_changes)
    return _kept(run, run.session.sql(sql))


def _note_counts(outcome: Outcome, counted: Mapping[str, Any]) -> None:
    counts = dict(counted)
    content = counts.pop("content", None)
    outcome.content = None if content is None else f"{content}/{counts['accepted']}"
    outcome.counts = {**dict.fromkeys(FATES, 0), **{name: int(value) for name, value in counts.items()}}


def _quarantine(run: Run) -> bool:
    """Whether the rejected rows made their table."""
    plan, outcome = run.plan, run.outcome
    if plan.quarantine is None or not (outcome.counts["quarantined"] or outcome.bad_files):
        return False
    made = again_on_conflict(lambda: _set_aside(run), plan.retry)
    state = plan.world.quarantine
    own = run.tables.commit(plan.quarantine.table, plan.run.run_id, state.version if state else -1)
    outcome.quarantine_added = own.metrics.get("numOutputRows", 0) if own else 0
    return made


def _set_aside(run: Run) -> bool:
    """The first rejected rows make their table; where another run was faster they are added to its."""
    quarantine = run.plan.quarantine
    assert quarantine is not None
    exists = _is_there(run, quarantine.table)
    for statement in quarantine.statements(exists):
        commit(run.session, statement, commit_text(run.plan, run.outcome))
    return not exists


def _is_there(run: Run, table: TableRef) -> bool:
    """Whether a table beside exists; where it does not, nothing is left in its way."""
    there = run.tables.state(table) is not None
    if not there:
        run.tables.make_way(table)
    return there


def _has_changes(run: Run) -> bool:
    """Whether there is anything to write; modes that compare with the table keep and count their changes first."""
    plan, outcome = run.plan, run.outcome
    if plan.changes is None:
        return not holds_same_rows(plan, outcome)
    _changes(run, plan.changes).createOrReplaceTempView("changes")
    found = {row[0]: int(row[1]) for row in run.session.sql(COUNT_EFFECTS).collect() if row[0]}
    for statement in plan.find_partitions if found else ():
        run.session.sql(statement)
    outcome.effects = total(outcome.effects if outcome.commits else {}, found)
    return bool(found)


def _balance(plan: Plan, outcome: Outcome) -> None:
    outcome.version_after = outcome.commits[-1].version if outcome.commits else outcome.version_before
    due = plan.must_commit(outcome.counts["accepted"], outcome.effects)
    if outcome.wrote and not outcome.commits and due:
        raise UnbalancedError("the write left no commit of this run in the table's history")
    outcome.written = what_was_written(plan, outcome)
    wrong = imbalance(outcome)
    if wrong:
        raise UnbalancedError(f"rows do not add up: {wrong}")
