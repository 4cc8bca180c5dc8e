"""The command that works: run, with progress while Spark is busy and a table at the end."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lakepact import api
from lakepact.cli.look import print_records
from lakepact.cli.output import print_json, say
from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.errors import LakepactError, error_class
from lakepact.evidence.record import RunRecord
from lakepact.plan.outcome import Outcome
from lakepact.site import Watch


@dataclass(frozen=True)
class Streaming:
    """Run as streams: until nothing is left, or `every` so often until stopped."""

    every: str | None = None


def run(
    tables: list[str], folder: Path, env: str | None, options: api.Options, as_json: bool, streaming: Streaming | None
) -> int:
    gc.enable()
    records = run_project(api.open_project(folder, env), tables, options, streaming)
    if as_json:
        print_json([asdict(record) for record in records])
    else:
        print_records("runs", records)
    return exit_code(records)


def run_project(
    project: Project, tables: list[str], options: api.Options, streaming: Streaming | None = None
) -> list[RunRecord]:
    with progress() as watch:
        if streaming:
            every = streaming.every
            return api.stream(project, tables, options, every=every, watch=watch, raise_on_failure=False)
        return api.run(project, tables, options, watch=watch, raise_on_failure=False)


def exit_code(records: list[RunRecord]) -> int:
    """0 ok; otherwise that of the first run that failed, not of those it held back."""
    failed = [record for record in records if record.status == "failed"]
    return error_class(failed[0].error_class, LakepactError).exit_code if failed else 0


@contextmanager
def progress() -> Iterator[Watch]:
    """On a terminal one line that changes; elsewhere one line for each contract."""
    if not sys.stderr.isatty():
        yield Watch(record=lambda record: say(_done(record)), left_out=lambda one, why: say(_left_out(one, why)))
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting Spark") as status:

        def step(table: str, name: str, outcome: Outcome) -> None:
            read = outcome.counts.get("read")
            status.update(f"{table}: {name}" + (f", {read:,} rows" if read is not None else ""))

        def tell(line: str) -> None:
            console.print(line, highlight=False)

        yield Watch(step, lambda record: tell(_done(record)), lambda one, why: tell(_left_out(one, why)))


def _left_out(contract: Contract, why: str) -> str:
    return f"{contract.name}: {why}"


def _done(record: RunRecord) -> str:
    read = "" if record.rows.read is None else f", {record.rows.read:,} rows read"
    return f"{record.pipeline}: {record.status}{read}, {record.duration_seconds:.1f} s"
