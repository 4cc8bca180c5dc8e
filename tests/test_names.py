"""Names and values in SQL: whatever they contain, they come back as they were and nothing breaks out."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from lakepact.names import TableName, TableRef, equal_keys, literal, quote, quoted, same

HOSTILE = st.text() | st.text(st.sampled_from("'\"`\\;-/*\n\r\t\x00\x1a%_01u{}"), max_size=12)


def only_expression(text: str) -> exp.Expression:
    [statement] = sqlglot.parse(f"SELECT {text}", dialect="spark")
    assert isinstance(statement, exp.Select)
    [expression] = statement.expressions
    return expression


@settings(deadline=None)
@given(HOSTILE)
@example("'; DROP TABLE t; --")
@example("\\'; DROP TABLE t; --")
@example("ends with \\")
@example("\\u0041 \\101 \\n")
@example("a zero byte before digits: \x00123")
@example("\x0012")
@example("--\n/* */")
def test_a_text_comes_back_from_its_literal(text: str) -> None:
    parsed = only_expression(literal(text))
    assert isinstance(parsed, exp.Literal)
    assert parsed.is_string
    assert parsed.this == text


@settings(deadline=None)
@given(HOSTILE.filter(bool))
@example("a`b")
@example("`; DROP TABLE t; --")
@example("``")
@example("a.b")
def test_a_name_comes_back_from_its_quotes(name: str) -> None:
    parsed = only_expression(quote(name))
    assert isinstance(parsed, exp.Column)
    assert [part.name for part in parsed.parts] == [name]


@settings(deadline=None)
@given(
    st.integers() | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=4)
)
def test_a_number_comes_back_digit_for_digit(number: int | Decimal) -> None:
    assert Decimal(literal(number).removesuffix("BD")) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (False, "FALSE"),
        (Decimal("1E+3"), "1000BD"),
        (Decimal("0.10"), "0.10BD"),
        (1.5, "CAST('1.5' AS DOUBLE)"),
        (float("nan"), "CAST('nan' AS DOUBLE)"),
        (float("-inf"), "CAST('-inf' AS DOUBLE)"),
        (date(2026, 1, 2), "DATE '2026-01-02'"),
        (date(1, 1, 1), "DATE '0001-01-01'"),
        (datetime(2026, 1, 2, 3, tzinfo=timezone.utc), "TIMESTAMP '2026-01-02 03:00:00.000000+00:00'"),
        (
            datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=9))),
            "TIMESTAMP '2026-01-01 18:00:00.000000+00:00'",
        ),
        (datetime(201, 1, 2, tzinfo=timezone.utc), "TIMESTAMP '0201-01-02 00:00:00.000000+00:00'"),
    ],
)
def test_a_value_has_one_literal(value: object, text: str) -> None:
    assert literal(value) == text


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), [1], {"a": 1}, b"x", object()])
def test_what_has_no_literal_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        literal(value)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        literal(datetime(2026, 1, 2))  # noqa: DTZ001 - the point of the test


def test_lists_and_joins_quote_every_name() -> None:
    assert quoted(["a", "b`c"], "t.") == "t.`a`, t.`b``c`"
    assert same(["a", "b"], "t", "s") == "t.`a` <=> s.`a` AND t.`b` <=> s.`b`"
    assert same([], "t", "s") == "TRUE"
    assert equal_keys(["a`"], "t", "s") == "t.`a``` = s.`a```"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("orders", ("orders",)),
        ("silver.orders", ("silver", "orders")),
        ("lake.silver.orders", ("lake", "silver", "orders")),
        (" `silver`.`orders` ", ("silver", "orders")),
        ("größe.t-1$", ("größe", "t-1$")),
    ],
)
def test_a_table_name_has_up_to_three_parts(text: str, parts: tuple[str, ...]) -> None:
    assert TableName.parse(text).parts == parts


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "a.b.c.d",
        "a b",
        "a/b",
        "../a",
        "a;b",
        "a'b",
        "a`b",
        "-a",
        "a.*",
        "a.b\n; x",
    ],
)
def test_anything_else_is_no_table_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a table name; write catalog"):
        TableName.parse(text)


@settings(deadline=None)
@given(st.text())
def test_a_table_name_never_leaves_the_warehouse(text: str) -> None:
    try:
        folder = TableName.parse(text).folder
    except ValueError:
        return
    assert not folder.startswith("/")
    assert ".." not in folder.split("/")
    assert 2 <= len(folder.split("/")) <= 3


def test_a_table_is_reached_by_its_folder_or_by_its_name() -> None:
    assert TableRef("a.b", "/lake/it`s").sql == "delta.`/lake/it``s`"
    assert TableRef("a.b").sql == "`a`.`b`"
    assert str(TableName.parse("a.b").beside("_quarantine")) == "a.b_quarantine"
