"""Poison among good files: good rows land, a bad file is in quarantine with its name and reason, or the run fails."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from lakepact.contract.project import Project
from lakepact.errors import EngineError, QualityError
from lakepact.evidence.record import RunRecord

pytestmark = pytest.mark.spark

COLUMNS = [{"name": "id", "type": "bigint", "nullable": False}, {"name": "v"}]
APPEND = {"mode": "scd0_append"}
UPSERT = {"mode": "scd1_upsert", "keys": "id"}
Put = Callable[[Any, Path], None]


def _half(content: bytes) -> bytes:
    packed = gzip.compress(content + os.urandom(2000).hex().encode())
    return packed[: len(packed) // 2]


def _parquet(select: str) -> Put:
    def put(spark: Any, file: Path) -> None:
        spark.sql(select).coalesce(1).write.parquet(str(file.parent / f".{file.name}"))
        (part,) = (file.parent / f".{file.name}").glob("part-*.parquet")
        part.rename(file)

    return put


def _text(content: str | bytes) -> Put:
    return lambda spark, file: file.write_bytes(content.encode() if isinstance(content, str) else content) and None


CSV, JSON = _text("id,v\n1,x\n2,y\n"), _text('{"id": 1, "v": "x"}\n{"id": 2, "v": "y"}\n')
PARQUET = _parquet("SELECT id, 'x' AS v FROM range(1, 3)")
# format, a good file, the poison's name and content, and the words of its reason
POISON: dict[str, tuple[str, tuple[str, Put], tuple[str, Put], str]] = {
    "half-written gzip": ("csv", ("a.csv", CSV), ("p.csv.gz", _text(_half(b"id,v\n9,z\n"))), "Unexpected end of input"),
    "no gzip at all": ("csv", ("a.csv", CSV), ("p.csv.gz", _text("id,v\n" + "9,z\n" * 9)), "not a gzip file"),
    "a csv of something else": (
        "csv", ("a.csv", CSV), ("p.csv", _text("name,city\nz,z\n")), "has none of the contract's columns: name, city",
    ),
    "half-written gzip of json": (
        "json", ("a.json", JSON), ("p.json.gz", _text(_half(b'{"id": 9}\n'))), "Unexpected end of input",
    ),
    "parquet of another type": (
        "parquet", ("a.parquet", PARQUET), ("p.parquet", _parquet("SELECT 'nine' AS id, 'z' AS v")),
        "id is string, not bigint",
    ),
    "parquet without a footer": (
        "parquet", ("a.parquet", PARQUET), ("p.parquet", _text("PAR1 half of it")), "is not a Parquet file",
    ),
}  # fmt: skip


def _project(make_project: MakeProject, format_: str, write: dict[str, Any], **source: Any) -> Project:
    said = {"path": "landing/in", "format": format_, "bad_files": "quarantine", **source}
    project = make_project([{"table": "s.t", "source": said, "columns": COLUMNS, "write": write}])
    (project.root / "landing" / "in").mkdir(parents=True, exist_ok=True)
    return project


def _land(project: Project, spark: Any, name: str, put: Put, at: int = 1_700_000_000) -> Path:
    file = project.root / "landing" / "in" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    put(spark, file)
    os.utime(file, (at, at))
    return file


def _run(project: Project, spark: Any) -> RunRecord:
    return api.run(project, spark=spark)[0]


def _ids(project: Project) -> list[int]:
    return sorted(row["id"] for row in api.rows(project, "s.t"))


def _held(project: Project) -> list[tuple[list[str], dict[str, Any]]]:
    return [(row["_reasons"], json.loads(row["_row"])) for row in api.rows(project, "s.t_quarantine")]


@pytest.mark.parametrize("load_type", ["full", "incremental"])
@pytest.mark.parametrize("case", POISON)
def test_good_files_land_and_a_bad_one_is_set_aside(
    case: str, load_type: str, make_project: MakeProject, spark: Any
) -> None:
    format_, (good, content), (bad, poison), words = POISON[case]
    write = APPEND if load_type == "incremental" else UPSERT
    project = _project(make_project, format_, write, load_type=load_type)
    _land(project, spark, good, content)
    _land(project, spark, f"empty.{format_}", _text(""))
    file = _land(project, spark, bad, poison)
    record = _run(project, spark)
    assert (record.status, record.rows.read, record.rows.inserted) == ("quarantined", 2, 2)
    assert _ids(project) == [1, 2]
    ((reasons, row),) = _held(project)
    assert reasons == ["unreadable_file"]
    assert row["_source_file"].endswith(f"landing/in/{bad}")
    assert words in row["error"]
    assert row["size"] == file.stat().st_size
    assert f"1 file(s) cannot be read: {bad} (" in record.notes[0]
    again = _run(project, spark)
    assert again.status == ("skipped" if load_type == "incremental" else "quarantined")
    assert (_ids(project), len(_held(project))) == ([1, 2], 1)


@pytest.mark.parametrize("case", POISON)
def test_unless_the_contract_says_so_the_run_fails_and_names_the_file(
    case: str, make_project: MakeProject, spark: Any
) -> None:
    format_, (good, content), (bad, poison), words = POISON[case]
    project = _project(make_project, format_, APPEND, bad_files="fail")
    _land(project, spark, good, content)
    _land(project, spark, bad, poison)
    with pytest.raises(QualityError) as raised:
        _run(project, spark)
    message = str(raised.value)
    assert bad in message
    assert words in message
    assert "source.bad_files: quarantine" in message
    assert raised.value.record.rows.inserted is None


def test_many_bad_files_are_each_told(make_project: MakeProject, spark: Any) -> None:
    project = _project(make_project, "csv", APPEND, load_type="incremental")
    for number in range(12):
        bad = number in (3, 4, 10)
        _land(
            project, spark, f"{number}.csv.gz", _text(_half(b"x") if bad else gzip.compress(b"id,v\n%d,x\n" % number))
        )
    record = _run(project, spark)
    assert record.rows.inserted == 9
    assert sorted(Path(row["_source_file"]).name for _, row in _held(project)) == ["10.csv.gz", "3.csv.gz", "4.csv.gz"]


def test_only_bad_files(make_project: MakeProject, spark: Any) -> None:
    project = _project(make_project, "parquet", APPEND, load_type="incremental")
    _land(project, spark, "p.parquet", _text("PAR1"))
    record = _run(project, spark)
    assert (record.status, record.rows.read) == ("quarantined", 0)
    assert _run(project, spark).status == "skipped"


@pytest.mark.parametrize(("policy", "status", "ids"), [
    ("fail", "failed", [1, 2]), ("ignore", "skipped", [1, 2]), ("reload", "success", [1, 2, 9]),
])  # fmt: skip
def test_a_bad_file_that_was_replaced_follows_the_policy(
    policy: str, status: str, ids: list[int], make_project: MakeProject, spark: Any
) -> None:
    project = _project(make_project, "csv", APPEND, load_type="incremental", changed_files=policy)
    _land(project, spark, "a.csv", CSV)
    _land(project, spark, "p.csv.gz", _text(_half(b"id,v\n9,z\n")))
    _run(project, spark)
    _land(project, spark, "p.csv.gz", _text(gzip.compress(b"id,v\n9,z\n")), at=1_700_000_060)
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert (record.status, _ids(project)) == (status, ids)


def test_rows_of_files_that_lack_a_column_are_rejected(make_project: MakeProject, spark: Any) -> None:
    """Not the load, and not the file: rows of the others land, columns nobody knows are ignored and told."""
    project = _project(make_project, "csv", APPEND)
    _land(project, spark, "a.csv", CSV)
    _land(project, spark, "b.csv", _text("v,more\nz,1\nz,2\n"))
    record = _run(project, spark)
    assert (record.rows.read, record.rows.inserted, record.rows.quarantined) == (4, 2, 2)
    assert [reasons for reasons, _ in _held(project)] == [["missing_id"], ["missing_id"]]
    assert all(row["_source_file"].endswith("b.csv") for _, row in _held(project))
    assert record.notes == ("1 file(s) also bring more and lack id: b.csv",)


def test_a_load_of_nothing_but_such_files(make_project: MakeProject, spark: Any) -> None:
    project = _project(make_project, "json", APPEND)
    _land(project, spark, "b.json", _text('{"v": "z", "more": 1}\n'))
    record = _run(project, spark)
    assert (record.rows.inserted, record.rows.quarantined, record.notes) == (0, 1, ("no file brings id",))
    project = _project(make_project, "json", APPEND, bad_files="fail")
    with pytest.raises(QualityError, match=r"the source lacks the column\(s\) id"):
        _run(project, spark)


def test_a_bad_line_is_a_row_in_quarantine(make_project: MakeProject, spark: Any) -> None:
    project = _project(make_project, "json", APPEND)
    _land(project, spark, "a.json", JSON)
    _land(project, spark, "b.json", _text('{"id": 3, "v": "z"}\n{"id": 4, "v"\n'))
    record = _run(project, spark)
    assert (record.rows.inserted, record.rows.quarantined) == (3, 1)
    ((reasons, row),) = _held(project)
    assert (reasons, row["_corrupt_record"]) == (["malformed_record"], '{"id": 4, "v"')
    assert row["_source_file"].endswith("b.json")


def test_a_failure_that_is_not_of_files_is_told_as_it_is(make_project: MakeProject, spark: Any) -> None:
    """No file is blamed for a query that cannot run."""
    said = {"path": "landing/in", "format": "csv", "bad_files": "quarantine"}
    steps = [{"derive": {"w": "CAST(id / 0 AS STRING)"}}]
    contract = {"table": "s.t", "source": said, "transform": steps, "columns": [*COLUMNS, {"name": "w"}],
                "write": APPEND}  # fmt: skip
    project = make_project([contract], {"landing/in/a.csv": "id,v\n1,x\n"})
    with pytest.raises(EngineError, match=r"[Dd]ivision by zero"):
        _run(project, spark)
