"""Every write mode against its model: a thousand small worlds at once (20,000 in `make torture`), and laws of modes."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject
from lake import Lake, Shown, Told
from lakepact import api
from ways import MODES, PLAIN, VERSION
from worlds import EXTRA_FROM, draw_worlds

pytestmark = pytest.mark.spark

SIZES = [
    pytest.param((1000, 3), id="thousand"),
    pytest.param((20_000, 4), id="many", marks=pytest.mark.torture),
]


@pytest.fixture(scope="module", params=SIZES)
def lake(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """One lake for all modes. They begin to live when the first is asked for, unless only a few tests are wanted."""
    worlds, batches = request.param
    made = Lake(tmp_path_factory.mktemp("lake"), spark, draw_worlds(worlds, batches))
    ours = [item for item in request.session.items if item.path == request.node.path]
    made.start(MODES if len(ours) > len(MODES) else [])
    return made


@pytest.mark.parametrize("name", MODES)
def test_a_mode_does_what_its_model_does(name: str, lake: Lake) -> None:
    told = lake.history(name)
    assert not told.wrong, told.wrong + lake.where(name)


# --- laws, of what Spark left and not of what models say ---


@pytest.mark.parametrize("name", [name for name in MODES if name != "append"])
def test_applying_a_batch_twice_is_applying_it_once(name: str, lake: Lake) -> None:
    told = lake.history(name)
    otherwise = {n for n in told.otherwise if name != LATE_IGNORED or not _went_back(name, told, n)}
    assert not otherwise
    if not name.startswith("overwrite"):
        again = told.records[-1]
        if told.otherwise:
            return
        assert (again.rows.inserted, again.rows.updated, again.rows.deleted, again.rows.soft_deleted) == (0, 0, 0, 0)
        assert again.version_after == again.version_before, "nothing changed, and still there is a commit"


# Whether a row is late is judged by what the table knows. A correction that takes back the newest moment of a key, by a
# delete at it or by making it equal to the version before, leaves nothing that older rows could be later than.
LATE_IGNORED = "history without late rows"


def _went_back(name: str, told: Told, world: int) -> bool:
    """Whether the newest moment that was known of some key of a world is not known any more."""
    earlier, later = (_newest(name, table.get(world, Counter())) for table in (told.earlier, told.once))
    return any(later.get(key, -1) < moment for key, moment in earlier.items())


def _newest(name: str, rows: Counter[Shown]) -> dict[Any, int]:
    there = (*MODES[name].gate.columns, *MODES[name].adds)
    key, begin, end = (there.index(column) for column in ("id", "valid_from", "valid_to"))
    found: dict[Any, int] = {}
    for row in rows:
        found[row[key]] = max(found.get(row[key], -1), row[begin], row[end] or -1)
    return found


def test_hash_diff_is_upsert(lake: Lake) -> None:
    hashed, plain = lake.history("hash diff"), lake.history("upsert in sequence")
    assert _rows(hashed, "hash diff", PLAIN) == _rows(plain, "upsert in sequence", PLAIN)
    for one, other in zip(hashed.records, plain.records, strict=True):
        assert (one.rows.inserted, one.rows.updated) == (other.rows.inserted, other.rows.updated)


def test_the_current_rows_of_a_history_are_those_of_an_upsert(lake: Lake) -> None:
    versions = _rows(lake.history("history by arrival"), "history by arrival", (*PLAIN, "is_current"))
    current = Counter({row[:-1]: count for row, count in versions.items() if row[-1]})
    assert current == _rows(lake.history("upsert"), "upsert", PLAIN)
    assert versions.total() > current.total()


@pytest.mark.parametrize("name", [name for name in MODES if name.startswith("history")])
def test_versions_never_overlap(name: str, lake: Lake) -> None:
    found = defaultdict(list)
    for *key, begin, end, current, _ in _rows(lake.history(name), name, ("id", "world", *VERSION)).elements():
        assert current == (end is None)
        found[tuple(key)].append((begin, end))
    for versions in found.values():
        for (begin, end), (following, _) in zip(sorted(versions), sorted(versions)[1:], strict=False):
            assert begin < end <= following
    assert max(map(len, found.values())) > 2


@pytest.mark.parametrize("name", ["snapshot", "snapshot that deletes"])
def test_the_active_rows_of_a_snapshot_are_the_batch(name: str, lake: Lake) -> None:
    """But for keys of which a row was rejected: what is known of them stays."""
    told = lake.history(name)
    rejected = {(row["id"], row["world"]) for batch in told.batch for row in batch.rejected}
    accepted = Counter(tuple(row[n] for n in PLAIN) for batch in told.batch for row in batch.accepted)
    active = {row[:-1]: count for row, count in _rows(told, name, (*PLAIN, "is_active")).items() if row[-1]}
    kept = Counter({row: count for row, count in active.items() if row[:2] not in rejected or row in accepted})
    assert kept == accepted


def test_change_events_may_come_in_any_order(lake: Lake) -> None:
    """All at once they leave what they leave batch by batch, but for the values that are kept of deleted rows."""
    together = [[[row for batch in world for row in batch]] for world in lake.worlds]
    alone = Lake(lake.folder / "at_once", lake.spark, together, first=EXTRA_FROM, again=False)
    at_once = alone.history("change events")
    assert not at_once.wrong, at_once.wrong
    found = [_latest(told) for told in (at_once, lake.history("change events"))]
    assert found[0] == found[1]


def _latest(told: Told) -> Counter[Shown]:
    rows = _rows(told, "change events", (*PLAIN, "is_deleted"))
    place = PLAIN.index("at")
    return Counter((*row[:2], row[place], True) if row[-1] else row for row in rows.elements())


def _rows(told: Told, name: str, columns: tuple[str, ...]) -> Counter[Shown]:
    """The last table, some columns of it."""
    there = (*MODES[name].gate.columns, *MODES[name].adds)
    places = [there.index(column) for column in columns]
    found: Counter[Shown] = Counter()
    for rows in told.table.values():
        for row, count in rows.items():
            found[tuple(row[place] for place in places)] += count
    return found


# --- guardrails: what would stop all worlds at once ---

DOUBLES = {
    "upsert": "id stands more than once; a",
    "hash diff": "id stands more than once; a",
    "history": "id, day stands more than once; a / 2026-01-03",
    "history by arrival": "id stands more than once; a",
    "snapshot": "id stands more than once; a",
    "change events": "",  # takes the latest
    "append new keys": "",  # takes the first
}


@pytest.mark.parametrize("name", DOUBLES)
def test_a_batch_with_missing_and_double_keys_is_refused(name: str, make_project: MakeProject, spark: Any) -> None:
    """Without the rules and steps that keep such rows away from the worlds."""
    columns = [{"name": n, "type": {"at": "int", "day": "timestamp"}.get(n, "string")} for n in LINE]
    source = {"path": "{path.landing}/in.csv", "complete": True}
    write = {**MODES[name].ways[0].write, "keys": ["id"]}
    values = ",".join(LINE.values())
    lines = f"{','.join(LINE)}\n{values}\na{values}\na{values}\n"
    project = make_project(
        [{"table": "s.t", "source": source, "columns": columns, "write": write}], {"landing/in.csv": lines}
    )
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert record.status == "failed"
    assert "1 accepted row(s) have no value in their key (id)" in (record.error or "")
    assert DOUBLES[name] in (record.error or "")
    assert not Path(project.table("s.t").path or "").exists()


LINE = {"id": "", "v": "x", "w": "1", "note": "n", "at": "3", "day": "2026-01-03", "op": "U"}
