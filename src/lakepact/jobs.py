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
from lakepact.delta.files import file_bytes
from lakepact.delta.tables import LogTables
from lakepact.driver.order import held_back, reads
from lakepact.errors import LakepactError, LakepactExecutionError, PlanError, Problem, ProjectError
from lakepact.evidence.record import RunRecord, make_record, unplanned_record
from lakepact.evidence.stores import JsonFiles, Store
from lakepact.names import TableRef
from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Places, Plan, make_plan
from lakepact.plan.state import RunIdentity, TableState, Window, World
from lakepact.plugins import hint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakepact.spark.run import Engine, Tables

Look = Callable[[TableRef], "TableState | None"]


@dataclass(frozen=True)
class Watch:
    """Whom a run tells about itself: each step as it begins, each record as it is written."""

    step: Callable[[str, str, Outcome], None] = lambda table, step, outcome: None
    record: Callable[[RunRecord], None] = lambda record: None


@dataclass(frozen=True)
class Site:
    """Where contracts are run: the project, what names mean there, and the engine."""

    project: Project
    places: Places
    engine: Engine
    stores: tuple[Store, ...]


def run_all(selected: list[Contract], site: Site, window: Window | None, watch: Watch) -> list[RunRecord]:
    """In order; a failure holds back only what reads its table."""
    records: list[RunRecord] = []
    failed: list[Contract] = []
    for contract in selected:
        blocker = held_back(contract, failed)
        record = _skipped(contract, blocker, site) if blocker else _run_one(contract, site, window)
        watch.record(record)
        records.append(record)
        if not record.ok:
            failed.append(contract)
    return records


def _run_one(contract: Contract, site: Site, window: Window | None) -> RunRecord:
    """The one place that catches everything, for every run leaves a record."""
    from lakepact.spark.failures import engine_error
    from lakepact.spark.run import run_plan

    run, outcome, plan, error = new_run(), Outcome(), None, None
    try:
        plan = _plan(contract, site, window, run, outcome)
        run_plan(plan, site.engine, outcome)
    except LakepactError as known:
        error = known
    except KeyboardInterrupt as stopped:
        _write(_record(contract, plan, outcome, stopped, run, site), site)
        raise
    except Exception as unknown:  # noqa: BLE001 - whatever it was, it becomes the record of a failed run
        error = engine_error(unknown)
    return _write(_record(contract, plan, outcome, error, run, site), site)


def _plan(contract: Contract, site: Site, window: Window | None, run: RunIdentity, outcome: Outcome) -> Plan:
    """A contract without columns takes those of its source, which only Spark can tell."""
    from lakepact.spark.run import source_columns

    look = site.engine.tables.state
    missing = [table.name for table in _sources(contract, site.places) if look(table) is None]
    if missing:
        message = f"reads {', '.join(missing)}, which does not exist yet; run its contract first"
        raise PlanError([Problem(message, "source")])
    world = world_of(contract, site.project, site.places, look)
    plan = make_plan(contract, world, window, run, site.places)
    if contract.columns:
        return plan
    found = source_columns(plan, site.engine, outcome)
    return make_plan(contract, replace(world, source_columns=found), window, run, site.places)


def world_of(contract: Contract, project: Project, places: Places, look: Look) -> World:
    """The tables a plan touches, as they are now."""
    return World(
        target=look(places.locate(contract.name)),
        quarantine=look(places.locate(contract.quarantine_table)),
        source_bytes=_source_bytes(contract, project, places, look),
        observes_writes=project.environment.spark.remote is None,
    )


def _source_bytes(contract: Contract, project: Project, places: Places, look: Look) -> int | None:
    """How much there is to read, where that can be told without reading."""
    if contract.source is not None and contract.source.path is not None:
        return file_bytes(project.place(contract.source.path), contract.source.pattern)
    states = [look(table) for table in _sources(contract, places)]
    sizes = [state.bytes for state in states if state and state.bytes is not None]
    return sum(sizes) if sizes and len(sizes) == len(states) else None


def _sources(contract: Contract, places: Places) -> list[TableRef]:
    return [places.locate(name) for name in sorted(reads(contract))]


def places_of(project: Project, contracts: Iterable[Contract]) -> Places:
    """What names mean here; a table whose contract names its folder is found there by everyone."""
    folders: dict[str, str | None] = {}
    for contract in contracts:
        folders[contract.name] = contract.path
        folders[contract.quarantine_table] = contract.quarantine_path
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


def _skipped(contract: Contract, blocker: str, site: Site) -> RunRecord:
    run = new_run()
    reason = LakepactExecutionError(f"not run: it reads {blocker}, which failed or was not run")
    environment = site.project.environment_name
    return _write(unplanned_record(contract, run, reason, "skipped", run.now, environment), site)


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

    with _session(project, spark) as session:
        engine = Engine(session, _tables(project, session), _provider(project), watch.step)
        yield Site(project, places_of(project, contracts), engine, tuple(_stores(project, session)))


@contextmanager
def _session(project: Project, spark: SparkSession | None) -> Iterator[SparkSession]:
    if spark is not None:
        yield spark
        return
    from lakepact.spark.session import spark_session

    with (
        tempfile.TemporaryDirectory(prefix="lakepact-", ignore_cleanup_errors=True) as scratch,
        spark_session(project.environment.spark, project.file.name, Path(scratch)) as session,
    ):
        yield session


def _tables(project: Project, session: SparkSession) -> Tables:
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
