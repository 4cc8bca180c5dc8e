"""Contracts as jobs: each goes from plan to record, whatever happens on the way."""

from __future__ import annotations

import secrets as random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lakepact import __version__, secrets
from lakepact.contract.fields import Scalar
from lakepact.contract.model import Contract
from lakepact.contract.project import Project, StoreSettings
from lakepact.contract.source import Source
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
    QualityError,
)
from lakepact.evidence.record import Rows, RunRecord, make_record, unplanned_record
from lakepact.evidence.stores import JsonFiles, Store
from lakepact.names import TableRef, plain_name
from lakepact.plan.bad_files import SortedFiles, told
from lakepact.plan.feed import check_feed
from lakepact.plan.idempotency import app_id, decide
from lakepact.plan.loaded import SourceFile, choose
from lakepact.plan.outcome import Outcome
from lakepact.plan.packages import packages_for
from lakepact.plan.plan import Places, Plan, make_plan
from lakepact.plan.read import read_for
from lakepact.plan.state import RunIdentity, TableState, Transaction, Window, World
from lakepact.plan.storage import PREFIX, storage_options
from lakepact.plan.transform import asked_of_source
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
    """Where contracts are run: the project, what names mean there, the engine, and what no record may show."""

    project: Project
    places: Places
    engine: Engine
    stores: tuple[Store, ...]
    hidden: tuple[str, ...] = ()


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
        world = _what_is_new(contract, site, world, window)
        _nothing_is_left_undone(contract, site, world)
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
    if world.sorted_files is not None:  # a file that came while they were sorted has its turn in the next run
        files = tuple(file for file in files if file in world.sorted_files.files)
    batch = app_id(f"files/{contract.name}")
    number = (tables.transaction(table, batch) or 0) + 1
    size, since = sum(file.size for file in files), tuple(loaded.since)
    named = Transaction(batch, number)
    return replace(world, new_files=files, unkept_files=since, source_bytes=size, transaction=named)


def _nothing_is_left_undone(contract: Contract, site: Site, world: World) -> None:
    """Files that a commit speaks of and no table keeps: their run died after its write, and is made good here."""
    from lakepact.spark.run import make_good

    source = contract.source
    if source is None or not source.only_new or world.target is None:
        return
    if world.unkept_files and world.sorted_files is None:
        there = {*_listed(site.project.place(source.path or ""), source.pattern, site)}
        files = tuple(one.file for one in world.unkept_files if one.file in there)
        died = RunIdentity(world.unkept_files[-1].run_id, _now())
        plan = make_plan(contract, replace(world, new_files=files), None, died, site.places)
        make_good(plan, site.engine)
    if not world.new_files:
        raise AlreadyWrittenError(f"no new files in {source.path}")


def _listed(path: str, pattern: str | None, site: Site) -> tuple[SourceFile, ...]:
    path = secrets.resolve(path, site.engine.provider, [])
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

    seen: list[str] = []
    with _session(project, contracts, spark, seen) as session:
        engine = Engine(session, tables_of(project, session), _provider(project), watch.step)
        yield Site(project, places_of(project, contracts), engine, tuple(_stores(project, session)), tuple(seen))


@contextmanager
def _session(
    project: Project, contracts: Iterable[Contract], spark: SparkSession | None, seen: list[str]
) -> Iterator[SparkSession]:
    if spark is not None:
        yield spark
        return
    from lakepact.spark.session import spark_session

    here = project.environment
    packages = packages_for(contracts, here.spark.packages, (here.warehouse, here.checkpoints))
    settings = here.spark.model_copy(update={"packages": packages, "config": _config(project, seen)})
    with (
        tempfile.TemporaryDirectory(prefix="lakepact-", ignore_cleanup_errors=True) as scratch,
        spark_session(settings, project.file.name, Path(scratch)) as session,
    ):
        yield session


def tables_of(project: Project, session: SparkSession) -> Tables:
    """Who knows the tables of this environment."""
    from lakepact.spark.tables import CatalogTables

    local = project.environment.catalog == "local"
    return LogTables(storage_of(project)) if local else CatalogTables(session)


def storage_of(project: Project) -> dict[str, str]:
    """How folders elsewhere are reached without Spark: as Spark is told to reach them."""
    return storage_options(_config(project, [], PREFIX))


def _config(project: Project, seen: list[str], prefix: str = "") -> dict[str, Scalar]:
    """Spark's settings with their secrets, each of which is noted in `seen`."""
    said, provider = project.environment.spark.config, _provider(project)
    return {
        key: secrets.resolve(value, provider, seen) if isinstance(value, str) else value
        for key, value in said.items()
        if key.startswith(prefix)
    }


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
    if "://" in settings.path:
        message = f"{settings.path}: a json store is a folder of this machine; for storage elsewhere use spark_table"
        raise ProjectError([Problem(message, "store", str(project.root))])
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
