"""OPTIMIZE and VACUUM for a project's tables: everything is checked first, then each table has its turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from lakepact.contract.model import Contract, Layout
from lakepact.contract.project import Project
from lakepact.delta.tables import LogTables
from lakepact.errors import ContractError, PlanError, Problem
from lakepact.jobs import new_run
from lakepact.names import TableRef, plain_name
from lakepact.plan.maintain import Chore, Optimized, Vacuumed
from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Places
from lakepact.plan.state import TableState
from lakepact.plugins import hint
from lakepact.site import Look, Watch, open_site, places_of, storage_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Result = TypeVar("Result", Optimized, Vacuumed)


@dataclass(frozen=True)
class Upkeep(Generic[Result]):
    """One kind of upkeep: how a table's chore is made, and how it is done."""

    name: str
    make: Callable[[TableRef, Layout, TableState | None], Chore]
    do: Callable[[SparkSession, Chore, str], Result]
    missing: Callable[[str], Result]


def keep_up(
    kind: Upkeep[Result],
    project: Project,
    contracts: Sequence[Contract],
    names: Sequence[str],
    spark: SparkSession | None,
    watch: Watch,
) -> list[Result]:
    """Tables in folders are looked at without a JVM; where none of them is there yet, none is started."""
    tables = _tables(contracts, names)
    places = places_of(project, contracts)
    local = project.environment.catalog == "local"
    chores = _chores(kind, tables, places, LogTables(storage_of(project)).state) if local else None
    if chores is not None and not any(chore.statement for chore in chores):
        return [kind.missing(chore.table.name) for chore in chores]
    with open_site(project, contracts, spark, watch) as site:
        engine, token = site.engine, new_run().run_id
        found = _chores(kind, tables, places, engine.tables.state) if chores is None else chores
        return [_do(kind, chore, engine.spark, token, watch) for chore in found]


def _do(kind: Upkeep[Result], chore: Chore, spark: SparkSession, token: str, watch: Watch) -> Result:
    if not chore.statement:
        return kind.missing(chore.table.name)
    watch.step(chore.table.name, kind.name, Outcome())
    return kind.do(spark, chore, token)


@dataclass(frozen=True)
class _Table:
    """A table of the project; `asked` where its absence is worth a word."""

    name: str
    layout: Layout
    asked: bool = True


def _tables(contracts: Sequence[Contract], names: Sequence[str]) -> list[_Table]:
    """Those named, each with its quarantine; no names means all, also of contracts that are not enabled."""
    known = {contract.name: _with_quarantine(contract) for contract in contracts}
    known |= {contract.quarantine_table: [_Table(contract.quarantine_table, Layout())] for contract in contracts}
    wanted = [_plain(name) for name in names] or sorted(contract.name for contract in contracts)
    if unknown := [name for name in wanted if name not in known]:
        raise ContractError([Problem(f"no contract for table {name!r}{hint(name, known)}") for name in unknown])
    found = {table.name: table for name in wanted for table in known[name]}
    return list(found.values())


def _with_quarantine(contract: Contract) -> list[_Table]:
    return [_Table(contract.name, contract.layout), _Table(contract.quarantine_table, Layout(), asked=False)]


def _plain(name: str) -> str:
    with suppress(ValueError):
        return plain_name(name)
    return name


def _chores(kind: Upkeep[Result], tables: Sequence[_Table], places: Places, look: Look) -> list[Chore]:
    """All of them, or an error with every reason against them."""
    chores: list[Chore] = []
    problems: list[Problem] = []
    for table in tables:
        located = places.locate(table.name)
        state = look(located)
        if state is None and not table.asked:
            continue
        try:
            chores.append(kind.make(located, table.layout, state))
        except PlanError as error:
            problems += error.problems
    if problems:
        raise PlanError(problems)
    return chores
