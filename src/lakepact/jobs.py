"""Contracts as jobs: each goes from plan to record, whatever happens on the way."""

from __future__ import annotations

import secrets as random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from lakepact import __version__, secrets
from lakepact.contract.model import Contract
from lakepact.contract.project import Project, StoreSettings
from lakepact.delta.files import file_bytes, list_files
from lakepact.delta.tables import LogTables
from lakepact.driver.order import held_back, reads
from lakepact.errors import (
    AlreadyWrittenError,
    LakepactError,
    LakepactExecutionError,
    PlanError,
    Problem,
    ProjectError,
)
from lakepact.evidence.record import Rows, RunRecord, make_record, unplanned_record
from lakepact.evidence.stores import JsonFiles, Store
from lakepact.names import TableRef, plain_name
from lakepact.plan.connectors import packages_for
from lakepact.plan.feed import check_feed
from lakepact.plan.idempotency import app_id, decide
from lakepact.plan.loaded import SourceFile, choose
from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Places, Plan, make_plan
from lakepact.plan.state import RunIdentity, TableState, Transaction, Window, World
from lakepact.plan.watermark import read_on_from
from lakepact.plugins import hint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakepact.spark.run import Engine, Tables

Look = Callable[[TableRef], "TableState | None"]


@dataclass(frozen=True)
class Watch:
    """Whom a run tells about itself: each step as it begins, each record as it is written, what is left out."""

    step: Callable[[str, str, Outcome], None] = lambda table, step, outcome: None
    record: Callable[[RunRecord], None] = lambda record: None
    left_out: Callable[[Contract, str], None] = lambda contract, why: None


@dataclass(frozen=True)
class Site:
    """Where contracts are run: the project, what names mean there, and the engine."""

    project: Project
    places: Places
    engine: Engine
    stores: tuple[Store, ...]


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
    from lakepact.spark.run import run_plan

    run, outcome, plan, error = new_run(), Outcome(), None, None
    try:
        transaction = _in_turn(contract, micro_batch, site) if micro_batch else _transaction(contract, site)
        world = world_of(contract, site.project, site.places, site.engine.tables.state)
        world = replace(world, transaction=transaction, given_view=given_view, streamed=micro_batch is not None)
        if given_view is None:
            _not_streamed(contract)
            world = _what_is_new(contract, site, world, window)
        plan = _plan(contract, site, world, window, run, outcome)
        run_plan(plan, site.engine, outcome)
    except LakepactError as known:
        error = known
    except KeyboardInterrupt as stopped:
        _write(_record(contract, plan, outcome, stopped, run, site), site)
        raise
    except Exception as unknown:  # noqa: BLE001 - whatever it was, it becomes the record of a failed run
        error = engine_error(unknown)
    return _write(_record(contract, plan, outcome, error, run, site), site)


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


def _what_is_new(contract: Contract, site: Site, world: World, window: Window | None) -> World:
    """What of the source this run brings, where earlier runs brought the rest."""
    source = contract.source
    if source is not None and source.only_new:
        return _only_new(contract, site, world)
    if source is not None and source.change_feed:
        return _changes_since(contract, site, world)
    if source is not None and source.watermark and window is None and world.target is not None:
        from lakepact.spark.table import highest

        column, table = source.watermark.column, site.places.locate(contract.name)
        found = highest(site.engine.spark, table, column) if column in world.target.columns else None
        return replace(world, since=read_on_from(found, source.watermark.lookback))
    return world


def _changes_since(contract: Contract, site: Site, world: World) -> World:
    """The versions of a table that no run has read yet; the last of them names the batch."""
    assert contract.source is not None
    tables, feed = site.engine.tables, site.places.locate(plain_name(contract.source.change_feed or ""))
    state, batch = tables.state(feed), app_id(f"feed/{contract.name}")
    if state is None:
        return world
    done = tables.transaction(site.places.locate(contract.name), batch)
    check_feed(feed, state, done)
    if done == state.version:
        raise AlreadyWrittenError(f"nothing changed in {feed.name} since version {done}")
    named = Transaction(batch, state.version)
    return replace(world, since_version=done, source_version=state.version, transaction=named)


