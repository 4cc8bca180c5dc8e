"""Read → DataFrame. Secrets are put in here, and nowhere earlier."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows it by
from pyspark.sql.types import StringType, StructField, StructType

from lakepact import secrets
from lakepact.names import quote
from lakepact.plan.columns import CORRUPT, SOURCE_FILE
from lakepact.plan.jdbc import passwords_in
from lakepact.plan.loaded import root_of
from lakepact.plan.read import Read
from lakepact.secrets import Provider
from lakepact.spark.rest import read_pages
from lakepact.spark.session import frame_of

_GLOB, _ESCAPED = re.compile(r"[\\*?\[\]{}]"), r"\\\g<0>"


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
    own = READERS.get(read.format)
    frame = own(session, options) if own else session.read.format(read.format).options(**options).load()
    frame = as_rows(session, frame, read)
    return frame.where(read.where) if read.where else frame


# Connectors that Spark does not have.
READERS = {"rest": read_pages}


def with_all_columns(frame: DataFrame, read: Read) -> tuple[DataFrame, list[str]]:
    """The same with the columns that it lacks as NULL, and their names, where the plan lets files lack some."""
    there = {name.lower() for name in frame.columns}
    missing = [name for name in read.asked if name.lower() not in there] if read.may_lack else []
    if not missing or len(missing) == len(read.asked) or read.one_speaks_for_all:
        return frame, []
    return frame.withColumns({name: F.lit(None).cast("string") for name in missing}), missing


def as_rows(session: SparkSession, frame: DataFrame, read: Read) -> DataFrame:
    """What a connector brings in a shape of its own becomes rows; also of a stream."""
    if read.decode is None:
        return frame
    frame.createOrReplaceTempView("encoded")
    return session.sql(read.decode)


def _files(session: SparkSession, read: Read, options: dict[str, str], path: str) -> DataFrame:
    """All files at once, or one kind of them after the other where they differ."""
    if not read.alike:
        return _together(session, read, options, path)
    kinds = [_together(session, replace(read, files=kind.files, alike=(kind,)), options, path) for kind in read.alike]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), kinds)


def _together(session: SparkSession, read: Read, options: dict[str, str], path: str) -> DataFrame:
    """Columns are found by name: those of a text file in its header."""
    reader = session.read.format(read.format).options(**options)
    places, kind = _places(read, path), read.alike[0] if read.alike else None
    if read.files or _GLOB.search(path):
        reader = reader.option("basePath", root_of(path))
    if read.fields:
        reader = reader.schema(_texts(*read.fields, CORRUPT))
    elif read.header_names:
        names = (kind.columns if kind else ()) or reader.load(places).columns
        kept = (CORRUPT,) if read.keeps_corrupt else ()
        reader = reader.schema(_texts(*dict.fromkeys((*names, *kept))))
    elif schema := (kind.schema if kind else None) or read.schema:
        reader = reader.schema(_of_files(schema))
    reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    frame = reader.load(places)
    if read.columnar and kind is None and _lacks(frame, read.asked):
        frame = reader.option("mergeSchema", "true").load(places)  # Spark asked one file; another may have them
    if read.keeps_corrupt and CORRUPT not in frame.columns:
        frame = frame.withColumn(CORRUPT, F.lit(None).cast("string"))
    frame = frame.withColumn(SOURCE_FILE, F.col("_metadata.file_path")) if read.tells_file else frame
    return _widened(frame, read.types) if kind else frame


def _lacks(frame: DataFrame, names: tuple[str, ...]) -> bool:
    return not {name.lower() for name in names} <= {name.lower() for name in (*frame.columns, SOURCE_FILE)}


def _widened(frame: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Columns in the types they have in all files together."""
    there = {field.name: field.dataType.simpleString() for field in frame.schema}
    other = {name: types[name.lower()] for name, kind in there.items() if types.get(name.lower(), kind) != kind}
    return frame.withColumns({name: F.col(quote(name)).cast(kind) for name, kind in other.items()})


def _places(read: Read, path: str) -> str | list[str]:
    """Files by name, whatever stands in it: Spark takes a path for a glob."""
    return [f"{root_of(path)}/{_GLOB.sub(_ESCAPED, name)}" for name in read.files] or path


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
