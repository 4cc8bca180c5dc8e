"""Where the rooms meet: validate, plan and run a project, and look at what it made."""

from __future__ import annotations

import glob
import secrets as random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakepact import secrets
from lakepact.contract import load as loading
from lakepact.contract.load import Loaded, Setting
from lakepact.contract.model import Contract
from lakepact.contract.overrides import parse_overrides
from lakepact.contract.project import Project, StoreSettings
from lakepact.contract.project import open_project as _open_project
from lakepact.driver.order import chosen, held_back, in_order
from lakepact.errors import ContractError, LakepactError, LakepactExecutionError, PlanError, Problem, ProjectError
from lakepact.evidence.record import RunRecord, make_record, unplanned_record
from lakepact.evidence.stores import JsonFiles, Store
from lakepact.masks import mask_row
from lakepact.names import TableRef
from lakepact.plan.check import find_problems
from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Places, Plan, make_plan
from lakepact.plan.state import RunIdentity, Window, World
from lakepact.plugins import hint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakepact.spark.run import Engine

ENDINGS = (".yaml", ".yml", ".json")

OnStep = Callable[[str, str, Outcome], None]
OnRecord = Callable[[RunRecord], None]


@dataclass(frozen=True)
class Options:
    """What a command line adds to a project for one call."""

    overrides: Sequence[str] = ()
    policy_pack: str | None = None
    policy_pack_dir: str | None = None


@dataclass(frozen=True)
class Watch:
    """Whom a run tells about itself."""

    step: OnStep = field(default=lambda table, step, outcome: None)
    record: OnRecord = field(default=lambda record: None)


@dataclass(frozen=True)
class Validation:
    """What was found: the contracts that hold, and every problem of the others."""

    contracts: tuple[Contract, ...]
    problems: tuple[Problem, ...]


def open_project(folder: str | Path = ".", environment: str | None = None) -> Project:
    """The project in a folder, in one of its environments."""
    return _open_project(Path(folder), environment)


def load_contract(file: str | Path, project: Project | None = None, options: Options = Options()) -> Contract:
    """One contract, from a file in any dialect."""
    return loading.load_contract(Path(file), _setting(project, options)).contract


def validate(
    project: Project | None = None, files: Iterable[str | Path] = (), options: Options = Options()
) -> Validation:
    """All problems of all contracts, without Spark; no files means those of the project."""
    paths = [Path(file) for file in files] or (contract_files(project) if project else [])
    setting = _setting(project, options)
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            one = loading.load_contract(path, setting)
        except ContractError as error:
            problems += error.problems
            continue
        found = [one.place(problem) for problem in find_problems(one.contract)]
        problems += sorted(found, key=lambda problem: problem.line or 0)
        loaded += [] if found else [one]
    contracts = [one.contract for one in loaded]
    return Validation(tuple(contracts), (*problems, *_order_problems(contracts, bool(problems))))


def _order_problems(contracts: list[Contract], incomplete: bool) -> tuple[Problem, ...]:
    try:
        in_order(contracts)
    except ContractError as error:
        return () if incomplete else error.problems
    return ()


def contract_files(project: Project) -> list[Path]:
    """The project's contract files; names that begin with _ or . are something else."""
    found: list[Path] = []
    for entry in project.file.contracts:
        place = Path(project.place(entry))
        if place.is_file():
            found.append(place)
        elif place.is_dir():
            inside = [file for file in sorted(place.rglob("*")) if file.suffix in ENDINGS]
            found += [file for file in inside if not file.name.startswith(("_", "."))]
        else:
            raise ProjectError([Problem(f"no such file or folder: {entry}", "contracts", str(project.root))])
    if not found:
        where = ", ".join(project.file.contracts)
        raise ProjectError([Problem(f"no contracts in {where}", "contracts", str(project.root))])
    return found


def contracts(project: Project, options: Options = Options()) -> list[Contract]:
    """The project's contracts, or an error with all their problems."""
    found = validate(project, (), options)
    if found.problems:
        raise ContractError(found.problems)
    return list(found.contracts)


def plans(
    project: Project,
    tables: Iterable[str] = (),
    options: Options = Options(),
    *,
    offline: bool = False,
    window: Window | None = None,
) -> list[Plan]:
    """What a run would do. `offline` looks at no table; otherwise their Delta logs are read, without a JVM."""
    selected = in_order(chosen(contracts(project, options), tables))
    now = _now()
    look = (lambda table: None) if offline or project.environment.catalog != "local" else _log_tables().state
    return [
        make_plan(contract, _world(contract, project, look), window, RunIdentity(_run_id(now), now), _places(project))
        for contract in selected
    ]