def _only_new(contract: Contract, site: Site, world: World) -> World:
    """The files that no run has loaded yet; they name their batch, so that of two runs at once one loads them."""
    assert contract.source is not None
    source, tables = contract.source, site.engine.tables
    table, kept = site.places.locate(contract.name), site.places.locate(contract.files_table)
    path = site.project.place(source.path or "")
    loaded = tables.loaded(table, kept)
    files = choose(_listed(path, source.pattern, site), loaded.all, source)
    if not files and world.target is not None:
        raise AlreadyWrittenError(f"no new files in {source.path}")
    batch = app_id(f"files/{contract.name}")
    number = (tables.transaction(table, batch) or 0) + 1
    size, since = sum(file.size for file in files), tuple(loaded.since)
    named = Transaction(batch, number)
    return replace(world, new_files=files, unkept_files=since, source_bytes=size, transaction=named)


def _listed(path: str, pattern: str | None, site: Site) -> tuple[SourceFile, ...]:
    if "://" not in path:
        return list_files(path, pattern)
    from lakepact.spark.files import list_remote

    return list_remote(site.engine.spark, path, pattern)


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


def places_of(project: Project, contracts: Iterable[Contract]) -> Places:
    """What names mean here; a table whose contract names its folder is found there by everyone."""
    folders: dict[str, str | None] = {}
    for contract in contracts:
        folders[contract.name] = contract.path
        folders[contract.quarantine_table] = contract.quarantine_path
        folders[contract.files_table] = contract.files_path
    return Places(lambda name: project.table(name, folders.get(name)), project.place)


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


@contextmanager
def open_site(
    project: Project, contracts: Iterable[Contract], spark: SparkSession | None, watch: Watch
) -> Iterator[Site]:
    """A session of our own for as long as it is needed, or the one that was given."""
    from lakepact.spark.run import Engine

    with _session(project, contracts, spark) as session:
        engine = Engine(session, tables_of(project, session), _provider(project), watch.step)
        yield Site(project, places_of(project, contracts), engine, tuple(_stores(project, session)))


@contextmanager
def _session(project: Project, contracts: Iterable[Contract], spark: SparkSession | None) -> Iterator[SparkSession]:
    if spark is not None:
        yield spark
        return
    from lakepact.spark.session import spark_session

    settings = project.environment.spark
    settings = settings.model_copy(update={"packages": packages_for(contracts, settings.packages)})
    with (
        tempfile.TemporaryDirectory(prefix="lakepact-", ignore_cleanup_errors=True) as scratch,
        spark_session(settings, project.file.name, Path(scratch)) as session,
    ):
        yield session


def tables_of(project: Project, session: SparkSession) -> Tables:
    """Who knows the tables of this environment."""
    from lakepact.spark.tables import CatalogTables

    return LogTables() if project.environment.catalog == "local" else CatalogTables(session)


def _provider(project: Project) -> secrets.Provider:
    folder = project.file.secrets.folder
    return secrets.provider_for(project.file.secrets.provider, Path(project.place(folder)) if folder else None)


def _stores(project: Project, session: SparkSession) -> Iterator[Store]:
    for settings in project.file.store:
        if settings.writer not in STORES:
            message = f"unknown store {settings.writer!r}{hint(settings.writer, STORES)}"
            raise ProjectError([Problem(message, "store", str(project.root))])
        yield STORES[settings.writer](settings, project, session)


def _json_store(settings: StoreSettings, project: Project, session: SparkSession) -> Store:
    del session
    return JsonFiles(project.place(settings.path))


def _spark_store(settings: StoreSettings, project: Project, session: SparkSession) -> Store:
    from lakepact.evidence.grains import GRAINS
    from lakepact.spark.store import SparkTables

    outer = [part for part in (settings.catalog, settings.schema_ or "lakepact") if part]
    names = {grain: ".".join([*outer, settings.table_prefix + grain]) for grain in GRAINS}
    tables = {grain: project.table(name) for grain, name in names.items()}
    return SparkTables(session, tables, settings.format)


STORES: dict[str, Callable[[StoreSettings, Project, SparkSession], Store]] = {
    "json": _json_store,
    "spark_table": _spark_store,
}


def new_run() -> RunIdentity:
    """A run id sorts by time, and is unique without asking anyone."""
    now = _now()
    return RunIdentity(f"{now:%Y%m%dT%H%M%S%f}-{random.token_hex(4)}", now)


def _now() -> datetime:
    return datetime.now(timezone.utc)
