"""Every write mode on a large table, against what a good engineer writes by hand; results are compared row by row."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import hand
from bench.data import COLUMNS, PARTITION, Data
from bench.hand import Hand
from bench.measure import Cost, in_turns
from lakepact import api
from lakepact.evidence.record import RunRecord

ALL_ROWS = 2_000_000
ROWS = int(os.environ.get("LAKEPACT_BENCH_ROWS", ALL_ROWS))
MOST_COMMITS = 3
UNIQUE = ({"unique": ["id"]}, {"not_null": ["id"], "action": "fail"})
Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A mode and a batch: how the contract says it, and how hands write it."""

    name: str
    batch: str
    hand: Hand
    write: Mapping[str, Any]
    against: tuple[str, ...] = ("checked", "unchecked")
    before: str = "before"
    rules: tuple[Mapping[str, Any], ...] = ()
    columns: Mapping[str, str] = field(default_factory=lambda: COLUMNS)
    adds: tuple[str, ...] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, Any] = field(default_factory=dict)
    own_table: str = ""
    unchanged: bool = False

    @property
    def compared(self) -> str:
        return ", ".join((*self.columns, *self.adds))


@dataclass(frozen=True)
class Found:
    """What a case cost in each way, and the commits of one run of ours."""

    case: Case
    costs: Mapping[str, Cost]
    commits: int
    steps: Mapping[str, float]


def _mode(mode: str, **more: Any) -> dict[str, Any]:
    return {"mode": mode, "keys": ["id"], **more}


HISTORY = ("valid_from", "valid_to", "is_current", "changed_columns")
EVENTS = {**COLUMNS, "op": "string"}
CDC = _mode("cdc_merge", sequence_by="ts", op_column="op")
HASHED = f"SELECT id, customer, amount, status, ts, {hand.HASH} AS row_hash"
BY_STATUS = {"layout": {"partition_by": ["status"]}}
CHECKED, UNCHECKED = ("checked",), ("unchecked",)
WHOLE = {"mode": "scd0_overwrite"}
PAID = {"mode": "scd0_overwrite", "partition_column": "status", "partition_value": PARTITION}

# Append and overwrite have no keys: only where a rule asks for unique ones do they look, and so does the hand.
CASES = (
    Case("append", "changes", hand.append, {"mode": "scd0_append"}, UNCHECKED),
    Case("append, unique key", "changes", hand.append, {"mode": "scd0_append"}, CHECKED, rules=UNIQUE),
    Case("overwrite", "feed", hand.overwrite, WHOLE, UNCHECKED),
    Case("overwrite, unique key", "feed", hand.overwrite, WHOLE, CHECKED, rules=UNIQUE),
    Case("replace partition", "partition", hand.replace_partition, PAID, UNCHECKED, rest=BY_STATUS, first=WHOLE),
    Case("upsert, changes", "changes", hand.upsert, _mode("scd1_upsert")),
    Case("upsert, full feed", "feed", hand.upsert_feed, _mode("scd1_upsert")),
    Case("upsert, nothing changed", "before", hand.upsert_feed, _mode("scd1_upsert"), unchanged=True),
    Case("hash diff, full feed", "feed", hand.hash_diff, _mode("scd1_hash_diff"), own_table=HASHED),
    Case("history, changes", "changes", hand.history, _mode("scd2_historical", effective_from="ts"), adds=HISTORY),
    Case("history, full feed", "feed", hand.history, _mode("scd2_historical", effective_from="ts"), adds=HISTORY),
    Case("snapshot, full feed", "snapshot", hand.snapshot, _mode("snapshot_soft_delete"), adds=("is_active",)),
    Case("cdc, events", "events", hand.events, CDC, before="events_before", columns=EVENTS, adds=("is_deleted",)),
    Case("append new keys", "repeated", hand.append_new, _mode("append_dedup")),
)


