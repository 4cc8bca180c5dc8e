"""Names and values in SQL. The only place that quotes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

_PART = re.compile(r"[\w][\w\-$]*")


def quote(name: str) -> str:
    """
    >>> quote("order id"), quote("a`b")
    ('`order id`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def quoted(names: Iterable[str], prefix: str = "") -> str:
    """A column list.

    >>> quoted(["a", "b"], "t.")
    't.`a`, t.`b`'
    """
    return ", ".join(prefix + quote(name) for name in names)


def unquoted(text: str) -> str:
    """A name as it is, from how Spark shows it.

    >>> unquoted("`order id`"), unquoted("a")
    ('order id', 'a')
    """
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def literal(value: object) -> str:
    r"""A Spark SQL literal that means exactly `value`, whatever it contains.

    >>> literal("it's \\ 100%"), literal(None), literal(True), literal(Decimal("1.50"))
    ("'it\\'s \\\\ 100%'", 'NULL', 'TRUE', '1.50BD')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _LITERALS[_kind(value)](value)


def _kind(value: object) -> type:
    for kind in _LITERALS:
        if isinstance(value, kind):
            return kind
    raise TypeError(f"no SQL literal for a {type(value).__name__}")


def _text(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\u0000")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r") + "'"


def _instant(value: object) -> str:
    assert isinstance(value, datetime)
    if value.tzinfo is None:
        raise ValueError("a timestamp needs a time zone")
    return f"TIMESTAMP '{value.astimezone(timezone.utc).isoformat(' ', 'microseconds')}'"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} is not a decimal number")
    return f"{value:f}BD"


_LITERALS: dict[type, Callable[[Any], str]] = {
    str: _text,
    int: str,
    float: lambda v: f"CAST({_text(repr(v))} AS DOUBLE)",
    Decimal: _decimal,
    datetime: _instant,
    date: lambda v: f"DATE '{v}'",
}


def same(columns: Iterable[str], left: str, right: str) -> str:
    """True when two rows agree on the columns, NULL being equal to NULL.

    >>> same(["a"], "t", "s")
    't.`a` <=> s.`a`'
    """
    return " AND ".join(f"{left}.{quote(c)} <=> {right}.{quote(c)}" for c in columns) or "TRUE"


def equal_keys(keys: Iterable[str], left: str, right: str) -> str:
    """A join on keys, which are never NULL past the guardrails."""
    return " AND ".join(f"{left}.{quote(k)} = {right}.{quote(k)}" for k in keys)


@dataclass(frozen=True)
class TableName:
    """`catalog.schema.table`, `schema.table` or `table`."""

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> TableName:
        """
        >>> TableName.parse("silver.sales.orders").parts
        ('silver', 'sales', 'orders')
        """
        parts = tuple(part.strip().strip("`") for part in text.strip().split("."))
        if not 1 <= len(parts) <= 3 or not all(_PART.fullmatch(part) for part in parts):
            raise ValueError(f"{text!r} is not a table name; write catalog.schema.table or schema.table")
        return cls(parts)

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def sql(self) -> str:
        return ".".join(quote(part) for part in self.parts)

    @property
    def folder(self) -> str:
        """Where the table lies in a local warehouse; no table lies inside another's folder.

        >>> TableName.parse("bronze.s.t").folder, TableName.parse("bronze.t").folder
        ('bronze/s.db/t', 'bronze.db/t')
        """
        *outer, table = self.parts
        *catalog, schema = outer or ("default",)
        return "/".join([*catalog, f"{schema}.db", table])

    def beside(self, suffix: str) -> TableName:
        return TableName((*self.parts[:-1], self.parts[-1] + suffix))


def plain_name(text: str) -> str:
    """A table's name without quotes and blanks, so that two spellings of it are equal.

    >>> plain_name(" `silver`.orders")
    'silver.orders'
    """
    return str(TableName.parse(text))


@dataclass(frozen=True)
class TableRef:
    """A table and how SQL reaches it: by its folder, or by its name in a catalog."""

    name: str
    path: str | None = None
    version: int | None = None
    at: datetime | None = None

    @property
    def sql(self) -> str:
        """As a statement names it; with a version or a moment, as it was then."""
        plain = f"delta.{quote(self.path)}" if self.path else TableName.parse(self.name).sql
        if self.at is not None:
            return f"{plain} TIMESTAMP AS OF {literal(self.at)}"
        return plain if self.version is None else f"{plain} VERSION AS OF {self.version}"
