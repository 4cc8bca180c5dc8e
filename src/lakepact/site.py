"""Where contracts are run: the project, its tables, its session, its stores, and who watches."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lakepact import secrets
from lakepact.contract.fields import Scalar
from lakepact.contract.model import Contract
from lakepact.contract.project import Project, StoreSettings
from lakepact.delta.tables import LogTables
from lakepact.errors import (
    Problem,
    ProjectError,
)
from lakepact.evidence.record import RunRecord
from lakepact.evidence.stores import JsonFiles, Store
from lakepact.names import TableRef
from lakepact.plan.outcome import Outcome
from lakepact.plan.packages import packages_for
from lakepact.plan.plan import Places
from lakepact.plan.state import TableState
from lakepact.plan.storage import PREFIX, storage_options
from lakepact.plugins import hint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def places_of(project: Project, contracts: Iterable[Contract]) -> Places:
    """What names mean here; a table whose contract names its folder is found there by everyone."""
    folders: dict[str, str | None] = {}
    for contract in contracts:
        folders[contract.name] = contract.path
        folders[contract.quarantine_table] = contract.quarantine_path
        folders[contract.files_table] = contract.files_path
    return Places(lambda name: project.table(name, folders.get(name)), project.place)


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
