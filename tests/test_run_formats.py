"""Every format that files come in: exactly the right rows land, by name and never by position."""

from __future__ import annotations

import bz2
import gzip
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject, run_at_once
from lakepact import api
from lakepact.contract.project import Project

pytestmark = pytest.mark.spark

COLUMNS = [{"name": "id", "type": "int", "nullable": False}, {"name": "v"}]
APPEND = {"mode": "scd0_append"}
Rows = list[tuple[Any, ...]]


def _lines(*values: object) -> str:
    return "\n".join(json.dumps(value) for value in values) + "\n"


# What lies in the folder, what the source says of it, and the rows that land; rejected rows by their reasons.
TEXTS: dict[str, tuple[dict[str, str | bytes], dict[str, Any], Rows, list[str]]] = {
    "csv": ({"a.csv": "id,v\n1,x\n2,\"a,\"\"b\"\"\"\n"}, {}, [(1, "x"), (2, 'a,"b"')], []),
    "csv in other orders": (
        {"a.csv": "id,v\n1,x\n", "b.csv": "v,id\ny,2\n", "c.csv": "more,v,id\n!,z,3\n", "d.csv": ""},
        {}, [(1, "x"), (2, "y"), (3, "z")], [],
    ),
    "csv with broken records": (
        {"a.csv": "id,v\n1,x\n2,y,too,many\nzwei,z\n"}, {}, [(1, "x")], ["malformed_id", "malformed_record"],
    ),
    "csv without a header": (
        {"a.csv": "1;x\n2;y\n"},
        {"options": {"header": False, "sep": ";"}, "rename": {"_c0": "id", "_c1": "v"}}, [(1, "x"), (2, "y")], [],
    ),
    "tsv": ({"a.tsv": "id\tv\n1\tx y\n"}, {"format": "tsv"}, [(1, "x y")], []),
    "csv.gz": ({"a.csv.gz": gzip.compress(b"id,v\n1,x\n"), "b.csv": "id,v\n2,y\n"}, {}, [(1, "x"), (2, "y")], []),
    "csv.bz2": ({"a.csv.bz2": bz2.compress(b"id,v\n1,x\n")}, {}, [(1, "x")], []),
    "json lines": (
        {"a.jsonl": _lines({"id": 1, "v": "x"}, {"v": 2.50, "id": "2"}) + '{"id": 3\n', "b.jsonl": _lines({"id": 4})},
        {"format": "jsonl"}, [(1, "x"), (2, "2.5"), (4, None)], ["malformed_record"],
    ),
    "json documents": (
        {"a.json": json.dumps([{"id": 1, "v": "x"}, {"id": 2}], indent=2), "b.json": '{\n"id": 3,\n"v": "y"}',
         "c.json": '{"id": 4,\n "v"'},
        {"format": "json", "options": {"multiLine": True}}, [(1, "x"), (2, None), (3, "y")], ["malformed_record"],
    ),
    "json.gz": ({"a.json.gz": gzip.compress(_lines({"id": 1, "v": "x"}).encode())}, {"format": "json"}, [(1, "x")], []),
    "xml": (
        {"a.xml": "<all><row><id>1</id><v>x</v></row><row><v>y</v><id>2</id></row></all>",
         "b.xml": "<all><row><id>3</id><v>z</row></all>"},
        {"format": "xml", "options": {"rowTag": "row"}}, [(1, "x"), (2, "y")], ["malformed_record"],
    ),
    "text": (
        {"a.txt": "1 x\n2 y\n"},
        {"format": "text", "derive": {"id": "split(value, ' ')[0]", "v": "split(value, ' ')[1]"}},
        [(1, "x"), (2, "y")], [],
    ),
    "binary": (
        {"1.bin": b"\x00\xff", "2.bin": b"abc"},
        {"format": "binary", "derive": {"id": "regexp_extract(path, '([0-9]+).bin', 1)", "v": "hex(content)"}},
        [(1, "00FF"), (2, "616263")], [],
    ),
    "a glob": ({"a.csv": "id,v\n1,x\n", "b.txt": "no"}, {"path": "*.csv"}, [(1, "x")], []),
    "a pattern": ({"a.csv": "id,v\n1,x\n", "b.txt": "no"}, {"pattern": "*.csv"}, [(1, "x")], []),
    "partition folders": (
        {"v=2026-01-01/a.csv": "id\n1\n", "v=2026-01-02/a.csv": "id\n2\n"}, {}, [(1, "2026-01-01"), (2, "2026-01-02")],
        [],
    ),
    "a glob of partition folders": (
        {"v=2026-01-01/a.csv": "id\n1\n", "v=2026-02-01/a.csv": "id\n2\n"}, {"path": "v=2026-01-*/*.csv"},
        [(1, "2026-01-01")], [],
    ),
    "json in partition folders": (
        {"v=2026-01-01/a.json": _lines({"id": 1}), "v=2026-01-02/a.json": _lines({"id": 2})},
        {"format": "json"}, [(1, "2026-01-01"), (2, "2026-01-02")], [],
    ),
    "new files of partition folders": (
        {"v=1/a.csv": "id\n1\n", "v=2/a b[1].csv": "id\n2\n"}, {"load_type": "incremental"}, [(1, "1"), (2, "2")], [],
    ),
}  # fmt: skip


