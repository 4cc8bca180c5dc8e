"""Where a call from a notebook or a script finds its project, its contract and its session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from lakepact import api
from lakepact.contract.model import Contract
from lakepact.contract.project import Project, default_project, in_environment, is_project
from lakepact.delta.tables import LogTables
from lakepact.site import tables_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakepact.spark.run import Tables


class TableContract(Contract):
    """A contract that knows the project it was read for, so that nobody has to say it again."""

    _home: Project = PrivateAttr()

    @property
    def home(self) -> Project:
        return self._home

    @property
    def full_name(self) -> str:
        return self.name

    @property
    def column_names(self) -> list[str]:
        return [column.name for column in self.columns]


Given = Contract | str | Path | Mapping[str, Any]
Home = Project | str | Path | None

_current: Project | None = None


def remember(project: Project | None) -> None:
    """From now on the project of calls that name none; what a Launcher does."""
    global _current
    _current = project


def homed(contract: Contract, project: Project) -> TableContract:
    """The same contract, at home in a project."""
    made = TableContract.model_construct(_fields_set=set(contract.model_fields_set), **dict(contract))
    made._home = project
    return made


def home_of(contract: Given | None, project: Home, environment: str | None) -> Project:
    """The project that was named, or the contract's own, or else the one around."""
    if isinstance(contract, TableContract) and project is None and environment is None:
        return contract.home
    return project_at(project, environment)


def project_at(project: Home, environment: str | None) -> Project:
    """The project given, that of the current launcher, or the one around here.

    A folder without a lakepact.yaml is a project of defaults.
    """
    if isinstance(project, Project):
        return project
    if project is None and _current is not None:
        return in_environment(_current, environment) if environment else _current
    folder = Path(project) if project is not None else around(Path.cwd())
    return api.open_project(folder, environment) if is_project(folder) else default_project(folder)


def around(folder: Path) -> Path:
    """The nearest folder that is a project, or else the folder itself."""
    return next((one for one in (folder, *folder.parents) if is_project(one)), folder)


def contract_of(given: Given, project: Project) -> Contract:
    """A contract as it is, from its file, or from a document in any dialect."""
    if isinstance(given, Contract):
        return given
    if isinstance(given, Mapping):
        return api.contract_from(given, project)
    return api.load_contract(path_in(project, given), project)


def path_in(project: Project, path: str | Path) -> Path:
    """A path as it is meant: from here where it leads somewhere, else from the project's folder."""
    found = Path(path)
    return found if found.is_absolute() or found.exists() else project.root / found


def tables_at(project: Project, spark: SparkSession | None) -> Tables:
    """Who knows the tables here; those in folders are looked at without a session."""
    return LogTables() if project.environment.catalog == "local" else tables_of(project, session_for(project, spark))


def session_for(project: Project, spark: SparkSession | None) -> SparkSession:
    """The session given, the one already running, or one that stays until the program ends."""
    from lakepact.spark.session import lasting_session

    return spark or lasting_session(project.environment.spark, project.file.name)
