"""Files of a remote folder, and the table that keeps which were loaded."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows it by

from lakepact.names import TableRef
from lakepact.plan.loaded import COLUMNS, LISTED, LoadedFile, SourceFile, keep_statement, root_of
from lakepact.spark.session import frame_of, new_session


def list_remote(spark: SparkSession, path: str, pattern: str | None, deep: bool = True) -> tuple[SourceFile, ...]:
    """The files under a path or glob, as Spark finds them, none where nothing is; none of them is opened."""
    whole = f"{path.rstrip('/')}/{pattern}" if pattern else path
    session = new_session(spark)
    session.conf.set("spark.sql.files.openCostInBytes", "0")  # a task for many files: none is opened
    session.conf.set("spark.sql.files.maxPartitionBytes", str(2**40))
    reader = session.read.format("binaryFile").option("recursiveFileLookup", str(deep).lower())
    modified = F.unix_millis("modificationTime")
    root = f"{root_of(path)}/"
    try:
        rows = reader.load(whole).select("path", "length", modified).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return ()
    return tuple(SourceFile(row[0].partition(root)[2] or row[0], row[1], row[2]) for row in rows)


def keep_loaded(session: SparkSession, table: TableRef, files: list[LoadedFile], exists: bool) -> None:
    """Write down which files were loaded; where this is lost, the commits still say it."""
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    frame_of(session, [file.row for file in files], schema).createOrReplaceTempView(LISTED)
    session.sql(keep_statement(table, exists)).collect()