def _contract(table: str, folder: str, said: dict[str, Any]) -> dict[str, Any]:
    said = dict(said)
    steps = [{kind: said.pop(kind)} for kind in ("rename", "derive") if kind in said]
    source = {"format": "csv", **said, "path": f"landing/{folder}/{said.get('path', '')}".rstrip("/")}
    return {"table": table, "source": source, "transform": steps, "columns": COLUMNS, "write": APPEND}


def _found(project: Project, table: str) -> Rows:
    return sorted((row["id"], row["v"]) for row in api.rows(project, table))


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Project:
    """Every case is a table of one project, loaded once."""
    from conftest import project_in

    files = {f"landing/c{n}/{name}": text for n, (some, *_) in enumerate(TEXTS.values()) for name, text in some.items()}
    contracts = [_contract(f"s.c{n}", f"c{n}", said) for n, (_, said, *_) in enumerate(TEXTS.values())]
    project = project_in(tmp_path_factory.mktemp("formats"), contracts, files)  # type: ignore[arg-type]
    run_at_once(project, spark)
    return project


@pytest.mark.parametrize("case", TEXTS)
def test_text_lands_as_the_right_rows(case: str, landed: Project) -> None:
    number = list(TEXTS).index(case)
    _, _, rows, reasons = TEXTS[case]
    assert _found(landed, f"s.c{number}") == rows
    kept = api.rows(landed, f"s.c{number}_quarantine") if reasons else []
    assert sorted(reason for row in kept for reason in row["_reasons"]) == reasons


def test_columns_that_only_some_files_have_are_told(landed: Project) -> None:
    (record,) = api.runs(landed, f"s.c{list(TEXTS).index('csv in other orders')}")
    assert record.notes == ("1 file(s) also bring more: c.csv",)


SELECTS = {
    "int": "SELECT CAST(1 AS INT) AS id, 'x' AS v",
    "bigint": "SELECT 2L AS id, 'y' AS v",
    "without v": "SELECT 3L AS id",
    "more": "SELECT 'z' AS v, 4L AS id, true AS more",
}


def _write(spark: Any, folder: Path, format_: str, selects: dict[str, str]) -> None:
    for name, select in selects.items():
        spark.sql(select).coalesce(1).write.format(format_).save(str(folder / f".{name}"))
        (part,) = (folder / f".{name}").glob("part-*")
        part.rename(folder / f"{name}.{format_}")


@pytest.mark.parametrize("load_type", ["full", "incremental"])
@pytest.mark.parametrize("format_", ["parquet", "orc", "avro"])
def test_typed_files_are_read_together(format_: str, load_type: str, make_project: MakeProject, spark: Any) -> None:
    """Other types that fit, columns that are missing, columns that nobody asked for."""
    said = {"format": format_, "load_type": load_type}
    project = make_project([_contract("s.t", "in", said)])
    _write(spark, project.root / "landing" / "in", format_, SELECTS)
    (record,) = api.run(project, spark=spark)
    assert (record.rows.read, record.rows.inserted) == (4, 4)
    assert _found(project, "s.t") == [(1, "x"), (2, "y"), (3, None), (4, "z")]


def test_a_table_as_it_was(make_project: MakeProject, spark: Any) -> None:
    base = {"table": "s.t", "source": {"path": "landing/in", "format": "csv"}, "columns": COLUMNS,
            "write": {"mode": "scd1_upsert", "keys": "id"}}  # fmt: skip
    files = {"landing/in/a.csv": "id,v\n1,old\n"}
    project = make_project([base], files)
    (first,) = api.run(project, spark=spark)
    between = datetime.now(timezone.utc).isoformat()
    make_project([base], {"landing/in/a.csv": "id,v\n1,new\n"})
    (second,) = api.run(project, spark=spark)
    for said, wanted in (
        ({"version": first.version_after}, "old"), ({"version": second.version_after}, "new"),
        ({"timestamp": between}, "old"), ({}, "new"),
    ):  # fmt: skip
        copy = {"table": "s.copy", "source": {"table": "s.t", **said}, "write": {"mode": "scd0_overwrite"}}
        project = make_project([base, copy])
        api.run(project, ["s.copy"], spark=spark)
        assert api.rows(project, "s.copy") == [{"id": 1, "v": wanted}], said


def test_a_version_that_never_was_is_named(make_project: MakeProject, spark: Any) -> None:
    base = {"table": "s.t", "source": {"path": "landing/in", "format": "csv"}, "columns": COLUMNS, "write": APPEND}
    copy = {"table": "s.copy", "source": {"table": "s.t", "version": 99}, "write": APPEND}
    project = make_project([base, copy], {"landing/in/a.csv": "id,v\n1,x\n"})
    records = api.run(project, spark=spark, raise_on_failure=False)
    assert "99" in (records[1].error or "")
