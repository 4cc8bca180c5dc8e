"""Every keyed write mode against its model: hundreds of small worlds at once, the world being part of the key."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from oracle import MODELS, Row, State

pytestmark = pytest.mark.spark

WORLDS, BATCHES, MOST_ROWS = 1000, 2, 4
DAY_0 = datetime(2026, 1, 1, tzinfo=timezone.utc)
COLUMNS = [{"name": "id"}, {"name": "v"}, {"name": "at", "type": "int"}, {"name": "op"}]
WRITES: dict[str, dict[str, Any]] = {
    "scd1_upsert": {"mode": "scd1_upsert", "keys": "id"},
    "scd1_upsert in sequence": {"mode": "scd1_upsert", "keys": "id", "sequence_by": "at"},
    "scd1_hash_diff": {"mode": "scd1_hash_diff", "keys": "id"},
    "append_dedup": {"mode": "append_dedup", "keys": "id"},
    "snapshot_soft_delete": {"mode": "snapshot_soft_delete", "keys": "id"},
    "cdc_merge": {"mode": "cdc_merge", "keys": "id", "sequence_by": "at", "op_column": "op"},
    "scd2_historical": {
        "mode": "scd2_historical", "keys": "id", "effective_from": "day", "track": "v", "apply_as_deletes": "op = 'D'",
    },
}  # fmt: skip
# What makes two rows of one batch collide: modes that refuse doubles are given none.
DISTINCT: dict[str, Callable[[Row], Any]] = {
    "append_dedup": lambda row: (row["id"], row["v"]),
    "cdc_merge": lambda row: (row["id"], row["at"]),
    "scd2_historical": lambda row: (row["id"], row["at"]),
}


def _batch(mode: str, choose: random.Random) -> list[Row]:
    rows: dict[Any, Row] = {}
    for world in range(WORLDS):
        for _ in range(choose.randint(0, MOST_ROWS)):
            row = {
                "id": f"{world}:{choose.choice('ab')}",
                "v": choose.choice(["x", "y", "z", None]),
                "at": choose.randint(1, 9),
                "op": choose.choice("IUUD"),
            }
            rows.setdefault(DISTINCT.get(mode, lambda row: row["id"])(row), row)
    return list(rows.values())


@pytest.mark.parametrize("mode", MODELS)
def test_a_mode_does_what_its_model_does(mode: str, make_project: MakeProject, spark: Any) -> None:
    choose, state = random.Random(mode), {}  # noqa: S311 - test data
    columns = [*COLUMNS, *([{"name": "day", "type": "timestamp"}] if mode == "scd2_historical" else [])]
    contract = {
        "table": "s.t",
        "source": {"path": "{path.landing}/in.csv", "complete": True},
        "columns": columns,
        "write": WRITES[mode],
    }
    for _ in range(BATCHES):
        batch = _batch(mode, choose)
        state = MODELS[mode](state, batch)
        project = make_project([contract], {"landing/in.csv": _csv(batch)})
        (record,) = api.run(project, spark=spark)
        assert record.balanced
        assert _told(mode, api.rows(project, "s.t")) == _wanted(mode, state)
    (again,) = api.run(project, spark=spark)
    assert (again.rows.inserted, again.rows.updated, again.rows.unchanged) == (0, 0, len(batch)), "twice is once"
    assert again.version_after == record.version_after


def _csv(batch: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["op", "at", "v", "id", "day"])
    writer.writeheader()
    for row in batch:
        writer.writerow({**row, "day": _day(row["at"]).isoformat()})
    return text.getvalue()


def _day(number: int) -> datetime:
    return DAY_0 + timedelta(days=number)


def _told(mode: str, rows: list[Row]) -> set[Any]:
    if mode == "scd2_historical":
        return {(row["id"], row["valid_from"], row["v"], row["valid_to"], row["is_current"]) for row in rows}
    names = [name for name in ("id", "v", "at", "op", "is_active", "is_deleted") if name in (rows[0] if rows else {})]
    kept = [name for name in names if mode != "cdc_merge" or name != "op"]
    assert len({row["id"] for row in rows}) == len(rows)
    return {tuple(row[name] for name in kept) for row in rows}


def _wanted(mode: str, state: State) -> set[Any]:
    if mode == "scd2_historical":
        return {
            (key, _day(begin), value, None if end is None else _day(end), end is None)
            for key, versions in state.items()
            for begin, (value, end) in versions.items()
        }
    names = [name for name in ("id", "v", "at", "op", "is_active", "is_deleted") if name in next(iter(state.values()))]
    return {tuple(row[name] for name in names) for row in state.values()}
