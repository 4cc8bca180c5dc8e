"""Commands for upkeep: optimize compacts a project's tables, vacuum removes files that nobody needs any more."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lakepact import api
from lakepact.cli.output import print_json, print_table, say
from lakepact.cli.work import progress
from lakepact.errors import EngineError
from lakepact.plan.maintain import Optimized, Vacuumed

WORDS = {"would": "would go", "missing": "not there yet"}


def optimize(tables: list[str], folder: Path, env: str | None, as_json: bool) -> int:
    gc.enable()
    with progress() as watch:
        done = api.optimize(api.open_project(folder, env), tables, watch=watch, raise_on_failure=False)
    columns = ["table", "status", "files", "then", "bytes", "then", "seconds"]
    return _told(done, columns, [_optimized(one) for one in done], as_json)


def vacuum(
    tables: list[str], folder: Path, env: str | None, retain: str | None, dry_run: bool, force: bool, as_json: bool
) -> int:
    gc.enable()
    with progress() as watch:
        done = api.vacuum(
            api.open_project(folder, env), tables,
            retain=retain, dry_run=dry_run, force=force, watch=watch, raise_on_failure=False,
        )  # fmt: skip
    columns = ["table", "status", "files", "bytes", "seconds"]
    return _told(done, columns, [_vacuumed(one) for one in done], as_json)


def _told(done: Sequence[Optimized | Vacuumed], columns: list[str], lines: list[list[object]], as_json: bool) -> int:
    """0, or 3 where a table could not be kept up."""
    if as_json:
        print_json([asdict(one) for one in done])
    else:
        print_table("", columns, lines)
    failed = [one for one in done if one.error is not None]
    for one in failed:
        say(f"{one.table}: {one.error}")
    return EngineError.exit_code if failed else 0


def _optimized(one: Optimized) -> list[object]:
    counts = [one.files_before, one.files_after, _size(one.bytes_before), _size(one.bytes_after)]
    return [one.table, WORDS.get(one.status, one.status), *map(_shown, counts), f"{one.seconds:.1f}"]


def _vacuumed(one: Vacuumed) -> list[object]:
    return [
        one.table, WORDS.get(one.status, one.status), _shown(one.files), _shown(_size(one.bytes)), f"{one.seconds:.1f}",
    ]  # fmt: skip


def _shown(value: object) -> object:
    """What nobody counted is no null."""
    return "" if value is None else value


def _size(count: int | None) -> str | None:
    """
    >>> _size(900), _size(2048), _size(5 * 2**30)
    ('900 B', '2.0 KiB', '5.0 GiB')
    """
    if count is None:
        return None
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "B" else f"{size:.1f} {units[0]}"
