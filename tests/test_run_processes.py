"""Other processes: runs killed at a step and run again, and two that write the same table at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import run_at_once
from lakepact import api
from lakepact.contract.project import Project

pytestmark = pytest.mark.spark

CHILD = Path(__file__).with_name("child.py")
STEPS = ("read", "judge", "check", "prepare", "quarantine", "write", "balance")
COLUMNS = [
    {"name": "id"}, {"name": "v", "type": "int"}, {"name": "at", "type": "timestamp"}, {"name": "op"}, {"name": "p"},
]  # fmt: skip
WRITES: dict[str, dict[str, Any]] = {
    "append": {"mode": "scd0_append"},
    "overwrite": {"mode": "scd0_overwrite", "skip_unchanged": True},
    "overwrite_files": {"mode": "scd0_overwrite"},
    "partition": {"mode": "scd0_overwrite", "partition_column": "p", "partition_value": "x"},
    "upsert": {"mode": "scd1_upsert", "keys": "id"},
    "upsert_by_partition": {"mode": "scd1_upsert", "keys": "id", "merge_partition_column": "p"},
    "hash_diff": {"mode": "scd1_hash_diff", "keys": "id"},
    "versions": {"mode": "scd1_hash_diff", "keys": "id", "append_versions": True, "sequence_by": "at"},
    "history": {"mode": "scd2_historical", "keys": "id", "effective_from": "at", "apply_as_deletes": "op = 'D'"},
    "snapshot": {"mode": "snapshot_soft_delete", "keys": "id"},
    "cdc": {"mode": "cdc_merge", "keys": "id", "sequence_by": "at", "op_column": "op"},
    "dedup": {"mode": "append_dedup", "keys": "id"},
}
# `make test` kills these; `make torture` all.
FEW = ("append", "overwrite", "partition", "upsert", "history", "cdc")
FIRST = "id,v,at,op,p\na,1,2026-01-01,I,x\nb,1,2026-01-01,I,x\nc,1,2026-01-01,I,x\n"
SECOND = "id,v,at,op,p\na,2,2026-01-02,U,x\nb,1,2026-01-02,D,x\nd,1,2026-01-02,I,x\ne,bad,2026-01-02,I,x\n"


def _contract(name: str, write: dict[str, Any], batch: int) -> dict[str, Any]:
    """Only an append needs a name for its batch: all others may be run again as they are."""
    key = {"idempotency_key": f"batch-{batch}"} if name == "append" else {}
    layout = {"layout": {"partition_by": "p"}} if "partition" in name else {}
    source = {"path": "landing/in.csv", "complete": True}
    return {"table": f"s.{name}", "source": source, "columns": COLUMNS, "write": {**write, **key}, **layout}


def _batch(folder: Path, number: int, text: str, names: tuple[str, ...]) -> Project:
    (folder / "contracts").mkdir(parents=True, exist_ok=True)
    (folder / "landing").mkdir(exist_ok=True)
    (folder / "lakepact.yaml").write_text("name: killed\n", encoding="utf-8")
    (folder / "landing" / "in.csv").write_text(text, encoding="utf-8")
    for name in names:
        document = yaml.safe_dump(_contract(name, WRITES[name], number))
        (folder / "contracts" / f"{name}.yaml").write_text(document, encoding="utf-8")
    return api.open_project(folder)


@pytest.fixture(scope="module")
def names(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(WRITES) if request.config.option.markexpr == "torture" else FEW


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory, spark: Any, names: tuple[str, ...]) -> Path:
    """Tables of every mode after a first batch."""
    folder = tmp_path_factory.mktemp("loaded") / "lake"
    run_at_once(_batch(folder, 1, FIRST, names), spark)
    return folder


@pytest.fixture(scope="module")
def undisturbed(
    loaded: Path, tmp_path_factory: pytest.TempPathFactory, spark: Any, names: tuple[str, ...]
) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("undisturbed") / "lake"
    shutil.copytree(loaded, folder)
    project = _batch(folder, 2, SECOND, names)
    run_at_once(project, spark)
    return {name: _rows(project, name) for name in names}


def _rows(project: Project, name: str) -> list[Any]:
    """What does not depend on when the run was: business columns, marks, and the rejected rows."""
    own = ("valid_from", "valid_to", "is_current", "is_active", "is_deleted", "row_hash", "changed_columns")
    kept = [*(column["name"] for column in COLUMNS), *own]
    table = [[str(row.get(column)) for column in kept] for row in api.rows(project, f"s.{name}")]
    rejected = [[row["id"], row["_reasons"]] for row in api.rows(project, f"s.{name}_quarantine")]
    return [sorted(table), rejected]


@pytest.mark.parametrize("step", [pytest.param(s, marks=[] if s == "write" else pytest.mark.torture) for s in STEPS])
def test_killed_at_a_step_and_run_again(
    step: str, loaded: Path, undisturbed: dict[str, list[Any]], tmp_path: Path, spark: Any, names: tuple[str, ...]
) -> None:
    """kill -9 of every mode at once, each at the beginning of this step."""
    folder = tmp_path / "lake"
    shutil.copytree(loaded, folder)
    project = _batch(folder, 2, SECOND, names)
    with _child("stop", str(folder), step) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "ready"
        os.killpg(child.pid, signal.SIGKILL)
    records = run_at_once(project, spark)
    assert all(record.ok for record in records)
    assert {name: _rows(project, name) for name in names} == undisturbed


@pytest.mark.parametrize("count", [3, pytest.param(50, marks=pytest.mark.torture)])
def test_two_processes_upsert_one_table(count: int, tmp_path: Path) -> None:
    contract = {
        "table": "s.t", "source": {"path": "in.csv"}, "columns": [{"name": "id"}, {"name": "v", "type": "int"}],
        "write": {"mode": "scd1_upsert", "keys": "id", "retry_attempts": 50, "retry_backoff_seconds": 0.2},
    }  # fmt: skip
    (tmp_path / "lakepact.yaml").write_text("name: rivals\n", encoding="utf-8")
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "t.yaml").write_text(yaml.safe_dump(contract), encoding="utf-8")
    project = api.open_project(tmp_path)
    with (
        _child("rival", str(tmp_path), "one", str(count)) as one,
        _child("rival", str(tmp_path), "two", str(count)) as two,
    ):
        assert (one.wait(), two.wait()) == (0, 0)
    rows = [(row["id"], row["v"]) for row in api.rows(project, "s.t")]
    own = [(f"{name}-{number}", number) for name in ("one", "two") for number in range(count)]
    last = [(name, count - 1) for name in ("one", "two", "shared")]
    assert sorted(rows) == sorted([*own, *last]), "no update lost, no key twice"
    records = api.runs(project, limit=None)
    assert [record.status for record in records] == ["success"] * 2 * count
    assert all(record.balanced for record in records)


@contextmanager
def _child(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """In a process group of its own, so that its JVM can be killed with it."""
    environment = {**os.environ, "PYTHONPATH": str(CHILD.parent)}
    child = subprocess.Popen(
        [sys.executable, str(CHILD), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
