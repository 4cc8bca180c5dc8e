"""The state of the world that a plan is made for: the run, its window, and the table as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lakepact.plan.bad_files import BadFile, SortedFiles
from lakepact.plan.loaded import LoadedFile, SourceFile
from lakepact.plan.watermark import Mark


@dataclass(frozen=True)
class RunIdentity:
    """Which run this is, and its one idea of now."""

    run_id: str
    now: datetime


@dataclass(frozen=True)
class Transaction:
    """What Delta keeps in the commit: it takes each version of an application once, whoever brings it."""

    app_id: str
    version: int


@dataclass(frozen=True)
class Window:
    """Half-open: start ≤ value < end. An open side is None."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class TableState:
    """A Delta table as its log describes it.

    cluster_by   None where it is clustered and nobody knows by what
    comments     of the columns that have one
    properties   also those that are not stored but mean the protocol: see `protocol_properties`
    last_commit  the note of the newest commit that did more than tidy up
    """

    version: int
    columns: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    last_commit: str | None = None
    bytes: int | None = None
    required: frozenset[str] = frozenset()
    cluster_by: tuple[str, ...] | None = ()
    comment: str = ""
    files: int | None = None
    comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Commit:
    """One commit of a run: its version, the version it was made from, and what Delta counted."""

    version: int
    metrics: Mapping[str, int]
    read_version: int | None = None


# What a writer of an old version knows without a list of features.
_OLD_FEATURES = {
    2: ("appendOnly", "invariants"),
    3: ("checkConstraints",),
    4: ("changeDataFeed", "generatedColumns"),
    5: ("columnMapping",),
    6: ("identityColumns",),
}


def protocol_properties(reader: int, writer: int, features: Iterable[str]) -> dict[str, str]:
    """The protocol as the table properties that ask for it; Delta does not store them.

    >>> protocol_properties(1, 2, [])["delta.feature.appendOnly"]
    'supported'
    """
    old = [name for version, names in _OLD_FEATURES.items() if version <= writer < 7 for name in names]
    versions = {"delta.minReaderVersion": str(reader), "delta.minWriterVersion": str(writer)}
    return versions | {f"delta.feature.{name}": "supported" for name in sorted({*old, *features})}


@dataclass(frozen=True)
class World:
    """The tables a plan touches (None: not there yet), and what this Spark can tell of a write."""

    target: TableState | None = None
    quarantine: TableState | None = None
    source_columns: Mapping[str, str] | None = None
    source_schema: str | None = None
    new_files: tuple[SourceFile, ...] | None = None
    unkept_files: tuple[LoadedFile, ...] = ()
    sorted_files: SortedFiles | None = None
    source_bytes: int | None = None
    source_version: int | None = None
    since_version: int | None = None
    since: Mark | None = None
    observes_writes: bool = True
    looked: bool = True
    given_view: str | None = None
    streamed: bool = False
    transaction: Transaction | None = None

    @property
    def bad_files(self) -> tuple[BadFile, ...]:
        return self.sorted_files.bad if self.sorted_files else ()
