"""What tests share: one Spark session, projects made of text, and cases read from YAML."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakepact import api
from lakepact.contract.project import Project, SparkSettings
from lakepact.evidence.record import RunRecord
from lakepact.plan.jdbc import DRIVERS
from lakepact.plan.kafka import AVRO
from lakepact.plan.kafka import PACKAGES as KAFKA
from lakepact.plan.packages import S3

pytest_plugins = ("servers", "ahead")

CASES = Path(__file__).parent / "cases"
EXAMPLES = Path(__file__).parents[1] / "examples"

# Tiny tables: compiling queries for them costs more than running them. Spark itself runs long enough to be compiled.
TEST_CONFIG = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -Dlog4j2.level=ERROR -Duser.timezone=UTC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def cases(name: str) -> list[Any]:
    """The cases of tests/cases/<name>.yaml, as pytest parameters."""
    found = yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["name"]) for case in found]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The one session of the suite, as users get it, on two cores."""
    from lakepact.spark.session import spark_session

    packages = (DRIVERS["org.postgresql.Driver"], *KAFKA, AVRO, *S3)
    settings = SparkSettings(master="local[2]", memory="2g", packages=packages, config=TEST_CONFIG)
    with spark_session(settings, "lakepact-tests", tmp_path_factory.mktemp("spark")) as session:
        yield session


MakeProject = Callable[..., Project]


@pytest.fixture
def make_project(tmp_path: Path) -> MakeProject:
    return projects_in(tmp_path)


def projects_in(folder: Path) -> MakeProject:
    return partial(project_in, folder)


def project_in(
    folder: Path, contracts: list[dict[str, Any]], files: dict[str, str] | None = None, **settings: Any
) -> Project:
    """A project folder from contracts (documents) and files (texts)."""
    document = {"name": "test", "environments": {"local": {"paths": {"landing": "landing"}}}, **settings}
    (folder / "contracts").mkdir(parents=True, exist_ok=True)
    (folder / "lakepact.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    for number, contract in enumerate(contracts):
        text = yaml.safe_dump(contract, sort_keys=False)
        (folder / "contracts" / f"c{number}.yaml").write_text(text, encoding="utf-8")
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return api.open_project(folder)


def run_at_once(project: Project, spark: Any) -> list[RunRecord]:
    """Contracts that do not read each other, several at a time: a small run waits a lot."""
    names = [contract.name for contract in api.contracts(project)]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda name: api.run(project, [name], spark=spark), names)
        return [record for records in found for record in records]


@pytest.fixture
def orders(tmp_path: Path) -> Project:
    return orders_in(tmp_path)


def orders_in(folder: Path) -> Project:
    """A fresh copy of the orders example."""
    shutil.copytree(EXAMPLES / "orders", folder / "orders", ignore=shutil.ignore_patterns("warehouse", ".lakepact"))
    return api.open_project(folder / "orders")


@pytest.fixture(autouse=True)
def _no_stray_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("LAKEPACT_") and name != "LAKEPACT_CACHE"]:
        monkeypatch.delenv(name)
