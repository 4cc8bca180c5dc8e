"""What goes to the screen: values as JSON, and tables for people."""

from __future__ import annotations

import base64
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

NO_TERMINAL_WIDTH = 400
_NUMBER = re.compile(r'"\\u0001([^"\\]+)\\u0001"')


def to_json(value: Any, indent: int | None = 1) -> str:
    """JSON with decimals as numbers, digit for digit, and times as ISO text.

    >>> to_json({"amount": Decimal("220.00")}, None)
    '{"amount": 220.00}'
    """
    text = json.dumps(_plain(value), ensure_ascii=False, indent=indent, default=str)
    return _NUMBER.sub(r"\1", text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return _PLAIN.get(type(value), lambda same: same)(value)


def _float(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


_PLAIN: dict[type, Any] = {
    Decimal: lambda value: f"\u0001{value}\u0001" if value.is_finite() else str(value),
    datetime: lambda value: value.isoformat(),
    date: lambda value: value.isoformat(),
    bytes: lambda value: base64.b64encode(value).decode(),
    float: _float,
}


def print_json(value: Any) -> None:
    sys.stdout.write(to_json(value) + "\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on standard output; wide ones are cut to the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console(width=None if sys.stdout.isatty() else NO_TERMINAL_WIDTH).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return value.isoformat(" ", "seconds") if isinstance(value, datetime) else str(value)


def say(text: str) -> None:
    """A word to the person; never to standard output."""
    sys.stderr.write(text + "\n")
