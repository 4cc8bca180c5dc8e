"""A landing folder of 10,000 files, ten of them new: only the ten are read, and the others not even opened."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import lakepact.spark.run
from conftest import MakeProject
from lakepact import api
from lakepact.contract.project import Project
from lakepact.delta.files import list_files
from lakepact.delta.tables import LogTables
from lakepact.plan.commits import note_of
from lakepact.plan.loaded import LoadedFile
from lakepact.spark.files import keep_loaded
from lakepact.spark.session import new_session

pytestmark = pytest.mark.spark

MANY, NEW, AT = 10_000, 10, 1_700_000_000
CONTRACT = {
    "table": "s.t",
    "source": {"path": "landing/in", "format": "csv", "load_type": "incremental", "changed_files": "reload"},
    "columns": [{"name": "id", "type": "int", "nullable": False}],
    "write": {"mode": "scd0_append"},
}


def _put(folder: Path, name: str, content: bytes, at: int = AT) -> None:
    """Files by day, as they come: 100 folders."""
    file = folder / f"day={int(name) % 100:02}" / f"{name}.csv"
    if not file.parent.is_dir():
        file.parent.mkdir()
    file.write_bytes(content)
    os.utime(file, (at, at))


def _content(number: int) -> bytes:
    return f"id\n{number:05}\n".encode()


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    project = make_project([CONTRACT])
    (project.root / "landing" / "in").mkdir(parents=True)
    return project


def _as_if_loaded(project: Project, spark: Any) -> None:
    """All files that lie there now are written down as loaded, the way a run does it."""
    kept = project.table("s.t_loaded_files")
    known = {row["file"] for row in api.rows(project, "s.t_loaded_files")}
    found = [file for file in list_files(str(project.root / "landing" / "in")) if file.name not in known]
    keep_loaded(spark, kept, [LoadedFile(file, 1, "earlier") for file in found], exists=True)


def test_of_10_000_files_the_10_new_ones_are_read(
    project: Project, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project.root / "landing" / "in"
    _put(folder, "0", _content(0))
    api.run(project, spark=spark)
    garbage = b"\xff\x00 no csv"[: len(_content(0))].ljust(len(_content(0)), b"\x01")
    for number in range(MANY - NEW):
        _put(folder, str(number), garbage)  # also the one that was loaded: same size, same time
    _as_if_loaded(project, spark)
    for number in range(MANY - NEW, MANY):
        _put(folder, str(number), _content(number), AT + 60)

    opened: list[str] = []
    plainly = lakepact.spark.run.read_source

    def watched(*said: Any) -> Any:
        frame = plainly(*said)
        opened.extend(frame.inputFiles())
        return frame

    monkeypatch.setattr(lakepact.spark.run, "read_source", watched)
    (record,) = api.run(project, spark=spark)
    assert (record.status, record.rows.read, record.rows.inserted, record.rows.quarantined) == ("success", 10, 10, 0)
    assert sorted(Path(name).stem for name in set(opened)) == [str(n) for n in range(MANY - NEW, MANY)]
    assert sorted(row["id"] for row in api.rows(project, "s.t")) == [0, *range(MANY - NEW, MANY)]
    state = LogTables().state(project.table("s.t"))
    assert state is not None
    assert len(note_of(state.last_commit)["files"]) == NEW
    assert len(api.rows(project, "s.t_loaded_files")) == MANY

    began = time.monotonic()
    (nothing,) = api.run(project, spark=spark)
    assert nothing.status == "skipped"
    assert time.monotonic() - began < 10, "a look at 10,000 files that were all loaded"

    _put(folder, "5", b"id\n70005\n", AT)
    _put(folder, "6", b"id\n70006\n", AT + 99)
    assert [record.rows.read for record in api.run(project, spark=spark)] == [1]
    assert max(row["id"] for row in api.rows(project, "s.t")) == 70006


@pytest.mark.torture
def test_10_000_files_are_loaded_by_one_run(project: Project, spark: Any) -> None:
    folder = project.root / "landing" / "in"
    for number in range(MANY):
        _put(folder, str(number), _content(number))
    (record,) = api.run(project, spark=spark)
    assert (record.rows.read, record.rows.inserted) == (MANY, MANY)
    assert api.run(project, spark=spark)[0].status == "skipped"


def test_what_many_runs_write_down_is_tidied_up(project: Project, spark: Any) -> None:
    """Each run adds a file to the account of files; reading it must not take longer with every run."""
    folder, kept, session = project.root / "landing" / "in", project.table("s.t_loaded_files"), new_session(spark)
    _put(folder, "0", _content(0))
    api.run(project, spark=spark)
    (file,) = list_files(str(folder))
    session.conf.set("spark.databricks.delta.autoCompact.minNumFiles", "5")  # 50 unless said otherwise
    for number in range(6):
        keep_loaded(session, kept, [LoadedFile(file, number + 2, "earlier")], exists=True)
    state = LogTables().state(kept)
    assert state is not None
    assert (state.files or 0) < 5
    assert len(api.rows(project, "s.t_loaded_files")) == 7
