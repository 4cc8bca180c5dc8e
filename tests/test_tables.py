"""Tables in a SELECT: found where SQL means a table, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from conftest import cases
from lakepact.plan.tables import relocate, select_problems, tables_in


@pytest.mark.parametrize("case", cases("tables"))
def test_a_select_reads(case: dict[str, Any]) -> None:
    assert select_problems(case["sql"]) == []
    assert list(tables_in(case["sql"])) == case["tables"]
    assert relocate(case["sql"], lambda name: f"<{name}>") == case["there"]


def test_columns_may_be_qualified_by_the_name_of_a_table_that_has_no_alias() -> None:
    """A folder has no name, so a table that is read from one keeps its own."""
    sql = relocate(
        "SELECT orders.id FROM silver.orders JOIN silver.people ON orders.by = people.id",
        lambda n: f"delta.`/{n}`",
    )
    tables = sqlglot.parse_one(sql, dialect="spark").find_all(exp.Table)
    assert {table.alias_or_name for table in tables} == {"orders", "people"}


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
        "INSERT INTO s.t SELECT 1",
        "CREATE TABLE s.t AS SELECT 1",
        "DROP TABLE s.t",
        "WITH x AS (SELECT 1) DELETE FROM s.t",
        "FROM s.t INSERT INTO s.u SELECT *",
        "SELECT FROM WHERE",
        "SELECT * FROM parquet.`/data`",
        "SELECT * FROM DELTA.`/data`",
        "SELECT * FROM s.t WHERE x IN (SELECT x FROM csv.`/etc/passwd`)",
        "SELECT reflect('java.lang.Runtime', 'getRuntime')",
        "SELECT TRY_REFLECT('a', 'b')",
        "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM s.t",
        "SELECT * FROM IDENTIFIER('s.t')",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    ],
)
def test_what_is_not_one_harmless_select_is_refused(sql: str) -> None:
    assert select_problems(sql)


def test_a_closing_semicolon_is_allowed() -> None:
    assert select_problems("SELECT * FROM s.t;") == []
