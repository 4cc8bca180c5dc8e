"""Where a call from a notebook or a script finds its project, its contract and its session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakepact import api
from lakepact.contract.model import Contract
from lakepact.contract.project import Project, default_project, is_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Given = Contract | str | Path | Mapping[str, Any]


def project_at(project: Project | str | Path | None, environment: str | None) -> Project:
    """The project given, or the one around here; a folder without a lakepact.yaml is a project of defaults."""
    if isinstance(project, Project):
        return project
    folder = Path(project) if project is not None else _around(Path.cwd())
    return api.open_project(folder, environment) if is_project(folder) else default_project(folder)


def _around(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if is_project(one)), folder)


def contract_of(given: Given, project: Project) -> Contract:
    """A contract as it is, from its file, or from a document in any dialect."""
    if isinstance(given, Contract):
        return given
    if isinstance(given, Mapping):
        return api.contract_from(given, project)
    file = Path(given)
    return api.load_contract(file if file.is_absolute() or file.exists() else project.root / file, project)


def session_for(project: Project, spark: SparkSession | None) -> SparkSession:
    """The session given, the one already running, or one that stays until the program ends."""
    from lakepact.spark.session import lasting_session

    return spark or lasting_session(project.environment.spark, project.file.name)
