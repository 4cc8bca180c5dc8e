"""Write modes in plain Python: what a table must hold after each batch. Shared by tests, knows nothing of SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
State = dict[Any, Any]


def upsert(table: State, batch: list[Row]) -> State:
    return table | {row["id"]: row for row in batch}


def upsert_in_sequence(table: State, batch: list[Row]) -> State:
    """An older row never overwrites a newer one."""
    after = dict(table)
    for row in batch:
        there = after.get(row["id"])
        if there is None or (row["at"] is not None and (there["at"] is None or row["at"] >= there["at"])):
            after[row["id"]] = row
    return after


def append_dedup(table: State, batch: list[Row]) -> State:
    """The first row of a key stays, whatever comes."""
    first: State = {}
    for row in sorted(batch, key=lambda row: "" if row["v"] is None else "1" + row["v"]):
        first.setdefault(row["id"], row)
    return first | table


def snapshot(table: State, batch: list[Row]) -> State:
    """Active rows are the batch; the others stay as they were last seen."""
    present = {row["id"]: {**row, "is_active": True} for row in batch}
    gone = {key: {**row, "is_active": False} for key, row in table.items() if key not in present}
    return gone | present


def cdc(table: State, batch: list[Row]) -> State:
    """The latest event of a key counts; a delete keeps the last values and the place of the event."""
    after = dict(table)
    for row in sorted(batch, key=lambda row: row["at"]):
        there, gone = after.get(row["id"]), row["op"] == "D"
        if there is not None and row["at"] <= there["at"]:
            continue
        kept = (there or {}).get("v") if gone else row["v"]
        after[row["id"]] = {"id": row["id"], "v": kept, "at": row["at"], "is_deleted": gone}
    return after


def history(table: State, batch: list[Row]) -> State:
    """Versions of each key as {begin: (value, end)}; events in order of time, equal neighbours made one."""
    after = dict(table)
    for key in {row["id"] for row in batch}:
        after[key] = _timeline(table.get(key, {}), [row for row in batch if row["id"] == key])
    return after


def _timeline(versions: dict[int, Any], rows: list[Row]) -> dict[int, Any]:
    begins = sorted(versions)
    events: dict[int, Any] = {at: (False, versions[at][0]) for at in begins}
    for number, at in enumerate(begins):
        end = versions[at][1]
        if end is not None and (number + 1 == len(begins) or end < begins[number + 1]):
            events[end] = (True, None)
    events |= {row["at"]: (row["op"] == "D", None if row["op"] == "D" else row["v"]) for row in rows}
    kept: list[tuple[int, Any]] = []
    for at in sorted(events):
        if (not kept and not events[at][0]) or (kept and kept[-1][1] != events[at]):
            kept.append((at, events[at]))
    ends = [*(at for at, _ in kept[1:]), None][: len(kept)]
    return {at: (event[1], end) for (at, event), end in zip(kept, ends, strict=True) if not event[0]}


MODELS: dict[str, Callable[[State, list[Row]], State]] = {
    "scd1_upsert": upsert,
    "scd1_upsert in sequence": upsert_in_sequence,
    "scd1_hash_diff": upsert,
    "append_dedup": append_dedup,
    "snapshot_soft_delete": snapshot,
    "cdc_merge": cdc,
    "scd2_historical": history,
}
