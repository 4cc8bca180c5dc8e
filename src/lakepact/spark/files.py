"""Files of a remote folder, and the table that keeps which were loaded."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows it by

from lakepact.names import TableRef
from lakepact.plan.loaded import COLUMNS, LISTED, LoadedFile, SourceFile, keep_statement, root_of
from lakepact.spark.session import frame_of


def list_remote(spark: SparkSession, path: str, pattern: str | None) -> tuple[SourceFile, ...]:
    """The files under a path or glob, as Spark finds them; none of them is opened."""
    whole = f"{path.rstrip('/')}/{pattern}" if pattern else path
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    modified = F.unix_millis("modificationTime")
    root = f"{root_of(path)}/"
    rows = reader.load(whole).select("path", "length", modified).collect()
    return tuple(SourceFile(row[0].partition(root)[2] or row[0], row[1], row[2]) for row in rows)


def keep_loaded(session: SparkSession, table: TableRef, files: list[LoadedFile], exists: bool) -> None:
    """Write down which files were loaded; where this is lost, the commits still say it."""
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    frame_of(session, [file.row for file in files], schema).createOrReplaceTempView(LISTED)
    session.sql(keep_statement(table, exists)).collect()
