"""Which files of a load can be read together: asked only where a plain read of them all has failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows it by
from pyspark.sql.types import StructType

from lakepact import secrets
from lakepact.plan.bad_files import Alike, BadFile, SortedFiles, common_types, find_bad, strangers
from lakepact.plan.columns import CORRUPT
from lakepact.plan.loaded import SourceFile, root_of
from lakepact.plan.read import Read
from lakepact.secrets import Provider
from lakepact.spark.failures import engine_error
from lakepact.spark.read import read_source

# Errors that say nothing of what is in a file: trying again, or a mended setting, may read it.
ELSEWHERE = (
    "ConnectException", "UnknownHostException", "SocketTimeoutException", "SocketException", "SSLException",
    "NoRouteToHostException", "AccessDeniedException", "AccessControlException", "FileNotFoundException",
    "NoSuchFileException", "InterruptedIOException", "InterruptedException", "OutOfMemoryError", "ClassNotFound",
    "Sdk", "AWS", "S3Exception",
)  # fmt: skip

OF_FILES = ("[FAILED_READ_FILE", "[CANNOT_MERGE")
NO_COLUMNS = ("UNABLE_TO_INFER_SCHEMA", "CANNOT_MERGE")


@dataclass(frozen=True)
class _Load:
    """One load that failed: how its files are read, and the columns the contract declares."""

    session: SparkSession
    read: Read
    provider: Provider
    declared: Mapping[str, str]

    def frame(self, files: Sequence[SourceFile], alike: Alike | None = None) -> DataFrame:
        names = tuple(file.name for file in files)
        kept = (replace(alike, files=names),) if alike else ()
        options = {"mergeSchema": "true", **self.read.options} if self.read.columnar else self.read.options
        read = replace(self.read, options=options, files=names, alike=kept, schema=None, tells_file=False)
        return read_source(self.session, read, self.provider, [])


def is_of_files(error: Exception, reading: bool) -> bool:
    """Whether the files themselves may be what an error is about; while they are read it need not say so.

    What Spark has against a query is said of no file, but for one that does not tell its columns.
    """
    if isinstance(error, AnalysisException):
        return str(error.getCondition()).startswith(NO_COLUMNS)
    if any(one.getClass().getSimpleName().startswith(ELSEWHERE) for one in _chain(error)):
        return False
    return reading or any(word in str(error) for word in OF_FILES)


def sort_files(
    session: SparkSession,
    read: Read,
    files: Sequence[SourceFile],
    provider: Provider,
    declared: Mapping[str, str],
    asked: Sequence[str],
) -> SortedFiles:
    """Files by their columns, each read to its end; `declared` and `asked` are the contract's types and columns."""
    seen: list[str] = []
    read = replace(read, path=secrets.resolve(read.path or "", provider, seen))
    load = _Load(session, read, provider, declared)
    groups, bad, types = _grouped(load, files)
    by_name = {file.name: file for file in files}
    other = strangers(groups, asked)
    bad += [BadFile(by_name[name], reason) for name, reason in other.items()]
    good: list[Alike] = []
    for group in (group for group in groups if group.files[0] not in other):
        broken = find_bad([by_name[name] for name in group.files], partial(_fault, load, group))
        kept = tuple(name for name in group.files if name not in {one.file.name for one in broken})
        good += [replace(group, files=kept)] if kept else []
        bad += broken
    told = tuple(replace(one, reason=secrets.hide(one.reason, seen)) for one in bad)
    return SortedFiles(tuple(files), tuple(good), told, types)


def _grouped(load: _Load, files: Sequence[SourceFile]) -> tuple[list[Alike], list[BadFile], Mapping[str, str]]:
    if load.read.header_names:
        return _by_header(load, files)
    if load.read.typed:
        return _by_schema(load, files)
    return [Alike(tuple(file.name for file in files))], [], {}