def measure(spark: Any, work: Path, names: Iterable[str] = (), rounds: int = 3) -> Iterator[Found]:
    """Each case in turn, once the JVM is warm; a name selects the cases that begin with it."""
    _one(Trial(spark, work / "warm", Data(spark, work / "few", ROWS // 20), CASES[-1]), rounds=0)
    data = Data(spark, work / "data", ROWS)
    for case in CASES:
        if not names or any(case.name.startswith(name) for name in names):
            yield _one(Trial(spark, work / "cases", data, case), rounds)


def _one(trial: Trial, rounds: int) -> Found:
    trial.make_base()
    hands = {"checked": trial.checked, "unchecked": trial.unchecked}
    ways = {"ours": trial.ours, **{name: hands[name] for name in trial.case.against}}
    costs = in_turns(ways, rounds, between=trial.compare)
    commits = trial.commits
    shutil.rmtree(trial.folder)
    return Found(trial.case, costs, commits, trial.steps)


class Trial:
    """One case on its tables. Each way prepares a fresh copy of the table; only what follows is measured."""

    def __init__(self, spark: Any, folder: Path, data: Data, case: Case) -> None:
        self.spark, self.folder, self.data, self.case = spark, folder, data, case
        self.made: dict[str, Path] = {}
        self.compared = False
        self.commits = 0
        self.steps: Mapping[str, float] = {}

    def make_base(self) -> None:
        """The table as both ways find it: our own first run; a hand that keeps other columns gets its own."""
        project = self._project("base", self.case.before, self.case.first)
        self._run(project)
        if self.case.own_table:
            frame = self.spark.sql(f"{self.case.own_table} FROM delta.`{_table(project)}`")
            frame.write.format("delta").option("delta.enableDeletionVectors", "true").save(str(self.folder / "own"))

    def ours(self) -> Work:
        project = self._project("ours", self.case.batch, {})
        self.made["ours"] = _copy(_table(self.folder / "base"), _table(project))
        return lambda: self._note(self._run(project))

    def checked(self) -> Work:
        return self._by_hand("checked", True)

    def unchecked(self) -> Work:
        return self._by_hand("unchecked", False)

    def _by_hand(self, name: str, checks: bool) -> Work:
        base = self.folder / "own" if self.case.own_table else _table(self.folder / "base")
        table, batch = _copy(base, self._fresh(name)), self.data.batch(self.case.batch)
        self.made[name] = table
        return lambda: self.case.hand(self.spark.newSession(), str(table), batch, checks)

    def compare(self) -> None:
        """After each round: every way left the same rows; once also by what one has and another has not."""
        tables = list(self.made.values())
        sums = {self._sum(table) for table in tables}
        assert len(sums) == 1, f"{self.case.name}: the ways left different rows: {sums}"
        if not self.compared:
            for other in tables[1:]:
                assert not self._difference(tables[0], other), f"{self.case.name}: rows differ"
        self.compared = True
        for table in tables:
            shutil.rmtree(table)

    def _sum(self, table: Path) -> tuple[int, int]:
        hashed = f"sum(CAST(xxhash64({self.case.compared}) AS DECIMAL(38,0)))"
        row = self.spark.sql(f"SELECT count(*), {hashed} FROM delta.`{table}`").collect()[0]
        return int(row[0]), int(row[1])

    def _difference(self, one: Path, other: Path) -> int:
        rows = [f"SELECT {self.case.compared} FROM delta.`{table}`" for table in (one, other)]
        both = f"({rows[0]} EXCEPT ALL {rows[1]}) UNION ALL ({rows[1]} EXCEPT ALL {rows[0]})"
        return int(self.spark.sql(f"SELECT count(*) FROM ({both})").collect()[0][0])

    def _note(self, record: RunRecord) -> None:
        """A run makes few commits, and none where nothing changed."""
        self.commits = (record.version_after or 0) - (record.version_before or 0)
        assert self.commits == 0 if self.case.unchanged else 1 <= self.commits <= MOST_COMMITS, self.commits
        self.steps = record.steps

    def _run(self, project: Path) -> RunRecord:
        return api.run(project, spark=self.spark)[0]

    def _fresh(self, name: str) -> Path:
        """A folder that Delta has not seen: it remembers the tables it read."""
        number = sum(1 for _ in self.folder.glob(f"{name}-*"))
        folder = self.folder / f"{name}-{number}"
        folder.mkdir(parents=True)
        return folder / "table"

    def _project(self, name: str, batch: str, write: Mapping[str, Any]) -> Path:
        folder = self.folder / name if name == "base" else self._fresh(name).parent
        (folder / "contracts").mkdir(parents=True)
        (folder / "lakepact.yaml").write_text("name: bench\n")
        (folder / "contracts" / "orders.json").write_text(json.dumps(self._contract(batch, write or self.case.write)))
        return folder

    def _contract(self, batch: str, write: Mapping[str, Any]) -> dict[str, Any]:
        source = {"path": self.data.batch(batch), "format": "parquet", "complete": True}
        columns = [{"name": name, "type": kind} for name, kind in self.case.columns.items()]
        said = {"table": "bench.orders", "source": source, "columns": columns, "write": write}
        return {**said, "quality": list(self.case.rules), **self.case.rest}


def _table(project: Path) -> Path:
    return project / "warehouse" / "bench.db" / "orders"


def _copy(table: Path, to: Path) -> Path:
    """Delta never changes a file once it is written, so that a second name for it is as good as a copy."""
    shutil.copytree(table, to, copy_function=os.link)
    return to
