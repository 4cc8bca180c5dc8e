"""Random batches against a plain-Python model: every row ends where the model says."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api

pytestmark = pytest.mark.spark

CONTRACT = {
    "table": "silver.t",
    "source": {"path": "{path.landing}/in.csv", "filter": "kind IS NULL OR kind <> 'test'"},
    "columns": [
        {"name": "id", "nullable": False},
        {"name": "who"},
        {"name": "kind"},
        {"name": "n", "type": "decimal(6,1)"},
    ],
    "transform": [{"deduplicate": {"keys": "id", "order_by": "n DESC NULLS LAST"}}],
    "quality": [
        {"name": "who_known", "check": "who <> 'nobody'", "rejected_as": "nobody"},
        {"name": "n_small", "check": "n < 50", "rejected_as": "large"},
        {"name": "kind_odd", "check": "kind <> 'odd'", "action": "warn"},
    ],
    "write": {"mode": "scd1_upsert", "keys": "id"},
}
Row = dict[str, "str | None"]


def _batch(seed: int, size: int) -> list[Row]:
    choose = random.Random(seed).choice  # noqa: S311 - test data
    values = {
        "id": [None, *(f"k{i}" for i in range(size // 3))],
        "who": [None, "ann", "bob", "nobody"],
        "kind": [None, "test", "odd", "real"],
        "n": [None, "1", "2.0", "7", "49.9", "50", "99", "many", "-3", "1e3"],
    }
    return [{column: choose(options) for column, options in values.items()} for _ in range(size)]


def _number(text: str | None) -> Decimal | None:
    try:
        return None if text is None else Decimal(text)
    except InvalidOperation:
        return None


def _reasons(row: Row) -> list[str]:
    n, unread = _number(row["n"]), row["n"] is not None and _number(row["n"]) is None
    found = ["malformed_n"] if unread else []
    found += [] if row["id"] is not None else ["missing_id"]
    found += [] if row["who"] is not None and row["who"] != "nobody" else ["nobody"]
    found += [] if unread or (n is not None and n < 50) else ["large"]
    return sorted(found)


def _model(table: dict[str, Row], batch: list[Row]) -> tuple[dict[str, Row], Counter[str], list[list[str]]]:
    """The table after the batch, the counts, and the reasons of each rejected row."""
    kept = [row for row in batch if row["kind"] != "test"]
    rejected = [_reasons(row) for row in kept if _reasons(row)]
    best: dict[str, Row] = {}
    for row in (row for row in kept if not _reasons(row)):
        assert row["id"] is not None
        best[row["id"]] = max(best.get(row["id"], row), row, key=_rank)
    counts = Counter(read=len(batch), filtered=len(batch) - len(kept), quarantined=len(rejected))
    counts["deduplicated"] = len(kept) - len(rejected) - len(best)
    for key, row in best.items():
        counts["inserted" if key not in table else "unchanged" if _same(table[key], row) else "updated"] += 1
    return table | best, counts, rejected


def _rank(row: Row) -> tuple[Any, ...]:
    """Largest n wins; ties go to the smallest text, NULL before all."""
    inverse = [(2,) if row[c] is None else (*(-ord(char) for char in row[c] or ""), 1) for c in ("who", "kind")]
    return (_number(row["n"]), *inverse)


def _same(left: Row, right: Row) -> bool:
    return all(left[c] == right[c] for c in ("who", "kind")) and _number(left["n"]) == _number(right["n"])


def _csv(batch: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["n", "who", "id", "kind"])
    writer.writeheader()
    writer.writerows(batch)
    return text.getvalue()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_row_ends_where_the_model_says(seed: int, make_project: MakeProject, spark: Any) -> None:
    table: dict[str, Row] = {}
    for number in range(2):
        batch = _batch(seed * 100 + number, 300)
        table, counts, rejected = _model(table, batch)
        project = make_project([CONTRACT], {"landing/in.csv": _csv(batch)})
        (record,) = api.run(project, spark=spark)
        found = Counter({name: n for name, n in vars(record.rows).items() if n})
        assert Counter({k: found[k] for k in counts}) == counts
        assert record.balanced
        rows = {row["id"]: row for row in api.rows(project, "silver.t")}
        assert {key: _told(row) for key, row in rows.items()} == {key: _told(row) for key, row in table.items()}
        if number == 0:
            kept = [sorted(row["_reasons"]) for row in api.rows(project, "silver.t_quarantine")]
            assert sorted(kept) == sorted(rejected)


def _told(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["who"], row["kind"], None if row["n"] is None else Decimal(row["n"])
