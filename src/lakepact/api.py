"""The front door for Python: validate, plan and run a project, and look at what it made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakepact.contract import load as loading
from lakepact.contract.load import Loaded, Setting
from lakepact.contract.model import Contract, Layout
from lakepact.contract.overrides import parse_overrides
from lakepact.contract.project import Project
from lakepact.contract.project import open_project as _open_project
from lakepact.delta.tables import LogTables, list_tables, rows_of
from lakepact.driver.order import chosen, in_order, left_to_streams
from lakepact.errors import (
    ContractError,
    EngineError,
    LakepactExecutionError,
    PlanError,
    Problem,
    ProjectError,
    error_class,
)
from lakepact.evidence.record import RunRecord
from lakepact.evidence.result import result_of
from lakepact.evidence.stores import JsonFiles
from lakepact.jobs import delete_from, new_run, run_all, shared, world_of
from lakepact.masks import mask_row
from lakepact.names import TableName, TableRef
from lakepact.plan.check import find_problems
from lakepact.plan.expressions import predicate_problems
from lakepact.plan.known import known_columns
from lakepact.plan.maintain import Chore, Optimized, Vacuumed, duration, optimize_chore, vacuum_chore
from lakepact.plan.plan import Plan, make_plan
from lakepact.plan.state import TableState, Window
from lakepact.plugins import hint
from lakepact.site import Site, Watch, open_site, places_of, storage_of
from lakepact.streams import stream_all
from lakepact.upkeep import Result, Upkeep, keep_up

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Options:
    """What a command line adds to a project for one call."""

    overrides: Sequence[str] = ()
    policy_pack: str | None = None
    policy_pack_dir: str | None = None


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


def contract_from(document: Mapping[str, Any], project: Project, options: Options = Options()) -> Contract:
    """One contract from a document in any dialect, or an error with all its problems."""
    contract = loading.contract_from(document, project.root, _setting(project, options))
    if problems := find_problems(contract):
        raise ContractError(problems)
    return contract


def validate(
    project: Project | None = None, files: Iterable[str | Path] = (), options: Options = Options()
) -> Validation:
    """All problems of all contracts, without Spark; no files means those of the project."""
    paths = [Path(file) for file in files] or (contract_files(project) if project else [])
    setting = _setting(project, options)
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    for path in paths:
        one, found = loading.inspect_contract(path, setting)
        found += [one.place(problem) for problem in find_problems(one.contract)] if one else []
        problems += sorted(found, key=lambda problem: problem.line or 0)
        loaded += [one] if one and not found else []
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


def contracts(project: Project, options: Options = Options(), tables: Sequence[str] = ()) -> list[Contract]:
    """The project's contracts, or an error with all their problems; overrides are for the tables named."""
    if not options.overrides or not tables:
        return _holding(validate(project, (), options))
    plain = _holding(validate(project, (), replace(options, overrides=())))
    files = [file for file, one in zip(contract_files(project), plain, strict=True) if one.name in tables]
    changed = {one.name: one for one in _holding(validate(project, files, options))} if files else {}
    return [changed.get(one.name, one) for one in plain]


def _holding(found: Validation) -> list[Contract]:
    if found.problems:
        raise ContractError(found.problems)
    return list(found.contracts)


def plans(
    project: Project,
    tables: Sequence[str] = (),
    options: Options = Options(),
    *,
    offline: bool = False,
    window: Window | None = None,
) -> list[Plan]:
    """What a run would do. `offline` looks at no table; else their Delta logs are read, without a JVM."""
    found = contracts(project, options, tables)
    places = places_of(project, found)
    looks = not offline and project.environment.catalog == "local"
    look = LogTables(storage_of(project)).state if looks else nothing_there
    worlds = [(one, world_of(one, project, places, look)) for one in in_order(chosen(found, tables))]
    return [make_plan(one, replace(world, looked=looks), window, new_run(), places) for one, world in worlds]


def nothing_there(table: TableRef) -> None:
    """How an offline plan sees the world."""


