"""REST: what a contract may say of an HTTP interface that answers in JSON, and which page follows which."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from lakepact.errors import Problem
from lakepact.names import literal, quote
from lakepact.plan.columns import CORRUPT
from lakepact.plan.jdbc import passwords_in
from lakepact.plugins import hint
from lakepact.secrets import SECRET

Options = Mapping[str, object]
Found = Iterator[Problem]

OPTIONS = (
    "url", "records", "paging", "page_param", "first_page", "size_param", "page_size", "cursor_path", "next_path",
    "bearer", "user", "password", "max_pages", "retries", "backoff_seconds", "timeout_seconds",
)  # fmt: skip
GROUPS = ("headers.", "params.")
DEFAULTS = {
    "records": "", "paging": "none", "max_pages": "10000", "retries": "5", "backoff_seconds": "1",
    "timeout_seconds": "60", "first_page": "1",
}  # fmt: skip
NUMBERS = {"page_size": 1, "first_page": 0, "max_pages": 1, "retries": 0, "backoff_seconds": 0, "timeout_seconds": 1}
# What each way of paging needs to be told, and what only it can be told.
NEEDS = {"none": (), "page": (), "offset": (), "cursor": ("cursor_path",), "link": ()}
ONLY_FOR = {
    "page_param": ("page", "offset", "cursor"), "first_page": ("page",), "cursor_path": ("cursor",),
    "next_path": ("link",),
}  # fmt: skip
PARAMS = {"page": "page", "offset": "offset", "cursor": "cursor"}
TOGETHER = ("user", "password")
USE_A_SECRET = "a secret must not stand in a contract; write {{ secret:scope/key }}"  # noqa: S105
_SECRETIVE = re.compile(r"(?i)authorization|api[-_]?key|token|secret|password|cookie|signature")


def problems(options: Options) -> Found:
    """Everything that stands against these options, without asking the server."""
    for check in (_names, _place, _paging, _numbers, _secrets):
        yield from check(options)


def options_for_reading(options: Options) -> dict[str, str]:
    """All that is said, with defaults; secrets stay as they were written."""
    return {**DEFAULTS, **{key: str(v).lower() if isinstance(v, bool) else str(v) for key, v in options.items()}}


def label(options: Options) -> str:
    return f"rest {shown(str(options.get('url', '')))}"


def shown(url: str) -> str:
    """A url as it may be told: without what follows the path, and without who asks.

    >>> shown("https://ann:pw@shop.example/v1/orders?token=x")
    'https://shop.example/v1/orders'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def decode(options: Options, columns: Iterable[str]) -> str:
    """Every value as text: types are the contract's matter. A record that is no object is kept as it came."""
    del options
    names = tuple(columns)
    schema = literal(", ".join(f"{quote(name)} STRING" for name in (*names, CORRUPT)))
    how = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT}')"
    read = f"from_json(`value`, {schema}, {how})"
    fields = "".join(f"{read}.{quote(name)} AS {quote(name)}, " for name in names)
    whole = f"IF(startswith(`value`, '{{'), {read}.`{CORRUPT}`, `value`)"
    return f"SELECT {fields}{whole} AS `{CORRUPT}`\nFROM `encoded`"


def _names(options: Options) -> Found:
    for key in options:
        if key not in OPTIONS and not key.startswith(GROUPS):
            yield Problem(f"unknown option of rest{hint(key, (*OPTIONS, 'headers.NAME', 'params.NAME'))}", _at(key))


def _place(options: Options) -> Found:
    url = str(options.get("url", ""))
    if not url.startswith(("http://", "https://", "{{")):
        yield Problem("needs a url that begins with https:// or http://", _at("url"))
    for one, other in (TOGETHER, TOGETHER[::-1]):
        if one in options and other not in options:
            yield Problem(f"{one} needs {other} beside it", _at(one))
    if "bearer" in options and "user" in options:
        yield Problem("either bearer or user and password, not both", _at("bearer"))


def _paging(options: Options) -> Found:
    way = str(options.get("paging", "none"))
    if way not in NEEDS:
        yield Problem(f"unknown way of paging{hint(way, NEEDS)}", _at("paging"))
        return
    for key in NEEDS[way]:
        if key not in options:
            yield Problem(f"paging {way} needs {key}", _at(key))
    for key, ways in ONLY_FOR.items():
        if key in options and way not in ways:
            yield Problem(f"only for paging {' and '.join(ways)}, not for {way}", _at(key))
    if ("size_param" in options) != ("page_size" in options):
        yield Problem("size_param and page_size belong together", _at("page_size"))


