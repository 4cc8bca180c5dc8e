"""The law of change events: whatever order they come in, however they are split and repeated, the table is the fold.

300 histories are drawn by Hypothesis, each a world of its own in the key, so that all go through one run a batch.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conftest import project_in
from lakepact import api

pytestmark = pytest.mark.spark

Event = dict[str, Any]
HISTORIES, BATCHES = 300, 3
VALUES = ("v", "w", "note")
COLUMNS = [
    {"name": "world", "type": "int"}, {"name": "id"}, {"name": "op"}, {"name": "at", "type": "int"},
    *({"name": name} for name in VALUES),
]  # fmt: skip


# --- the fold: events of one key in order of time ---


def told(events: list[Event], way: Way) -> list[Event]:
    """One event for each moment: of several a delete counts, then the one with the largest values or, where events say
    only what changed and just the last state is kept, the largest value of each column."""
    moments: dict[int, Event] = {}
    for event in sorted(events, key=lambda e: (e["at"], e["op"] == "D", largest(e, way.compared))):
        there = moments.get(event["at"])
        moments[event["at"]] = event
        if way.ignores_nulls and not way.of_versions and there and event["op"] != "D":
            both = {name: max(there, event, key=lambda e, name=name: largest(e, [name]))[name] for name in VALUES}
            moments[event["at"]] = {**event, **both}
    return list(moments.values())


def largest(event: Event, names: Iterable[str]) -> list[Any]:
    return [(event[name] is not None, event[name]) for name in names]


def states(events: list[Event], way: Way) -> Iterator[tuple[int, Event | None]]:
    """What is true of a key after each event; None where it is gone."""
    state: Event | None = None
    for event in told(events, way):
        said = {name: event[name] for name in VALUES}
        if event["op"] == "D":
            state = None
        elif way.ignores_nulls and state is not None:
            state = {name: state[name] if said[name] is None else said[name] for name in VALUES}
        else:
            state = said
        yield event["at"], state


def latest(events: list[Event], way: Way) -> list[tuple[Any, ...]]:
    """Type 1: the last state, if there is one."""
    at, state = list(states(events, way))[-1]
    return [] if state is None else [(at, *state.values())]


def versions(events: list[Event], way: Way) -> list[tuple[Any, ...]]:
    """Type 2: a version begins where a tracked column changes; others are those of its last event."""
    found: list[list[Any]] = []
    for at, state in states(events, way):
        open_version = found[-1] if found and found[-1][1] is None else None
        if open_version and state and all(open_version[2][name] == state[name] for name in way.tracked):
            open_version[2] = state
            continue
        if open_version:
            open_version[1] = at
        if state is not None:
            found.append([at, None, state])
    return [(begin, end, *state.values()) for begin, end, state in found]


@dataclass(frozen=True)
class Way:
    """A setting of cdc_merge and what it means."""

    write: dict[str, Any] = field(default_factory=dict)
    tracked: tuple[str, ...] = VALUES

    @property
    def compared(self) -> tuple[str, ...]:
        """What the table keeps of an event."""
        return VALUES if "op" in self.write.get("except_column_list", ()) else ("op", *VALUES)

    @property
    def ignores_nulls(self) -> bool:
        return bool(self.write.get("ignore_null_updates"))

    @property
    def of_versions(self) -> bool:
        return self.write.get("stored_as_scd_type") == 2


TYPE_2 = {"stored_as_scd_type": 2}
WAYS = {
    "latest": Way(),
    "latest by predicate": Way({"apply_as_deletes": "op = 'D'", "except_column_list": ["op", "at"]}),
    "latest of partial events": Way({"ignore_null_updates": True, "except_column_list": ["op", "at"]}),
    "versions": Way({**TYPE_2, "except_column_list": "op"}),
    "versions of some columns": Way({**TYPE_2, "track_history_column_list": "v", "except_column_list": "op"}, ("v",)),
    "versions but for a column": Way(
        {**TYPE_2, "track_history_except_column_list": "note", "except_column_list": ["op", "at"]}, ("v", "w")
    ),
    "versions of partial events": Way({**TYPE_2, "ignore_null_updates": True, "except_column_list": "op"}),
}


# --- histories, and the batches they come in ---


def drawn() -> list[list[Event]]:
    event = st.fixed_dictionaries({
        "id": st.sampled_from("aab"), "at": st.integers(0, 7), "op": st.sampled_from("IUUUD"),
        "v": st.sampled_from(["x", "x", "y", None]), "w": st.sampled_from(["1", "2", None]),
        "note": st.sampled_from(["n", "m", None]),
    })  # fmt: skip
    found: list[list[Event]] = []

    @settings(
        max_examples=HISTORIES, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(event, min_size=3, max_size=9))
    def draw(history: list[Event]) -> None:
        found.append([{**event, "world": len(found)} for event in history])

    with contextlib.suppress(StopIteration):
        draw()
    assert len(found) == HISTORIES
    return found


def split(histories: list[list[Event]]) -> list[list[Event]]:
    """Every event in some batch, some in several, in no order; the last batch is all of them again."""
    chance, batches = random.Random(7), [list[Event]() for _ in range(BATCHES)]  # noqa: S311 - test data
    for event in (event for history in histories for event in history):
        for number in {chance.randrange(BATCHES) for _ in range(chance.choice([1, 1, 1, 2]))}:
            batches[number].append(event)
    batches.append([event for batch in batches for event in batch])
    for batch in batches:
        chance.shuffle(batch)
    return batches


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> dict[str, Any]:
    """What each way made of the same events: its rows, and the record of the last batch, which brings nothing new."""
    folder, histories = tmp_path_factory.mktemp("events"), drawn()
    for number, batch in enumerate(split(histories)):
        with (folder / f"batch{number}.csv").open("w", encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, [column["name"] for column in COLUMNS])
            writer.writeheader()
            writer.writerows(batch)
    with ThreadPoolExecutor(4) as pool:
        kept = dict(zip(WAYS, pool.map(lambda name: _live(folder, name, spark), WAYS), strict=True))
    return {"histories": histories, **kept}


def _live(folder: Path, name: str, spark: Any) -> tuple[list[Event], Any]:
    write = {"mode": "auto_cdc", "keys": ["world", "id"], "sequence_by": "at", "op_column": "op", **WAYS[name].write}
    if "apply_as_deletes" in write:
        del write["op_column"]
    place = folder / "".join(letter for letter in name if letter.isalpha())
    for number in range(BATCHES + 1):
        source = {"path": str(folder / f"batch{number}.csv")}
        project = project_in(place, [{"table": "s.t", "source": source, "columns": COLUMNS, "write": write}])
        (record,) = api.run(project, spark=spark)
    return api.rows(project, "s.t"), record


@pytest.mark.parametrize("name", WAYS)
def test_the_table_is_the_fold_of_its_events(name: str, lived: dict[str, Any]) -> None:
    way, (rows, record) = WAYS[name], lived[name]
    by_key = defaultdict[Any, list[Event]](list)
    for event in (event for history in lived["histories"] for event in history):
        by_key[event["world"], event["id"]].append(event)
    fold = versions if way.of_versions else latest
    wanted = {key: fold(events, way) for key, events in by_key.items()}
    found = defaultdict[Any, list[Any]](list)
    for row in rows:
        shown = _version(row) if way.of_versions else _state(row)
        found[row["world"], row["id"]] += shown
    different = [key for key in wanted if sorted(found[key], key=repr) != sorted(wanted[key], key=repr)]
    assert not different, _smallest(different, by_key, found, wanted)
    assert found.keys() == wanted.keys()
    assert record.version_after == record.version_before, "all of it was known, and still there is a commit"


def _state(row: Event) -> list[Any]:
    at = row["_sequence"] if "at" not in row else row["at"]
    return [] if row["is_deleted"] else [(at, *(row[name] for name in VALUES))]


def _version(row: Event) -> list[Any]:
    begin, end = row["valid_from"], row["valid_to"]
    return [] if begin == end else [(begin, end, *(row[name] for name in VALUES))]


def _smallest(different: list[Any], events: Any, found: Any, wanted: Any) -> str:
    key = min(different, key=lambda key: len(events[key]))
    lines = "\n".join(f"  {event}" for event in sorted(events[key], key=lambda event: event["at"]))
    return f"{len(different)} keys differ; {key}:\n{lines}\n  found {found[key]}\n  not   {wanted[key]}"


@pytest.mark.parametrize("name", [name for name in WAYS if WAYS[name].of_versions])
def test_one_current_row_a_key_and_no_overlap(name: str, lived: dict[str, Any]) -> None:
    found = defaultdict[Any, list[Event]](list)
    for row in lived[name][0]:
        found[row["world"], row["id"]].append(row)
    for rows in found.values():
        spans = sorted((row["valid_from"], row["valid_to"]) for row in rows if row["valid_from"] != row["valid_to"])
        current = [row for row in rows if row["is_current"]]
        assert len(current) <= 1
        assert [row["valid_to"] for row in current] == [None] * len(current)
        for (begin, end), (following, _) in itertools.pairwise(spans):
            assert end is not None
            assert begin < end <= following


# --- truncation is about all keys, so it has a table for each order of its events ---

TRUNCATED = [
    ("a", 1, "I"), ("b", 2, "I"), ("", 5, "T"), ("a", 7, "U"), ("c", 3, "I"), ("b", 4, "D"), ("d", 9, "I"),
]  # fmt: skip


@pytest.mark.parametrize("hard", [False, True])
def test_a_truncation_ends_every_key_whatever_comes_first(hard: bool, tmp_path: Path, spark: Any) -> None:
    """Without marks of what was deleted, events must come in batches whose order is that of time."""
    splits = [TRUNCATED, TRUNCATED[::-1], TRUNCATED[3:] + TRUNCATED[:3]]
    orders = [[sorted(TRUNCATED, key=lambda e: e[1])]] if hard else [[s[:3], s[3:]] for s in splits]
    columns = [{"name": "id"}, {"name": "at", "type": "int"}, {"name": "op"}]
    write = {"mode": "cdc_merge", "keys": "id", "sequence_by": "at", "op_column": "op", "hard_delete": hard}
    write["apply_as_truncates"] = "op = 'T'"

    def live(batches: list[Any]) -> list[Any]:
        place = tmp_path / "".join(f"{key}{at}" for batch in batches for key, at, _ in batch)
        for batch in [*batches, batches[0]]:
            lines = "id,at,op\n" + "".join(f"{key},{at},{op}\n" for key, at, op in batch)
            said = {"table": "s.t", "source": {"path": "in.csv"}, "columns": columns, "write": write}
            project = project_in(place, [said], {"in.csv": lines})
            api.run(project, spark=spark)
        return sorted((row["id"], row["at"]) for row in api.rows(project, "s.t") if not row.get("is_deleted"))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(live, orders)) == [[("a", 7), ("d", 9)]] * len(orders)
