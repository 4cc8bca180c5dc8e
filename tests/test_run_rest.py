"""An HTTP interface as the source of a table: records are rows, judged like any other, and secrets stay secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from lakepact.errors import EngineError, LakepactExecutionError
from pages import TOKEN, Pages, serve

pytestmark = pytest.mark.spark

COLUMNS = [
    {"name": "id", "type": "int", "nullable": False},
    {"name": "amount", "type": "decimal(8,2)"},
    {"name": "note"},
]
UPSERT = {"mode": "scd1_upsert", "keys": "id"}


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("LAKEPACT_SECRET_SHOP_TOKEN", TOKEN)
    monkeypatch.setenv("LAKEPACT_SECRET_SHOP_WRONG", "hunter22")
    with serve() as running:
        yield running


def _contract(pages: Pages, path: str, **options: Any) -> dict[str, Any]:
    source = {"connector": "rest", "options": {"url": f"{pages.url}{path}", **options}}
    return {"table": "s.orders", "source": source, "columns": COLUMNS, "write": UPSERT}


def test_records_are_rows(make_project: MakeProject, spark: Any, pages: Pages) -> None:
    project = make_project([_contract(pages, "/page", records="data.items", paging="page")])
    (first,) = api.run(project, spark=spark)
    assert (first.rows.read, first.rows.inserted, first.sources) == (7, 7, (f"rest {pages.url}/page",))
    assert len(pages.asked) == 4
    rows = api.rows(project, "s.orders")
    assert [(row["id"], str(row["amount"]), row["note"]) for row in rows][:2] == [
        (1, "1.50", "ü 1"),
        (2, "2.50", "ü 2"),
    ]
    (again,) = api.run(project, spark=spark)
    assert (again.rows.unchanged, again.version_after) == (7, first.version_after)


def test_what_is_no_object_is_rejected_as_it_came(make_project: MakeProject, spark: Any, pages: Pages) -> None:
    project = make_project([_contract(pages, "/odd")])
    (record,) = api.run(project, spark=spark)
    assert (record.rows.read, record.rows.inserted, record.rows.quarantined) == (6, 1, 5)
    kept = {
        json.loads(row["_row"]).get("_corrupt_record"): row["_reasons"]
        for row in api.rows(project, "s.orders_quarantine")
    }
    malformed = ["malformed_record"]
    assert kept == {
        "5": malformed,
        '"text"': malformed,
        "null": malformed,
        '[{"id":2}]': malformed,
        None: ["malformed_id"],
    }


def test_nothing_there_is_a_batch_of_no_rows(make_project: MakeProject, spark: Any, pages: Pages) -> None:
    project = make_project([_contract(pages, "/empty", records="data.items")])
    assert api.run(project, spark=spark)[0].rows.read == 0


def test_a_secret_opens_the_door_and_is_shown_nowhere(
    make_project: MakeProject, spark: Any, pages: Pages, tmp_path: Path
) -> None:
    project = make_project([_contract(pages, "/secured", bearer="{{ secret:shop/token }}")])
    assert api.run(project, spark=spark)[0].rows.inserted == 7
    project = make_project([_contract(pages, "/secured", bearer="{{ secret:shop/wrong }}")])
    with pytest.raises(EngineError, match="401 Unauthorized; correct bearer") as raised:
        api.run(project, spark=spark)
    kept = str(raised.value) + "".join(file.read_text() for file in (tmp_path / ".lakepact").rglob("*.json"))
    assert [secret for secret in (TOKEN, "hunter22") if secret in kept] == []


def test_it_cannot_be_streamed(make_project: MakeProject, spark: Any, pages: Pages) -> None:
    project = make_project([_contract(pages, "/all")])
    with pytest.raises(LakepactExecutionError, match="rest cannot be streamed") as error:
        api.stream(project, spark=spark)
    assert error.value.record.error_class == "PlanError"
