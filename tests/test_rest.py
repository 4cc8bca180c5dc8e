"""Pages over HTTP, from a real server: every record once, patience where it helps, and errors that tell no secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lakepact.errors import EngineError
from lakepact.plan.rest import options_for_reading
from lakepact.spark.rest import records
from pages import ORDERS, TOKEN, Pages, serve


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    monkeypatch.setenv("no_proxy", "*")
    with serve() as running:
        yield running


def _read(pages: Pages, path: str, slept: list[float] | None = None, **options: Any) -> list[Any]:
    said = options_for_reading({"url": f"{pages.url}{path}", **options})
    return [json.loads(text) for text in records(said, (slept if slept is not None else []).append)]


WAYS: dict[str, tuple[str, dict[str, Any], int]] = {
    "none": ("/all", {"records": "data.items"}, 1),
    "page": ("/page", {"records": "data.items", "paging": "page"}, 4),
    "offset": ("/offset", {"paging": "offset", "page_param": "start", "size_param": "n", "page_size": 100}, 4),
    "cursor": (
        "/cursor", {"records": "items", "paging": "cursor", "page_param": "after", "cursor_path": "meta.next"}, 3,
    ),
    "link in the body": ("/linked", {"records": "items", "paging": "link", "next_path": "next"}, 3),
    "link in the head": ("/headed", {"paging": "link"}, 3),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_paging_brings_every_record_once(way: str, pages: Pages) -> None:
    path, options, requests = WAYS[way]
    assert _read(pages, path, **options) == ORDERS
    assert len(pages.asked) == requests


def test_pages_are_asked_for_one_after_the_other(pages: Pages) -> None:
    """Who takes three records causes one request."""
    said = options_for_reading({"url": f"{pages.url}/page?kind=a", "records": "data.items", "paging": "page",
                                "params.since": "2026-01-01", "size_param": "n", "page_size": 3})  # fmt: skip
    found = records(said)
    assert [next(found) for _ in range(3)]
    assert pages.queries() == [{"kind": "a", "since": "2026-01-01", "n": "3", "page": "1"}]


@pytest.mark.parametrize("path", ["/empty", "/nothing"])
def test_nothing_is_no_records(path: str, pages: Pages) -> None:
    assert _read(pages, path, records="data.items" if path == "/empty" else "", paging="page") == []


def test_numbers_and_letters_stay_as_they_were_written(pages: Pages) -> None:
    pages.instead = [
        (200, '[{"a": 1.10, "b": 12345678901234567890.123, "c": "ü\\u0000", "d": {"e": [1.0]}}]'.encode(), {})
    ]
    said = options_for_reading({"url": f"{pages.url}/all"})
    assert list(records(said)) == ['{"a":1.10,"b":12345678901234567890.123,"c":"ü\\u0000","d":{"e":[1.0]}}']


@pytest.mark.parametrize("login", [{"bearer": TOKEN}, {"headers.X-Api-Key": TOKEN}])
def test_who_asks_is_told(login: dict[str, str], pages: Pages) -> None:
    assert _read(pages, "/secured", **login) == ORDERS


def test_a_login_of_user_and_password(pages: Pages) -> None:
    _read(pages, "/all", records="data.items", user="ann", password="pä")  # noqa: S106 - of a test
    assert pages.asked[0][1]["Authorization"] == "Basic YW5uOnDDpA=="


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_stumbles_is_asked_again(status: int, pages: Pages) -> None:
    slept: list[float] = []
    pages.instead = [(status, {}, {}), (status, {}, {"Retry-After": "7"})]
    assert _read(pages, "/page", slept, records="data.items", paging="page", backoff_seconds=2) == ORDERS
    assert slept == [2.0, 7.0]


def test_patience_ends(pages: Pages) -> None:
    slept: list[float] = []
    pages.instead = [(500, {}, {})] * 9
    with pytest.raises(EngineError, match=r"/all: page 1 is answered with 500 Internal Server Error, 3 tries"):
        _read(pages, "/all?token=hunter22", slept, retries=2)
    assert (slept, len(pages.asked)) == ([1.0, 2.0], 3)


def test_a_server_that_is_not_there(pages: Pages) -> None:
    said = options_for_reading({"url": "http://127.0.0.1:1/x?token=hunter22", "retries": 1})
    with pytest.raises(EngineError, match=r"http://127.0.0.1:1/x: page 1 cannot be had, 2 tries: .*refused") as raised:
        list(records(said, [].append))
    assert "hunter22" not in str(raised.value)


LINKED = {"records": "items", "paging": "link", "next_path": "next"}
FAILURES: dict[str, tuple[str, dict[str, Any], list[Any], str]] = {
    "unknown": (
        "/secured?key=hunter22", {"bearer": "hunter22"}, [],
        "/secured: page 1 is answered with 401 Unauthorized; correct bearer",
    ),
    "not found": ("/all", {}, [(404, {}, {})], "404 Not Found; correct source.options.url"),
    "not JSON": ("/all?key=hunter22", {}, [(200, b'{"data": [1,', {})], "/all: page 1 is not JSON"),
    "a web page": ("/all", {}, [(200, b"<html>login</html>", {})], "is not JSON"),
    "no such path": (
        "/all", {"records": "data.rows"}, [], "there is no data.rows in the answer, which has data; correct records",
    ),
    "a loop": ("/loop?key=hunter22", LINKED, [], "leads back to a page"),
    "no end": (
        "/page", {"records": "data.items", "paging": "page", "max_pages": 2}, [],
        "more than 2 pages; raise source.options.max_pages",
    ),
    "another server by redirect": (
        "/elsewhere", {"bearer": "hunter22"}, [], "leads to another server, http://localhost:1/steal",
    ),
    "another server by link": (
        "/all", LINKED, [(200, {"items": [], "next": "http://localhost:1/steal?k=hunter22"}, {})],
        "on another server, http://localhost:1/steal",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_one_line_that_helps_and_hides(case: str, pages: Pages) -> None:
    path, options, instead, words = FAILURES[case]
    pages.instead = list(instead)
    with pytest.raises(EngineError) as raised:
        _read(pages, path, **options)
    assert words in str(raised.value)
    assert "hunter22" not in str(raised.value)
