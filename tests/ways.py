"""Each write mode in several settings: what its contract says, and the same in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import oracle
from oracle import Gate, Judged, Keeps, Model, Row
from worlds import EXTRA_FROM

PLAIN = ("id", "world", "v", "w", "note", "at", "op", "extra")
KEYS = ["id", "world"]


Keep = Callable[[Row], bool]


def _real(row: Row) -> bool:
    return row["op"] not in ("T",)


def _readable(row: Row) -> bool:
    return _real(row) and row["at"] != "oops"


# What the source leaves out, as the contract says it and in Python. Rows that are wrong are left out here, or rejected.
REAL = "(op IS NULL OR op <> 'T')"
READABLE = f"{REAL} AND (at IS NULL OR at <> 'oops')"
FILTERS: dict[str | None, Keep] = {
    None: lambda row: True,
    REAL: _real,
    READABLE: _readable,
    f"{READABLE} AND id IS NOT NULL": lambda row: _readable(row) and row["id"] is not None,
    f"{REAL} AND id IS NOT NULL AND at <> 'oops'": lambda row: _readable(row) and None not in (row["id"], row["at"]),
    f"{READABLE} AND p = 'a'": lambda row: _readable(row) and row["p"] == "a",
    f"{READABLE} AND (p = 'b' OR p IS NULL)": lambda row: _readable(row) and row["p"] in ("b", None),
}
_, _, _, CLEAN, CLEAN_AND_TIMED, OF_A, OF_B_OR_NONE = FILTERS


@dataclass(frozen=True)
class Way:
    """How a batch is written: what the contract says, and the same in plain Python."""

    write: Mapping[str, Any]
    model: Model
    gate: Gate
    filter: str | None = REAL
    steps: tuple[Mapping[str, Any], ...] = ()
    rules: tuple[Mapping[str, Any], ...] = ()
    rest: Mapping[str, Any] = field(default_factory=dict)

    def judge(self, batch: list[Row], turn: int) -> Judged:
        return oracle.judge(batch, FILTERS[self.filter], self.gate, turn)


@dataclass(frozen=True)
class Mode:
    """A mode in one of its settings. Batches take the ways in turn; the last way stays.

    adds       columns that the mode keeps beside the contract's
    hashed     columns of the hash, where the table has one
    shared     worlds share partitions, so that the model sees them as one
    straight   batches are merged without a look at the table, as if it were large
    """

    ways: tuple[Way, ...]
    adds: tuple[str, ...] = ()
    hashed: tuple[str, ...] = ()
    shared: bool = False
    straight: bool = False

    def way(self, turn: int) -> Way:
        return self.ways[min(turn, len(self.ways) - 1)]

    @property
    def gate(self) -> Gate:
        return self.ways[0].gate


def _keyed(mode: str, model: Model, gate: Gate, write: Mapping[str, Any] | None = None, **more: Any) -> Mode:
    beside = {name: more.pop(name) for name in ("adds", "hashed", "straight") if name in more}
    return Mode((Way({"mode": mode, "keys": KEYS, **(write or {})}, model, gate, **more),), **beside)


def _overwrite(model: Model, kept: str | None = READABLE, **write: Any) -> Way:
    return Way({"mode": "scd0_overwrite", **write}, model, PARTED, kept, rest={"layout": {"partition_by": ["p"]}})


def _latest_first(row: Row) -> tuple[bool, int]:
    return row["at"] is None, -(row["at"] or 0)


ONE_A_KEY = Gate(PLAIN, single=("id",), order=_latest_first)
ONE_A_DAY = Gate(PLAIN, required=("id", "at"), time="day", single=("id", "at"), order=lambda row: row["op"] is None)
ANY_KEY = Gate(PLAIN, required=())
PARTED = Gate((*PLAIN, "p"), required=())
VALUES = ("v", "w", "note", "at", "op", "extra")
TRACKED = ("v", "w", "extra")
VERSION = ("valid_from", "valid_to", "is_current", "changed_columns")
LATEST: dict[str, Any] = {"keys": KEYS, "order_by": "at DESC NULLS LAST"}
FIRST: dict[str, Any] = {"steps": ({"deduplicate": LATEST},)}
FIRST_OF_DAY = {"deduplicate": {"keys": [*KEYS, "day"], "order_by": "op IS NULL"}}
DATED: dict[str, Any] = {"steps": (FIRST_OF_DAY,), "rules": ({"not_null": "day"},), "adds": VERSION, "hashed": TRACKED}
DELETES = {"effective_from": "day", "apply_as_deletes": "upper(op) = 'D'"}
IN_SEQUENCE = {"sequence_by": "at"}
PRESENT: dict[str, Any] = {"replace_partitions": True, "replace_partitions_source_complete": True}
NAMED: dict[str, Any] = {"partition_column": "p", "partition_value": "a"}

MODES: dict[str, Mode] = {
    "append": Mode((Way({"mode": "scd0_append"}, oracle.append, ANY_KEY),)),
    "overwrite": Mode((_overwrite(oracle.overwrite),), shared=True),
    "overwrite of partitions": Mode(
        (
            _overwrite(oracle.overwrite_partitions, **PRESENT),
            _overwrite(partial(oracle.overwrite_partition, value="a"), OF_A, **NAMED),
            _overwrite(oracle.overwrite_partitions, OF_B_OR_NONE, **PRESENT),
        ),
        shared=True,
    ),
    "upsert": _keyed("scd1_upsert", oracle.upsert, ONE_A_KEY, filter=CLEAN, straight=True, **FIRST),
    "upsert in sequence": _keyed(
        "scd1_upsert", partial(oracle.upsert, in_sequence=True), ONE_A_KEY, IN_SEQUENCE, filter=CLEAN, **FIRST
    ),
    "hash diff": _keyed(
        "scd1_hash_diff", partial(oracle.upsert, in_sequence=True), replace(ONE_A_KEY, rejects="older"), IN_SEQUENCE,
        steps=({"deduplicate": {**LATEST, "rejected_as": "older"}},), hashed=VALUES,
    ),
    "hash diff without a look": _keyed(
        "scd1_hash_diff", oracle.upsert, ONE_A_KEY, filter=CLEAN, hashed=VALUES, straight=True, **FIRST
    ),
    "hash diff by versions": _keyed(
        "scd1_hash_diff", partial(oracle.append_versions, hashed=TRACKED), ONE_A_KEY,
        {**IN_SEQUENCE, "append_versions": True, "hash_exclude_columns": ["op", "note", "at"]},
        filter=CLEAN, hashed=TRACKED, **FIRST,
    ),
    "history": _keyed(
        "scd2_historical", partial(oracle.history, keeps=Keeps(TRACKED)), ONE_A_DAY,
        {**DELETES, "track": ["v", "w"]}, **DATED,
    ),
    "history without late rows": _keyed(
        "scd2_historical", partial(oracle.history, keeps=Keeps(TRACKED, ignores_late=True)), ONE_A_DAY,
        {**DELETES, "hash_exclude_columns": ["op", "note"], "late": "ignore"}, filter=CLEAN_AND_TIMED, **DATED,
    ),
    "history by arrival": _keyed(
        "scd2_historical", partial(oracle.history, keeps=Keeps(VALUES, timed=False, deletes=False)), ONE_A_KEY,
        filter=CLEAN, adds=VERSION, hashed=VALUES, **FIRST,
    ),
    "snapshot": _keyed(
        "snapshot_soft_delete", oracle.snapshot, ONE_A_KEY, filter=None, adds=("is_active", "deleted_at"), **FIRST
    ),
    "snapshot that deletes": _keyed(
        "snapshot_soft_delete", partial(oracle.snapshot, hard=True), Gate(PLAIN, alone=("id",)), {"hard_delete": True},
        filter=None, rules=({"unique": KEYS, "action": "quarantine"},), adds=("is_active", "deleted_at"),
    ),
    "change events": _keyed(
        "cdc_merge", partial(oracle.cdc, values=VALUES), Gate(PLAIN, events=True), {**IN_SEQUENCE, "op_column": "op"},
        adds=("is_deleted",),
    ),
    "append new keys": _keyed(
        "append_dedup", partial(oracle.append_dedup, order=("at", *VALUES)), Gate(PLAIN), IN_SEQUENCE, filter=CLEAN
    ),
    "append new keys, NULL being one": _keyed(
        "append_dedup", partial(oracle.append_dedup, order=VALUES), ANY_KEY, {"null_keys": "keep"}, filter=READABLE
    ),
}  # fmt: skip


def contract(way: Way, file: Path, number: int) -> dict[str, Any]:
    """The contract of one batch; the source and the contract have one column more from some batch on."""
    write = dict(way.write)
    if "track" in write and number >= EXTRA_FROM:
        write["track"] = [*write["track"], "extra"]
    names = [name for name in way.gate.columns if name != "extra" or number >= EXTRA_FROM]
    source = {"path": str(file), "complete": True, **({"filter": way.filter} if way.filter else {})}
    said = {"table": "s.t", "source": source, "columns": [_column(n, way.gate) for n in names], "write": write}
    return {**said, **way.rest, "transform": list(way.steps), "quality": list(way.rules)}


def _column(name: str, gate: Gate) -> dict[str, Any]:
    if name == "at":
        return {"name": gate.time, "type": "int" if gate.time == "at" else "timestamp"}
    return {"name": name, "type": "int" if name == "world" else "string", "nullable": name not in gate.required}
