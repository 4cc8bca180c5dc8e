"""Whole runs on real Spark and Delta: each case is a contract, its batches, and what each must leave."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject, cases
from lakepact import api
from lakepact.contract.project import Project
from lakepact.evidence.record import RunRecord

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", cases("runs"))
def test_run(case: dict[str, Any], make_project: MakeProject, spark: Any) -> None:
    _run(case, make_project, spark)


@pytest.mark.parametrize("case", cases("modes"))
def test_mode(case: dict[str, Any], make_project: MakeProject, spark: Any) -> None:
    _run(case, make_project, spark)


def _run(case: dict[str, Any], make_project: MakeProject, spark: Any) -> None:
    contract = {"table": "silver.t", "source": {"path": "{path.landing}/in.csv"}, **case["contract"]}
    for batch in case["batches"]:
        project = make_project([{**contract, **batch.get("contract", {})}], {"landing/in.csv": batch["csv"]})
        before = _version(project)
        (record,) = api.run(project, spark=spark, raise_on_failure=False)
        _check(record, batch, project)
        if "commits" in batch:
            assert _version(project) - before == batch["commits"]


def _check(record: RunRecord, batch: dict[str, Any], project: Project) -> None:
    assert record.status == batch.get("status", "success"), record.error
    for words in batch.get("error", []):
        assert words in (record.error or "")
    if record.ok:
        assert record.balanced is True
    for name, count in batch.get("rows", {}).items():
        assert getattr(record.rows, name) == count, name
    if "table" in batch:
        assert _texts(_rows(project, "silver.t")) == _texts(batch["table"])
    if "some" in batch:
        wanted = batch["some"]
        assert _texts([_only(row, wanted) for row in _rows(project, "silver.t")]) == _texts(wanted)
    if "quarantine" in batch:
        kept = [{**row, "_reasons": sorted(row["_reasons"])} for row in _rows(project, "silver.t_quarantine")]
        wanted = [{**row, "_reasons": sorted(row["_reasons"])} for row in batch["quarantine"]]
        assert _texts([_only(row, wanted) for row in kept]) == _texts(wanted)


def _rows(project: Project, table: str) -> list[dict[str, Any]]:
    exists = Path(project.table(table).path or "").exists()
    return api.rows(project, table) if exists else []


def _only(row: dict[str, Any], wanted: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: row[key] for key in (wanted[0] if wanted else row)}


def _texts(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as comparable text: order does not matter, 1.50 and 1.5 are the same number."""
    return sorted(str({k: _text(v) for k, v in sorted(row.items()) if not k.startswith("_ing")}) for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return str(Decimal(str(value)).normalize())
    return "null" if value is None else str(value)


def _version(project: Project) -> int:
    from lakepact.delta.tables import LogTables

    state = LogTables().state(project.table("silver.t"))
    return state.version if state else -1
