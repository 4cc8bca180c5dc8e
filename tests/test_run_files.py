"""New files only, and the same contract as a stream: each file once, whatever dies in between."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from lakepact.contract.project import Project
from lakepact.errors import EngineError, LakepactExecutionError
from lakepact.evidence.record import RunRecord
from lakepact.site import Watch

pytestmark = pytest.mark.spark

COLUMNS = [{"name": "id", "type": "int", "nullable": False}, {"name": "v", "type": "int"}]
APPEND = {"mode": "scd0_append"}
UPSERT = {"mode": "scd1_upsert", "keys": "id"}


def _contract(write: dict[str, Any], **source: Any) -> dict[str, Any]:
    said = {"path": "landing/in", "format": "csv", "load_type": "incremental", **source}
    return {"table": "s.t", "source": said, "columns": COLUMNS, "write": write}


def _land(project: Project, name: str, *rows: str, at: int = 1_700_000_000) -> Path:
    file = project.root / "landing" / "in" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(("id,v", *rows)) + "\n", encoding="utf-8")
    os.utime(file, (at, at))
    return file


def _run(project: Project, spark: Any) -> RunRecord:
    return api.run(project, spark=spark)[0]


def _ids(project: Project) -> list[int]:
    return sorted(row["id"] for row in api.rows(project, "s.t"))


def _table(project: Project, name: str) -> Path:
    return project.root / "warehouse" / "s.db" / name


def test_each_file_is_loaded_once(make_project: MakeProject, spark: Any) -> None:
    project = make_project([_contract(APPEND)])
    _land(project, "a.csv", "1,1", "2,x")
    _land(project, "deep/b.csv", "3,1")
    first = _run(project, spark)
    assert (first.rows.read, first.rows.inserted, first.rows.quarantined) == (3, 2, 1)
    nothing = _run(project, spark)
    assert (nothing.status, nothing.skip_reason, nothing.ok) == ("skipped", "no new files in landing/in", True)
    _land(project, "c.csv", "4,1")
    assert _run(project, spark).rows.read == 1
    assert _ids(project) == [1, 3, 4]
    kept = {row["file"]: row["version"] for row in api.rows(project, "s.t_loaded_files")}
    assert set(kept) == {"a.csv", "deep/b.csv", "c.csv"}
    assert kept["a.csv"] == kept["deep/b.csv"] < kept["c.csv"]


@pytest.mark.parametrize("step", ["quarantine", "files"])
def test_what_a_run_that_died_after_its_write_left_undone_is_done_by_the_next(
    step: str, make_project: MakeProject, spark: Any
) -> None:
    """Rejected rows follow the write; whether there is a new file or not, the next run sees to them."""

    def stop(table: str, name: str, outcome: Any) -> None:
        if name == step:
            raise InterruptedError(step)

    project = make_project([_contract(APPEND)])
    for file, new in (("a.csv", False), ("b.csv", True)):
        bad = len(api.rows(project, "s.t_quarantine")) if _table(project, "t_quarantine").exists() else 0
        _land(project, file, "1,1", f"2,{file}")
        (died,) = api.run(project, spark=spark, watch=Watch(step=stop), raise_on_failure=False)
        assert (died.status, died.failed_step) == ("failed", step)
        if new:
            _land(project, "c.csv", "3,1")
        assert _run(project, spark).status == ("success" if new else "skipped")
        assert len(api.rows(project, "s.t_quarantine")) == bad + 1
    assert _ids(project) == [1, 1, 3]
    assert sorted(row["v"] for row in api.rows(project, "s.t_quarantine")) == ["a.csv", "b.csv"]
    assert sorted(row["file"] for row in api.rows(project, "s.t_loaded_files")) == ["a.csv", "b.csv", "c.csv"]
    assert _run(project, spark).status == "skipped"


@pytest.mark.parametrize("write", [APPEND, UPSERT])
def test_what_was_not_written_down_the_commits_still_say(
    make_project: MakeProject, spark: Any, write: dict[str, Any]
) -> None:
    """As if the run had died between its commit and the table of files."""
    project = make_project([_contract(write)])
    _land(project, "a.csv", "1,1")
    _run(project, spark)
    shutil.rmtree(_table(project, "t_loaded_files"))
    assert _run(project, spark).status == "skipped"
    _land(project, "b.csv", "2,1")
    assert _run(project, spark).rows.read == 1
    assert _ids(project) == [1, 2]
    assert {row["file"] for row in api.rows(project, "s.t_loaded_files")} == {"a.csv", "b.csv"}


@pytest.mark.parametrize(("policy", "status", "values"), [
    ("fail", "failed", {1: 1}), ("ignore", "skipped", {1: 1}), ("reload", "success", {1: 2}),
])  # fmt: skip
def test_a_file_that_changed_follows_the_policy(
    make_project: MakeProject, spark: Any, policy: str, status: str, values: dict[int, int]
) -> None:
    project = make_project([_contract(UPSERT, changed_files=policy)])
    _land(project, "a.csv", "1,1")
    first = _run(project, spark)
    _land(project, "a.csv", "1,2", at=1_700_000_060)
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert record.status == status
    assert {row["id"]: row["v"] for row in api.rows(project, "s.t")} == values
    if policy == "fail":
        assert f"a.csv (loaded by run {first.run_id})" in (record.error or "")
        assert "source.changed_files" in (record.error or "")


def test_the_oldest_files_come_first(make_project: MakeProject, spark: Any) -> None:
    project = make_project([_contract(APPEND, max_files=1)])
    _land(project, "new.csv", "2,1", at=1_700_000_100)
    _land(project, "old.csv", "1,1", at=1_700_000_000)
    _run(project, spark)
    assert _ids(project) == [1]
    _run(project, spark)
    assert _ids(project) == [1, 2]


def test_files_that_change_no_row_are_not_read_again(make_project: MakeProject, spark: Any) -> None:
    project = make_project([_contract(UPSERT)])
    for name in ("a.csv", "b.csv"):
        _land(project, name, "1,1")
        record = _run(project, spark)
    assert (record.rows.inserted, record.rows.updated, record.rows.unchanged) == (0, 0, 1)
    assert _run(project, spark).status == "skipped"


@pytest.mark.parametrize("write", [APPEND, UPSERT])
def test_a_stream_takes_the_path_of_every_run(make_project: MakeProject, spark: Any, write: dict[str, Any]) -> None:
    """Rules, quarantine, mode and record for each micro-batch; one that was written is not written again."""
    project = make_project([_contract(write, load_type="streaming", max_files=1)])
    _land(project, "a.csv", "1,1", "2,x", at=1_700_000_000)
    _land(project, "b.csv", "3,1", at=1_700_000_100)
    records = api.stream(project, spark=spark)
    assert [(r.rows.read, r.rows.inserted, r.rows.quarantined) for r in records] == [(2, 1, 1), (1, 1, 0)]
    assert [row["_row"] for row in api.rows(project, "s.t_quarantine")]
    assert api.stream(project, spark=spark) == []
    checkpoint = project.root / "checkpoints" / "s.t" / "commits"
    for name in ("1", ".1.crc"):
        (checkpoint / name).unlink(missing_ok=True)
    again = api.stream(project, spark=spark)
    assert [(r.status, r.skip_reason) for r in again] == [("skipped", "micro-batch 1 was already written")]
    _land(project, "c.csv", "4,1", at=1_700_000_200)
    assert [r.rows.inserted for r in api.stream(project, spark=spark)] == [1]
    assert _ids(project) == [1, 3, 4]


def test_a_micro_batch_that_is_refused_stops_its_stream_and_comes_again(make_project: MakeProject, spark: Any) -> None:
    contract = _contract(UPSERT, load_type="streaming")
    project = make_project([contract])
    _land(project, "a.csv", "1,1", "1,2")
    records = api.stream(project, spark=spark, raise_on_failure=False)
    assert [(r.status, r.error_class) for r in records] == [("failed", "QualityError")]
    contract["transform"] = [{"deduplicate": {"keys": ["id"], "order_by": "v DESC"}}]
    project = make_project([contract])
    assert [r.status for r in api.stream(project, spark=spark)] == ["success"]
    assert {row["id"]: row["v"] for row in api.rows(project, "s.t")} == {1: 2}


def test_a_table_is_streamed_into_the_next(make_project: MakeProject, spark: Any) -> None:
    first = _contract(APPEND, load_type="streaming")
    second = {"table": "s.copy", "source": {"table": "s.t"}, "columns": COLUMNS, "write": UPSERT}
    project = make_project([first, second])
    for number in (1, 2):
        _land(project, f"{number}.csv", f"{number},1")
        assert [r.pipeline for r in api.stream(project, ["s.t", "s.copy"], spark=spark)] == ["s.t", "s.copy"]
    assert sorted(row["id"] for row in api.rows(project, "s.copy")) == [1, 2]


def test_a_contract_is_run_or_streamed_not_both(make_project: MakeProject, spark: Any) -> None:
    """Each keeps its own account of what was read."""
    project = make_project([_contract(APPEND, load_type="streaming")])
    _land(project, "a.csv", "1,1")
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert (record.error_class, record.status) == ("PlanError", "failed")
    assert "--available-now" in (record.error or "")
    project = make_project([_contract(APPEND)])
    with pytest.raises(LakepactExecutionError, match="say load_type: streaming") as error:
        api.stream(project, spark=spark)
    assert error.value.record.error_class == "PlanError"


def test_a_stream_that_cannot_begin_says_why(make_project: MakeProject, spark: Any) -> None:
    """It leaves a record, and another one has its turn."""
    contract = _contract(APPEND, load_type="streaming", format="no-such-format")
    project = make_project([contract, {**_contract(APPEND, load_type="streaming"), "table": "s.u"}])
    _land(project, "a.csv", "1,1")
    with pytest.raises(EngineError, match="no-such-format"):
        api.stream(project, spark=spark)
    assert {(r.pipeline, r.status) for r in api.runs(project)} == {("s.t", "failed"), ("s.u", "success")}


def test_a_stream_without_names_is_of_those_that_are_streamed(make_project: MakeProject, spark: Any) -> None:
    streamed = {**_contract(APPEND, load_type="streaming"), "table": "s.streamed"}
    project = make_project([_contract(APPEND), streamed])
    _land(project, "a.csv", "1,1")
    left: list[str] = []
    records = api.stream(project, spark=spark, watch=Watch(left_out=lambda contract, why: left.append(contract.name)))
    assert [record.pipeline for record in records] == ["s.streamed"]
    assert left == ["s.t"]
