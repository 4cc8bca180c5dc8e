"""The state of the world that a plan is made for: the run, its window, and the table as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class RunIdentity:
    """Which run this is, and its one idea of now."""

    run_id: str
    now: datetime


@dataclass(frozen=True)
class Window:
    """Half-open: start ≤ value < end. An open side is None."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class TableState:
    """A Delta table as its log describes it."""

    version: int
    columns: Mapping[str, str]
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    last_commit: str | None = None
    bytes: int | None = None
    required: frozenset[str] = frozenset()


@dataclass(frozen=True)
class World:
    """The tables a plan touches (None: not there yet), and what this Spark can tell of a write."""

    target: TableState | None = None
    quarantine: TableState | None = None
    source_columns: Mapping[str, str] | None = None
    source_bytes: int | None = None
    observes_writes: bool = True
    looked: bool = True
