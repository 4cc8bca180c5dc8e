"""The page of run records: their fields, and the flat tables they become."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from _reference.markdown import name, names, page, sentence, table
from lakepact.evidence.grains import GRAINS
from lakepact.evidence.record import GOOD, Expectation, Rows, RunRecord
from lakepact.site import STORES


def evidence() -> str:
    words = (
        f"Every run leaves one record. Its `status` is {names(sorted(GOOD))}, `failed`, or `skipped` where\n"
        f"a table it needs failed. The stores that records go to are {names(STORES)}; they are chosen with\n"
        "`store` in [the project file](project.md#store). Times are in UTC."
    )
    parts = [_fields(kind) for kind in (RunRecord, Rows, Expectation)]
    return page("Run records", words, *parts, _grains())


def _fields(kind: Any) -> str:
    rows = [(name(one.name), name(str(one.type)), _default(one)) for one in fields(kind)]
    told = table(("field", "type", "default"), rows)
    return f"## {name(kind.__name__)}\n\n{sentence(kind.__doc__)}\n\n{told}"


def _default(field: Field[Any]) -> str:
    if field.default is MISSING and field.default_factory is MISSING:
        return "always there"
    return name(str(field.default)) if isinstance(field.default, int) else ""


def _grains() -> str:
    words = "The `spark_table` store writes each record as rows of these tables, one for each grain."
    parts = [f"### {name(grain)}\n\n{_columns(columns)}" for grain, columns in GRAINS.items()]
    return "\n\n".join(["## Grains", words, *parts])


def _columns(columns: dict[str, str]) -> str:
    return table(("column", "type"), [(name(column), kind) for column, kind in columns.items()])
