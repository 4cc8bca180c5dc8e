"""Sources that tell what changed: the change feed of a table, Debezium's events, and reading on from a watermark."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from lakepact.contract.project import Project

pytestmark = pytest.mark.spark

FEED = {"layout": {"properties": {"delta.enableChangeDataFeed": "true"}}}
CURRENT = {
    "table": "silver.items", "source": {"path": "landing/items.csv"},
    "columns": [{"name": "id"}, {"name": "v", "type": "int"}],
    "write": {"mode": "snapshot_soft_delete", "keys": "id", "hard_delete": True},
}  # fmt: skip
FOLLOWS = {
    "table": "gold.items", "source": {"change_feed": "silver.items"},
    "columns": [
        {"name": "id"}, {"name": "v", "type": "int"}, {"name": "_change_type"},
        {"name": "_commit_version", "type": "bigint"},
    ],
    "write": {"mode": "cdc_merge", "keys": "id"},
}  # fmt: skip


def _alive(project: Project, table: str) -> list[Any]:
    rows = [row for row in api.rows(project, table) if not row.get("is_deleted")]
    return sorted((row["id"], row["v"]) for row in rows)


def test_a_table_follows_the_changes_of_another(make_project: MakeProject, spark: Any) -> None:
    """The first run takes what is there; each later one only what changed, deletes too."""
    first = {**CURRENT, **FEED, "source": {**CURRENT["source"], "complete": True}}
    batches = ["id,v\na,1\nb,1\nc,1\n", "id,v\na,2\nc,1\nd,1\n", "id,v\na,2\nc,1\nd,1\n"]
    read, skipped = [], []
    for batch in batches:
        project = make_project([first, FOLLOWS], {"landing/items.csv": batch})
        records = api.run(project, spark=spark)
        read.append(records[1].rows.read)
        skipped.append(records[1].status)
        assert _alive(project, "gold.items") == _alive(project, "silver.items")
    assert read[:2] == [3, 3], "an update, a delete and an insert"
    assert skipped == ["success", "success", "skipped"]
    (again,) = api.run(project, ["gold.items"], spark=spark)
    assert again.status == "skipped"
    assert "nothing changed in silver.items" in (again.skip_reason or "")


def test_without_a_feed_the_reader_is_told_what_to_do(make_project: MakeProject, spark: Any) -> None:
    first = {**CURRENT, "source": {**CURRENT["source"], "complete": True}}
    project = make_project([first, FOLLOWS], {"landing/items.csv": "id,v\na,1\n"})
    _, record = api.run(project, spark=spark, raise_on_failure=False)
    assert record.status == "failed"
    assert "silver.items keeps no change feed; add layout.properties" in (record.error or "")


def test_a_change_feed_is_streamed(make_project: MakeProject, spark: Any) -> None:
    first = {**CURRENT, **FEED, "source": {**CURRENT["source"], "complete": True}}
    follows = {**FOLLOWS, "source": {"change_feed": "silver.items", "load_type": "streaming"}}
    for batch in ("id,v\na,1\nb,1\n", "id,v\na,2\n"):
        project = make_project([first, follows], {"landing/items.csv": batch})
        api.run(project, ["silver.items"], spark=spark)
        api.stream(project, ["gold.items"], spark=spark)
        assert _alive(project, "gold.items") == _alive(project, "silver.items")


def _event(op: str, at: int, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op, "ts_ms": at, "source": {"lsn": at * 10, "table": "items"}}


def test_debezium_events_become_rows(make_project: MakeProject, spark: Any) -> None:
    """With and without the schema that some converters send along; what is no event is kept in quarantine."""
    events = [
        _event("c", 1, after={"id": "a", "v": 1}),
        {"schema": {"type": "struct"}, "payload": _event("u", 2, {"id": "a", "v": 1}, {"id": "a", "v": 2})},
        _event("r", 1, after={"id": "b", "v": 1}),
        _event("d", 3, before={"id": "b", "v": 1}),
        _event("c", 4, after={"id": "c", "v": "many"}),
        {"hello": "world"},
    ]
    lines = "\n".join([*(json.dumps(event) for event in events), '{"op": "c", "after": {"id"'])
    contract = {
        "table": "silver.items", "source": {"path": "landing/events.jsonl", "envelope": "debezium"},
        "columns": [{"name": "id"}, {"name": "v", "type": "int"}, {"name": "_op"}, {"name": "_lsn", "type": "bigint"}],
        "write": {"mode": "auto_cdc", "keys": "id", "sequence_by": "_lsn", "except_column_list": ["_op", "_lsn"]},
    }  # fmt: skip
    project = make_project([contract], {"landing/events.jsonl": lines})
    (record,) = api.run(project, spark=spark)
    assert _alive(project, "silver.items") == [("a", 2)]
    rejected = sorted(row["_reasons"] for row in api.rows(project, "silver.items_quarantine"))
    assert rejected == [["malformed_record"], ["malformed_record"], ["malformed_v"]]
    assert record.rows.read == 7
    (again,) = api.run(project, spark=spark)
    assert again.version_after == record.version_after


WATERMARKED = {
    "table": "silver.items",
    "source": {"table": "bronze.items", "watermark": {"column": "at", "lookback": "1d"}},
    "columns": [{"name": "id"}, {"name": "v", "type": "int"}, {"name": "at", "type": "timestamp"}],
    "write": {"mode": "scd1_upsert", "keys": "id", "sequence_by": "at"},
}


def test_reading_goes_on_from_the_watermark(make_project: MakeProject, spark: Any) -> None:
    """Rows from a day before the newest on are read again, for some come late; older ones are not."""
    bronze = {
        "table": "bronze.items", "source": {"path": "landing/items.csv"}, "columns": WATERMARKED["columns"],
        "write": {"mode": "scd0_append"},
    }  # fmt: skip
    batches = {
        "id,v,at\na,1,2026-01-01\nb,1,2026-01-05\n": 2,
        "id,v,at\nc,1,2026-01-04T12:00:00\nd,1,2026-01-02\ne,1,2026-01-06\n": 3,
    }
    for batch, read in batches.items():
        project = make_project([bronze, WATERMARKED], {"landing/items.csv": batch})
        records = api.run(project, spark=spark)
        assert records[1].rows.read == read
    assert _alive(project, "silver.items") == [("a", 1), ("b", 1), ("c", 1), ("e", 1)], "d came too late"
