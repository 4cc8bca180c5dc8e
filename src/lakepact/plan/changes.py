"""The contract's columns against the table's: what must change, and what must not."""

from __future__ import annotations

from dataclasses import dataclass

from lakepact.names import quote
from lakepact.plan.columns import TableColumn
from lakepact.plan.layout import add_columns
from lakepact.plan.state import TableState


@dataclass(frozen=True)
class Changes:
    """Statements that are safe, and reasons why the rest is not done."""

    statements: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def diff(table: str, columns: tuple[TableColumn, ...], state: TableState) -> Changes:
    """Columns are added, and need no value any more where the contract says so; another type is refused."""
    there = {name.lower(): kind for name, kind in state.columns.items()}
    new = tuple(c for c in columns if c.name.lower() not in there)
    refused = [
        f"column {c.name} is {there[c.name.lower()]} in the table and {c.type} in the contract"
        for c in columns
        if c.name.lower() in there and there[c.name.lower()] != c.type
    ]
    refused += [f"column {c.name} is new and may not be NULL, but the table has rows" for c in new if not c.nullable]
    needed = {c.name.lower() for c in columns if not c.nullable}
    relaxed = [name for name in sorted(state.required) if name.lower() not in needed]
    statements = [add_columns(table, new)] if new else []
    statements += [f"ALTER TABLE {table} ALTER COLUMN {quote(name)} DROP NOT NULL" for name in relaxed]
    return Changes(tuple(statements), tuple(refused))
