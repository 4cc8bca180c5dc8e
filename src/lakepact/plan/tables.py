"""Tables that a SELECT reads, and the same SELECT with each name replaced by where the table really is."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope


def tables_in(sql: str) -> tuple[str, ...]:
    """
    >>> tables_in("WITH x AS (SELECT 1 AS a) SELECT * FROM silver.orders o JOIN x JOIN gold.s.kpis k")
    ('silver.orders', 'gold.s.kpis')
    """
    return tuple(dict.fromkeys(name for name, _, _ in _found(sql)))


def select_problems(sql: str) -> list[str]:
    """Why this text is not one SELECT."""
    try:
        statements = sqlglot.parse(sql, dialect="spark")
    except (SqlglotError, RecursionError) as error:
        return [f"is not SQL: {str(error).splitlines()[0].split('. Line')[0] or 'nested too deeply'}"]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return ["must be one SELECT, and nothing else"]
    return [problem for node in statements[0].walk() if (problem := _refused(node))]


def _refused(node: exp.Expr) -> str:
    if isinstance(node, (exp.DDL, exp.DML, exp.Command)) and not isinstance(node, exp.Query):
        return "only reads: it may not change anything"
    if isinstance(node, exp.Anonymous) and node.name.lower() in {"reflect", "java_method", "try_reflect"}:
        return f"function {node.name!r} reaches into the JVM"
    if isinstance(node, exp.Table) and node.name and (node.db or "").lower() in FILE_FORMATS:
        return f"{node.sql('spark')!r} reads files; use a source with `path`"
    return ""


FILE_FORMATS = frozenset({"parquet", "csv", "json", "text", "orc", "delta", "avro", "binaryfile", "xml"})


def relocate(sql: str, where: Callable[[str], str]) -> str:
    """Put `where(name)` in the place of each table's name; every other character stays as written.

    >>> relocate("SELECT * FROM silver.orders AS o -- all", lambda name: "delta.`/w/orders`")
    'SELECT * FROM delta.`/w/orders` AS o -- all'
    """
    for name, start, end in sorted(_found(sql), key=lambda place: place[1], reverse=True):
        sql = sql[:start] + where(name) + sql[end:]
    return sql


@lru_cache(maxsize=1024)
def _found(sql: str) -> tuple[tuple[str, int, int], ...]:
    """Name, start and end of each table in the text; common table expressions are not tables."""
    tree = sqlglot.parse_one(sql, dialect="spark")
    tables = {
        id(source): source
        for scope in traverse_scope(tree)
        for source in scope.sources.values()
        if isinstance(source, exp.Table) and source.name
    }
    return tuple(sorted((_place(table) for table in tables.values()), key=lambda place: place[1]))


def _place(table: exp.Table) -> tuple[str, int, int]:
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    name = ".".join(part.name for part in parts)
    return name, min(part.meta["start"] for part in parts), max(part.meta["end"] for part in parts) + 1
