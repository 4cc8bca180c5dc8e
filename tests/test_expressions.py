"""SQL that users write: one harmless condition over the table's own columns, or a reason why not."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import cases
from lakepact.plan.expressions import columns_of, expression_problems, order_problems, predicate_problems

COLUMNS = ["id", "amount", "at"]


@pytest.mark.parametrize("case", cases("expressions"))
def test_a_condition(case: dict[str, Any]) -> None:
    problems = predicate_problems(case["name"], COLUMNS)
    assert bool(problems) == ("problem" in case), problems
    assert case.get("problem", "") in " ".join(problems)


@pytest.mark.parametrize("text", ["at", "at DESC", "at DESC NULLS LAST, amount", "coalesce(at, now()) ASC", "-amount"])
def test_an_order_over_known_columns_is_an_order(text: str) -> None:
    assert order_problems(text, COLUMNS) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "at DOWN",
        "at LIMIT 1",
        "at) OVER (",
        "at; SELECT 1",
        "at -- x",
        "rand()",
        "(SELECT 1)",
        "max(at)",
        "aat",
    ],
)
def test_anything_else_is_not_an_order(text: str) -> None:
    assert order_problems(text, COLUMNS)


def test_an_expression_need_not_be_a_condition() -> None:
    assert expression_problems("amount + 1", COLUMNS) == []


def test_columns_that_are_not_known_yet_are_not_judged() -> None:
    assert predicate_problems("whatever > 0", None) == []


def test_the_columns_of_an_expression_leave_out_the_names_of_lambdas() -> None:
    assert columns_of("exists(Tags, t -> t = Region)") == {"tags", "region"}


@settings(deadline=None)
@given(st.text(max_size=60))
def test_whatever_is_written_is_answered_and_not_raised(text: str) -> None:
    assert all(isinstance(problem, str) for problem in predicate_problems(text, COLUMNS))
    assert all(isinstance(problem, str) for problem in order_problems(text, COLUMNS))


CONDITIONS = [
    "amount > 0",
    "id = 'a'",
    "id = ')--'",
    r"id = '\'('",
    "`amount` > 0",
    "NOT (amount > 0)",
    "TRUE",
]
BETWEEN = [
    " AND ",
    " OR NOT ",
    ") OR (",
    ") AND NOT (",
    "; ",
    " -- ",
    " /* */ OR ",
    "' OR '",
    "` OR `",
    r"\' OR '",
    ", ",
]


@settings(deadline=None)
@given(st.sampled_from(CONDITIONS), st.sampled_from(BETWEEN), st.sampled_from(CONDITIONS))
def test_what_passes_stays_inside_the_parentheses_around_it(first: str, between: str, second: str) -> None:
    """A passed condition with a marker behind it is still a condition and the marker."""
    text = first + between + second
    if not predicate_problems(text, COLUMNS):
        [around] = sqlglot.parse_one(f"SELECT ({text}) AND marker", dialect="spark").expressions
        assert (around.key, around.left.key, around.right.name) == ("and", "paren", "marker")
