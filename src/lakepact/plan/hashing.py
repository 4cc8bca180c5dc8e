"""A row's hash: typed, safe against shifted values and NULLs, and the same whatever the columns' order."""

from __future__ import annotations

from collections.abc import Iterable

from lakepact.names import literal, quote
from lakepact.plan.columns import TableColumn, is_nested

ALGORITHM = "lakepact-xxhash64-v1"


def row_hash(columns: Iterable[TableColumn]) -> str:
    """XXH64 over `name:type` and value of each column that has one, by name; each value is hashed by itself.

    A NULL is left out with its name, so that a new column without values does not change the hashes that are there.
    It tells a changed row from an unchanged one with 64 bits, and is no protection against someone who forges rows.
    """
    parts = [part for column in sorted(columns, key=lambda column: column.name) for part in _parts(column)]
    return f"hex(xxhash64({', '.join(parts) or literal('')}))"


def _parts(column: TableColumn) -> tuple[str, str]:
    name = quote(column.name)
    value = f"to_json({name})" if is_nested(column.type) else name
    return f"IF({name} IS NULL, NULL, {literal(f'{column.name}:{column.type}')})", value