def run(
    project: Project | str | Path,
    tables: Sequence[str] = (),
    options: Options = Options(),
    *,
    window: Window | None = None,
    spark: SparkSession | None = None,
    watch: Watch = Watch(),
    raise_on_failure: bool = True,
) -> list[RunRecord]:
    """Run contracts in order; each leaves a record. A failure holds back only what needs its table.

    Contracts that are streamed are left out unless they are named.
    """

    def work(selected: list[Contract], site: Site) -> list[RunRecord]:
        streamed = [] if tables else left_to_streams(selected)
        for contract in streamed:
            watch.left_out(contract, "is streamed: run it with --available-now or --stream")
        return run_all([one for one in selected if one not in streamed], site, window, watch)

    return _all(project, tables, options, spark, watch, raise_on_failure, work)


def stream(
    project: Project | str | Path,
    tables: Sequence[str] = (),
    options: Options = Options(),
    *,
    every: str | None = None,
    spark: SparkSession | None = None,
    watch: Watch = Watch(),
    raise_on_failure: bool = True,
) -> list[RunRecord]:
    """Run contracts as streams: what came since the last time, or `every` so often ("10 seconds") until stopped.

    Without names those that are made to be streamed, where there are any.
    """

    def work(selected: list[Contract], site: Site) -> list[RunRecord]:
        streamed = [] if tables else left_to_streams(selected)
        for contract in selected if streamed else ():
            if contract not in streamed:
                watch.left_out(contract, "is not streamed: run it without --available-now and --stream")
        return stream_all(streamed or selected, site, watch, every)

    return _all(project, tables, options, spark, watch, raise_on_failure, work)


def _all(
    project: Project | str | Path,
    tables: Sequence[str],
    options: Options,
    spark: SparkSession | None,
    watch: Watch,
    raise_on_failure: bool,
    work: Callable[[list[Contract], Site], list[RunRecord]],
) -> list[RunRecord]:
    opened = project if isinstance(project, Project) else open_project(project)
    found = contracts(opened, options, tables)
    selected = in_order(chosen(found, tables))
    if not selected:
        raise ContractError([Problem("nothing to run: every contract is disabled", "enabled", str(opened.root))])
    with open_site(opened, found, spark, watch) as site:
        records = work(selected, site)
    failed = [record for record in records if not record.ok]
    if failed and raise_on_failure:
        raise failure(failed[0])
    return records


def failure(record: RunRecord) -> LakepactExecutionError:
    """The error that a failed run's record tells of."""
    kind = error_class(record.error_class, LakepactExecutionError)
    return kind(f"{record.pipeline}: {record.error}", record, result_of(record))


def run_contract(
    contract: Contract,
    project: Project,
    *,
    frame: DataFrame | None = None,
    window: Window | None = None,
    spark: SparkSession | None = None,
    watch: Watch = Watch(),
    raise_on_failure: bool = True,
) -> RunRecord:
    """Run one contract, which need not be a file of the project; `frame` is its source where it has no other."""
    session = spark or (frame.sparkSession if frame is not None else None)
    with open_site(project, [contract, *_neighbours(project)], session, watch) as site, shared(frame) as view:
        (record,) = run_all([contract], site, window, watch, view)
    if not record.ok and raise_on_failure:
        raise failure(record)
    return record


def plan_of(contract: Contract, project: Project, *, given: bool = False) -> Plan:
    """What a run of this contract would do; `given`: its rows would be handed over."""
    places = places_of(project, [contract, *_neighbours(project)])
    local = project.environment.catalog == "local"
    look = LogTables(storage_of(project)).state if local else nothing_there
    world = replace(world_of(contract, project, places, look), given_view="given" if given else None)
    return make_plan(contract, world, None, new_run(), places)


def delete_rows(
    contract: Contract, project: Project, condition: str, preview: bool = False, spark: SparkSession | None = None
) -> int:
    """Delete the rows for which the condition is true; the run that did it is recorded."""
    if problems := predicate_problems(condition, known_columns(contract)):
        raise PlanError([Problem(problem, "delete") for problem in problems])
    with open_site(project, [contract, *_neighbours(project)], spark, Watch()) as site:
        record = delete_from(contract, site, condition, preview)
    if not record.ok:
        raise failure(record)
    return record.rows.deleted or 0


