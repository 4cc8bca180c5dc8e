"""The first lakehouse: exactly the rows, labels and KPIs of the twelve orders."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lakepact import api
from lakepact.contract.project import Project
from lakepact.delta.tables import LogTables

pytestmark = pytest.mark.spark

KPIS = {
    "DE-BERLIN": ("410.75", 1, 1, 0, 1),
    "JP-TOKYO": ("510.25", 1, 1, 0, 1),
    "KR-BUSAN": ("220.00", 1, 1, 0, 1),
    "KR-SEOUL": ("440.90", 2, 1, 1, 2),
    "US-WEST": ("510.35", 3, 1, 1, 3),
}
REJECTED = {
    ("O-1002", "2026-03-14T09:20:00Z"): ["stale_duplicate"],
    ("O-1008", "2026-03-14T11:00:00Z"): ["missing_customer"],
    ("O-1009", "2026-03-14T11:12:00Z"): ["missing_region"],
    ("O-1010", "2026-03-14T11:20:00Z"): ["non_positive_amount"],
}


def _rejected(project: Project) -> dict[tuple[str, str], list[str]]:
    rows = api.rows(project, "silver.orders_quarantine")
    return {(row["order_id"], row["order_ts"]): sorted(row["_reasons"]) for row in rows}


def _kpis(project: Project) -> dict[str, tuple[Any, ...]]:
    found = {row.pop("region"): tuple(row.values()) for row in api.rows(project, "gold.region_kpis")}
    return {region: (str(values[0]), *values[1:]) for region, values in found.items()}


def _version(project: Project, table: str) -> int:
    state = LogTables().state(project.table(table))
    assert state is not None
    return state.version


def _add(project: Project, *lines: str) -> None:
    file = Path(project.root / "data" / "source_orders.csv")
    file.write_text(file.read_text() + "".join(f"{line}\n" for line in lines))


def test_the_twelve_orders_and_a_second_run_that_changes_nothing(orders: Project, spark: Any) -> None:
    first = {record.pipeline: record for record in api.run(orders, spark=spark)}
    assert [first[t].rows.read for t in ("bronze.orders", "silver.orders", "gold.region_kpis")] == [12, 12, 5]
    assert len(api.rows(orders, "bronze.orders")) == 12
    silver = api.rows(orders, "silver.orders")
    assert sorted(row["order_id"] for row in silver) == [f"O-10{n:02}" for n in (1, 2, 3, 4, 5, 6, 7, 11)]
    assert all(isinstance(row["amount"], Decimal) for row in silver)
    assert _rejected(orders) == REJECTED
    assert _kpis(orders) == KPIS
    expectations = {e.rule: (e.passed, e.failed) for e in first["silver.orders"].expectations}
    assert expectations["customer_present"] == (11, 1)
    assert expectations["latest_order_record"] == (11, 1)

    before = {table: _version(orders, table) for table in ("silver.orders", "gold.region_kpis")}
    second = {record.pipeline: record for record in api.run(orders, spark=spark)}
    assert {table: _version(orders, table) for table in before} == before
    assert (second["silver.orders"].rows.unchanged, second["gold.region_kpis"].rows.unchanged) == (8, 5)
    assert second["silver.orders"].rows.quarantine_added == 0
    assert api.rows(orders, "silver.orders") == silver
    assert _rejected(orders) == REJECTED
    assert all(record.balanced for record in second.values())


def test_every_commit_says_which_run_and_contract_made_it(orders: Project, spark: Any) -> None:
    from deltalake import DeltaTable

    from lakepact.plan.commits import note_of

    for record in api.run(orders, ["bronze.orders"], spark=spark):
        history = DeltaTable(orders.table(record.pipeline).path or "").history()
        notes = [note_of(entry.get("userMetadata")) for entry in history]
        assert {note["run_id"] for note in notes} == {record.run_id}
        assert {note["contract"] for note in notes} == {record.contract_fingerprint}


def test_better_than_the_lab(orders: Project, spark: Any) -> None:
    _add(
        orders,
        "D-1,C-100,KR-SEOUL,web,completed,10.00,USD,2026-03-14T08:00:00Z",
        "D-1,,KR-SEOUL,web,completed,11.00,USD,2026-03-14T09:00:00Z",
        "N-1,C-101,KR-SEOUL,web,completed,,USD,2026-03-14T09:00:00Z",
        "N-2,C-102,KR-SEOUL,web,completed,NaN,USD,2026-03-14T09:00:00Z",
        "T-1,C-103,KR-SEOUL,web,completed,1.00,USD,yesterday",
        "A-1,C-104,KR-SEOUL,web,completed,twelve,USD,2026-03-14T09:00:00Z",
        "M-1,,,web,completed,-1.00,USD,2026-03-14T09:00:00Z",
        "B-1,   ,KR-SEOUL,web,completed,1.00,USD,2026-03-14T09:00:00Z",
    )
    records = api.run(orders, spark=spark)
    assert [record.status for record in records] == ["success", "quarantined", "success"]
    silver = {row["order_id"]: row for row in api.rows(orders, "silver.orders")}
    assert silver["D-1"]["customer_id"] == "C-100"
    found = {order: reasons for (order, _), reasons in _rejected(orders).items() if order not in ("O-1002",)}
    assert found["D-1"] == ["missing_customer"]
    assert found["N-1"] == ["non_positive_amount"]
    assert found["N-2"] == ["malformed_amount"]
    assert found["T-1"] == ["malformed_order_ts"]
    assert found["A-1"] == ["malformed_amount"]
    assert found["M-1"] == ["missing_customer", "missing_region", "non_positive_amount"]
    assert found["B-1"] == ["missing_customer"]


def test_late_rows_change_only_what_they_touch(orders: Project, spark: Any) -> None:
    api.run(orders, spark=spark)
    _add(orders, "O-1007,C-007,KR-SEOUL,partner,completed,260.40,USD,2026-03-15T10:35:00Z")
    records = {record.pipeline: record for record in api.run(orders, spark=spark)}
    rows = records["silver.orders"].rows
    assert (rows.inserted, rows.updated, rows.unchanged, rows.quarantined) == (0, 1, 7, 5)
    assert records["gold.region_kpis"].rows.inserted == 5
    assert _kpis(orders)["KR-SEOUL"] == ("440.90", 2, 2, 0, 2)
