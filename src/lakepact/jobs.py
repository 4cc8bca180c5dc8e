"""Contracts as jobs: each goes from plan to record, whatever happens on the way."""

from __future__ import annotations

import secrets as random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

from lakepact import __version__, secrets
from lakepact.arrivals import nothing_is_left_undone, what_is_new
from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.contract.source import Source
from lakepact.delta.files import file_bytes
from lakepact.driver.order import held_back, reads
from lakepact.errors import (
    AlreadyWrittenError,
    LakepactError,
    LakepactExecutionError,
    PlanError,
    Problem,
    QualityError,
)
from lakepact.evidence.record import Rows, RunRecord, make_record, unplanned_record
from lakepact.evidence.stores import JsonFiles
from lakepact.names import TableRef, plain_name
from lakepact.plan.bad_files import SortedFiles, told
from lakepact.plan.idempotency import app_id, decide
from lakepact.plan.loaded import SourceFile
from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Places, Plan, make_plan
from lakepact.plan.read import read_for
from lakepact.plan.state import RunIdentity, Transaction, Window, World
from lakepact.plan.transform import asked_of_source
from lakepact.site import Look, Site, Watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_all(
    selected: list[Contract], site: Site, window: Window | None, watch: Watch, given_view: str | None = None
) -> list[RunRecord]:
    """In order; a failure holds back only what reads its table."""
    records: list[RunRecord] = []
    failed: list[Contract] = []
    for contract in selected:
        blocker = held_back(contract, failed)
        record = skipped(contract, blocker, site) if blocker else run_one(contract, site, window, given_view)
        watch.record(record)
        records.append(record)
        if not record.ok:
            failed.append(contract)
    return records


def run_one(
    contract: Contract,
    site: Site,
    window: Window | None = None,
    given_view: str | None = None,
    micro_batch: Transaction | None = None,
) -> RunRecord:
    """The one place that catches everything, for every run leaves a record."""
    from lakepact.spark.failures import engine_error

    run, tried, error = new_run(), _Try(Outcome(secrets=[*site.hidden])), None
    attempt = partial(_attempt, contract, site, window, given_view, micro_batch, run, tried)
    try:
        _again_without_bad_files(attempt, contract, site, tried)
    except LakepactError as known:
        error = known
    except KeyboardInterrupt as stopped:
        _write(_record(contract, tried.plan, tried.outcome, stopped, run, site), site)
        raise
    except Exception as unknown:  # noqa: BLE001 - whatever it was, it becomes the record of a failed run
        error = engine_error(unknown)
    return _write(_record(contract, tried.plan, tried.outcome, error, run, site), site)


@dataclass
class _Try:
    """How far a run came."""

    outcome: Outcome
    world: World | None = None
    plan: Plan | None = None


def _attempt(
    contract: Contract,
    site: Site,
    window: Window | None,
    given_view: str | None,
    micro_batch: Transaction | None,
    run: RunIdentity,
    tried: _Try,
    files: SortedFiles | None = None,
) -> None:
    from lakepact.spark.run import run_plan

    transaction = _in_turn(contract, micro_batch, site) if micro_batch else _transaction(contract, site)
    world = world_of(contract, site.project, site.places, site.engine.tables.state)
    world = replace(world, transaction=transaction, given_view=given_view, streamed=micro_batch is not None)
    world = replace(world, sorted_files=files)
    if given_view is None:
        _not_streamed(contract)
        world = what_is_new(contract, site, world, window)
        nothing_is_left_undone(contract, site, world, run.now)
    tried.world = world
    tried.plan = _plan(contract, site, world, window, run, tried.outcome)
    run_plan(tried.plan, site.engine, tried.outcome)


def _again_without_bad_files(
    attempt: Callable[[SortedFiles | None], None], contract: Contract, site: Site, tried: _Try
) -> None:
    """Where a read of files fails, it is found out which of them are why; good loads pay nothing for it."""
    try:
        attempt(None)
    except Exception as failure:
        if isinstance(failure, LakepactError) and not tried.outcome.lacking:
            raise
        files = _sorted_out(contract, site, tried, failure)
        if files is None:
            raise
        tried.outcome = Outcome(secrets=tried.outcome.secrets)
        attempt(files)


