"""How tables lie on disk: what is refused, what is altered and when, OPTIMIZE, VACUUM and the commands for them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from builders import BASE, contract, plan
from conftest import MakeProject, cases
from lakepact import api
from lakepact.cli.main import app
from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.delta.tables import LogTables
from lakepact.errors import ContractError, PlanError
from lakepact.names import TableRef
from lakepact.plan.check import find_problems
from lakepact.plan.explain import statements
from lakepact.plan.maintain import UNCHECKED, duration, vacuum_chore
from lakepact.plan.plan import Plan
from lakepact.plan.state import TableState, World

TABLE = "delta.`/lake/warehouse/silver.db/orders`"
CASES = cases("layout")
COLUMNS = {"id": "string", "amount": "decimal(12,2)", "at": "timestamp"}
PARTS = ("layout", "columns", "write", "transform", "description")


def having(*keys: str) -> list[Any]:
    return [case for case in CASES if all(key in case.values[0] for key in keys)]


def contract_of(case: dict[str, Any]) -> Contract:
    said = {key: case[key] for key in PARTS if key in case}
    if "alone" in case:
        return Contract.model_validate({"table": "silver.orders", "columns": BASE["columns"], **said})
    return contract(**said)


def plan_of(case: dict[str, Any]) -> Plan:
    target = TableState(3, **{"columns": COLUMNS, **_tuples(case["target"])}) if "target" in case else None
    return plan(contract_of(case), World(target=target))


def _tuples(said: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}


def assert_told(found: list[str], wanted: list[str]) -> None:
    assert len(found) == len(wanted), found
    for text, words in zip(found, wanted, strict=True):
        assert words in text


@pytest.mark.parametrize("case", having("problems"))
def test_a_layout_is_refused(case: dict[str, Any]) -> None:
    assert_told([str(problem) for problem in find_problems(contract_of(case))], case["problems"])


@pytest.mark.parametrize("case", having("ddl"))
def test_a_table_is_altered_only_where_it_differs(case: dict[str, Any]) -> None:
    made = plan_of(case)
    assert list(made.ddl) == [text.replace("{t}", TABLE) for text in case["ddl"]]
    assert_told(list(made.warnings), case.get("notes", []))


@pytest.mark.parametrize("case", having("refused", "layout"))
def test_a_layout_that_the_table_does_not_allow_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as error:
        plan_of(case)
    assert_told([str(problem) for problem in error.value.problems], case["refused"])


@pytest.mark.parametrize("case", having("optimize"))
def test_a_plan_says_what_comes_after_the_write(case: dict[str, Any]) -> None:
    made = plan_of(case)
    wanted = case["optimize"] and case["optimize"].replace("{t}", TABLE)
    assert made.optimize == wanted
    assert dict(statements(made)).get("optimize") == wanted


def test_a_layout_is_held_against_the_sources_columns_where_none_are_declared() -> None:
    layout = {"zorder_by": "ide", "cluster_by": (), "optimize_after_write": True}
    loose = contract(columns=[], layout=layout, write={"mode": "scd0_append"})
    assert plan(loose).optimize is not None
    with pytest.raises(PlanError, match=r"zorder_by: unknown column 'ide'; did you mean 'id'\?"):
        plan(loose, World(source_columns={"id": "int"}))


def retention_of(case: dict[str, Any]) -> Callable[[], Any]:
    said = dict(case["retention"])
    own, retain = said.pop("own", None), said.pop("retain", None)
    state = TableState(1, COLUMNS, properties={"delta.deletedFileRetentionDuration": own} if own else {})
    table = TableRef("silver.orders", "/lake/warehouse/silver.db/orders")
    return lambda: vacuum_chore(table, state, duration(retain) if retain else None, **said)


@pytest.mark.parametrize("case", having("vacuum"))
def test_files_are_kept_long_enough(case: dict[str, Any]) -> None:
    chore = retention_of(case)()
    assert chore.statement == case["vacuum"].replace("{t}", TABLE)
    assert (UNCHECKED.items() <= chore.settings.items()) == case["retention"].get("force", False)


@pytest.mark.parametrize("case", having("refused", "retention"))
def test_files_that_may_be_needed_are_not_removed(case: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as error:
        retention_of(case)()
    assert_told([str(problem) for problem in error.value.problems], case["refused"])


# ------------------------------------------------------------------ on Delta

LANDING = {"path": "{path.landing}/in.csv"}
TYPED = [{"name": "id", "type": "int", "nullable": False}, {"name": "the-day", "type": "date"}, {"name": "v"}]


def one(write: dict[str, Any], layout: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"table": "silver.t", "source": LANDING, "columns": TYPED, "write": write, "layout": layout, **more}


def rows(*values: str) -> dict[str, str]:
    return {"landing/in.csv": "id,the-day,v\n" + "".join(f"{n},2026-01-0{n},{v}\n" for n, v in enumerate(values, 1))}


def operations(project: Project, table: str = "silver.t") -> list[str]:
    history = DeltaTable(project.table(table).path or "").history()
    return [entry["operation"] for entry in reversed(history)]


@pytest.mark.spark
def test_a_layout_is_applied_once_and_metrics_are_the_writes_own(make_project: MakeProject, spark: Any) -> None:
    keyed = {"mode": "scd1_upsert", "keys": "id"}
    properties = {"Delta.AppendOnly": "FALSE", "delta.feature.domainMetadata": "supported", "Mine": "it's \\ x"}
    first = one(keyed, {"cluster_by": ["the-day"], "optimize_after_write": True, "properties": properties})
    project = make_project([first], rows("a", "b"))
    (made,) = api.run(project, spark=spark)
    assert (made.rows.inserted, made.rows.updated, made.version_after) == (2, 0, 1)
    assert operations(project) == ["CREATE TABLE", "MERGE", "OPTIMIZE"]

    project = make_project([first], rows("a", "B", "c"))
    (written,) = api.run(project, spark=spark)
    assert (written.rows.inserted, written.rows.updated, written.rows.unchanged) == (1, 1, 1)
    assert (written.version_before, written.version_after, written.notes) == (2, 3, ())
    assert "optimize" in written.steps
    assert operations(project)[3:] == ["MERGE", "OPTIMIZE"]

    other = {"cluster_by": ["id"], "optimize_after_write": True, "properties": {**properties, "Mine": "other"}}
    second = one(keyed, other, description="It's\nnew")
    project = make_project([second], rows("a", "B", "c"))
    (altered,) = api.run(project, spark=spark)
    alters = ["SET TBLPROPERTIES", "CLUSTER BY", "SET TBLPROPERTIES", "SET TBLPROPERTIES"]
    assert (altered.rows.unchanged, operations(project)[5:]) == (3, alters)
    assert "optimize" not in altered.steps

    (same,) = api.run(project, spark=spark)
    assert (same.rows.unchanged, operations(project)[9:]) == (3, [])
    state = LogTables().state(project.table("silver.t"))
    assert state is not None
    assert (state.cluster_by, state.comment, state.properties["Mine"]) == (("id",), "It's\nnew", "other")
    detail = spark.sql(f"DESCRIBE DETAIL {project.table('silver.t').sql}").collect()[0]
    assert detail["clusteringColumns"] == ["id"]


@pytest.mark.spark
def test_clustering_in_a_catalog_is_applied_once(make_project: MakeProject, spark: Any) -> None:
    environments = {"local": {"catalog": "spark", "paths": {"landing": "landing"}}}
    layout = {"cluster_by": ["the-day", "id"], "properties": {"delta.minWriterVersion": "5"}}
    clustered = one({"mode": "scd1_upsert", "keys": "id"}, layout, table="laycat.t", description="Days")
    for expected in (1, 0):
        project = make_project([clustered], rows("a"), environments=environments)
        (record,) = api.run(project, spark=spark)
        assert record.rows.inserted == expected
    history = spark.sql("DESCRIBE HISTORY laycat.t").collect()
    assert [entry["operation"] for entry in history] == ["MERGE", "CREATE TABLE"]
    done = {result.table: result for result in api.optimize(project, ["laycat.t"], spark=spark)}
    assert (done["laycat.t"].status, done["laycat.t"].files_before, done["laycat.t"].files_after) == ("done", 1, 1)


@pytest.mark.spark
def test_a_write_stands_although_optimize_fails(make_project: MakeProject, spark: Any) -> None:
    without_ranges = {"delta.dataSkippingNumIndexedCols": "0"}
    layout = {"zorder_by": "id", "optimize_after_write": True, "properties": without_ranges}
    project = make_project([one({"mode": "scd0_append"}, layout)], rows("a"))
    (record,) = api.run(project, spark=spark)
    assert (record.status, record.rows.inserted) == ("success", 1)
    assert "the rows are written, but OPTIMIZE failed: [DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS]" in record.notes[0]
    assert api.runs(project)[0].notes == record.notes


def stray_file(project: Project, name: str, days: int) -> Path:
    """A file that no version knows, as a write that was killed leaves it."""
    file = Path(project.table("silver.t").path or "") / name
    file.write_bytes(b"x" * 1000)
    os.utime(file, (time.time() - days * 86400,) * 2)
    return file


def called(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.spark
@pytest.mark.alone
def test_upkeep_between_runs_is_no_reason_to_write_again(make_project: MakeProject, spark: Any) -> None:
    layout = {"zorder_by": "id", "optimize_after_write": True}
    layout["properties"] = {"delta.deletedFileRetentionDuration": "interval 2 days"}
    overwrite = one({"mode": "scd0_overwrite", "skip_unchanged": True}, layout)
    later = one({"mode": "scd0_append"}, {}, table="silver.later")
    project = make_project([overwrite, later], {"landing/in.csv": "id,the-day,v\n1,2026-01-01,a\nx,2026-01-01,b\n"})
    (record,) = api.run(project, ["silver.t"], spark=spark)
    assert (record.rows.inserted, record.rows.quarantined) == (1, 1)
    assert operations(project) == ["CREATE TABLE", "WRITE", "OPTIMIZE"]
    where = ["--project", project.root]

    code, out, err = called("optimize", *where, "--json")
    assert (code, err) == (0, "")
    told = {
        result["table"]: (result["status"], result["files_before"], result["files_after"]) for result in json.loads(out)
    }
    assert told == {
        "silver.later": ("missing", None, None),
        "silver.t": ("done", 1, 1),
        "silver.t_quarantine": ("unchanged", 1, 1),
    }

    old, young = stray_file(project, "old.parquet", 30), stray_file(project, "young.parquet", 3)
    code, out, _ = called("vacuum", "silver.t", *where, "--dry-run")
    lines = {line.split()[0]: line.split()[1:4] for line in out.splitlines()}
    assert (code, lines["silver.t"], lines["silver.t_quarantine"][2]) == (0, ["would", "go", "1"], "0")
    assert old.exists()
    code, out, _ = called("vacuum", *where, "--json")
    found = {result["table"]: (result["status"], result["files"], result["bytes"]) for result in json.loads(out)}
    assert found["silver.t"] == ("done", 1, 1000)
    assert found["silver.t_quarantine"] == ("unchanged", 0, 0)
    assert (old.exists(), young.exists()) == (False, True)

    (again,) = api.run(project, ["silver.t"], spark=spark)
    assert again.rows.unchanged == 1
    assert operations(project)[3:] == ["OPTIMIZE", "VACUUM START", "VACUUM END"]
    with pytest.raises(PlanError, match="6 days is less than the 7 days that are safe") as refused:
        api.vacuum(project, retain="6d", spark=spark)
    assert [problem.file for problem in refused.value.problems] == ["silver.t", "silver.t_quarantine"]
    forced = api.vacuum(project, ["silver.t"], retain="0h", force=True, spark=spark)[0]
    assert (forced.status, young.exists(), len(api.rows(project, "silver.t"))) == ("done", False, 1)


def test_what_is_not_there_needs_no_spark_and_what_is_unsafe_none_either(make_project: MakeProject) -> None:
    project = make_project([one({"mode": "scd0_append"}, {})])
    where = ["--project", project.root]
    code, out, err = called("optimize", *where)
    assert (code, out.split()[-5:], err) == (0, ["silver.t", "not", "there", "yet", "0.0"], "")
    assert called("vacuum", *where, "--json")[1].count('"missing"') == 1
    assert [result.status for result in api.vacuum(project, ["silver.t_quarantine"])] == ["missing"]
    with pytest.raises(ContractError, match=r"no contract for table 'silver.x'; did you mean 'silver.t'\?"):
        api.optimize(project, ["silver.x"])
    with pytest.raises(ContractError, match="write 168h, 7d or 2w"):
        api.vacuum(project, retain="7 moons")
