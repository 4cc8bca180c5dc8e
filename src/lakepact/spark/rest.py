"""Pages of JSON over HTTP, one after the other, as rows of text."""

from __future__ import annotations

import base64
import email.utils
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession

from lakepact.errors import EngineError
from lakepact.plan.rest import Answer, first_url, look_up, next_in_header, next_url, shown

Options = Mapping[str, str]
Headers = Mapping[str, str]

AGAIN = frozenset({429, 500, 502, 503, 504})
LONGEST_PAUSE = 60.0
LONGEST_WISH = 300.0
FIXES = {
    401: "correct bearer, or user and password, or the secrets they come from",
    403: "the server knows who asks, and does not allow it: ask for access",
    404: "correct source.options.url",
}


def read_pages(session: SparkSession, options: Options) -> DataFrame:
    """Every record of every page, as its JSON text in `value`."""
    rows = [(text,) for text in records(options)]
    return session.createDataFrame(rows, "value STRING")


def records(options: Options, sleep: Callable[[float], None] = time.sleep) -> Iterator[str]:
    """One page after the other, each asked for when the one before it was taken."""
    url: str | None = first_url(options)
    asked: set[str] = set()
    while url is not None:
        if len(asked) >= int(options["max_pages"]):
            raise EngineError(f"{shown(url)}: more than {options['max_pages']} pages; raise source.options.max_pages")
        if url in asked:
            raise EngineError(f"{shown(url)}: page {len(asked)} leads back to a page that was read; correct paging")
        asked.add(url)
        body, headers = _page(url, options, len(asked), sleep)
        found = _records(body, options["records"], url)
        yield from (text_of(record) for record in found)
        url = _following(options, Answer(url, body, len(found), next_in_header(headers.get("Link"))))


def _following(options: Options, answer: Answer) -> str | None:
    """Who asks is told only to the server that the contract names."""
    url = next_url(options, answer)
    if url is not None and _origin(url) != _origin(options["url"]):
        raise EngineError(f"{shown(answer.url)}: the next page is on another server, {shown(url)}")
    return url


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2]


def _records(body: Any, path: str, url: str) -> list[Any]:
    found = look_up(body, path)
    if found is None and path and not _is_there(body, path):
        there = ", ".join(body) if isinstance(body, dict) else f"a {type(body).__name__}"
        raise EngineError(f"{shown(url)}: there is no {path} in the answer, which has {there}; correct records")
    return found if isinstance(found, list) else [] if found is None else [found]


def _is_there(body: Any, path: str) -> bool:
    """A value that is null is there."""
    before, _, last = path.rpartition(".")
    holder = look_up(body, before)
    return isinstance(holder, dict) and last in holder


def _page(url: str, options: Options, number: int, sleep: Callable[[float], None]) -> tuple[Any, Headers]:
    """What a page says, asked for again where that may help."""
    for tried in range(int(options["retries"]) + 1):
        try:
            body, headers = _get(url, options)
            return _parsed(body, url, number), headers
        except urllib.error.HTTPError as error:
            wish, error_ = error.headers.get("Retry-After"), error
            if error.code not in AGAIN or tried == int(options["retries"]):
                raise _refused(error_, url, number, tried) from None
            error.close()
        except (OSError, http.client.HTTPException) as error:
            wish = None
            if tried == int(options["retries"]):
                why = str(getattr(error, "reason", error)) or type(error).__name__
                raise EngineError(f"{shown(url)}: page {number} cannot be had, {tried + 1} tries: {why}") from None
        sleep(_pause(tried, float(options["backoff_seconds"]), wish))
    raise AssertionError("the last try returns or raises")


def _refused(error: urllib.error.HTTPError, url: str, number: int, tried: int) -> EngineError:
    fix = f"; {FIXES[error.code]}" if error.code in FIXES else ""
    often = f", {tried + 1} tries" if tried else ""
    error.close()
    return EngineError(f"{shown(url)}: page {number} is answered with {error.code} {error.reason}{often}{fix}")


def _pause(tried: int, first: float, wish: str | None) -> float:
    """Twice as long each time, or as long as the server asks for."""
    asked = _seconds(wish)
    return min(first * 2.0**tried, LONGEST_PAUSE) if asked is None else min(asked, LONGEST_WISH)


def _seconds(wish: str | None) -> float | None:
    """Retry-After is a number of seconds, or a moment."""
    if wish is None or not wish.strip():
        return None
    if wish.strip().isdigit():
        return float(wish)
    try:
        moment = email.utils.parsedate_to_datetime(wish)
    except ValueError:
        return None
    return max((moment - datetime.now(timezone.utc)).total_seconds(), 0.0)


class _SameServer(urllib.request.HTTPRedirectHandler):
    """A redirect may not carry who asks to another server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if _origin(newurl) != _origin(req.full_url):
            raise EngineError(f"{shown(req.full_url)}: leads to another server, {shown(newurl)}; correct the url")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _get(url: str, options: Options) -> tuple[bytes, Headers]:
    request = urllib.request.Request(url, headers=_headers(options))  # noqa: S310 - http and https only, see the plan
    opener = urllib.request.build_opener(_SameServer)
    with opener.open(request, timeout=float(options["timeout_seconds"])) as answer:
        return answer.read(), answer.headers


def _headers(options: Options) -> dict[str, str]:
    said = {key.removeprefix("headers."): value for key, value in options.items() if key.startswith("headers.")}
    if "bearer" in options:
        said["Authorization"] = f"Bearer {options['bearer']}"
    if "user" in options:
        pair = f"{options['user']}:{options['password']}".encode()
        said["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return {"Accept": "application/json", "User-Agent": "lakepact", **said}


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def _parsed(body: bytes, url: str, number: int) -> Any:
    if not body.strip():
        return []
    try:
        return json.loads(body.decode("utf-8-sig"), parse_float=_Number)
    except (ValueError, RecursionError) as error:
        why = str(error) or "nested too deeply"
        raise EngineError(f"{shown(url)}: page {number} is not JSON: {why}") from None


def text_of(value: Any) -> str:
    """The same value as JSON; numbers stay as they were written.

    >>> text_of(json.loads('{"a": 1.10, "b": ["\\u00fc", null, true]}', parse_float=_Number))
    '{"a":1.10,"b":["ü",null,true]}'
    """
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{text_of(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(text_of(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
