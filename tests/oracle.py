"""Write modes in plain Python: what one world's table must hold after each batch, and what the run must count.

A model takes the table as the mode keeps it (a list of rows, or rows by key) and the judged batch, and gives the table
after it and its counts. `inserted`, `updated` and `unchanged` count accepted rows of the batch and add up to them;
`deleted`, `soft_deleted` and `expired` count rows of the table. Models know nothing of SQL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, cast

import xxhash

Row = dict[str, Any]
Table = Any
Counts = Counter[str]
Events = dict[int, "Row | None"]


@dataclass(frozen=True)
class Judged:
    """A batch after its rules; `number` is the batch's place in the history."""

    accepted: list[Row]
    rejected: list[Row]
    counts: Counts
    number: int


Model = Callable[[Table, Judged], tuple[Table, Counts]]


def lowest_first(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    """Rows in SQL's order: NULL comes before everything."""
    return tuple((row[name] is not None, row[name]) for name in names)


# --- what becomes of rows before they are written ---


@dataclass(frozen=True)
class Gate:
    """What a contract asks of its rows.

    required   columns that must have a value
    time       what the column of times is called
    single     one row for each of these columns is taken: the first by `order`, then by all columns
    rejects    the others are rejected by this name; else they are only counted
    alone      a row that shares these columns with another row is rejected, and so is that one
    """

    columns: tuple[str, ...]
    required: tuple[str, ...] = ("id",)
    time: str = "at"
    events: bool = False
    single: tuple[str, ...] = ()
    order: Callable[[Row], Any] = lambda row: ()
    rejects: str = ""
    alone: tuple[str, ...] = ()


def judge(batch: list[Row], keeps: Callable[[Row], bool], gate: Gate, number: int) -> Judged:
    """Rows are left out, rejected for all their reasons, or one of several is taken; what is left is accepted."""
    kept = [row for row in batch if keeps(row)]
    held = Counter(tuple(row[name] for name in gate.alone) for row in kept)
    reasons = [(row, _reasons(row, gate, held)) for row in kept]
    rejected = [{**row, "reasons": tuple(sorted(why))} for row, why in reasons if why]
    good = [_typed({name: row[name] for name in gate.columns}) for row, why in reasons if not why]
    taken, others = _take_one(good, gate) if gate.single else (good, [])
    if gate.rejects:
        rejected += [{**row, "at": _text(row["at"]), "reasons": (gate.rejects,)} for row in others]
    counts = Counter(read=len(batch), filtered=len(batch) - len(kept), quarantined=len(rejected))
    counts["deduplicated"] = 0 if gate.rejects else len(others)
    return Judged(taken, rejected, counts, number)


def _reasons(row: Row, gate: Gate, held: Counter[Any]) -> list[str]:
    again = row["id"] is not None and held[tuple(row[name] for name in gate.alone)] > 1
    found = [f"missing_{gate.time if name == 'at' else name}" for name in gate.required if row[name] is None]
    found += [f"malformed_{gate.time}"] if row["at"] == "oops" else []
    found += ["unknown_operation"] if gate.events and (row["op"] or "").upper() not in ("I", "U", "D") else []
    return [*found, *(["duplicate_id_world"] if gate.alone and again else [])]


def _take_one(rows: list[Row], gate: Gate) -> tuple[list[Row], list[Row]]:
    taken: dict[Any, Row] = {}
    others = []
    for row in sorted(rows, key=lambda row: (gate.order(row), lowest_first(row, gate.columns))):
        first = taken.setdefault(tuple(row[name] for name in gate.single), row)
        others += [row] if first is not row else []
    return list(taken.values()), others


def _typed(row: Row) -> Row:
    return {**row, "at": None if row["at"] is None else int(row["at"])}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def row_hash(row: Row, names: Iterable[str]) -> str:
    """The recorded algorithm: XXH64 of name and type, then of the value, of each column that has one."""
    found = 42
    for name in sorted(name for name in names if row[name] is not None):
        kind = "int" if name == "at" else "string"
        value = row[name].to_bytes(4, "little", signed=True) if kind == "int" else row[name].encode()
        for part in (f"{name}:{kind}".encode(), value):
            found = xxhash.xxh64_intdigest(part, seed=found)
    return f"{found:X}"


# --- modes that do not look at the table ---


def append(table: list[Row], batch: Judged) -> tuple[Table, Counts]:
    """Every row is added, also one that is there."""
    return [*table, *batch.accepted], Counter(inserted=len(batch.accepted))


def overwrite(table: list[Row], batch: Judged) -> tuple[Table, Counts]:
    """The table becomes the batch; what it held is not counted."""
    return list(batch.accepted), Counter(inserted=len(batch.accepted))


def overwrite_partition(table: list[Row], batch: Judged, value: str) -> tuple[Table, Counts]:
    others = [row for row in table if row["p"] != value]
    return [*others, *batch.accepted], Counter(inserted=len(batch.accepted))


def overwrite_partitions(table: list[Row], batch: Judged) -> tuple[Table, Counts]:
    """Partitions that stand in the batch become what it brings of them; the others stay. No value is a partition."""
    brought = {row["p"] for row in batch.accepted}
    others = [row for row in table if row["p"] not in brought]
    return [*others, *batch.accepted], Counter(inserted=len(batch.accepted))


# --- modes by key ---


def upsert(table: dict[Any, Row], batch: Judged, in_sequence: bool = False) -> tuple[Table, Counts]:
    """The batch's row of a key replaces the table's; in sequence only if it is not older. No time is oldest."""
    after, counts = dict(table), Counter[str]()
    for row in batch.accepted:
        there = table.get(row["id"])
        older = in_sequence and there is not None and lowest_first(row, ["at"]) < lowest_first(there, ["at"])
        fate = "inserted" if there is None else "unchanged" if row == there or older else "updated"
        counts[fate] += 1
        if fate != "unchanged":
            after[row["id"]] = row
    return after, counts


def append_versions(table: dict[Any, list[Row]], batch: Judged, hashed: tuple[str, ...]) -> tuple[Table, Counts]:
    """A row is added if it differs from the latest version of its key, and is not a version that is there."""
    after, counts = dict(table), Counter[str]()
    for row in batch.accepted:
        versions, print_ = table.get(row["id"], []), row_hash(row, hashed)
        known = {(version["at"], row_hash(version, hashed)) for version in versions}
        latest = max(known, key=lambda version: (version[0] is not None, *version), default=(None, ""))
        new = latest[1] != print_ and (row["at"], print_) not in known
        counts["inserted" if new else "unchanged"] += 1
        after[row["id"]] = [*versions, *([row] if new else [])]
    return after, counts


def append_dedup(table: dict[Any, Row], batch: Judged, order: tuple[str, ...]) -> tuple[Table, Counts]:
    """A key's first row stays, whatever comes; of several in a batch the lowest is first."""
    after = dict(table)
    for row in sorted(batch.accepted, key=lambda row: lowest_first(row, order)):
        after.setdefault(row["id"], row)
    new = len(after) - len(table)
    return after, Counter(inserted=new, unchanged=len(batch.accepted) - new)


def snapshot(table: dict[Any, Row], batch: Judged, hard: bool = False) -> tuple[Table, Counts]:
    """Active rows are the batch. What is gone from it stays marked, or is deleted; a rejected row is not gone."""
    after, counts = dict(table), Counter[str]()
    present = {row["id"]: {**row, "is_active": True, "deleted_at": None} for row in batch.accepted}
    for key, row in present.items():
        counts["inserted" if key not in table else "unchanged" if table[key] == row else "updated"] += 1
    for key in table.keys() - present.keys() - {row["id"] for row in batch.rejected}:
        if table[key]["is_active"]:
            counts["deleted" if hard else "soft_deleted"] += 1
            after[key] = {**table[key], "is_active": False, "deleted_at": batch.number}
    return {key: row for key, row in after.items() if row["is_active"] or not hard} | present, counts


# --- change events ---


def cdc(table: dict[Any, Row], batch: Judged, values: tuple[str, ...]) -> tuple[Table, Counts]:
    """The latest event of a key counts, in whatever order they come; no time is oldest.

    Of events of one time a delete is latest, then the one with the highest values. A delete keeps the latest values
    that were known when it came, and counts as `updated` and `soft_deleted`; of a key that was not there as `inserted`.
    """
    after, counts = dict(table), Counter[str]()
    for key, events in _by_key(batch.accepted):
        there = table.get(key)
        place = partial(_place, values=values)
        alive = [event for event in events if not is_delete(event)]
        latest = max(events, key=lambda event: (place(event), lowest_first(event, values)))
        counts["unchanged"] += len(events) - 1
        if there is not None and place(latest) <= place(there):
            counts["unchanged"] += 1
            continue
        known = [*alive, *([there] if there is not None else [])]
        last = max(known, key=place, default=dict.fromkeys(values))
        kept = {name: last[name] for name in values if name not in ("at", "op")} if is_delete(latest) else {}
        after[key] = {**latest, **kept, "is_deleted": is_delete(latest)}
        counts["inserted" if there is None else "updated"] += 1
        counts["soft_deleted"] += there is not None and is_delete(latest)
    return after, counts


def is_delete(row: Row) -> bool:
    return (row["op"] or "").upper() == "D"


def _place(row: Row, values: tuple[str, ...]) -> tuple[Any, ...]:
    """Where an event stands among those of its key; nothing of a delete but its time matters."""
    return (*lowest_first(row, ["at"]), is_delete(row), *(() if is_delete(row) else lowest_first(row, values)))


def _by_key(rows: list[Row]) -> list[tuple[Any, list[Row]]]:
    ordered = sorted(rows, key=lambda row: row["id"])
    return [(key, list(group)) for key, group in groupby(ordered, key=lambda row: row["id"])]


# --- history ---


@dataclass(frozen=True)
class Keeps:
    """How a history is kept: columns that make versions, rows' own times (else the batch's), deletes, late rows."""

    tracked: tuple[str, ...]
    timed: bool = True
    deletes: bool = True
    ignores_late: bool = False

    def said(self, event: Row | None) -> Any:
        return event and tuple(event[name] for name in self.tracked)


def history(table: dict[Any, dict[int, Row]], batch: Judged, keeps: Keeps) -> tuple[Table, Counts]:
    """Versions of each key by the time they begin, each valid until the next event (None is a delete).

    A row of the batch is `inserted` where it begins a version and none began before; `updated` where it begins none,
    but says something else of a moment at which the table knew a beginning or an end, or ends a version, or gives a
    version that was there other values in columns that are not tracked; else `unchanged`. A version is `expired` that
    was current, is still there and is no longer current, and `deleted` if it is not there any more.
    """
    after, counts = dict(table), Counter[str]()
    for key, rows in _by_key(batch.accepted):
        before = table.get(key, {})
        stood: Events = {**{row["valid_to"]: None for row in before.values() if not row["is_current"]}, **before}
        events, again = dict(stood), set[int]()
        for row in rows:
            at, event = row["at"] if keeps.timed else batch.number, None if keeps.deletes and is_delete(row) else row
            known = at in stood and keeps.said(stood[at]) == keeps.said(event)
            if not known and not (keeps.ignores_late and at < max(stood, default=at)):
                events[at] = event
            again |= {at} if known else set()
        after[key], told = _retell(stood, events, again, keeps)
        counts += told
        counts["deleted"] += len(before.keys() - after[key].keys())
        current = [at for at, row in before.items() if row["is_current"] and at in after[key]]
        counts["expired"] += sum(not after[key][at]["is_current"] for at in current)
    counts["unchanged"] = len(batch.accepted) - counts["inserted"] - counts["updated"]
    return after, counts


def _retell(stood: Events, events: Events, again: set[int], keeps: Keeps) -> tuple[dict[int, Row], Counts]:
    """Equal neighbours are one version: tracked values of the first, others of the last that the batch brought, also
    of one that it brought `again`."""
    found, counts, previous = dict[int, Row](), Counter[str](), cast("Row | None", None)
    runs = [list(run) for _, run in groupby(sorted(events), key=lambda at: keeps.said(events[at]))]
    for run, end in zip(runs, [*(later[0] for later in runs[1:]), None], strict=False):
        first, there = events[run[0]], stood.get(run[0])
        new = [at for at in run if at not in stood or events[at] is not stood[at]]
        begins = first is not None and there is None
        ends = first is None and previous is not None and run[0] not in stood
        counts["inserted"] += begins
        counts["updated"] += ends + len([at for at in new if at in stood and not (begins and at == run[0])])
        if first is not None:
            own = {name: first[name] for name in (*keeps.tracked, *(["at"] if keeps.timed else []))}
            changed = previous and ",".join(name for name in keeps.tracked if previous[name] != first[name])
            version = {"valid_from": run[0], "valid_to": end, "is_current": end is None}
            brought = [*new, *(at for at in run if at in again)]
            found[run[0]] = {**(events[max(brought or run)] or {}), **own, **version, "changed_columns": changed}
            untold = first.keys() - {*keeps.tracked, *version, "changed_columns"}
            renewed = there is not None and any(there[name] != found[run[0]][name] for name in untold)
            counts["updated"] += bool(renewed and new and new[-1] not in stood)
        previous = first
    return found, counts
