"""IngestionEngine: landing files into bronze, bronze into silver, each contract by the one run path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lakepact import api
from lakepact.contract.document import read_document
from lakepact.contract.model import Contract
from lakepact.contract.project import Project, StoreSettings
from lakepact.errors import ContractError, Problem, ProjectError
from lakepact.evidence.record import RunRecord
from lakepact.evidence.result import IngestResult, result_of
from lakepact.faces.environment import EnvironmentConfig, project_of
from lakepact.faces.home import path_in, tables_at
from lakepact.faces.launcher import Launcher
from lakepact.plugins import hint
from lakepact.site import places_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Folder = str | Path | None


class Work(Protocol):
    def __call__(
        self, project: Project, tables: Sequence[str], *, spark: SparkSession | None, raise_on_failure: bool
    ) -> list[RunRecord]: ...


@dataclass(frozen=True)
class TableStatus:
    """A contract's table as it is, and its last run."""

    name: str
    layer: str
    table: str
    version: int | None
    last_status: str | None
    last_run: datetime | None
    last_error: str | None

    @property
    def exists(self) -> bool:
        return self.version is not None


@dataclass(frozen=True)
class Ingestion:
    """A contract, and what its file calls it."""

    name: str
    contract: Contract


class IngestionEngine:
    """Runs the contracts of its folders; a failure is raised when all of them have had their turn."""

    def __init__(self, project: Project, folders: Mapping[str, Path], spark: SparkSession | None = None) -> None:
        self.project = _with_contracts(project, folders)
        self.folders, self.spark = folders, spark

    @classmethod
    def from_spark(
        cls,
        spark: SparkSession | None,
        env: EnvironmentConfig | Project,
        bronze_contracts_dir: Folder = None,
        silver_contracts_dir: Folder = None,
        streaming_contracts_dir: Folder = None,
        tables_base_dir: str | Path = ".",
        ops_path: str | Path | None = None,
    ) -> IngestionEngine:
        """Records go to `ops_path`, as JSON files; without it, where the project says.

        Table contracts are found from the file that names them, so that `tables_base_dir` only has to be there.
        """
        project = project_of(env)
        _folder(project, tables_base_dir, "tables_base_dir")
        said = {
            "bronze": bronze_contracts_dir,
            "streaming": streaming_contracts_dir,
            "silver": silver_contracts_dir,
        }
        given = {layer: path for layer, path in said.items() if path is not None}
        folders = {layer: _folder(project, path, f"{layer}_contracts_dir") for layer, path in given.items()}
        return cls(_recorded(project, ops_path), folders, spark)

    @classmethod
    def from_launcher(cls, launcher: Launcher, **folders: Any) -> IngestionEngine:
        return cls.from_spark(launcher.spark, launcher.env, **folders)

    def ingest_bronze(self, name: str | None = None) -> list[IngestResult]:
        """Landing → Bronze: all enabled contracts, or the one of this name."""
        return self._run("bronze", name, api.run)

    def run_streaming(self, name: str | None = None) -> list[IngestResult]:
        """Landing → Bronze as streams, until nothing is left to read; one result a micro-batch."""
        return self._run("streaming", name, api.stream)

    def promote_silver(self, name: str | None = None) -> list[IngestResult]:
        """Bronze → Silver."""
        return self._run("silver", name, api.run)

    def status(self) -> list[TableStatus]:
        """Every contract's table, whether it is there and how its last run ended."""
        found = [(layer, one) for layer in self.folders for one in self._contracts(layer)]
        places = places_of(self.project, [one.contract for _, one in found])
        version = tables_at(self.project, self.spark).version
        return [
            _status(layer, one, version(places.locate(one.contract.name)), self._last(one.contract))
            for layer, one in found
        ]

    def _run(self, layer: str, name: str | None, work: Work) -> list[IngestResult]:
        tables = self._tables(layer, name)
        records = work(self.project, tables, spark=self.spark, raise_on_failure=False) if tables else []
        return _all_good(records)

    def _tables(self, layer: str, name: str | None) -> list[str]:
        found = self._contracts(layer)
        if not found:
            raise ProjectError([Problem("no contracts in this folder", file=str(self.folders[layer]))])
        if name is None:
            return [one.contract.name for one in found if one.contract.enabled]
        wanted = [one.contract.name for one in found if name in (one.name, one.contract.name)]
        if len(wanted) != 1:
            reason = "several contracts are called" if wanted else "no contract is called"
            message = f"{reason} {name!r}{hint(name, [one.name for one in found])}"
            raise ContractError([Problem(message, file=str(self.folders[layer]))])
        return wanted

    def _contracts(self, layer: str) -> list[Ingestion]:
        if layer not in self.folders:
            raise ProjectError(f"the engine has no {layer} contracts; give it a {layer}_contracts_dir")
        files = [file for file in api.contract_files(self.project) if self.folders[layer] in file.parents]
        return [Ingestion(_called(file), api.load_contract(file, self.project)) for file in files]

    def _last(self, contract: Contract) -> RunRecord | None:
        readable = any(store.writer == "json" for store in self.project.file.store)
        return next(iter(api.runs(self.project, contract.name, 1)), None) if readable else None


def _called(file: Path) -> str:
    document, _ = read_document(file)
    return str(document.get("name") or file.stem) if isinstance(document, dict) else file.stem


def _with_contracts(project: Project, folders: Mapping[str, Path]) -> Project:
    """The project with these folders of contracts: they see each other's tables, and hold or fail together."""
    contracts = tuple(str(folder) for folder in folders.values())
    return project.model_copy(update={"file": project.file.model_copy(update={"contracts": contracts})})


def _recorded(project: Project, ops_path: str | Path | None) -> Project:
    if ops_path is None:
        return project
    store = (StoreSettings(writer="json", path=str(ops_path)),)
    return project.model_copy(update={"file": project.file.model_copy(update={"store": store})})


def _folder(project: Project, path: str | Path, argument: str) -> Path:
    found = path_in(project, path).resolve()
    if not found.is_dir():
        raise ProjectError([Problem(f"{path}: no such folder", argument, str(project.root))])
    return found


def _all_good(records: list[RunRecord]) -> list[IngestResult]:
    """The results, or the first failure with all of them in it."""
    results = [result_of(record) for record in records]
    failed = [record for record in records if not record.ok]
    if not failed:
        return results
    error = api.failure(failed[0])
    if len(failed) > 1:
        others = ", ".join(record.pipeline for record in failed[1:])
        error.args = (f"{error.args[0]} (and {len(failed) - 1} more of {len(records)}: {others})",)
    error.results = tuple(results)
    raise error


def _status(layer: str, one: Ingestion, version: int, last: RunRecord | None) -> TableStatus:
    return TableStatus(
        name=one.name,
        layer=layer,
        table=one.contract.name,
        version=version if version >= 0 else None,
        last_status=last.status if last else None,
        last_run=last.ended_at if last else None,
        last_error=last.error if last else None,
    )
