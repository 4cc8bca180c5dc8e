"""What is dangerous or contradictory in what a contract says of its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakepact.contract.model import Contract
from lakepact.errors import PlanError, Problem
from lakepact.plan.connectors import CONNECTORS, Connector
from lakepact.plan.expressions import predicate_problems
from lakepact.plan.known import unknown_columns
from lakepact.plan.read import GIVEN, format_of, upstreams
from lakepact.plan.tables import select_problems
from lakepact.plan.transform import asked_of_source
from lakepact.plan.watermark import KINDS, length
from lakepact.plugins import hint

Found = Iterator[Problem]


def _source(contract: Contract) -> Found:
    source = contract.source
    if source is None:
        return
    problems = select_problems(source.sql) if source.sql is not None else []
    yield from (Problem(message, "source.sql") for message in problems)
    if source.path is not None and not format_of(source):
        yield Problem("cannot be told from the path; write csv, json, parquet, …", "source.format")
    if source.connector is not None and source.connector not in (GIVEN, *CONNECTORS):
        near = hint(source.connector, CONNECTORS)
        yield Problem(f"{source.connector!r} is not built into this version{near}", "source.connector")
    elif source.connector in CONNECTORS:
        yield from CONNECTORS[source.connector].problems(source.options)
        yield from _connected(contract, CONNECTORS[source.connector])
    if not problems and contract.name in upstreams(source):
        yield Problem("the table would read itself", f"source.{source.kind}")
    if source.filter is not None:
        yield from (Problem(message, "source.filter") for message in predicate_problems(source.filter))


def _connected(contract: Contract, known: Connector) -> Found:
    """What a connector needs of the rest of the contract."""
    assert contract.source is not None
    name = contract.source.connector
    if known.needs_columns and not asked_of_source(contract):
        yield Problem(f"{name} brings text: the contract must declare the columns, without a sql step", "columns")
    if contract.source.load_type == "streaming" and not known.streams:
        yield Problem(f"{name} cannot be streamed; say load_type: full", "source.load_type")


def _files(contract: Contract) -> Found:
    """What is said of files where files are read."""
    source = contract.source
    if source is None:
        return
    if "bad_files" in source.model_fields_set and source.path is None:
        yield Problem("is about files: needs source.path", "source.bad_files")
    if source.bad_files == "quarantine" and source.load_type == "streaming":
        yield Problem("a stream stops at a file that cannot be read; say load_type: incremental", "source.bad_files")
    if source.path is not None and format_of(source) == "xml":
        yield from _row_tag(source.options)


def _row_tag(options: Mapping[str, object]) -> Found:
    if not any(key.lower() == "rowtag" and value for key, value in options.items()):
        near = next((key for key in options if "did you mean" in hint(key, ["rowTag"])), None)
        instead = f", not {near}" if near else ""
        yield Problem(f"xml needs rowTag{instead}: the name of the element that is a row", "source.options.rowTag")


def _time_travel(contract: Contract) -> Found:
    """A table as it was: one moment, of one table, in one go."""
    source = contract.source
    given = [name for name in ("version", "timestamp") if source and getattr(source, name) is not None]
    if source is None or not given:
        return
    field = f"source.{given[0]}"
    if source.table is None:
        yield Problem("only a table of the lakehouse has versions; in a query write VERSION AS OF 3", field)
    if len(given) > 1:
        yield Problem("either a version or a timestamp, not both", field)
    if source.load_type == "streaming":
        yield Problem("a stream reads what comes, not what was", field)


def _parts(contract: Contract) -> Found:
    """How a source is read, beside what it is."""
    source = contract.source
    if source is None:
        return
    if source.window is not None and (source.path is not None or source.change_feed is not None):
        yield Problem("a window needs a table, a query or a connector to push it into", "source.window")
    if source.envelope and format_of(source) != "json" and source.connector != "kafka":
        yield Problem("needs JSON files, or kafka with payload json", "source.envelope")


def _watermark(contract: Contract) -> Found:
    source, write = contract.source, contract.write
    if source is None or source.watermark is None:
        return
    if source.path is not None or source.change_feed is not None:
        message = "files are loaded once by load_type: incremental, and a change feed is read on by itself"
        yield Problem(message, "source.watermark")
    if source.window is not None:
        yield Problem("either a window or a watermark", "source.watermark")
    if write is not None and write.mode == "scd0_append":
        message = "scd0_append would add the rows at the mark again; write.mode: append_dedup or scd1_upsert"
        yield Problem(message, "source.watermark")
    column = source.watermark.column
    yield from unknown_columns(contract, (column,), "source.watermark.column")
    kinds = {c.name: c.type for c in contract.columns}
    if column in kinds and not KINDS.fullmatch(kinds[column]):
        message = f"a watermark is a number, a date or a time; {column} is {kinds[column]}"
        yield Problem(message, "source.watermark.column")
    if isinstance(source.watermark.lookback, str):
        yield from _lookback(source.watermark.lookback)


def _lookback(text: str) -> Found:
    try:
        length(text)
    except PlanError as wrong:
        yield from wrong.problems


SOURCE_CHECKS = (_source, _files, _time_travel, _parts, _watermark)