def _sorted_out(contract: Contract, site: Site, tried: _Try, failure: Exception) -> SortedFiles | None:
    """The files of a load that failed, where they are the reason and the contract lets the others be loaded."""
    from lakepact.spark.sort_files import is_of_files, sort_files

    source, world, spark = contract.source, tried.world, site.engine.spark
    if source is None or source.path is None or world is None or world.given_view:
        return None
    reading, lacking = tried.plan is None or tried.outcome.step == "read", bool(tried.outcome.lacking)
    if not lacking and not is_of_files(failure, reading):
        return None
    read = read_for(source, site.places.locate, site.places.path, None)
    files = _files_of(source, site, world)
    declared, asked = {column.name.lower(): column.type for column in contract.columns}, asked_of_source(contract)
    found = sort_files(spark, read, files, site.engine.provider, declared, asked)
    if lacking and not found.alike and source.bad_files == "fail":
        return None
    if found.bad and source.bad_files == "fail":
        raise QualityError(f"{told(found.bad)}; mend or remove them, or say source.bad_files: quarantine")
    if found.bad and not found.alike and not asked:
        raise QualityError(f"{told(found.bad)}; none is left, and no columns are declared")
    return found if found.differ or (lacking and source.bad_files == "quarantine") else None


def _files_of(source: Source, site: Site, world: World) -> tuple[SourceFile, ...]:
    """The files that the load was about."""
    from lakepact.spark.files import list_remote

    if world.new_files is not None:
        return world.new_files
    path = secrets.resolve(site.project.place(source.path or ""), site.engine.provider, [])
    return list_remote(site.engine.spark, path, source.pattern, deep=False)


def delete_from(contract: Contract, site: Site, condition: str, preview: bool) -> RunRecord:
    """Rows deleted by a condition, as a run of its own; a preview only counts them and leaves no record."""
    from lakepact.spark.failures import engine_error
    from lakepact.spark.table import count_rows, delete_rows

    run, table, tables = new_run(), site.places.locate(contract.name), site.engine.tables
    before, deleted, after, error = tables.version(table), 0, None, None
    try:
        if before < 0:
            raise PlanError([Problem(f"there is no table {contract.name!r} to delete from", "delete")])
        if preview:
            deleted = count_rows(site.engine.spark, table, condition)
        else:
            delete_rows(site.engine.spark, table, condition, run.run_id)
            own = tables.commit(table, run.run_id, before)
            deleted, after = (own.metrics.get("numDeletedRows", 0), own.version) if own else (0, before)
    except LakepactError as known:
        error = known
    except Exception as unknown:  # noqa: BLE001 - whatever it was, it becomes the record of a failed run
        error = engine_error(unknown)
    status = "failed" if error else "success"
    record = unplanned_record(contract, run, error, status, _now(), site.project.environment_name)
    told = replace(record, mode="delete", rows=Rows(deleted=deleted), version_before=before, version_after=after)
    return told if preview else _write(told, site)


@contextmanager
def shared(frame: DataFrame | None) -> Iterator[str | None]:
    """A DataFrame under a name that every session of its Spark can see, for as long as it is needed."""
    if frame is None:
        yield None
        return
    name = f"lakepact_{random.token_hex(8)}"
    frame.createOrReplaceGlobalTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)


def _transaction(contract: Contract, site: Site) -> Transaction | None:
    """Decided before anything is read: whether the batch this contract names is in the table already."""
    write, tables, table = contract.write, site.engine.tables, site.places.locate(contract.name)
    if write is None or write.idempotency_key is None or write.policy == "always_run":
        return None
    key = write.idempotency_key
    decision = decide(write, tables.transaction(table, app_id(key)), _last_failed(contract.name, key, site))
    if decision.action != "run":
        raise AlreadyWrittenError(decision.reason, writer=tables.writer_of(table, key))
    return decision.transaction


def _not_streamed(contract: Contract) -> None:
    """A run and a stream each keep their own account of what they read: one contract has one of them."""
    if contract.source and contract.source.load_type == "streaming":
        message = "is streamed: run it with --available-now or --stream, or say load_type: full or incremental"
        raise PlanError([Problem(message, "source.load_type")])


def _in_turn(contract: Contract, micro_batch: Transaction, site: Site) -> Transaction:
    """A micro-batch that was written when its stream died is not written again."""
    done = site.engine.tables.transaction(site.places.locate(contract.name), micro_batch.app_id)
    if done is not None and done >= micro_batch.version:
        raise AlreadyWrittenError(f"micro-batch {micro_batch.version} was already written")
    return micro_batch


