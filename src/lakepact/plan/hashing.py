"""A row's hash: typed, safe against shifted values and NULLs, and the same whatever the columns' order."""

from __future__ import annotations

from collections.abc import Iterable

from lakepact.names import literal, quote
from lakepact.plan.columns import TableColumn

ALGORITHM = "lakepact-sha256-v1"


def row_hash(columns: Iterable[TableColumn]) -> str:
    """SHA-256 over `name:type:length:value` of each column that has a value, by name.

    A NULL is left out, so that a new column without values does not change the hashes that are there.
    """
    parts = [_part(column) for column in sorted(columns, key=lambda column: column.name)]
    return f"sha2(concat_ws('', {', '.join(parts)}), 256)" if parts else "sha2('', 256)"


def _part(column: TableColumn) -> str:
    text = _text(column)
    head = literal(f"{len(column.name)}:{column.name}:{column.type}:")
    return f"IF({quote(column.name)} IS NULL, NULL, concat({head}, length({text}), ':', {text}))"


def _text(column: TableColumn) -> str:
    name = quote(column.name)
    if column.type == "binary":
        return f"hex({name})"
    nested = column.type.startswith(("array<", "map<", "struct<", "variant"))
    return f"to_json({name})" if nested else f"CAST({name} AS STRING)"
