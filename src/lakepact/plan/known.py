"""Columns that a contract knows of, before any source or table is seen."""

from __future__ import annotations

from collections.abc import Iterator

from lakepact.contract.model import Contract
from lakepact.errors import Problem
from lakepact.plan.columns import stamp_columns
from lakepact.plugins import hint

Found = Iterator[Problem]


def unknown_columns(contract: Contract, names: tuple[str, ...], field: str) -> Found:
    columns = known_columns(contract)
    for name in names:
        if columns is not None and name not in columns:
            yield Problem(f"unknown column {name!r}{hint(name, columns)}", field)


def known_columns(contract: Contract) -> list[str] | None:
    """The table's columns; None where they are the source's own and so not known yet."""
    if not contract.columns:
        return None
    return [c.name for c in contract.columns] + [c.name for c in stamp_columns(contract)]