def _by_header(load: _Load, files: Sequence[SourceFile]) -> tuple[list[Alike], list[BadFile], Mapping[str, str]]:
    """Files whose first lines are the same have the same columns; an empty file has no rows to bring."""
    bad = list(find_bad(files, lambda some: _tried(lambda: _first_lines(load, some))))
    broken = {one.file for one in bad}
    readable = [file for file in files if file not in broken]
    lines = _first_lines(load, readable) if readable else {}
    alike: dict[str, list[SourceFile]] = {}
    for file in readable:
        if file.name in lines:
            alike.setdefault(lines[file.name], []).append(file)
    groups = []
    for some in alike.values():
        names = tuple(name for name in load.frame(some[:1]).columns if name != CORRUPT)
        groups.append(Alike(tuple(file.name for file in some), names))
    return groups, bad, {}


def _first_lines(load: _Load, files: Sequence[SourceFile]) -> dict[str, str]:
    """By file; blank lines and comments do not count."""
    comment = load.read.options.get("comment", "")
    plain = replace(
        load.read, format="text", options={}, files=tuple(file.name for file in files),
        header_names=False, keeps_corrupt=False, tells_file=False, alike=(),
    )  # fmt: skip
    said = F.trim("value") != ""
    said = said & ~F.col("value").startswith(comment) if comment else said
    rows = (
        read_source(load.session, plain, load.provider, [])
        .select("value", F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("at"))
        .where((F.col("at") == 0) & said)
        .withColumn("line", F.monotonically_increasing_id())
        .groupBy("file")
        .agg(F.min_by("value", "line").alias("first"))
        .select(F.url_decode(F.replace("file", F.lit("+"), F.lit("%2B"))).alias("file"), "first")
        .collect()
    )
    root = f"{root_of(load.read.path or '')}/"
    return {row["file"].partition(root)[2]: row["first"] for row in rows}


def _by_schema(load: _Load, files: Sequence[SourceFile]) -> tuple[list[Alike], list[BadFile], Mapping[str, str]]:
    """What files say of themselves tells their columns; an empty one says nothing, and has no rows."""
    schemas, bad = _schemas(load, [file for file in files if file.size])
    found = {
        file: tuple((field.name, field.dataType.simpleString()) for field in schema) for file, schema in schemas.items()
    }
    types, other = common_types(found, load.declared)
    wrong = {one.file for one in other}
    alike: dict[str, list[str]] = {}
    for file, schema in schemas.items():
        if file not in wrong:
            alike.setdefault(schema.json(), []).append(file.name)
    groups = [
        Alike(tuple(names), tuple(StructType.fromJson(json.loads(text)).names), text) for text, names in alike.items()
    ]
    return groups, [*bad, *other], types


def _schemas(load: _Load, files: Sequence[SourceFile]) -> tuple[dict[SourceFile, StructType], list[BadFile]]:
    """By halving, where one schema for many files is sure to have the columns of them all."""
    if not files:
        return {}, []
    fault: str | None = None
    if len(files) == 1 or load.read.columnar:
        found: list[StructType] = []
        fault = _tried(lambda: found.append(load.frame(files).schema))
        if fault is None:
            return dict.fromkeys(files, found[0]), []
    if len(files) == 1:
        return {}, [BadFile(files[0], fault or "")]
    middle = len(files) // 2
    (one, bad), (other, worse) = _schemas(load, files[:middle]), _schemas(load, files[middle:])
    return {**one, **other}, [*bad, *worse]


def _fault(load: _Load, alike: Alike, files: Sequence[SourceFile]) -> str | None:
    """Why these files cannot be read to their ends; every row of them is read, and none is kept."""
    return _tried(lambda: load.frame(files, alike).write.format("noop").mode("overwrite").save())


def _tried(work: Callable[[], object]) -> str | None:
    try:
        work()
    except Exception as error:
        if not is_of_files(error, reading=True):
            raise
        return str(engine_error(error))
    return None


def _chain(error: Exception) -> Iterator[Any]:
    """What was thrown in the JVM, from the outside in."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        yield java
        java = java.getCause()
