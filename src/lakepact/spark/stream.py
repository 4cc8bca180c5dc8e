"""A source as a stream: each micro-batch is handed over as a batch, and is a run like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows it by
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructField, StructType

from lakepact import secrets
from lakepact.contract.source import Source
from lakepact.errors import PlanError, Problem
from lakepact.plan.columns import CORRUPT, SOURCE_FILE
from lakepact.plan.feed import CHANGE
from lakepact.plan.read import Read
from lakepact.secrets import Provider
from lakepact.spark.read import as_rows, read_source

# A batch, its number, and the stream it belongs to: the number starts anew where a checkpoint is made anew.
TakeBatch = Callable[[DataFrame, int, str], None]
QUERY_ID = "sql.streaming.queryId"


def start_stream(frame: DataFrame, checkpoint: str, every: str | None, take: TakeBatch) -> StreamingQuery:
    """Begin, to look for more `every` so often or to end when nothing is left.

    What was read but not written when the stream last stopped is read again, as the same batch.
    """

    def one(batch: DataFrame, number: int) -> None:
        stream = batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        take(batch, number, str(stream))

    writer = frame.writeStream.foreachBatch(one).option("checkpointLocation", checkpoint)
    timed = writer.trigger(processingTime=every) if every else writer.trigger(availableNow=True)
    return timed.start()


def open_stream(
    session: SparkSession, source: Source, read: Read, awaited: tuple[str, ...], provider: Provider, seen: list[str]
) -> DataFrame:
    """The source as an endless table, with the columns that a batch of it has; `awaited`, where no file came yet."""
    if source.path is not None:
        return _files(session, source, read, awaited, provider, seen)
    if source.table is not None or source.change_feed is not None:
        return _table(session, source, read)
    options = {key: secrets.resolve(value, provider, seen) for key, value in read.options.items()}
    if source.connector is None:
        raise PlanError([Problem("a query cannot be streamed; stream a table and transform it", "source.sql")])
    return as_rows(session, session.readStream.format(read.format).options(**options).load(), read)


def _table(session: SparkSession, source: Source, read: Read) -> DataFrame:
    """The rows of a table as they are added or, of a change feed, as they change."""
    reader, table = _limited(session.readStream.format("delta"), source), read.tables[0]
    reader = reader.option("readChangeFeed", "true") if source.change_feed else reader
    frame = reader.load(table.path) if table.path else reader.table(table.sql)
    return frame.where(f"`{CHANGE}` <> 'update_preimage'") if source.change_feed else frame


def _files(
    session: SparkSession, source: Source, read: Read, awaited: tuple[str, ...], provider: Provider, seen: list[str]
) -> DataFrame:
    """A stream must know its columns before the first file: they are those of the files that are there."""
    schema = _schema(session, read, awaited, provider)
    options = {key: secrets.resolve(value, provider, seen) for key, value in read.options.items()}
    reader = session.readStream.format(read.format).options(**options).schema(schema)
    reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    frame = _limited(reader, source).load(secrets.resolve(read.path or "", provider, seen))
    return as_rows(session, frame.withColumn(SOURCE_FILE, F.col("_metadata.file_path")), read)


def _schema(session: SparkSession, read: Read, awaited: tuple[str, ...], provider: Provider) -> StructType:
    if read.fields:
        return StructType([StructField(name, StringType()) for name in (*read.fields, CORRUPT)])
    try:
        return read_source(session, read, provider, []).drop(SOURCE_FILE).schema
    except AnalysisException as error:
        if error.getCondition() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA") or not awaited:
            raise
        return read_source(session, replace(read, awaited=awaited), provider, []).drop(SOURCE_FILE).schema


def _limited(reader: DataStreamReader, source: Source) -> DataStreamReader:
    """At most so many files a micro-batch."""
    return reader.option("maxFilesPerTrigger", source.max_files) if source.max_files else reader
