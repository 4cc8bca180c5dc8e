"""lakepact.yaml: where contracts lie, and what each environment makes of catalogs, paths and Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, StrictBool

from lakepact.contract.document import Lines, read_document
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
    document, lines, path = _project_document(root)
    file = parse_part(ProjectFile, document, str(path), lines, ProjectError)
    name = environment or os.environ.get("LAKEPACT_ENV") or file.default_environment
    chosen = _choose(file.environments, name)
    if chosen is None:
        message = f"unknown environment {name!r}{hint(name, file.environments)}"
        raise ProjectError([Problem(message, "environments", str(path))])
    return Project(root=root, file=file, environment_name=chosen, environment=file.environments[chosen])


def default_project(folder: Path) -> Project:
    """A folder without a file of its own: tables lie in its warehouse, records in .lakepact."""
    file = ProjectFile()
    name = file.default_environment
    return Project(root=folder.resolve(), file=file, environment_name=name, environment=file.environments[name])


def is_project(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (FILE, *DKOPS_FILES))


def _project_document(root: Path) -> tuple[Any, Lines, Path]:
    if not root.is_dir():
        raise ProjectError(f"{root}: no such folder")
    if (root / FILE).is_file():
        return (*read_document(root / FILE), root / FILE)
    for name in DKOPS_FILES:
        if (root / name).is_file():
            document, lines = read_document(root / name)
            return from_dkops_config(document), lines, root / name
    raise ProjectError(f"{root}: no {FILE} here; run `lakepact init` in an empty folder, or give --project DIR")


def _choose(environments: dict[str, Environment], name: str) -> str | None:
    """By key, or by what the environment calls itself."""
    if name in environments:
        return name
    return next((key for key, one in environments.items() if name in (one.env, one.env_short)), None)


def from_dkops_config(document: Any) -> dict[str, Any]:
    """DKOps' config.json as a project file."""
    source = document if isinstance(document, dict) else {}
    warehouse = source.get("SPARK_WAREHOUSE_DIR", "warehouse")
    on_databricks = source.get("EXECUTION_ENVIRONMENT", "local") != "local"
    environments: dict[str, Any] = {}
    blocks = source.get("environments") or {}
    if not isinstance(blocks, dict):
        return {"environments": blocks}
    for key, block in blocks.items():
        if not isinstance(block, dict):
            return {"environments": {key: block if block is not None else "nothing"}}
        kept = {k: block[k] for k in ("env", "env_short", "catalogs", "paths", "tags") if k in block}
        platform = {"catalog": "spark", "spark": {"ambient": True}} if on_databricks else {}
        environments[key] = {"warehouse": warehouse, **kept, **platform}
    return {
        "name": source.get("SPARK_APP_NAME", "lakehouse"),
        "contracts": ["ingestion"],
        "default_environment": source.get("DATABRICKS_TARGET", "local"),
        "environments": environments or {"local": {"warehouse": warehouse}},
    }
