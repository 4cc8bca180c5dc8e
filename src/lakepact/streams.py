"""Contracts as streams: each micro-batch takes the path that every run takes, and leaves a record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakepact.contract.model import Contract
from lakepact.driver.order import held_back
from lakepact.errors import EngineError, LakepactError, LakepactExecutionError, PlanError, Problem
from lakepact.evidence.record import RunRecord
from lakepact.jobs import refused, run_one, shared, skipped
from lakepact.plan.connectors import CONNECTORS
from lakepact.plan.idempotency import app_id
from lakepact.plan.read import decoded, read_for
from lakepact.plan.state import Transaction
from lakepact.plan.transform import asked_of_source
from lakepact.secrets import hide
from lakepact.site import Site, Watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass
class _Stream:
    """One contract while it is streamed, and what its micro-batches left."""

    contract: Contract
    site: Site
    watch: Watch
    records: list[RunRecord] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)

    def take(self, batch: DataFrame, number: int, stream: str) -> None:
        """A micro-batch that fails stops its stream, which begins with it again."""
        named = Transaction(app_id(f"stream/{stream}"), number)
        with shared(batch) as view:
            record = run_one(self.contract, self.site, given_view=view, micro_batch=named)
        self.records.append(record)
        self.watch.record(record)
        if not record.ok:
            raise LakepactExecutionError(f"{record.pipeline}: {record.error}", record)


def stream_all(selected: list[Contract], site: Site, watch: Watch, every: str | None = None) -> list[RunRecord]:
    """Until nothing is left, one contract after the other; or all at once, `every` so often, until stopped."""
    if site.project.environment.spark.remote:
        raise PlanError([Problem("streams need a session of their own; Spark Connect is not supported yet", "spark")])
    return _together(selected, site, watch, every) if every else _in_turn(selected, site, watch)


def _in_turn(selected: list[Contract], site: Site, watch: Watch) -> list[RunRecord]:
    records: list[RunRecord] = []
    failed: list[Contract] = []
    for contract in selected:
        blocker = held_back(contract, failed)
        if blocker:
            found = [skipped(contract, blocker, site)]
            watch.record(found[0])
        else:
            found = _drain(_Stream(contract, site, watch))
        records += found
        failed += [] if all(record.ok for record in found) else [contract]
    return records


def _drain(stream: _Stream) -> list[RunRecord]:
    """Also a stream that cannot begin leaves a record, and the next one has its turn."""
    try:
        with _failures(stream), _started(stream, None) as query:
            query.awaitTermination()
    except LakepactError as error:
        stream.records.append(refused(stream.contract, error, stream.site))
        stream.watch.record(stream.records[-1])
    return stream.records


def _together(selected: list[Contract], site: Site, watch: Watch, every: str) -> list[RunRecord]:
    from pyspark.errors import PySparkException

    streams = [_Stream(contract, site, watch) for contract in selected]
    with contextlib.ExitStack() as open_streams, contextlib.suppress(KeyboardInterrupt):
        queries = []
        for stream in streams:
            with _failures(stream):
                queries.append(open_streams.enter_context(_started(stream, every)))
        with contextlib.suppress(PySparkException):  # told below, by the stream that ended
            site.engine.spark.streams.awaitAnyTermination()
        for query, stream in zip(queries, streams, strict=True):
            with _failures(stream):
                _ = query.isActive or query.awaitTermination()
    return [record for stream in streams for record in stream.records]


@contextlib.contextmanager
def _started(stream: _Stream, every: str | None) -> Iterator[StreamingQuery]:
    from lakepact.spark.session import new_session
    from lakepact.spark.stream import open_stream, start_stream

    contract, site = stream.contract, stream.site
    if contract.source is None:
        raise PlanError([Problem("needs a source to be streamed", contract.name)])
    if contract.source.only_new:
        message = (
            f"{contract.source.load_type} files are loaded by a plain run; to stream them say load_type: streaming"
        )
        raise PlanError([Problem(message, "source.load_type", contract.name)])
    known = CONNECTORS.get(contract.source.connector or "")
    if known is not None and not known.streams:
        message = f"{contract.source.connector} cannot be streamed; run it without --stream and --available-now"
        raise PlanError([Problem(message, "source.connector", contract.name)])
    asked = asked_of_source(contract)
    read = decoded(read_for(contract.source, site.places.locate, site.places.path, None), contract.source, asked)
    session = new_session(site.engine.spark)
    frame = open_stream(session, contract.source, read, asked, site.engine.provider, stream.secrets)
    folder = f"{site.project.place(site.project.environment.checkpoints).rstrip('/')}/{contract.name}"
    query = start_stream(frame, folder, every, stream.take)
    try:
        yield query
    finally:
        query.stop()


@contextlib.contextmanager
def _failures(stream: _Stream) -> Iterator[None]:
    """A failure that left a record is told by it; any other is told here, without secrets."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from lakepact.spark.failures import engine_error

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if not stream.records or stream.records[-1].ok:
            raise EngineError(hide(str(engine_error(error)), stream.secrets)) from error
