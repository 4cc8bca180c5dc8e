"""A lake in which many worlds live through the same history at once, and its comparison with the models."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import oracle
from lakepact import api
from lakepact.evidence.record import RunRecord
from lakepact.plan import plan
from oracle import Judged, Row, Table
from ways import MODES, Mode, Way, contract
from worlds import DAY_0, VALUES, World, day, write_batch

METRICS = (
    "read", "inserted", "updated", "deleted", "soft_deleted", "expired", "unchanged", "quarantined",
    "quarantine_added", "deduplicated", "filtered",
)  # fmt: skip
Shown = tuple[Any, ...]
Rows = dict[int, Counter[Shown]]


@dataclass
class Told:
    """A history as Spark and Delta tell it: the last batch and what it left.

    earlier      the table before the last batch
    once         the table after it, before it came again
    otherwise    worlds in which the last batch, run a second time, left something else
    wrong        where the history first differs from the model's
    """

    records: list[RunRecord] = field(default_factory=list)
    batch: list[Judged] = field(default_factory=list)
    table: Rows = field(default_factory=dict)
    earlier: Rows = field(default_factory=dict)
    once: Rows = field(default_factory=dict)
    otherwise: set[int] = field(default_factory=set)
    wrong: str = ""


@dataclass
class Wanted:
    """The same as the model tells it."""

    tables: dict[int, Table] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    held: Counter[Shown] = field(default_factory=Counter)


class Lake:
    """Worlds that live through one history after the other; several modes at once, for a small run waits a lot."""

    def __init__(self, folder: Path, spark: Any, worlds: list[World], first: int = 0, again: bool = True) -> None:
        """`first` is the number of the first batch; `again`: the last batch is run twice."""
        self.folder, self.spark, self.worlds, self.first, self.again = folder, spark, worlds, first, again
        self.pool = ThreadPoolExecutor(4)
        self.told: dict[str, Future[Told]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for number, batches in enumerate(zip(*worlds, strict=True)):
            write_batch(self.file(number), batches, number + first)

    def file(self, number: int) -> Path:
        return self.folder / f"batch{number}.csv"

    def start(self, names: Iterable[str]) -> None:
        """Modes that take no look at the table go alone: what makes them do so would be the same for all."""
        fresh = [name for name in names if name not in self.told]
        straight = [name for name in fresh if MODES[name].straight]
        self.told |= {name: self.pool.submit(self._live, name) for name in fresh if name not in straight}
        if straight:
            wait(self.told.values())
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(plan, "SMALL_BESIDE", 0)
                self.told |= {name: self.pool.submit(self._live, name) for name in straight}
                wait(self.told.values())

    def history(self, name: str) -> Told:
        self.start([name])
        return self.told[name].result()

    def _live(self, name: str) -> Told:
        """Every batch, and the last one again."""
        mode, told, wanted = MODES[name], Told(), Wanted()
        project = self.folder / "".join(letter for letter in name if letter.isalpha())
        last = len(self.worlds[0]) - 1
        for turn, number in enumerate([*range(last + 1), *([last] if self.again else [])]):
            way = mode.way(turn)
            batches = [[{**row, "world": n} for row in world[number]] for n, world in enumerate(self.worlds)]
            told.batch = [way.judge(rows, turn) for rows in batches]
            _foresee(wanted, told.batch, way, mode)
            told.records += _run(project, contract(way, self.file(number), number + self.first), self.spark)
            before, told.table = told.table, _found(project, mode, told.records)
            told.otherwise = {world for world in {*before, *told.table} if before.get(world) != told.table.get(world)}
            told.earlier, told.once = (before, told.table) if turn <= last else (told.earlier, told.once)
            told.wrong = self._compare(project, mode, told, wanted)
            if told.wrong:
                told.wrong = f"{name}, turn {turn}: {told.wrong}"
                break
        shutil.rmtree(project)
        return told

    def _compare(self, project: Path, mode: Mode, told: Told, wanted: Wanted) -> str:
        found = {name: getattr(told.records[-1].rows, name) for name in METRICS}
        shown = _shown(wanted.tables, mode)
        different = [world for world in range(len(self.worlds)) if told.table.get(world) != shown.get(world)]
        if different:
            return self._smallest(different, told.table, shown)
        counted = {
            name: f"{found[name]}, not {wanted.counts[name]}" for name in METRICS if found[name] != wanted.counts[name]
        }
        if counted:
            return f"counted {counted}"
        held = _held(project, mode) if wanted.held else wanted.held
        return "" if held == wanted.held else f"quarantine: {held - wanted.held} too much, {wanted.held - held} missing"

    def _smallest(self, different: list[int], found: Rows, wanted: Rows) -> str:
        """Of the worlds that differ the one with the fewest rows, from its beginning."""
        world = min(different, key=lambda n: sum(len(batch) for batch in self.worlds[n]))
        batches = "\n".join(f"  batch {n}: {batch}" for n, batch in enumerate(self.worlds[world]))
        more, fewer = found.get(world, Counter()), wanted.get(world, Counter())
        return (
            f"{len(different)} worlds differ, such as {different[:9]}; the smallest is world {world}\n{batches}\n"
            f"  the table has {dict(more - fewer)}\n  it should have {dict(fewer - more)}"
        )

    def where(self, name: str) -> str:
        """For counts, which no world owns: a world that is wrong alone, found by halving."""
        lake: Lake | None = self
        if "counted" not in self.history(name).wrong:
            return ""
        while lake is not None and len(lake.worlds) > 1:
            middle = len(lake.worlds) // 2
            halves = (lake.worlds[:middle], lake.worlds[middle:])
            tried = (Lake(lake.folder / str(n), self.spark, half, self.first) for n, half in enumerate(halves))
            lake = next((half for half in tried if half.history(name).wrong), None)
        return f"\nalone: {lake.worlds}\n{lake.history(name).wrong}" if lake else "\nno world is wrong alone"


def _foresee(wanted: Wanted, judged: list[Judged], way: Way, mode: Mode) -> None:
    """What the model makes of a batch, world by world."""
    wanted.counts = sum((batch.counts for batch in judged), Counter())
    for world, batch in enumerate([_together(judged)] if mode.shared else judged):
        wanted.tables[world], counts = way.model(wanted.tables.get(world, {}), batch)
        wanted.counts.update(counts)
    rejected = Counter(
        (*(row[name] for name in mode.gate.columns), row["reasons"]) for b in judged for row in b.rejected
    )
    wanted.counts["quarantine_added"] = (wanted.held | rejected).total() - wanted.held.total()
    wanted.held |= rejected


def _together(judged: list[Judged]) -> Judged:
    return replace(judged[0], accepted=[row for batch in judged for row in batch.accepted])


def _run(project: Path, said: dict[str, Any], spark: Any) -> list[RunRecord]:
    (project / "contracts").mkdir(parents=True, exist_ok=True)
    (project / "lakepact.yaml").write_text("name: oracle\n", encoding="utf-8")
    (project / "contracts" / "t.yaml").write_text(yaml.safe_dump(said), encoding="utf-8")
    return api.run(project, spark=spark)


def _shown(tables: dict[int, Table], mode: Mode) -> Rows:
    """The model's rows by world, as the table shows them."""
    names, found = (*mode.gate.columns, *mode.adds), defaultdict[int, Counter[Shown]](Counter)
    for row in _flat(list(tables.values())):
        hashed = [oracle.row_hash(row, mode.hashed)] if mode.hashed else []
        found[row["world"]][(*(row[name] for name in names), *hashed)] += 1
    return dict(found)


