"""Settings of sources that cannot be right are refused before anything is read, each with its field."""

from __future__ import annotations

from typing import Any

import pytest

from builders import contract
from lakepact.plan.check import find_problems

REST = {"url": "https://shop.example/v1/orders"}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "xml without a row": ({"path": "in/a.xml"}, "source.options.rowTag", "xml needs rowTag: the name of the element"),
    "xml with a typo": (
        {"path": "in/a.xml", "options": {"rowtagg": "row"}}, "source.options.rowTag", "xml needs rowTag, not rowtagg",
    ),
    "a version of files": ({"path": "in", "format": "csv", "version": 1}, "source.version", "only a table"),
    "version and timestamp": ({"table": "s.x", "version": 1, "timestamp": "2026-01-01"}, "source.version", "not both"),
    "a version of a stream": ({"table": "s.x", "version": 1, "load_type": "streaming"}, "source.version", "what comes"),
    "bad files of a table": ({"table": "s.x", "bad_files": "quarantine"}, "source.bad_files", "needs source.path"),
    "bad files of a stream": (
        {"path": "in", "format": "csv", "bad_files": "quarantine", "load_type": "streaming"}, "source.bad_files",
        "say load_type: incremental",
    ),
    "a stream of a database": (
        {"connector": "jdbc", "load_type": "streaming", "options": {"url": "jdbc:postgresql://h/d", "dbtable": "t"}},
        "source.load_type", "jdbc cannot be streamed",
    ),
    "rest: no url": ({"connector": "rest"}, "source.options.url", "begins with https://"),
    "rest: a typo": (
        {"connector": "rest", "options": {**REST, "page_sise": 5}}, "source.options.page_sise",
        "did you mean 'page_size'",
    ),
    "rest: no such paging": (
        {"connector": "rest", "options": {**REST, "paging": "pages"}}, "source.options.paging", "did you mean 'page'",
    ),
    "rest: a cursor from nowhere": (
        {"connector": "rest", "options": {**REST, "paging": "cursor"}}, "source.options.cursor_path", "cursor_path",
    ),
    "rest: a setting of another paging": (
        {"connector": "rest", "options": {**REST, "next_path": "next"}}, "source.options.next_path",
        "only for paging link, not for none",
    ),
    "rest: a size without its name": (
        {"connector": "rest", "options": {**REST, "page_size": 5}}, "source.options.page_size", "belong together",
    ),
    "rest: no number": (
        {"connector": "rest", "options": {**REST, "retries": "many"}}, "source.options.retries", "a whole number",
    ),
    "rest: a token": ({"connector": "rest", "options": {**REST, "bearer": "abc"}}, "source.options.bearer", "a secret"),
    "rest: a token in a header": (
        {"connector": "rest", "options": {**REST, "headers.X-Api-Key": "abc"}}, "source.options.headers.X-Api-Key",
        "a secret",
    ),
    "rest: a token in the url": (
        {"connector": "rest", "options": {"url": "https://h/?token=abc"}}, "source.options.url", "a secret",
    ),
    "rest: half a login": (
        {"connector": "rest", "options": {**REST, "user": "ann"}}, "source.options.user", "user needs password",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_its_field(case: str) -> None:
    source, field, words = REFUSED[case]
    found = find_problems(contract(source=source))
    assert [(problem.field, words in problem.message) for problem in found] == [(field, True)], found


def test_rest_needs_columns() -> None:
    found = find_problems(contract(source={"connector": "rest", "options": REST}, columns=[]))
    assert [problem.field for problem in found] == ["columns"]


@pytest.mark.parametrize("options", [
    {**REST, "bearer": "{{ secret:shop/token }}", "paging": "page", "size_param": "n", "page_size": 50},
    {**REST, "headers.Authorization": "Token {{ secret:shop/token }}", "params.since": "2026-01-01"},
    {"url": "{{ secret:shop/url }}", "paging": "link", "next_path": "links.next"},
])  # fmt: skip
def test_what_is_right_is_not_refused(options: dict[str, Any]) -> None:
    assert find_problems(contract(source={"connector": "rest", "options": options})) == []