def run(
    project: Project | str | Path,
    tables: Iterable[str] = (),
    options: Options = Options(),
    *,
    window: Window | None = None,
    spark: SparkSession | None = None,
    watch: Watch = Watch(),
    raise_on_failure: bool = True,
) -> list[RunRecord]:
    """Run contracts in order; each leaves a record. A failure holds back only what needs its table."""
    opened = project if isinstance(project, Project) else open_project(project)
    selected = in_order(chosen(contracts(opened, options), tables))
    if not selected:
        raise ContractError([Problem("nothing to run: every contract is disabled", "enabled", str(opened.root))])
    with _session(opened, spark) as session:
        records = _run_all(selected, opened, session, window, watch)
    failed = [record for record in records if not record.ok]
    if failed and raise_on_failure:
        first = failed[0]
        raise LakepactExecutionError(f"{first.pipeline}: {first.error}", first)
    return records


def _run_all(
    selected: list[Contract], project: Project, session: SparkSession, window: Window | None, watch: Watch
) -> list[RunRecord]:
    stores = _stores(project, session)
    records: list[RunRecord] = []
    failed: dict[str, str] = {}
    for contract in selected:
        blocker = held_back(contract, failed)
        record = (
            _skipped(contract, blocker, project)
            if blocker
            else _run_one(contract, project, session, window, watch)
        )
        for store in stores:
            store.write(record)
        watch.record(record)
        records.append(record)
        if not record.ok:
            failed[contract.name] = record.status
    return records


def _run_one(
    contract: Contract, project: Project, session: SparkSession, window: Window | None, watch: Watch
) -> RunRecord:
    """One contract from plan to record; the one place that catches everything, for every run leaves a record."""
    from lakepact.spark.failures import engine_error
    from lakepact.spark.run import run_plan

    run_identity = RunIdentity(_run_id(_now()), _now())
    outcome = Outcome()
    plan: Plan | None = None
    error: BaseException | None = None
    try:
        engine = _engine(project, session, contract.name, watch)
        plan = _plan(contract, project, engine, window, run_identity)
        run_plan(plan, engine, outcome)
    except LakepactError as known:
        error = known
    except KeyboardInterrupt as stopped:
        error = stopped
    except Exception as unknown:  # noqa: BLE001 - whatever it was, it becomes the record of a failed run
        error = engine_error(unknown)
    record = _record(contract, plan, outcome, error, run_identity, project, session)
    if isinstance(error, KeyboardInterrupt):
        for store in _stores(project, session):
            store.write(record)
        raise error
    return record


def _plan(
    contract: Contract, project: Project, engine: Engine, window: Window | None, run_identity: RunIdentity
) -> Plan:
    from lakepact.spark.run import source_columns

    world = _world(contract, project, engine.tables.state)
    missing = [name for name in _reads(contract, project) if engine.tables.state(name) is None]
    if missing:
        names = ", ".join(table.name for table in missing)
        raise PlanError([Problem(f"reads {names}, which does not exist yet; run its contract first", "source")])
    plan = make_plan(contract, world, window, run_identity, _places(project))
    if plan.columns and contract.columns:
        return plan
    found = source_columns(plan, engine.spark, engine.provider, [])
    return make_plan(contract, replace(world, source_columns=found), window, run_identity, _places(project))


def _reads(contract: Contract, project: Project) -> list[TableRef]:
    from lakepact.driver.order import needs

    return [project.table(name) for name in sorted(needs(contract) - set(contract.upstream))]


def _record(
    contract: Contract,
    plan: Plan | None,
    outcome: Outcome,
    error: BaseException | None,
    run_identity: RunIdentity,
    project: Project,
    session: SparkSession,
) -> RunRecord:
    if plan is None:
        return unplanned_record(contract, run_identity, error, "failed", _now(), project.environment_name)
    engine = {"spark": session.version, "lakepact": _version()}
    return make_record(plan, outcome, error, _now(), project.environment_name, engine)


def _skipped(contract: Contract, blocker: str, project: Project) -> RunRecord:
    now = _now()
    reason = LakepactExecutionError(f"not run: it reads {blocker}, which failed or was not run")
    identity = RunIdentity(_run_id(now), now)
    return unplanned_record(contract, identity, reason, "skipped", now, project.environment_name)


def rows(project: Project, table: str, limit: int | None = None, options: Options = Options()) -> list[dict[str, Any]]:
    """A table's rows as people may see them, read from Delta without a JVM."""
    from lakepact.delta.tables import list_tables, rows_of

    located, masks = _find_table(project, table, options)
    if located.path is None:
        raise ProjectError(f"{table} lives in Spark's catalog; only tables with a folder can be shown without Spark")
    found = rows_of(located, limit)
    if found is None:
        there = list_tables(project.place(project.environment.warehouse))
        raise ProjectError(f"no table {table!r} here{hint(table, there)}")
    return [mask_row(row, masks, project.salt) for row in found]


