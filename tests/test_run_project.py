"""Projects on Spark: names and folders, several contracts, stores, failures, secrets and the commands."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from conftest import MakeProject
from lakepact import api
from lakepact.cli.main import app, main
from lakepact.errors import QualityError

pytestmark = pytest.mark.spark

ID = [{"name": "id", "type": "int"}]


def _contract(table: str, source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"table": table, "source": source, "columns": ID, "write": {"mode": "scd0_overwrite"}, **more}


LANDING = {"path": "{path.landing}/in.csv"}


def test_the_same_name_in_two_catalogs_is_two_tables(make_project: MakeProject, spark: Any) -> None:
    files = {"landing/in.csv": "id\n1\n2\n"}
    bronze = _contract("bronze.s.t", LANDING)
    silver = _contract("silver.s.t", {"sql": "SELECT id FROM bronze.s.t WHERE id = 1"})
    project = make_project([silver, bronze], files)
    assert [record.pipeline for record in api.run(project, spark=spark)] == ["bronze.s.t", "silver.s.t"]
    assert [len(api.rows(project, name)) for name in ("bronze.s.t", "silver.s.t")] == [2, 1]


def test_a_run_in_another_thread_uses_the_session_that_is_there_and_leaves_it(
    make_project: MakeProject, spark: Any
) -> None:
    project = make_project([_contract("bronze.t", LANDING)], {"landing/in.csv": "id\n1\n"})
    with ThreadPoolExecutor(1) as pool:
        (record,) = pool.submit(api.run, project).result()
    assert record.status == "success"
    assert spark.range(3).count() == 3


def test_a_contract_may_name_its_folder(make_project: MakeProject, spark: Any, tmp_path: Path) -> None:
    rules = [{"name": "small", "check": "id < 2", "rejected_as": "large"}]
    project = make_project(
        [_contract("t", LANDING, path="elsewhere/t", quality=rules)], {"landing/in.csv": "id\n1\n2\n"}
    )
    api.run(project, spark=spark)
    assert (tmp_path / "elsewhere" / "t" / "_delta_log").is_dir()
    assert (tmp_path / "elsewhere" / "t_quarantine" / "_delta_log").is_dir()
    assert [row["_reasons"] for row in api.rows(project, "t_quarantine")] == [["large"]]


def test_names_go_to_the_catalog_where_there_is_one(make_project: MakeProject, spark: Any) -> None:
    environments = {"local": {"catalog": "spark", "paths": {"landing": "landing"}}}
    rules = [{"name": "small", "check": "id < 3", "rejected_as": "large"}]
    first = _contract("lakecat.orders", LANDING, quality=rules)
    second = _contract("lakecat.copy", {"table": "lakecat.orders"})
    project = make_project([first, second], {"landing/in.csv": "id\n1\n2\n3\n"}, environments=environments)
    for expected in (2, 0):
        records = {record.pipeline: record for record in api.run(project, spark=spark)}
        assert records["lakecat.copy"].rows.inserted == expected
    assert spark.table("lakecat.orders").count() == 2
    assert spark.table("lakecat.orders_quarantine").count() == 1


def test_records_go_to_every_store(make_project: MakeProject, spark: Any) -> None:
    stores = [{"writer": "json"}, {"writer": "spark_table", "schema": "gov"}]
    owned = _contract("bronze.t", LANDING, owners=[{"name": "ann"}], quality=[{"min_rows": 1}])
    project = make_project([owned], {"landing/in.csv": "id\n1\n"}, store=stores)
    for _ in range(2):
        api.run(project, spark=spark)
    told = api.runs(project)
    assert [record.status for record in told] == ["success", "success"]
    runs = api.rows(project, "gov.lakepact_runs")
    assert {row["run_id"] for row in runs} == {record.run_id for record in told}
    assert {row["rows_read"] for row in runs} == {1}
    assert [row["expectation"] for row in api.rows(project, "gov.lakepact_expectations")].count("min_rows") == 2
    assert {row["owner"] for row in api.rows(project, "gov.lakepact_owners")} == {"ann"}


def test_a_failure_leaves_a_record_and_holds_back_what_needs_it(make_project: MakeProject, spark: Any) -> None:
    bad = _contract("bronze.bad", LANDING, quality=[{"min_rows": 5}])
    needs_bad = _contract("silver.bad", {"table": "bronze.bad"})
    good = _contract("bronze.good", LANDING)
    project = make_project([bad, needs_bad, good], {"landing/in.csv": "id\n1\n"})
    with pytest.raises(QualityError) as raised:
        api.run(project, spark=spark)
    assert raised.value.record.pipeline == "bronze.bad"
    status = {record.pipeline: record.status for record in api.runs(project)}
    assert status == {"bronze.bad": "failed", "silver.bad": "skipped", "bronze.good": "success"}


def test_what_spark_throws_becomes_one_line_and_a_record(make_project: MakeProject, spark: Any) -> None:
    project = make_project([_contract("bronze.t", {"path": "{path.landing}/nothing.csv"})])
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert (record.status, record.error_class, record.failed_step) == ("failed", "EngineError", "read")
    assert "PATH_NOT_FOUND" in (record.error or "")
    assert "check source.path" in (record.error or "")
    assert "\n" not in (record.error or "")


def test_reading_a_table_that_is_not_there_says_what_to_do(make_project: MakeProject, spark: Any) -> None:
    project = make_project([_contract("silver.t", {"table": "bronze.t"})])
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert "reads bronze.t, which does not exist yet" in (record.error or "")


def test_references_and_lifecycles(make_project: MakeProject, spark: Any) -> None:
    who = {
        "table": "ref.members",
        "source": {"path": "{path.landing}/members.csv"},
        "columns": [
            {"name": "m"},
            {"name": "start_date", "type": "date"},
            {"name": "end_date", "type": "date"},
        ],
        "write": {"mode": "scd0_overwrite"},
    }
    lifecycle = {"event_ts": "at", "event_key": "m", "table": "ref.members", "reference_key": "m"}
    events = {
        "table": "silver.events",
        "source": {"path": "{path.landing}/events.csv"},
        "columns": [{"name": "id"}, {"name": "m"}, {"name": "at", "type": "timestamp"}],
        "quality": [
            {"referential_integrity": {"column": "m", "table": "ref.members", "key": "m"}},
            {"lifecycle_window": lifecycle, "when": "id <> 'x'"},
        ],
        "write": {"mode": "scd1_upsert", "keys": "id"},
    }
    files = {
        "landing/members.csv": "m,start_date,end_date\n"
        "a,2026-01-01,2026-01-31\na,2026-03-01,\nb,2026-01-01,2026-02-01\n",
        "landing/events.csv": "id,m,at\n"
        "1,a,2026-01-15\n2,a,2026-02-15\n3,a,2027-01-01\n4,b,2026-03-01\n5,c,2026-01-01\n",
    }
    project = make_project([events, who], files)
    api.run(project, spark=spark)
    assert sorted(row["id"] for row in api.rows(project, "silver.events")) == ["1", "3"]
    kept = {row["id"]: sorted(row["_reasons"]) for row in api.rows(project, "silver.events_quarantine")}
    assert kept == {
        "2": ["outside_lifecycle"],
        "4": ["outside_lifecycle"],
        "5": ["outside_lifecycle", "unknown_m"],
    }


def test_json_and_parquet_sources(make_project: MakeProject, spark: Any, tmp_path: Path) -> None:
    typed = [{"name": "id", "type": "int"}, {"name": "n", "type": "decimal(8,2)"}]
    lines = '{"n": 1.25, "id": 1}\n{"id": "x", "n": 2}\n{"id": 3, "n": \n'
    from_json = _contract("bronze.j", {"path": "{path.landing}/in.jsonl"}, columns=typed)
    spark.range(3).selectExpr("CAST(id AS INT) id", "CAST(id AS DOUBLE) n").write.parquet(
        str(tmp_path / "landing" / "p")
    )
    from_parquet = _contract("bronze.p", {"path": "{path.landing}/p", "format": "parquet"}, columns=typed)
    project = make_project([from_json, from_parquet], {"landing/in.jsonl": lines})
    records = {record.pipeline: record for record in api.run(project, spark=spark)}
    assert (records["bronze.j"].rows.inserted, records["bronze.j"].rows.quarantined) == (1, 2)
    assert [str(row["n"]) for row in api.rows(project, "bronze.j")] == ["1.25"]
    reasons = sorted(row["_reasons"][0] for row in api.rows(project, "bronze.j_quarantine"))
    assert reasons == ["malformed_id", "malformed_record"]
    assert records["bronze.p"].rows.inserted == 3


def test_secrets_reach_the_source_and_nothing_else(
    make_project: MakeProject, spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = {"path": "{path.landing}/in.csv", "options": {"comment": "{{ secret:shop/marker }}"}}
    project = make_project([_contract("bronze.t", source)], {"landing/in.csv": "id\n~hunter22\n1\n"})
    (missing,) = api.run(project, spark=spark, raise_on_failure=False)
    assert "LAKEPACT_SECRET_SHOP_MARKER" in (missing.error or "")
    monkeypatch.setenv("LAKEPACT_SECRET_SHOP_MARKER", "~")
    api.run(project, spark=spark)
    assert [row["id"] for row in api.rows(project, "bronze.t")] == [1]
    monkeypatch.setenv("LAKEPACT_SECRET_SHOP_MARKER", "not-one-character")
    (failed,) = api.run(project, spark=spark, raise_on_failure=False)
    assert failed.status == "failed"
    assert "not-one-character" not in (failed.error or "")
    texts = [file.read_text(errors="replace") for file in tmp_path.rglob("*.json")]
    assert not [text for text in texts if "not-one-character" in text]


def test_a_secret_is_hidden_also_before_there_is_a_plan(
    make_project: MakeProject, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEPACT_SECRET_S_FOLDER", "nowhere-hunter22")
    contract = {"table": "b.t", "source": {"path": "/{{ secret:s/folder }}/in.csv"}, "write": {"mode": "scd0_append"}}
    (record,) = api.run(make_project([contract]), spark=spark, raise_on_failure=False)
    assert record.status == "failed"
    assert "hunter22" not in (record.error or "")


def test_changes_inside_nested_values_are_seen(make_project: MakeProject, spark: Any) -> None:
    columns = [{"name": "s", "type": "struct<a:string,b:string>"}, {"name": "xs", "type": "array<int>"}]
    contract = _contract("b.t", {"path": "{path.landing}/in.jsonl"}, columns=columns)
    contract["write"] = {"mode": "scd0_overwrite", "skip_unchanged": True}
    lines = ['{"s":{"a":"x","b":null},"xs":[1,null]}', '{"s":{"a":null,"b":"x"},"xs":[null,1]}']
    for line in lines:
        project = make_project([contract], {"landing/in.jsonl": line + "\n"})
        (record,) = api.run(project, spark=spark)
        assert record.rows.inserted == 1
    project = make_project([contract], {"landing/in.jsonl": '{"s":{"a":"x"},"xs":["1","oops"]}\n' + lines[0] + "\n"})
    (record,) = api.run(project, spark=spark)
    assert (record.rows.inserted, record.rows.quarantined) == (1, 1)
    assert [row["_reasons"] for row in api.rows(project, "b.t_quarantine")] == [["malformed_xs"]]


@pytest.mark.alone
def test_masked_columns_are_masked_wherever_rows_are_shown(make_project: MakeProject, spark: Any) -> None:
    columns = [{"name": "id", "type": "int"}, {"name": "mail", "mask": "mask_email"}]
    contract = _contract("bronze.t", LANDING, columns=columns)
    project = make_project([contract], {"landing/in.csv": "id,mail\n1,ada@example.com\nx,bob@example.com\n"})
    api.run(project, spark=spark)
    assert [row["mail"] for row in api.rows(project, "bronze.t")] == ["a***@example.com"]
    assert "bob@example.com" not in str(api.rows(project, "bronze.t_quarantine"))


def _cli(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.alone
def test_run_prints_data_on_stdout_and_ends_with_the_right_code(make_project: MakeProject, spark: Any) -> None:
    project = make_project(
        [_contract("bronze.t", LANDING, quality=[{"min_rows": 2}])], {"landing/in.csv": "id\n1\n2\n"}
    )
    where = ["--project", str(project.root)]
    code, out, _ = _cli("run", *where, "--json")
    assert (code, json.loads(out)[0]["rows"]["inserted"]) == (0, 2)
    Path(project.root / "landing" / "in.csv").write_text("id\n1\n")
    code, out, err = _cli("run", *where)
    assert code == 1
    assert "min_rows: 1, expected at least 2" in err
    assert _cli("run", *where, "--set", "source.path=missing.csv")[0] == 3
    code, out, _ = _cli("show", "bronze.t", *where, "--json", "--limit", "1")
    assert json.loads(out) == [{"id": 1}]
    code, out, _ = _cli("runs", *where, "--json")
    assert [record["status"] for record in json.loads(out)] == ["failed", "failed", "success"]


@pytest.mark.alone
def test_demo_makes_runs_and_shows_the_lakehouse(spark: Any, tmp_path: Path) -> None:
    code, out, err = _cli("demo", str(tmp_path / "demo"), "--json")
    assert code == 0, err
    tables = json.loads(out)["tables"]
    assert {name: len(rows) for name, rows in tables.items()} == {
        "bronze.orders": 12,
        "silver.orders": 8,
        "silver.orders_quarantine": 4,
        "gold.region_kpis": 5,
    }
    code, out, _ = _cli("demo", str(tmp_path / "demo"))
    assert "missing_customer" in out
    assert "440.90" in out


@pytest.mark.alone
def test_init_gives_a_project_that_runs(spark: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "fresh")
    assert _cli("init", folder)[0] == 0
    code, out, err = _cli("run", "--project", folder)
    assert (code, "quarantined" in out) == (0, True), err
    assert yaml.safe_load(Path(folder, "lakepact.yaml").read_text())["name"] == "fresh"


def test_main_turns_errors_into_lines(make_project: MakeProject, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["lakepact", "run", "--project", "nowhere-at-all"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "no such folder" in capsys.readouterr().err
