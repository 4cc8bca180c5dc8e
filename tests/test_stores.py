"""Stores: a record goes in once and comes back as it was, whatever it holds and whatever it is called."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakepact.evidence.grains import GRAINS, grains
from lakepact.evidence.record import Expectation, Rows, RunRecord, from_json, to_json
from lakepact.evidence.stores import JsonFiles, StoreError

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
RECORD = RunRecord(
    run_id="20260102T030405678901-aa",
    pipeline="silver.orders",
    status="quarantined",
    started_at=START,
    ended_at=START + timedelta(seconds=2.5),
    environment="local",
    rows=Rows(read=12, inserted=8, updated=0, unchanged=0, quarantined=4, deduplicated=0, filtered=0),
    sources=("bronze.orders",),
    sink="silver.orders",
    owners=("sales", "shop"),
    tags=("pii",),
    expectations=(Expectation("positive", "quarantine", "non_positive", 11, 1, False, "high", "amount > 0"),),
    engine={"spark": "4.2.0"},
)

TIMES = st.datetimes(
    datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis wants naive bounds
    datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=-7)), timezone(timedelta(hours=5, minutes=30))]),
)
TEXTS = st.text(max_size=20)
COUNTS = st.none() | st.integers(0, 2**63 - 1)
RECORDS = st.builds(
    RunRecord,
    run_id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,30}", fullmatch=True),
    pipeline=TEXTS.filter(bool),
    status=st.sampled_from(["success", "failed", "skipped"]),
    started_at=TIMES,
    ended_at=TIMES,
    environment=TEXTS,
    error=st.none() | TEXTS,
    rows=st.builds(Rows, read=COUNTS, inserted=COUNTS, filtered=COUNTS),
    balanced=st.none() | st.booleans(),
    window_start=st.none() | TIMES,
    window_end=st.none() | TIMES,
    sources=st.lists(TEXTS, max_size=3).map(tuple),
    owners=st.lists(TEXTS, max_size=3).map(tuple),
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    expectations=st.lists(
        st.builds(
            Expectation,
            TEXTS,
            TEXTS,
            st.none() | TEXTS,
            st.integers(),
            st.integers(),
            st.booleans(),
            TEXTS,
            TEXTS,
        ),
        max_size=2,
    ).map(tuple),
    steps=st.dictionaries(TEXTS, st.floats(0, 1e6), max_size=3),
    engine=st.dictionaries(TEXTS, TEXTS, max_size=3),
)


@pytest.fixture
def store(tmp_path: Path) -> JsonFiles:
    return JsonFiles(str(tmp_path / "runs"))


def numbered(number: int, pipeline: str = "silver.orders") -> RunRecord:
    return replace(RECORD, run_id=f"2026010{number}-x", pipeline=pipeline)


@settings(deadline=None)
@given(RECORDS)
def test_a_record_comes_back_from_its_text(record: RunRecord) -> None:
    assert from_json(to_json(record)) == record


@given(st.lists(RECORDS, max_size=4, unique_by=lambda record: (record.run_id, record.pipeline)))
@settings(max_examples=25, deadline=None)
def test_what_is_written_is_read_back(records: list[RunRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = JsonFiles(folder)
        for record in records:
            store.write(record)
        assert {(r.pipeline, r.run_id): r for r in store.read()} == {(r.pipeline, r.run_id): r for r in records}
        for record in records:
            assert record in store.read(record.pipeline)
            assert {found.pipeline for found in store.read(record.pipeline)} == {record.pipeline}


def test_an_empty_store_holds_nothing(store: JsonFiles) -> None:
    assert store.read() == []
    assert store.read("silver.orders") == []


def test_records_are_read_newest_first_and_at_most_so_many(store: JsonFiles) -> None:
    for number, pipeline in ((2, "a"), (3, "b"), (1, "a")):
        store.write(numbered(number, pipeline))
    assert [record.run_id[:8] for record in store.read()] == ["20260103", "20260102", "20260101"]
    assert [record.run_id[:8] for record in store.read("a")] == ["20260102", "20260101"]
    assert [record.run_id[:8] for record in store.read(limit=1)] == ["20260103"]


def test_a_file_appears_whole_and_nothing_else_is_left(store: JsonFiles) -> None:
    store.write(RECORD)
    files = [file for file in store.folder.rglob("*") if file.is_file()]
    assert [file.relative_to(store.folder).as_posix() for file in files] == [f"silver.orders/{RECORD.run_id}.json"]
    assert json.loads(files[0].read_text(encoding="utf-8"))["rows"]["quarantined"] == 4


def test_a_record_that_cannot_be_put_in_its_place_leaves_nothing_behind(store: JsonFiles) -> None:
    (store.folder / "silver.orders" / f"{RECORD.run_id}.json").mkdir(parents=True)
    with pytest.raises(StoreError, match="the run's record cannot be written"):
        store.write(RECORD)
    assert [file for file in store.folder.rglob("*") if file.is_file()] == []


def test_a_message_of_half_letters_is_recorded_too(store: JsonFiles) -> None:
    """Names of files may hold bytes that are no text; a run about them leaves a record like any other."""
    broken = replace(RECORD, error="cannot read \udcff.csv")
    store.write(broken)
    assert store.read() == [broken]


ODD_NAMES = [
    "a/b",
    "a%2Fb",
    "..",
    ".",
    "../../x",
    "a",
    "A",
    "a ",
    "*",
    "[a]",
    "a\x00",
    "\x00",
    "ä",
    "con",
    "%",
    "a.b",
    "~",
]


def test_odd_names_neither_collide_nor_leave_the_folder(store: JsonFiles) -> None:
    for name in ODD_NAMES:
        store.write(replace(RECORD, pipeline=name))
    files = [file for file in store.folder.parent.rglob("*") if file.is_file()]
    assert len(files) == len(ODD_NAMES)
    assert {file.parent.parent for file in files} == {store.folder}
    for name in ODD_NAMES:
        assert [record.pipeline for record in store.read(name)] == [name]
    assert sorted(record.pipeline for record in store.read()) == sorted(ODD_NAMES)


@pytest.mark.parametrize("run_id", ["", ".", "../x", "a/b", ".hidden", "a b", "a\n", "a\x00", "x" * 129, "é"])
def test_a_run_id_that_cannot_be_a_file_is_refused(run_id: str, store: JsonFiles) -> None:
    with pytest.raises(StoreError, match="cannot be a file's name"):
        store.write(replace(RECORD, run_id=run_id))
    assert not store.folder.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", "{}", '{"run_id": "x"}', '{"rows": 5}', "\x00"])
def test_a_file_that_is_no_record_is_told_and_not_left_out(text: str, store: JsonFiles) -> None:
    store.write(RECORD)
    (store.folder / "silver.orders" / "broken.json").write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match=r"broken\.json: not a run's record"):
        store.read()


def test_a_file_that_is_not_text_is_told_too(store: JsonFiles) -> None:
    store.write(RECORD)
    (store.folder / "silver.orders" / "broken.json").write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="not a run's record"):
        store.read()


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be written"):
        JsonFiles(str(tmp_path / "runs")).write(RECORD)


def test_keys_of_a_later_version_are_left_aside() -> None:
    later = json.loads(to_json(RECORD))
    later["mood"] = "good"
    later["rows"]["moved"] = 1
    later["expectations"][0]["colour"] = "red"
    assert from_json(json.dumps(later)) == RECORD


# ------------------------------------------------------------------ grains


def test_every_grain_has_exactly_its_columns() -> None:
    found = grains(RECORD)
    assert {grain: len(rows) for grain, rows in found.items()} == {
        "runs": 1,
        "sources": 1,
        "sinks": 1,
        "expectations": 1,
        "owners": 2,
    }
    assert all(list(row) == list(GRAINS[grain]) for grain, rows in found.items() for row in rows)


def test_the_grains_say_what_the_record_says() -> None:
    found = grains(RECORD)
    [run] = found["runs"]
    assert (run["rows_read"], run["rows_quarantined"], run["duration_seconds"], run["ts"]) == (
        12,
        4,
        2.5,
        START,
    )
    assert run["engine_json"] == '{"spark": "4.2.0"}'
    [expectation] = found["expectations"]
    assert (expectation["expectation"], expectation["failed"], expectation["run_id"]) == (
        "positive",
        1,
        RECORD.run_id,
    )
    assert [row["owner"] for row in found["owners"]] == ["sales", "shop"]
