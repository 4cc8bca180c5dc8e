"""A real HTTP server on loopback that hands out orders page by page in every way, and misbehaves on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

TOKEN = "tok-of-the-shop"  # noqa: S105 - of a server that lives as long as a test
ORDERS = [{"id": n, "amount": f"{n}.50", "note": f"ü {n}"} for n in range(1, 8)]
Reply = tuple[int, Any, dict[str, str]]


@dataclass
class Pages:
    """What the server was asked, and what it shall answer next instead of what it should."""

    port: int = 0
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    instead: list[Reply] = field(default_factory=list)
    size: int = 3

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def queries(self) -> list[dict[str, str]]:
        return [dict(parse_qsl(urlsplit(path).query)) for path, _ in self.asked]


@contextmanager
def serve() -> Iterator[Pages]:
    pages = Pages()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(pages))
    pages.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield pages
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(pages: Pages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages.asked.append((self.path, dict(self.headers)))
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
            reply = pages.instead.pop(0) if pages.instead else ROUTES[parts.path](pages, query, dict(self.headers))
            self.answer(*reply)

        def answer(self, status: int, body: Any, headers: dict[str, str]) -> None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as http.server has it
            """Tests look at `asked` instead."""

    return Handler


def _slice(pages: Pages, start: int) -> list[dict[str, Any]]:
    return ORDERS[start : start + pages.size]


def _all(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    return 200, {"data": {"items": ORDERS}}, {}


def _page(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    return 200, {"data": {"items": _slice(pages, (int(query["page"]) - 1) * pages.size)}}, {}


def _offset(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    """It caps what it is asked for, as servers do."""
    return 200, _slice(pages, int(query["start"])), {}


def _cursor(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    start = int(query.get("after", "0"))
    more = start + pages.size < len(ORDERS)
    return 200, {"items": _slice(pages, start), "meta": {"next": start + pages.size if more else None}}, {}


def _link_in_body(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    start = int(query.get("at", "0"))
    more = start + pages.size < len(ORDERS)
    return 200, {"items": _slice(pages, start), "next": f"/linked?at={start + pages.size}" if more else None}, {}


def _link_in_head(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    start = int(query.get("at", "0"))
    more = start + pages.size < len(ORDERS)
    link = {"Link": f'<{pages.url}/headed?at={start + pages.size}>; rel="next"'} if more else {}
    return 200, _slice(pages, start), link


def _secured(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    good = headers.get("Authorization") == f"Bearer {TOKEN}" or headers.get("X-Api-Key") == TOKEN
    return (200, ORDERS, {}) if good else (401, {"error": f"no entry for {headers.get('Authorization')}"}, {})


def _odd(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    return 200, [{"id": 1}, 5, "text", None, [{"id": 2}], {"id": "x"}], {}


def _elsewhere(pages: Pages, query: dict[str, str], headers: dict[str, str]) -> Reply:
    return 302, b"", {"Location": "http://localhost:1/steal"}


ROUTES: dict[str, Callable[[Pages, dict[str, str], dict[str, str]], Reply]] = {
    "/all": _all, "/page": _page, "/offset": _offset, "/cursor": _cursor, "/linked": _link_in_body,
    "/headed": _link_in_head, "/secured": _secured, "/odd": _odd, "/elsewhere": _elsewhere,
    "/empty": lambda pages, query, headers: (200, {"data": {"items": []}}, {}),
    "/nothing": lambda pages, query, headers: (200, b"", {}),
    "/loop": lambda pages, query, headers: (200, {"items": [{"id": 1}], "next": "/loop"}, {}),
}  # fmt: skip
