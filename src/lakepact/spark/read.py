"""Read → DataFrame. Secrets are put in here, and nowhere earlier."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows it by
from pyspark.sql.types import StringType, StructField, StructType

from lakepact import secrets
from lakepact.plan.columns import CORRUPT, SOURCE_FILE
from lakepact.plan.jdbc import passwords_in
from lakepact.plan.loaded import root_of
from lakepact.plan.read import Read
from lakepact.secrets import Provider
from lakepact.spark.session import frame_of


def read_source(session: SparkSession, read: Read, provider: Provider, seen: list[str]) -> DataFrame:
    """The source's rows, not yet read: Spark is lazy."""
    if read.sql is not None:
        return session.sql(read.sql)
    if read.awaited:
        return _nothing(session, read)
    options = {key: secrets.resolve(value, provider, seen) for key, value in read.options.items()}
    if read.path is None:
        return _connected(session, read, options, seen)
    return as_rows(session, _files(session, read, options, secrets.resolve(read.path, provider, seen)), read)


def _connected(session: SparkSession, read: Read, options: dict[str, str], seen: list[str]) -> DataFrame:
    """Someone else's server. A condition right above the read is one that Spark hands on to it."""
    seen += passwords_in(options.get("url", ""))
    frame = session.read.format(read.format).options(**options).load()
    frame = as_rows(session, frame, read)
    return frame.where(read.where) if read.where else frame


def as_rows(session: SparkSession, frame: DataFrame, read: Read) -> DataFrame:
    """What a connector brings in a shape of its own becomes rows; also of a stream."""
    if read.decode is None:
        return frame
    frame.createOrReplaceTempView("encoded")
    return session.sql(read.decode)


def _files(session: SparkSession, read: Read, options: dict[str, str], path: str) -> DataFrame:
    reader = session.read.format(read.format).options(**options)
    places = _places(read, path)
    if read.files:
        reader = reader.option("basePath", root_of(path))
    if read.fields:
        reader = reader.schema(_texts(*read.fields, CORRUPT))
    elif read.header_names:
        names = reader.load(places).columns
        kept = (CORRUPT,) if read.keeps_corrupt else ()
        reader = reader.schema(_texts(*names, *kept))
    elif read.schema:
        reader = reader.schema(_of_files(read.schema))
    reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    frame = reader.load(places)
    if read.keeps_corrupt and CORRUPT not in frame.columns:
        frame = frame.withColumn(CORRUPT, F.lit(None).cast("string"))
    return frame.withColumn(SOURCE_FILE, F.col("_metadata.file_path")) if read.tells_file else frame


def _places(read: Read, path: str) -> str | list[str]:
    return [f"{root_of(path)}/{name}" for name in read.files] or path


def _of_files(schema: str) -> StructType:
    found = StructType.fromJson(json.loads(schema))
    return StructType([field for field in found if field.name != SOURCE_FILE])


def _nothing(session: SparkSession, read: Read) -> DataFrame:
    """No rows, with the columns that files would bring."""
    kept = (CORRUPT,) if read.keeps_corrupt else ()
    told = (SOURCE_FILE,) if read.tells_file else ()
    return frame_of(session, [], _texts(*dict.fromkeys((*read.awaited, *kept, *told))))


def _texts(*names: str) -> StructType:
    return StructType([StructField(name, StringType()) for name in names])