def _numbers(options: Options) -> Found:
    for key, least in NUMBERS.items():
        text = str(options.get(key, least))
        if not re.fullmatch(r"\d+", text) or int(text) < least:
            yield Problem(f"must be a whole number, {least} or more", _at(key))


def _secrets(options: Options) -> Found:
    for key, value in options.items():
        name = key.partition(".")[2] if key.startswith(GROUPS) else key
        secretive = key in ("bearer", "password") or (key.startswith(GROUPS) and _SECRETIVE.search(name))
        if secretive and not SECRET.search(str(value)):
            yield Problem(USE_A_SECRET, _at(key))
    if passwords_in(SECRET.sub("", str(options.get("url", "")))):
        yield Problem(USE_A_SECRET, _at("url"))


def _at(key: str) -> str:
    return f"source.options.{key}"


# ------------------------------------------------------------------ pages


@dataclass(frozen=True)
class Answer:
    """One page: where it was asked for, what it says, how many records it brought, and what its head calls next."""

    url: str
    body: Any
    count: int
    next_link: str | None = None


def first_url(options: Mapping[str, str]) -> str:
    """The url of the first page."""
    way = options["paging"]
    start = {"page": options["first_page"], "offset": "0"}.get(way)
    said = {key.removeprefix("params."): value for key, value in options.items() if key.startswith("params.")}
    said |= {options["size_param"]: options["page_size"]} if "size_param" in options else {}
    said |= {_param(options): start} if start is not None else {}
    return with_params(options["url"], said)


def next_url(options: Mapping[str, str], answer: Answer) -> str | None:
    """The url of the page after this one; None where it was the last."""
    return WAYS[options["paging"]](options, answer)


def _by_number(options: Mapping[str, str], answer: Answer) -> str | None:
    """A page without records is the last: one that is merely short may be as long as the server allows."""
    return _moved(options, answer, 1) if answer.count else None


def _by_offset(options: Mapping[str, str], answer: Answer) -> str | None:
    return _moved(options, answer, answer.count) if answer.count else None


def _moved(options: Mapping[str, str], answer: Answer, by: int) -> str:
    param = _param(options)
    now = int(dict(parse_qsl(urlsplit(answer.url).query)).get(param, "0"))
    return with_params(answer.url, {param: str(now + by)})


def _by_cursor(options: Mapping[str, str], answer: Answer) -> str | None:
    cursor = look_up(answer.body, options["cursor_path"])
    return with_params(answer.url, {_param(options): str(cursor)}) if cursor not in (None, "", False) else None


def _by_link(options: Mapping[str, str], answer: Answer) -> str | None:
    path = options.get("next_path")
    link = look_up(answer.body, path) if path else answer.next_link
    return urljoin(answer.url, str(link)) if link else None


WAYS: dict[str, Callable[[Mapping[str, str], Answer], str | None]] = {
    "none": lambda options, answer: None,
    "page": _by_number,
    "offset": _by_offset,
    "cursor": _by_cursor,
    "link": _by_link,
}


def _param(options: Mapping[str, str]) -> str:
    return options.get("page_param") or PARAMS.get(options["paging"], "page")


def with_params(url: str, said: Mapping[str, str]) -> str:
    """
    >>> with_params("http://x/y?a=1&page=1", {"page": "2"})
    'http://x/y?a=1&page=2'
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | dict(said)
    return urlunsplit(parts._replace(query=urlencode(query), fragment=""))


def look_up(body: Any, path: str) -> Any:
    """What stands under `a.b.c`; None where a step of the way is missing.

    >>> look_up({"a": {"b": [1]}}, "a.b"), look_up({"a": 1}, "x.y")
    ([1], None)
    """
    for step in filter(None, path.split(".")):
        body = body.get(step) if isinstance(body, dict) else None
    return body


def next_in_header(value: str | None) -> str | None:
    """
    >>> next_in_header('<http://x/?p=1>; rel="prev", <http://x/?p=3>; rel="next"')
    'http://x/?p=3'
    """
    for url, rest in re.findall(r"<([^>]*)>([^<]*)", value or ""):
        if re.search(r'rel\s*=\s*"?[^",;]*\bnext\b', rest):
            return str(url)
    return None
