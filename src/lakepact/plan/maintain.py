"""Upkeep: what keeps a table in shape between runs, as one statement each, and what must not be done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from lakepact.contract.model import Layout
from lakepact.errors import ContractError, PlanError, Problem
from lakepact.names import TableRef
from lakepact.plan.layout import optimize
from lakepact.plan.state import TableState
from lakepact.plan.tuning import upkeep_settings

SAFE = timedelta(days=7)
RETENTION = "delta.deletedFileRetentionDuration"
AT_RISK = (
    "files that running readers and writers still use would go, and with them the versions that time travel reads; "
    "keep them longer, or say --force (in Python force=True) if nobody needs them"
)
# Delta takes no notice of RETAIN by itself unless it is 0, and removes what the table's own retention allows.
HEEDED = {"spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false"}
COUNTED = {"spark.databricks.delta.vacuum.logging.enabled": "true"}
UNCHECKED = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}

_UNITS = {"week": 7 * 86400, "day": 86400, "hour": 3600, "minute": 60, "second": 1}
_PART = re.compile(r"(\d+)\s*(week|day|hour|minute|second)s?\s*")
_LETTERS = {"h": "hours", "d": "days", "w": "weeks"}

Status = Literal["done", "unchanged", "would", "missing", "failed"]


@dataclass(frozen=True)
class Chore:
    """One statement for one table, with the settings it needs; none where the table is not there yet."""

    table: TableRef
    state: TableState | None = None
    statement: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False


@dataclass(frozen=True)
class Optimized:
    """What OPTIMIZE made of a table: its files before and after."""

    table: str
    status: Status
    files_before: int | None = None
    files_after: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    seconds: float = 0
    error: str | None = None


@dataclass(frozen=True)
class Vacuumed:
    """What VACUUM removed from a table's folder, or would remove: files that no version in time needs."""

    table: str
    status: Status
    files: int | None = None
    bytes: int | None = None
    seconds: float = 0
    error: str | None = None


def optimize_chore(table: TableRef, layout: Layout, state: TableState | None) -> Chore:
    if state is None:
        return Chore(table)
    return Chore(table, state, optimize(table.sql, layout), upkeep_settings(state))


def vacuum_chore(
    table: TableRef, state: TableState | None, retain: timedelta | None, dry_run: bool = False, force: bool = False
) -> Chore:
    """Refused where files would go that somebody may still need, unless it is forced."""
    if state is None:
        return Chore(table)
    own = own_retention(state)
    kept = max(SAFE, own or SAFE) if retain is None else retain
    if not force and (found := retention_problem(kept, own, state)):
        raise PlanError([Problem(f"{found}: {AT_RISK}", "retain", table.name)])
    settings = {**upkeep_settings(state), **HEEDED, **COUNTED, **(UNCHECKED if force else {})}
    return Chore(table, state, vacuum(table.sql, kept, dry_run), settings, dry_run)


def vacuum(table: str, kept: timedelta, dry_run: bool) -> str:
    """
    >>> vacuum("t", timedelta(days=7), True)
    'VACUUM t RETAIN 168 HOURS DRY RUN'
    """
    hours = int(kept.total_seconds() // 3600)
    return f"VACUUM {table} RETAIN {hours} HOURS" + (" DRY RUN" if dry_run else "")


def retention_problem(kept: timedelta, own: timedelta | None, state: TableState) -> str:
    """Why files must be kept longer than this; nothing where they need not."""
    if kept < SAFE:
        return f"{_said(kept)} is less than the {_said(SAFE)} that are safe"
    if own is None:
        return f"{RETENTION} is {state.properties.get(RETENTION)!r}, which cannot be compared with {_said(kept)}"
    return f"{_said(kept)} is less than the {_said(own)} of the table's own {RETENTION}" if kept < own else ""


def own_retention(state: TableState) -> timedelta | None:
    """How long the table wants removed files kept; Delta's default where it does not say, None where it is unclear."""
    said = next((value for key, value in state.properties.items() if key.lower() == RETENTION.lower()), None)
    return SAFE if said is None else interval(said)


def interval(text: str) -> timedelta | None:
    """Delta's way to say how long.

    >>> interval("interval 1 week"), interval("30 days"), interval("a while")
    (datetime.timedelta(days=7), datetime.timedelta(days=30), None)
    """
    plain = text.strip().lower().removeprefix("interval").strip()
    if not re.fullmatch(f"(?:{_PART.pattern})+", plain):
        return None
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(plain)))


def duration(text: str) -> timedelta:
    """As people say it.

    >>> duration("36h"), duration("2w")
    (datetime.timedelta(days=1, seconds=43200), datetime.timedelta(days=14))
    """
    found = re.fullmatch(r"(\d{1,6})\s*([hdw])", text.strip().lower())
    if found is None:
        raise ContractError([Problem(f"{text!r} is not a time to keep files; write 168h, 7d or 2w", "retain")])
    return timedelta(**{_LETTERS[found[2]]: int(found[1])})


def _said(time: timedelta) -> str:
    hours = int(time.total_seconds() // 3600)
    count, unit = (hours // 24, "day") if hours and hours % 24 == 0 else (hours, "hour")
    return f"{count} {unit}" + ("" if count == 1 else "s")
