"""Text that users write as SQL: parsed alone, and refused unless it is what it should be.

A rule is code. What passes here is one expression over known columns, with no way to reach another
table, the file system or the JVM, and nothing that could end the statement around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from lakepact.plan.functions import SPARK_FUNCTIONS
from lakepact.plan.tables import PARSER_ERRORS, parse_reason
from lakepact.plugins import hint

_NOT_IN_EXPRESSIONS = (
    exp.Query, exp.Command, exp.DDL, exp.DML, exp.Alias, exp.Star, exp.Placeholder,
    exp.AggFunc, exp.Window, exp.UDTF,
)  # fmt: skip
_NOT_BOOLEAN = (exp.Literal, exp.Binary, exp.Tuple, exp.Concat, exp.Null, exp.Interval, exp.Array)
_BOOLEAN_BINARY = (exp.Predicate, exp.Connector)


def expression_problems(text: str, columns: Iterable[str] | None = None) -> list[str]:
    """Why this text is not one harmless expression over these columns (None: columns are not known)."""
    tree = _parse(text)
    if isinstance(tree, str):
        return [tree]
    found = [problem for node in tree.walk() if (problem := _refused(node))][:1]
    return found + ([] if columns is None else _unknown_columns(tree, columns))


def predicate_problems(text: str, columns: Iterable[str] | None = None) -> list[str]:
    """The same, and it must be a condition."""
    tree = _parse(text)
    if not isinstance(tree, str) and isinstance(tree, _NOT_BOOLEAN) and not isinstance(tree, _BOOLEAN_BINARY):
        return [f"{text!r} is not a condition; it must be true or false for each row"]
    return expression_problems(text, columns)


def columns_of(text: str) -> frozenset[str]:
    """The columns an expression reads, in lower case.

    >>> sorted(columns_of("amount > 0 AND lower(Region) = 'eu'"))
    ['amount', 'region']
    """
    tree = _parse(text)
    return frozenset() if isinstance(tree, str) else _columns(tree)


def tells_the_time(text: str) -> bool:
    """Whether the expression may say something else a moment later."""
    return bool(re.search(r"(?i)\b(now|current_date|current_timestamp|localtimestamp|curdate|unix_timestamp)\b", text))


def order_problems(text: str, columns: Iterable[str] | None = None) -> list[str]:
    """An ORDER BY list is a list of expressions, each with a direction."""
    tree = _parse_order(text)
    if tree is None:
        return [f"{text!r} is not an order; write: column DESC NULLS LAST, other"]
    problems = [problem for node in tree.walk() if (problem := _refused(node))][:1]
    return problems + ([] if columns is None else _unknown_columns(tree, columns))


def _parse_order(text: str) -> exp.Expression | None:
    if _tokens(text):
        return None
    try:
        tree = sqlglot.parse_one(f"SELECT 1 ORDER BY {text}", dialect="spark")
    except PARSER_ERRORS:
        return None
    only_order = {key for key, value in tree.args.items() if value} <= {"kind", "expressions", "order"}
    order = tree.args.get("order")
    return order if only_order and isinstance(order, exp.Order) else None


@lru_cache(maxsize=4096)
def _parse(text: str) -> exp.Expression | str:
    """The parsed expression, or why there is none."""
    wrong = _tokens(text)
    if wrong:
        return wrong
    try:
        tree = sqlglot.parse_one(f"({text})", dialect="spark")
    except PARSER_ERRORS as error:
        return f"{text[:200]!r} is not SQL: {parse_reason(error)}"
    if not isinstance(tree, exp.Paren):
        return f"{text[:200]!r} is not one expression"
    inner: exp.Expression = tree.this
    return inner


def _tokens(text: str) -> str:
    """What a look at the words alone rules out."""
    if not text.strip():
        return "is empty"
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError:
        return f"{text[:200]!r} is not SQL: a quote is left open"
    if not tokens or any(token.comments for token in tokens):
        return f"{text[:200]!r}: a comment has no place in an expression"
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        return f"{text[:200]!r}: one expression, without a semicolon"
    return _unknown_function(tokens)


def _unknown_function(tokens: list[Token]) -> str:
    """Whatever is called must be on the list; a look at the words is safer than the parser's idea of them."""
    for token, following in pairwise(tokens):
        called = following.token_type == TokenType.L_PAREN and re.fullmatch(r"\w+", token.text)
        name = token.text.lower()
        if called and name not in SPARK_FUNCTIONS and name not in _NOT_CALLS and not name.isdigit():
            return _NO_COUNT.get(name) or f"function {token.text!r} is not on the list of functions{_near(name)}"
    return ""


# Words that may stand before a bracket without being a call.
_NOT_CALLS = frozenset({
    "and", "or", "not", "in", "is", "between", "like", "ilike", "rlike", "regexp", "case", "when", "then",
    "else", "as", "any", "all", "some", "distinct", "by", "div", "cast", "varchar", "char", "asc", "desc",
    "over", "select", "from",
})  # fmt: skip
_NO_COUNT = {
    name: f"function {name!r} gives another answer each time, so rows could not be counted"
    for name in (
        "rand",
        "randn",
        "random",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
    )
}


def _refused(node: exp.Expr) -> str:
    if isinstance(node, _NOT_IN_EXPRESSIONS):
        return f"{node.sql('spark')[:80]!r} has no place in an expression over one row"
    return ""


def _near(name: str) -> str:
    suggestion = hint(name.lower(), SPARK_FUNCTIONS)
    return suggestion if "did you mean" in suggestion else ""


def _columns(tree: exp.Expression) -> frozenset[str]:
    lambdas = {name.name.lower() for node in tree.find_all(exp.Lambda) for name in node.expressions}
    found = {(column.parts[0].name).lower() for column in tree.find_all(exp.Column)}
    return frozenset(found - lambdas)


def _unknown_columns(tree: exp.Expression, columns: Iterable[str]) -> list[str]:
    known = {name.lower(): name for name in columns}
    unknown = sorted(_columns(tree) - known.keys())
    return [f"unknown column {name!r}{hint(name, known.values())}" for name in unknown]
