"""lakepact.yaml: where contracts lie, and what each environment makes of catalogs, paths and Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, StrictBool

from lakepact.contract.document import Lines, line_of, read_document
from lakepact.contract.fields import Part, Scalar, Texts
from lakepact.contract.problems import parse_part
from lakepact.errors import Problem, ProjectError
from lakepact.names import TableName, TableRef
from lakepact.plugins import hint

FILE = "lakepact.yaml"
DKOPS_FILES = ("config.json", "config/config.json")


class SparkSettings(Part):
    """Which Spark: a local one of our own, a master, a Spark Connect remote, or the one already there."""

    master: str | None = Field(None, description="default: local[*]")
    remote: str | None = Field(None, description="a Spark Connect server: sc://host:port")
    ambient: StrictBool = Field(False, description="true: use the session of the platform (Databricks, notebooks)")
    memory: str = Field("2g", description="of the local driver")
    packages: Texts = Field((), description="Maven coordinates beside Delta's own")
    config: dict[str, Scalar] = Field(default_factory=dict, description="any Spark setting")


class Environment(Part):
    """What placeholders mean here, and where tables live."""

    env: str | None = Field(None, description="what {env} means; default: the environment's key")
    env_short: str | None = Field(None, description="what {env_short} means")
    catalogs: dict[str, str] = Field(default_factory=dict, description="what {catalog.x} means")
    paths: dict[str, str] = Field(default_factory=dict, description="what {path.x} means")
    warehouse: str = Field("warehouse", description="folder or URI of the local tables")
    checkpoints: str = Field("checkpoints", description="folder or URI in which streams keep how far they came")
    catalog: Literal["local", "spark"] = Field(
        "local", description="local: tables are folders of the warehouse; spark: names go to Spark's catalog"
    )
    spark: SparkSettings = SparkSettings()
    tags: dict[str, str] = Field(default_factory=dict)


class Secrets(Part):
    """Who knows the secrets."""

    provider: str = Field("auto", description="auto, env, files, or the name of an entry point lakepact.secrets")
    folder: str | None = None


class StoreSettings(Part):
    """Where run records go."""

    writer: str = Field("json", description="json or spark_table")
    path: str = Field(".lakepact/runs", description="json: the folder")
    catalog: str | None = None
    schema_: str | None = Field(None, alias="schema")
    table_prefix: str = "lakepact_"
    format: Literal["delta", "parquet"] = "delta"


class ProjectFile(Part):
    """The file itself."""

    name: str = "lakehouse"
    contracts: Texts = Field(("contracts",), description="folders and files of contracts")
    default_environment: str = "local"
    environments: dict[str, Environment] = Field(default_factory=lambda: {"local": Environment()})
    store: tuple[StoreSettings, ...] = (StoreSettings(),)
    secrets: Secrets = Secrets()
    policy_pack: str | None = None
    policy_pack_dir: str = "policy_packs"
    mask_salt: str | None = Field(None, description="default: the project's name")


class Project(Part):
    """A project folder in one environment."""

    root: Path
    file: ProjectFile
    environment_name: str
    environment: Environment

    def values(self) -> dict[str, str]:
        """What each placeholder stands for."""
        here, name = self.environment, self.environment.env or self.environment_name
        found = {"env": name, "env_short": here.env_short or name[:1]}
        found |= {f"catalog.{key}": value for key, value in here.catalogs.items()}
        return found | {f"path.{key}": value for key, value in here.paths.items()}

    def place(self, path: str) -> str:
        """A path as it is used: relative ones start at the project folder."""
        if "://" in path or path.startswith(("/", "dbfs:", "file:", "{{")):
            return path
        return str(self.root / path)

    def table(self, name: str, path: str | None = None) -> TableRef:
        """Where a table is: the folder it names, its folder in the warehouse, or its name in a catalog."""
        if path is not None:
            return TableRef(name, self.place(path))
        if self.environment.catalog == "spark":
            return TableRef(name)
        warehouse = self.place(self.environment.warehouse).rstrip("/")
        return TableRef(name, f"{warehouse}/{TableName.parse(name).folder}")

    @property
    def salt(self) -> str:
        return self.file.mask_salt or self.file.name


def open_project(folder: Path, environment: str | None = None) -> Project:
    """The project in this folder, in the environment asked for, or LAKEPACT_ENV, or the default."""
    root = folder.resolve()
    if not root.is_dir():
        raise ProjectError(f"{root}: no such folder")
    file = project_file(root)
    if file is None:
        raise ProjectError(f"{root}: no {FILE} here; run `lakepact init` in an empty folder, or give --project DIR")
    return _opened(root, file, environment)


def open_project_file(file: Path, environment: str | None = None) -> Project:
    """The project that a file describes: in its folder, or in the one around a folder called config."""
    path = file.resolve()
    if not path.is_file():
        raise ProjectError(f"{file}: no such file; give the path of a config.json or a {FILE}")
    return _opened(path.parent.parent if path.parent.name == "config" else path.parent, path, environment)


def in_environment(project: Project, name: str) -> Project:
    """The same project in another of its environments."""
    return _project(project.root, project.file, name, str(project.root))


def _opened(root: Path, path: Path, environment: str | None) -> Project:
    document, lines = _document(path)
    file = parse_part(ProjectFile, document, str(path), lines, ProjectError)
    return _project(root, file, environment or os.environ.get("LAKEPACT_ENV") or file.default_environment, str(path))


def _project(root: Path, file: ProjectFile, name: str, where: str) -> Project:
    chosen = _choose(file.environments, name)
    if chosen is None:
        message = f"unknown environment {name!r}{hint(name, file.environments)}"
        raise ProjectError([Problem(message, "environments", where)])
    return Project(root=root, file=file, environment_name=chosen, environment=file.environments[chosen])


def default_project(folder: Path) -> Project:
    """A folder without a file of its own: tables lie in its warehouse, records in .lakepact."""
    file = ProjectFile()
    name = file.default_environment
    return Project(root=folder.resolve(), file=file, environment_name=name, environment=file.environments[name])


def is_project(folder: Path) -> bool:
    return project_file(folder) is not None


def project_file(folder: Path) -> Path | None:
    """The file that makes a folder a project."""
    return next((folder / name for name in (FILE, *DKOPS_FILES) if (folder / name).is_file()), None)


def _document(path: Path) -> tuple[Any, Lines]:
    document, lines = read_document(path)
    if path.suffix != ".json":
        return document, lines
    from lakepact.contract.dialects.dkops_config import from_config

    try:
        return from_config(document), lines
    except ProjectError as error:
        raise ProjectError([one.at(str(path), line_of(lines, one.field)) for one in error.problems]) from None


def _choose(environments: dict[str, Environment], name: str) -> str | None:
    """By key, or by what the environment calls itself."""
    if name in environments:
        return name
    return next((key for key, one in environments.items() if name in (one.env, one.env_short)), None)
