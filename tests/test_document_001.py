"""Document 001: its examples run, and each row of its tables holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import lakepact
from conftest import cases
from lakepact import api
from lakepact.contract.project import Project, default_project
from lakepact.errors import ContractError, LakepactExecutionError

TARGET = {"catalog": "main", "schema": "crm_curated", "table": "t"}

SNAPSHOT = """
mode: snapshot_soft_delete
merge_keys: [device_id]
source:
  type: connector
  connector: table
  table: main.raw.devices_snapshot
  read:
    source_complete: true
"""
GUARDED = """
mode: scd1_upsert
merge_keys: [customer_id]
quality_rules:
  not_null: [customer_id]
  unique_key: [customer_id]
transform:
  deduplicate:
    keys: [customer_id]
    order_by: updated_at DESC NULLS LAST
"""


@pytest.fixture
def home(tmp_path: Path) -> Project:
    return default_project(tmp_path)


AHEAD = {"home": lambda folder, spark: default_project(folder)}


@pytest.mark.parametrize("case", cases("document_001"))
def test_its_tables_hold(case: dict[str, Any], home: Project) -> None:
    document = case.get("native") or {"source": "raw.events", "target": TARGET, **case["document"]}
    try:
        plan = api.plan_of(api.contract_from(document, home), home)
    except ContractError as error:
        told = str(error)
        assert "says" in case, told
        assert [words for words in case["says"] if words not in told] == [], told
        return
    assert "says" not in case, "it must be refused"
    notes = "\n".join(plan.warnings)
    assert case.get("note", "") in notes
    assert "no_note" not in case or case["no_note"] not in notes


def _csv(folder: Path, text: str) -> dict[str, str]:
    (folder / "in.csv").write_text(text, encoding="utf-8")
    return {"type": "csv", "path": str(folder / "in.csv")}


@pytest.mark.spark
def test_a_snapshot_of_devices(home: Project, tmp_path: Path, spark: Any) -> None:
    """The source of the example is a table: it is filled first, then a device disappears and one comes back."""

    def load(rows: str) -> lakepact.IngestResult:
        lakepact.ingest(
            source=_csv(tmp_path, f"device_id,room\n{rows}"), target_catalog="main", target_schema="raw",
            target_table="devices_snapshot", mode="scd0_overwrite", project=home, spark=spark,
        )  # fmt: skip
        return lakepact.ingest(yaml.safe_load(SNAPSHOT) | {"target": TARGET}, project=home, spark=spark)

    def active() -> list[tuple[str, bool]]:
        return [(row["device_id"], row["is_active"]) for row in api.rows(home, "main.crm_curated.t")]

    assert load("a,1\nb,1\n").rows_inserted == 2
    gone = load("a,2\nc,1\n")
    assert (gone.rows_inserted, gone.rows_updated, gone.rows_soft_deleted, gone.metrics_source) == (1, 1, 1, "mixed")
    assert active() == [("a", True), ("b", False), ("c", True)]
    assert load("a,2\nb,1\nc,1\n").rows_updated == 1
    assert active() == [("a", True), ("b", True), ("c", True)]


@pytest.mark.spark
def test_an_upsert_that_looks_at_its_keys(home: Project, tmp_path: Path, spark: Any) -> None:
    """Duplicates are put in order before the guardrail looks; a key without a value stops the write."""
    rows = "customer_id,name,updated_at\n1,old,2026-01-01\n1,new,2026-01-02\n2,x,\n"
    said = yaml.safe_load(GUARDED) | {"target": TARGET, "columns": {"customer_id": "int", "name": "string"}}
    said["columns"]["updated_at"] = "date"
    result = lakepact.ingest(said | {"source": _csv(tmp_path, rows)}, project=home, spark=spark)
    assert (result.status, result.rows_read, result.rows_inserted, result.quality_status) == ("SUCCESS", 3, 2, "PASSED")
    assert result.rows_effective == 2
    assert [row["name"] for row in api.rows(home, "main.crm_curated.t")] == ["new", "x"]
    with pytest.raises(LakepactExecutionError) as error:
        lakepact.ingest(said | {"source": _csv(tmp_path, f"{rows},y,2026-01-03\n")}, project=home, spark=spark)
    assert (error.value.result.status, error.value.result.quality_status) == ("FAILED", "FAILED")


@pytest.mark.spark
def test_a_failed_write_leaves_evidence_and_raises(home: Project, tmp_path: Path, spark: Any) -> None:
    """The document's last example, with each kind of failure: all are typed, all have a record."""
    from lakepact import ContractForgeExecutionError, ingest

    target = {"target_schema": "s", "target_table": "t", "project": home, "spark": spark}
    keyed = {"mode": "upsert", "merge_keys": "id", **target}
    doubled = _csv(tmp_path, "id,v\n1,a\n1,b\n")
    nowhere = {"type": "csv", "path": str(tmp_path / "none.csv")}
    failures = {
        "duplicates": ({"source": doubled, **keyed}, "QualityError", "stands more than once; 1"),
        "a rule": (
            {"source": doubled, "quality_rules": {"min_rows": 5}, **target},
            "QualityError", "expected at least 5",
        ),
        "bad SQL": (
            {"source": doubled, "transform": {"derive": {"w": "no_such_column + 1"}}, **target},
            "EngineError", "no_such_column",
        ),
        "no file": ({"source": nowhere, **target}, "EngineError", "none.csv"),
    }  # fmt: skip
    for said, kind, words in failures.values():
        with pytest.raises(ContractForgeExecutionError, match=words) as error:
            ingest(**said)
        result = error.value.result
        assert (type(error.value).__name__, result.error_class, result.status) == (kind, kind, "FAILED")
        assert result.to_dict()["run_id"] in {record.run_id for record in api.runs(home)}
    with pytest.raises(ContractForgeExecutionError, match="does not exist yet"):
        ingest(source="raw.no_such_table", **target)
    assert api.runs(home)[0].error_class == "PlanError", "a missing table leaves a record too"


def test_what_is_wrong_with_the_arguments_is_told_at_once(home: Project) -> None:
    with pytest.raises(ContractError) as error:
        lakepact.ingest(source="a.b", target_table="t", merge_key=["id"], on_quality_fail="stop", project=home)
    assert "did you mean 'merge_keys'" in str(error.value)
    assert "on_quality_fail" in str(error.value)


@pytest.mark.spark
def test_a_dry_run_touches_nothing(home: Project, tmp_path: Path) -> None:
    result = lakepact.ingest(
        source=_csv(tmp_path, "id\n1\n"), target_table="t", mode="append", project=home, dry_run=True
    )
    assert (result.status, result.mode) == ("DRY_RUN", "scd0_append")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