def _neighbours(project: Project) -> tuple[Contract, ...]:
    """The project's other contracts, for the folders they name; those that cannot be read name none."""
    there = [entry for entry in project.file.contracts if Path(project.place(entry)).exists()]
    return validate(project).contracts if there and _has_files(project) else ()


def _has_files(project: Project) -> bool:
    try:
        return bool(contract_files(project))
    except ProjectError:
        return False


def optimize(
    project: Project | str | Path,
    tables: Sequence[str] = (),
    options: Options = Options(),
    *,
    spark: SparkSession | None = None,
    watch: Watch = Watch(),
    raise_on_failure: bool = True,
) -> list[Optimized]:
    """Compact small files of the project's tables and their quarantines; what is not there yet is left out."""
    from lakepact.spark import maintain

    opened = project if isinstance(project, Project) else open_project(project)
    kind = Upkeep("optimize", optimize_chore, maintain.optimize, lambda name: Optimized(name, "missing"))
    done = keep_up(kind, opened, contracts(opened, options, tables), tables, spark, watch)
    return done if not raise_on_failure else _all_kept_up(done)


def vacuum(
    project: Project | str | Path,
    tables: Sequence[str] = (),
    options: Options = Options(),
    *,
    retain: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    spark: SparkSession | None = None,
    watch: Watch = Watch(),
    raise_on_failure: bool = True,
) -> list[Vacuumed]:
    """Remove files that no version younger than `retain` needs; default: 7 days, or what the table itself asks for."""
    from lakepact.spark import maintain

    kept = None if retain is None else duration(retain)
    opened = project if isinstance(project, Project) else open_project(project)

    def make(table: TableRef, layout: Layout, state: TableState | None) -> Chore:
        del layout
        return vacuum_chore(table, state, kept, dry_run, force)

    kind = Upkeep("vacuum", make, maintain.vacuum, lambda name: Vacuumed(name, "missing"))
    done = keep_up(kind, opened, contracts(opened, options, tables), tables, spark, watch)
    return done if not raise_on_failure else _all_kept_up(done)


def _all_kept_up(done: list[Result]) -> list[Result]:
    """All tables had their turn; the first that failed speaks for the others."""
    for one in done:
        if one.error is not None:
            raise EngineError(f"{one.table}: {one.error}")
    return done


def rows(project: Project, table: str, limit: int | None = None, options: Options = Options()) -> list[dict[str, Any]]:
    """A table's rows as people may see them, read from Delta without a JVM."""
    try:
        name = str(TableName.parse(table))
    except ValueError as error:
        raise ProjectError(str(error)) from None
    located, contract = _find_table(project, name, options)
    if located.path is None:
        raise ProjectError(f"{table} lives in Spark's catalog; only tables with a folder can be shown without Spark")
    found = rows_of(located, limit, storage=storage_of(project))
    if found is None:
        there = list_tables(project.place(project.environment.warehouse))
        not_run = "; its contract is there: run it first" if contract else hint(table, there)
        raise ProjectError(f"no table {table!r} here{not_run}")
    return [mask_row(row, contract.masks, project.salt, _shown(contract)) for row in found] if contract else list(found)


def _find_table(project: Project, table: str, options: Options) -> tuple[TableRef, Contract | None]:
    """The table, and the contract it or its quarantine belongs to.

    While some contract cannot be read, nobody knows what it masks: then only tables of the others are shown.
    """
    found = validate(project, (), options) if _has_files(project) else Validation((), ())
    owner = next((c for c in found.contracts if table in (c.name, c.quarantine_table)), None)
    if owner is None and found.problems:
        raise ContractError(found.problems)
    return places_of(project, found.contracts).locate(table), owner


def _shown(contract: Contract) -> frozenset[str]:
    """Columns whose values may be seen inside a rejected row's raw text."""
    return frozenset(column.name for column in contract.columns if not column.mask)


def runs(project: Project, table: str | None = None, limit: int | None = 20) -> list[RunRecord]:
    """Records of past runs, newest first."""
    for settings in project.file.store:
        if settings.writer == "json":
            return JsonFiles(project.place(settings.path)).read(table, limit)
    raise ProjectError("no json store is configured; records are in the tables of the spark_table store")


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
