"""Worlds: small histories of batches, drawn by Hypothesis. Many stand in one file, the world being part of the key."""

from __future__ import annotations

import contextlib
import csv
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

Text = dict[str, "str | None"]
Batch = list[Text]
World = list[Batch]
Draw = Callable[[st.SearchStrategy[Any]], Any]

DAY_0 = datetime(2026, 1, 1, tzinfo=timezone.utc)
# The batch from which on the source has one column more.
EXTRA_FROM = 2
# Few values, so that rows meet: most are plain, some are missing, some cannot be read or are not meant for the table.
VALUES: dict[str, tuple[str | None, ...]] = {
    "id": ("a", "a", "a", "b", "b", "b", "c", None),
    "op": ("I", "U", "U", "U", "U", "d", "D", "D", "Q", "T", None),
    "at": ("0", "1", "2", "3", "4", "5", "6", "7", "2", "3", "4", None, "oops"),
    "w": ("1", "2", None),
    "v": ("x", "x", "y", "é", None),
    "note": ("n", "m", None),
    "p": ("a", "b", "c", None),
    "extra": (None, None, "e", "f"),
}
SIZES = (0, 1, 2, 3, 3, 4, 4, 5)


@st.composite
def histories(draw: Draw, batches: int) -> World:
    """Batches of new rows and of rows seen before; some are an earlier batch again, some are empty."""
    world: World = []
    for number in range(batches):
        again = draw(st.integers(0, 4 * number))
        size = 0 if again < number else draw(st.sampled_from(SIZES))
        world.append(world[again] if again < number else [_row(draw, world) for _ in range(size)])
    return [_as_of(number, batch) for number, batch in enumerate(world)]


def _row(draw: Draw, world: World) -> Text:
    """Most rows are new. Values are drawn two by two, for a draw takes its time."""
    seen = [row for batch in world for row in batch]
    again = draw(st.integers(0, 3 * len(seen))) if seen else 0
    return seen[again] if again < len(seen) else {name: value for pair in PAIRS for name, value in draw(pair)}


def _pairs() -> Iterator[st.SearchStrategy[tuple[tuple[str, str | None], ...]]]:
    names = list(VALUES)
    for pair in zip(names[::2], names[1::2], strict=True):
        yield st.sampled_from(
            [tuple(zip(pair, both, strict=True)) for both in product(*(VALUES[name] for name in pair))]
        )


PAIRS = tuple(_pairs())


def _as_of(number: int, batch: Batch) -> Batch:
    return batch if number >= EXTRA_FROM else [{**row, "extra": None} for row in batch]


class EnoughError(Exception):
    """How Hypothesis is told to stop."""


def draw_worlds(count: int, batches: int) -> list[World]:
    """So many different worlds, always the same ones."""
    found: dict[str, World] = {}

    @settings(
        max_examples=2 * count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(histories(batches))
    def note(world: World) -> None:
        found.setdefault(repr(world), world)
        if len(found) >= count:
            raise EnoughError

    with contextlib.suppress(EnoughError):
        note()
    assert len(found) == count, f"only {len(found)} worlds were drawn"
    return list(found.values())


def write_batch(file: Path, batches: Iterable[Batch], number: int) -> None:
    """One batch of every world as CSV, its rows in no order."""
    lines = [{**row, "world": world, "day": day(row["at"])} for world, rows in enumerate(batches) for row in rows]
    random.Random(number).shuffle(lines)  # noqa: S311 - test data
    names = ["op", "day", "v", "world", "p", "note", "at", "id", "w", *(["extra"] if number >= EXTRA_FROM else [])]
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(lines)


def day(at: str | None) -> str | None:
    """A moment as a time; what is no number stays what it is."""
    return (DAY_0 + timedelta(days=int(at))).isoformat() if at and at.isdigit() else at