def _last_failed(pipeline: str, key: str, site: Site) -> bool:
    """Whether the last attempt with this key failed, as far as a store can tell."""
    readable = [store for store in site.stores if isinstance(store, JsonFiles)]
    found = (record for store in readable[:1] for record in store.newest(pipeline) if record.idempotency_key == key)
    last = next(found, None)
    return last is not None and last.status == "failed"


def _plan(
    contract: Contract, site: Site, world: World, window: Window | None, run: RunIdentity, outcome: Outcome
) -> Plan:
    """What columns a source brings, and of which types, only Spark can tell; a contract without columns takes them."""
    from lakepact.spark.run import look_at_source

    look = site.engine.tables.state
    missing = [table.name for table in _sources(contract, site.places) if look(table) is None]
    if missing:
        message = f"reads {', '.join(missing)}, which does not exist yet; run its contract first"
        raise PlanError([Problem(message, "source")])
    plan = make_plan(contract, world, window, run, site.places)
    if contract.columns and not plan.read.typed:
        return plan
    schema, columns = look_at_source(plan, site.engine, outcome)
    world = replace(world, source_columns=columns, source_schema=schema)
    return make_plan(contract, world, window, run, site.places)


def world_of(contract: Contract, project: Project, places: Places, look: Look) -> World:
    """The tables a plan touches, as they are now."""
    return World(
        target=look(places.locate(contract.name)),
        quarantine=look(places.locate(contract.quarantine_table)),
        source_bytes=_source_bytes(contract, project, places, look),
        source_version=_source_version(contract, places, look),
        observes_writes=project.environment.spark.remote is None,
    )


def _source_bytes(contract: Contract, project: Project, places: Places, look: Look) -> int | None:
    """How much there is to read, where that can be told without reading."""
    if contract.source is not None and contract.source.only_new:
        return None  # only those of the files that turn out to be new will count
    if contract.source is not None and contract.source.path is not None:
        return file_bytes(project.place(contract.source.path), contract.source.pattern)
    states = [look(table) for table in _sources(contract, places)]
    sizes = [state.bytes for state in states if state and state.bytes is not None]
    return sum(sizes) if sizes and len(sizes) == len(states) else None


def _source_version(contract: Contract, places: Places, look: Look) -> int | None:
    """The version of the one table that is read, where its folder tells."""
    named = contract.source and (contract.source.table or contract.source.change_feed)
    if not named:
        return None
    table = places.locate(plain_name(named))
    state = look(table) if table.path else None
    return state.version if state else None


def _sources(contract: Contract, places: Places) -> list[TableRef]:
    return [places.locate(name) for name in sorted(reads(contract))]


def _record(
    contract: Contract,
    plan: Plan | None,
    outcome: Outcome,
    error: BaseException | None,
    run: RunIdentity,
    site: Site,
) -> RunRecord:
    environment = site.project.environment_name
    if plan is None:
        return unplanned_record(contract, run, error, "failed", _now(), environment, outcome.secrets)
    engine = {"spark": site.engine.spark.version, "lakepact": __version__}
    return make_record(plan, outcome, error, _now(), environment, engine)


def skipped(contract: Contract, blocker: str, site: Site) -> RunRecord:
    """The record of a contract that was held back."""
    run = new_run()
    reason = LakepactExecutionError(f"not run: it reads {blocker}, which failed or was not run")
    environment = site.project.environment_name
    return _write(unplanned_record(contract, run, reason, "skipped", run.now, environment), site)


def refused(contract: Contract, error: LakepactError, site: Site) -> RunRecord:
    """The record of a contract that could not begin."""
    run = new_run()
    return _write(unplanned_record(contract, run, error, "failed", run.now, site.project.environment_name), site)


def _write(record: RunRecord, site: Site) -> RunRecord:
    for store in site.stores:
        store.write(record)
    return record


def new_run() -> RunIdentity:
    """A run id sorts by time, and is unique without asking anyone."""
    now = _now()
    return RunIdentity(f"{now:%Y%m%dT%H%M%S%f}-{random.token_hex(4)}", now)


def _now() -> datetime:
    return datetime.now(timezone.utc)
