"""What goes to the screen: values as JSON, and tables for people."""

from __future__ import annotations

import base64
import json
import math
import re
import secrets as random
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

NO_TERMINAL_WIDTH = 400


def to_json(value: Any, indent: int | None = 1) -> str:
    """JSON with decimals as numbers, digit for digit, and times as ISO text.

    >>> to_json({"amount": Decimal("220.00")}, None)
    '{"amount": 220.00}'
    """
    mark = random.token_hex(8)  # so that no text of the data can pass for a number
    text = json.dumps(_plain(value, mark), ensure_ascii=False, indent=indent, default=str)
    return re.sub(f'"{mark}([^"]+)"', r"\1", text)


def _plain(value: Any, mark: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, mark) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, mark) for inner in value]
    if isinstance(value, Decimal):
        return f"{mark}{value:f}" if value.is_finite() else str(value)
    return _PLAIN.get(type(value), lambda same: same)(value)


_PLAIN: dict[type, Any] = {
    datetime: lambda value: value.isoformat(),
    date: lambda value: value.isoformat(),
    bytes: lambda value: base64.b64encode(value).decode(),
    float: lambda value: value if math.isfinite(value) else str(value),
}


def print_json(value: Any) -> None:
    sys.stdout.write(to_json(value) + "\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on standard output; what is too wide for the terminal is folded."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(width=None if sys.stdout.isatty() else NO_TERMINAL_WIDTH)
    if title:
        console.print(Text(title))
    console.print(table)


def _cell(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return value.isoformat(" ", "seconds") if isinstance(value, datetime) else str(value)


def say(text: str) -> None:
    """A word to the person; never to standard output."""
    sys.stderr.write(text + "\n")