def _flat(rows: Any) -> Iterator[Row]:
    if isinstance(rows, dict) and "world" in rows:
        yield rows
    else:
        for part in rows.values() if isinstance(rows, dict) else rows:
            yield from _flat(part)


def _found(project: Path, mode: Mode, records: list[RunRecord]) -> Rows:
    """The table's rows by world; times as the numbers they were made of."""
    names = [*mode.gate.columns, *mode.adds, *(["row_hash"] if mode.hashed else [])]
    read = [mode.gate.time if name == "at" else name for name in names]
    turns = {record.started_at: turn for turn, record in enumerate(records)}
    found = defaultdict[int, Counter[Shown]](Counter)
    for row in api.rows(api.open_project(project), "s.t"):
        found[row["world"]][tuple(_number(row.get(name), turns) for name in read)] += 1
    return dict(found)


def _number(value: Any, turns: Mapping[datetime, int]) -> Any:
    return turns.get(value, (value - DAY_0).days) if isinstance(value, datetime) else value


def _held(project: Path, mode: Mode) -> Counter[Shown]:
    """What the quarantine holds, as text; times as the texts they were made of."""
    read = [mode.gate.time if name == "at" else name for name in mode.gate.columns]
    days = {day(text): text for text in VALUES["at"]}
    found: Counter[Shown] = Counter()
    for row in api.rows(api.open_project(project), "s.t_quarantine"):
        values: list[Any] = [row.get(name) for name in read]
        texts = [
            days.get(v, v) if n == "day" else int(v) if n == "world" else v for n, v in zip(read, values, strict=True)
        ]
        found[(*texts, tuple(sorted(row["_reasons"])))] += 1
    return found
