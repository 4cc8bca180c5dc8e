"""How a table lies on disk: made with its columns, properties, partitions and clustering, altered, compacted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakepact.contract.model import Layout
from lakepact.errors import Problem
from lakepact.names import TableName, TableRef, literal, quote, quoted
from lakepact.plan.columns import TableColumn, is_nested
from lakepact.plugins import hint

# Deletion vectors: a change rewrites no file, and a MERGE that changes nothing makes no commit.
# Row tracking costs each write and pays only whoever asks for it: see docs/adr/0007-layout.md.
DEFAULT_PROPERTIES = {"delta.enableDeletionVectors": "true"}

# The log's clustering cannot be read without a JVM, so what was applied is noted where it can.
CLUSTERED_BY = "lakepact.clusterBy"

MOST_CLUSTERS = 4
WITH_RANGES = 32
RANGES = ("delta.dataskippingnumindexedcols", "delta.dataskippingstatscolumns")
WITHOUT_ORDER = ("boolean", "binary", "void")
# What Spark and Delta keep for themselves, or say elsewhere.
NOT_PROPERTIES = {
    "comment": "say it as the contract's description",
    "location": "say it as the contract's path",
    "owner": "say it as the contract's owners",
    "provider": "every table is a Delta table",
    "external": "say it as the contract's path",
    "clusteringcolumns": "say it as layout.cluster_by",
}


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
    return "\n".join([*lines, f"TBLPROPERTIES ({_properties(_all_properties(layout))})"])


def create_table_as(table: str, comment: str, rows: str) -> str:
    """Table and rows in one commit; it fails where the table is there already."""
    properties = f"TBLPROPERTIES ({_properties(DEFAULT_PROPERTIES)})"
    return f"CREATE TABLE {table} USING delta\nCOMMENT {literal(comment)}\n{properties} AS\n{rows}"


def _all_properties(layout: Layout) -> dict[str, str]:
    """The contract's, the defaults it says nothing about, and our note of the clustering."""
    said = {key.lower() for key in layout.properties}
    defaults = {key: value for key, value in DEFAULT_PROPERTIES.items() if key.lower() not in said}
    note = {CLUSTERED_BY: ",".join(layout.cluster_by)} if layout.cluster_by else {}
    return {**defaults, **layout.properties, **note}


def add_columns(table: str, columns: tuple[TableColumn, ...]) -> str:
    """New columns are nullable: rows that are already there have no value for them."""
    added = ", ".join(f"{quote(c.name)} {c.type}{_comment(c)}" for c in columns)
    return f"ALTER TABLE {table} ADD COLUMNS ({added})"


def drop_not_null(table: str, column: str) -> str:
    return f"ALTER TABLE {table} ALTER COLUMN {quote(column)} DROP NOT NULL"


def set_column_comment(table: str, column: str, comment: str) -> str:
    return f"ALTER TABLE {table} ALTER COLUMN {quote(column)} COMMENT {literal(comment)}"


def set_properties(table: str, properties: Mapping[str, str]) -> str:
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({_properties(properties)})"


def set_clustering(table: str, columns: tuple[str, ...]) -> str:
    return f"ALTER TABLE {table} CLUSTER BY " + (f"({quoted(columns)})" if columns else "NONE")


def set_comment(table: str, comment: str) -> str:
    return f"COMMENT ON TABLE {table} IS {literal(comment)}"


def optimize(table: str, layout: Layout, partition: Mapping[str, object] | None = None) -> str:
    """Small files become large ones, of the whole table or of one of its partitions."""
    equal = " AND ".join(f"{quote(name)} = {literal(value)}" for name, value in (partition or {}).items())
    where = f" WHERE {equal}" if equal else ""
    order = f" ZORDER BY ({quoted(layout.zorder_by)})" if layout.zorder_by else ""
    return f"OPTIMIZE {table}{where}{order}"


def _column(column: TableColumn) -> str:
    needed = "" if column.nullable else " NOT NULL"
    return f"{quote(column.name)} {column.type}{needed}{_comment(column)}"


def _comment(column: TableColumn) -> str:
    return f" COMMENT {literal(column.description)}" if column.description else ""


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items()))


def layout_problems(layout: Layout, columns: Mapping[str, str] | None) -> Iterator[Problem]:
    """What contradicts itself, or Delta would refuse; `columns` are names and types, None where not known yet."""
    yield from _order_problems(layout)
    yield from _property_problems(layout.properties)
    for field in ("partition_by", "cluster_by", "zorder_by"):
        yield from _column_problems(layout, field, columns)
    if columns and set(layout.partition_by) >= set(columns):
        yield Problem("a table needs a column that is not a partition", "layout.partition_by")


def _order_problems(layout: Layout) -> Iterator[Problem]:
    if layout.zorder_by and not layout.optimize_after_write:
        yield Problem("needs optimize_after_write: true; else nothing sorts the files", "layout.zorder_by")
    if layout.zorder_by and layout.cluster_by:
        yield Problem("a clustered table is sorted by cluster_by already; leave one out", "layout.zorder_by")
    for name in layout.zorder_by:
        if name.lower() in _lower(layout.partition_by):
            yield Problem(f"{name!r} is a partition: within one, all rows agree on it", "layout.zorder_by")
    if len(layout.cluster_by) > MOST_CLUSTERS:
        yield Problem(f"Delta clusters by at most {MOST_CLUSTERS} columns", "layout.cluster_by")


def _property_problems(properties: Mapping[str, str]) -> Iterator[Problem]:
    seen: set[str] = set()
    for key in properties:
        field, plain = f"layout.properties.{key}", key.lower()
        if plain in NOT_PROPERTIES:
            yield Problem(f"is no table property: {NOT_PROPERTIES[plain]}", field)
        if plain.startswith("lakepact."):
            yield Problem("is a name that Lakepact keeps for itself", field)
        if plain.startswith("delta.") and plain in seen:
            yield Problem("stands twice; Delta takes no notice of upper and lower case here", field)
        seen.add(plain)


def _column_problems(layout: Layout, field: str, columns: Mapping[str, str] | None) -> Iterator[Problem]:
    names: tuple[str, ...] = getattr(layout, field)
    for position, name in enumerate(names):
        if name.lower() in _lower(names[:position]):
            yield Problem(f"{name!r} stands twice", f"layout.{field}")
    for name in names if columns is not None else ():
        if columns is None or name not in columns:
            yield Problem(f"unknown column {name!r}{hint(name, columns or ())}", f"layout.{field}")
        elif field != "partition_by":
            yield from _without_ranges(name, columns, layout, f"layout.{field}")


def _without_ranges(name: str, columns: Mapping[str, str], layout: Layout, field: str) -> Iterator[Problem]:
    """Files are sorted so that readers can leave some out, by the lowest and highest values Delta keeps of each."""
    kind = columns[name]
    if is_nested(kind) or kind in WITHOUT_ORDER:
        yield Problem(f"{name!r} is {kind}, of which Delta keeps no lowest and highest value", field)
    elif list(columns).index(name) >= WITH_RANGES and not any(key in RANGES for key in _lower(layout.properties)):
        first = f"Delta keeps the lowest and highest values of the first {WITH_RANGES} columns"
        yield Problem(f"{first}: declare {name!r} earlier, or set delta.dataSkippingNumIndexedCols", field)


def _lower(names: Mapping[str, str] | tuple[str, ...]) -> set[str]:
    return {name.lower() for name in names}