def _find_table(project: Project, table: str, options: Options) -> tuple[TableRef, Mapping[str, str]]:
    """A contract's table or its quarantine, with the contract's masks; or any other table of the warehouse."""
    for contract in validate(project, (), options).contracts:
        if table == contract.name:
            return project.table(table, contract.path), contract.masks
        if table == contract.quarantine_table:
            beside = f"{contract.path.rstrip('/')}_quarantine" if contract.path else None
            return project.table(table, None if contract.quarantine.table else beside), contract.masks
    return project.table(table), {}


def runs(project: Project, table: str | None = None, limit: int | None = 20) -> list[RunRecord]:
    """Records of past runs, newest first."""
    for settings in project.file.store:
        if settings.writer == "json":
            return JsonFiles(project.place(settings.path)).read(table, limit)
    raise ProjectError("no json store is configured; records are in the tables of the spark_table store")


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


def _engine(project: Project, session: SparkSession, table: str, watch: Watch) -> Engine:
    from lakepact.spark.run import Engine
    from lakepact.spark.tables import CatalogTables

    folder = project.file.secrets.folder
    provider = secrets.provider_for(project.file.secrets.provider, Path(project.place(folder)) if folder else None)
    tables = _log_tables() if project.environment.catalog == "local" else CatalogTables(session)
    return Engine(session, tables, provider, lambda step, outcome: watch.step(table, step, outcome))


def _stores(project: Project, session: SparkSession) -> list[Store]:
    return [STORES[settings.writer](settings, project, session) for settings in _known_stores(project)]


def _known_stores(project: Project) -> tuple[StoreSettings, ...]:
    for settings in project.file.store:
        if settings.writer not in STORES:
            raise ProjectError([Problem(f"unknown store {settings.writer!r}{hint(settings.writer, STORES)}", "store")])
    return project.file.store


def _json_store(settings: StoreSettings, project: Project, session: SparkSession) -> Store:
    del session
    return JsonFiles(project.place(settings.path))


def _spark_store(settings: StoreSettings, project: Project, session: SparkSession) -> Store:
    from lakepact.evidence.grains import GRAINS
    from lakepact.spark.store import SparkTables

    outer = [part for part in (settings.catalog, settings.schema_ or "lakepact") if part]
    names = {grain: ".".join([*outer, settings.table_prefix + grain]) for grain in GRAINS}
    return SparkTables(session, {grain: project.table(name) for grain, name in names.items()}, settings.format)


STORES: dict[str, Callable[[StoreSettings, Project, Any], Store]] = {"json": _json_store, "spark_table": _spark_store}


def _world(contract: Contract, project: Project, look: Callable[[TableRef], Any]) -> World:
    places = _places(project)
    beside = f"{contract.path.rstrip('/')}_quarantine" if contract.path and not contract.quarantine.table else None
    return World(
        target=look(places.table(contract.name, contract.path)),
        quarantine=look(places.table(contract.quarantine_table, beside)),
        source_bytes=_source_bytes(contract, project, look),
    )


def _source_bytes(contract: Contract, project: Project, look: Callable[[TableRef], Any]) -> int | None:
    """How much there is to read, where that can be told without reading."""
    if contract.source is not None and contract.source.path is not None:
        return _file_bytes(project.place(contract.source.path), contract.source.pattern)
    states = [look(table) for table in _reads(contract, project)]
    sizes = [state.bytes if state else None for state in states]
    return None if not sizes or None in sizes else sum(sizes)


def _file_bytes(path: str, pattern: str | None) -> int | None:
    if "://" in path:
        return None
    whole = path.removeprefix("file:") + (f"/{pattern}" if pattern else "")
    found = [Path(name) for name in glob.glob(whole)]
    files = [file for place in found for file in (place.rglob("*") if place.is_dir() else [place])]
    return sum(file.stat().st_size for file in files) if files else None


def _places(project: Project) -> Places:
    return Places(table=project.table, path=project.place)


def _log_tables() -> Any:
    from lakepact.delta.tables import LogTables

    return LogTables()


def _setting(project: Project | None, options: Options) -> Setting:
    overrides = parse_overrides(options.overrides)
    if project is None:
        folder = Path(options.policy_pack_dir or "policy_packs")
        return Setting({}, overrides, options.policy_pack, folder)
    return Setting(
        values=project.values(),
        overrides=overrides,
        policy_pack=options.policy_pack or project.file.policy_pack,
        policy_pack_dir=Path(options.policy_pack_dir or project.place(project.file.policy_pack_dir)),
    )


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _run_id(now: datetime) -> str:
    """Sorts by time, and is unique without asking anyone."""
    return f"{now:%Y%m%dT%H%M%S%f}-{random.token_hex(4)}"


def _version() -> str:
    from lakepact import __version__

    return __version__
