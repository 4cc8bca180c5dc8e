"""Tables that a SELECT reads, and the same SELECT with each name replaced by where the table really is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from lakepact.names import quote


def tables_in(sql: str) -> tuple[str, ...]:
    """
    >>> tables_in("WITH x AS (SELECT 1 AS a) SELECT * FROM silver.orders o JOIN x JOIN gold.s.kpis k")
    ('silver.orders', 'gold.s.kpis')
    """
    return tuple(dict.fromkeys(name for name, _, _, _ in _found(sql)))


def select_problems(sql: str) -> list[str]:
    """Why this text is not one SELECT that only reads tables."""
    try:
        first = sqlglot.tokenize(sql, dialect="spark")[:1]
        if not first or first[0].token_type not in _BEGINNINGS:
            return ["must be one SELECT, and nothing else"]
        statements = sqlglot.parse(sql, dialect="spark")
    except PARSER_ERRORS as error:
        return [f"is not SQL: {parse_reason(error)}"]
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return ["must be one SELECT, and nothing else"]
    return [problem for node in statements[0].walk() if (problem := _refused(node))][:1]


# What sqlglot throws at hostile text; some of it is its own stumbling.
PARSER_ERRORS = (SqlglotError, RecursionError, ValueError, TypeError, IndexError, KeyError, AttributeError)
_BEGINNINGS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM, TokenType.VALUES}


def parse_reason(error: Exception) -> str:
    """What the parser has against a text, without its own inner names."""
    first = str(error).splitlines()[0] if str(error) else "nested too deeply"
    return re.split(r"\. Line| missing for <class| \(<class", first)[0].strip()


def _refused(node: exp.Expr) -> str:
    if isinstance(node, (exp.DDL, exp.DML, exp.Command)) and not isinstance(node, exp.Query):
        return "only reads: it may not change anything"
    if isinstance(node, exp.QueryTransform):
        return "TRANSFORM starts a program outside of Spark"
    if isinstance(node, exp.Anonymous) and node.name.lower() in _FORBIDDEN:
        return f"function {node.name!r} is not allowed in a query"
    if isinstance(node, exp.Table):
        return _refused_table(node)
    if isinstance(node, exp.Column) and node.args.get("db"):
        return f"{node.sql('spark')!r}: name a column by its table's last name or alias, {node.table}.{node.name}"
    return ""


def _refused_table(table: exp.Table) -> str:
    if isinstance(table.this, exp.Func) and table.this.name.lower() not in _TABLE_FUNCTIONS:
        return f"{table.sql('spark')!r} is not a table; name one"
    if table.name and (table.db or "").lower() in FILE_FORMATS:
        return f"{table.sql('spark')!r} reads files; use a source with `path`"
    return ""


_FORBIDDEN = frozenset({"reflect", "java_method", "try_reflect", "identifier"})
_TABLE_FUNCTIONS = frozenset({"range", "explode", "posexplode", "inline", "stack", "sequence"})
FILE_FORMATS = frozenset({"parquet", "csv", "json", "text", "orc", "delta", "avro", "binaryfile", "xml"})


def relocate(sql: str, where: Callable[[str], str]) -> str:
    """Put `where(name)` in the place of each table's name; every other character stays as written.

    A table without an alias gets its own name as one, so that `orders.id` still means what it meant.

    >>> relocate("SELECT orders.id FROM silver.orders -- all", lambda name: "delta.`/w/orders`")
    'SELECT orders.id FROM delta.`/w/orders` AS `orders` -- all'
    """
    for name, start, end, alias in sorted(_found(sql), key=lambda place: place[1], reverse=True):
        sql = sql[:start] + where(name) + alias + sql[end:]
    return sql


@lru_cache(maxsize=1024)
def _found(sql: str) -> tuple[tuple[str, int, int, str], ...]:
    """Name, start, end and missing alias of each table; common table expressions are not tables."""
    tree = sqlglot.parse_one(sql, dialect="spark")
    tables = {
        id(source): source
        for scope in traverse_scope(tree)
        for source in scope.sources.values()
        if isinstance(source, exp.Table) and source.name
    }
    return tuple(sorted((_place(table) for table in tables.values()), key=lambda place: place[1]))


def _place(table: exp.Table) -> tuple[str, int, int, str]:
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    name = ".".join(part.name for part in parts)
    placed = table.alias or any(table.args.get(key) for key in ("version", "when", "sample"))
    alias = "" if placed else f" AS {quote(parts[-1].name)}"
    return name, min(part.meta["start"] for part in parts), max(part.meta["end"] for part in parts) + 1, alias
