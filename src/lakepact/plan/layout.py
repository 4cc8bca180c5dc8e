"""How a table is made: CREATE TABLE with its columns, properties, partitions and clustering."""

from __future__ import annotations

from collections.abc import Mapping

from lakepact.contract.model import Layout
from lakepact.names import TableName, TableRef, literal, quote, quoted
from lakepact.plan.columns import TableColumn

# Deletion vectors: a change rewrites no file, and a MERGE that changes nothing makes no commit.
DEFAULT_PROPERTIES = {"delta.enableDeletionVectors": "true"}


def create_schema(table: TableRef) -> tuple[str, ...]:
    """A table that is a folder needs no schema; one in a catalog does."""
    outer = TableName.parse(table.name).parts[:-1]
    if table.path is not None or not outer:
        return ()
    return (f"CREATE SCHEMA IF NOT EXISTS {'.'.join(quote(part) for part in outer)}",)


def create_table(table: str, columns: tuple[TableColumn, ...], layout: Layout, comment: str) -> str:
    """One statement; the table is there afterwards, whoever else made it meanwhile."""
    lines = [
        f"CREATE TABLE IF NOT EXISTS {table} (",
        ",\n".join(f"  {_column(c)}" for c in columns),
        ") USING delta",
    ]
    lines += [f"PARTITIONED BY ({quoted(layout.partition_by)})"] if layout.partition_by else []
    lines += [f"CLUSTER BY ({quoted(layout.cluster_by)})"] if layout.cluster_by else []
    lines += [f"COMMENT {literal(comment)}"] if comment else []
    return "\n".join([*lines, f"TBLPROPERTIES ({_properties({**DEFAULT_PROPERTIES, **layout.properties})})"])


def add_columns(table: str, columns: tuple[TableColumn, ...]) -> str:
    """New columns are nullable: rows that are already there have no value for them."""
    added = ", ".join(f"{quote(c.name)} {c.type}{_comment(c)}" for c in columns)
    return f"ALTER TABLE {table} ADD COLUMNS ({added})"


def _column(column: TableColumn) -> str:
    needed = "" if column.nullable else " NOT NULL"
    return f"{quote(column.name)} {column.type}{needed}{_comment(column)}"


def _comment(column: TableColumn) -> str:
    return f" COMMENT {literal(column.description)}" if column.description else ""


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items()))
