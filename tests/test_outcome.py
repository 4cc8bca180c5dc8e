"""What the numbers of a run say: verdicts, reasons to stop, whether rows add up, and its record."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from builders import RUN, contract, plan
from lakepact.errors import QualityError
from lakepact.evidence.record import make_record, unplanned_record
from lakepact.plan.commits import commit_text, find_commit, holds_same_rows, note_of
from lakepact.plan.modes import MODES
from lakepact.plan.outcome import Outcome, imbalance, reasons_to_stop, verdicts
from lakepact.plan.plan import Plan, fingerprint
from lakepact.plan.state import Commit, TableState, World
from lakepact.plan.target import Written

COUNTS = {"read": 10, "filtered": 0, "quarantined": 0, "deduplicated": 0, "accepted": 10, "null_keys": 0}
COLUMNS = {"id": "string", "amount": "decimal(12,2)", "at": "timestamp"}


def counted(**changes: int) -> Outcome:
    return Outcome(counts={**COUNTS, **changes})


def reasons(made: Plan, **changes: int) -> list[str]:
    return reasons_to_stop(made, counted(**changes))


@pytest.mark.parametrize(
    ("rule", "counts", "stops"),
    [
        ({"name": "r", "check": "amount > 0", "action": "fail"}, {"failed:r": 0}, False),
        ({"name": "r", "check": "amount > 0", "action": "fail"}, {"failed:r": 1}, True),
        ({"name": "r", "check": "amount > 0", "action": "warn"}, {"failed:r": 9}, False),
        ({"name": "r", "check": "amount > 0", "action": "quarantine"}, {"failed:r": 9}, False),
        ({"name": "r", "check": "amount > 0", "action": "fail", "tolerance": 0.1}, {"failed:r": 1}, False),
        ({"name": "r", "check": "amount > 0", "action": "fail", "tolerance": 0.1}, {"failed:r": 2}, True),
        ({"name": "r", "check": "amount > 0", "action": "fail", "tolerance": 3}, {"failed:r": 3}, False),
        ({"name": "r", "check": "amount > 0", "action": "fail", "tolerance": 3}, {"failed:r": 4}, True),
        ({"min_rows": 10}, {}, False),
        ({"min_rows": 11}, {}, True),
        ({"min_rows": 11, "action": "warn"}, {}, False),
        ({"max_rows": 9}, {}, True),
        ({"row_count_between": {"min": 10, "max": 10}}, {}, False),
        ({"null_ratio": {"column": "at", "max": 0.2}}, {"nulls:at": 2}, False),
        ({"null_ratio": {"column": "at", "max": 0.2}}, {"nulls:at": 3}, True),
        ({"null_ratio": {"column": "at", "max": 0}}, {"nulls:at": 0, "accepted": 0}, False),
    ],
)
def test_a_rule_stops_the_write(rule: dict[str, Any], counts: dict[str, int], stops: bool) -> None:
    assert bool(reasons(plan(contract(quality=[rule])), **counts)) == stops


def test_a_reason_says_the_rule_and_the_number() -> None:
    made = plan(contract(quality=[{"name": "positive", "check": "amount > 0", "action": "fail"}, {"min_rows": 20}]))
    assert reasons(made, **{"failed:positive": 3}) == [
        "rule positive: 3 row(s) break it",
        "rule min_rows: 10, expected at least 20",
    ]


def test_doubles_and_missing_columns_stop_the_write() -> None:
    outcome = counted()
    outcome.doubles = {"unique_keys": ["id=1", "id=2"]}
    outcome.missing = {"required_columns": ["x"]}
    made = plan(contract(quality=[{"required_columns": ["id", "x"]}]))
    assert sorted(reasons_to_stop(made, outcome)) == [
        "rule required_columns: x",
        "rule unique_keys: id stands more than once; id=1, id=2",
    ]


def test_accepted_rows_without_a_key_stop_a_merge_but_not_an_append() -> None:
    assert "2 accepted row(s) have no value in their key (id)" in reasons(plan(contract()), null_keys=2)
    assert reasons(plan(contract(write={"mode": "scd0_append"})), null_keys=2) == []


def test_an_empty_source_does_not_empty_a_table() -> None:
    world = World(target=TableState(1, COLUMNS))
    kept, emptied = {"mode": "scd0_overwrite"}, {"mode": "scd0_overwrite", "allow_empty": True}
    assert "would empty the table" in reasons(plan(contract(write=kept), world), read=0, accepted=0)[0]
    assert reasons(plan(contract(write=emptied), world), read=0, accepted=0) == []


@pytest.mark.parametrize(("rejected", "filtered", "stops"), [(2, 0, False), (3, 0, True), (2, 1, True), (0, 10, False)])
def test_too_many_rejected_rows_stop_the_write(rejected: int, filtered: int, stops: bool) -> None:
    made = plan(contract(quarantine={"max_ratio": 0.2}))
    assert bool(reasons(made, quarantined=rejected, filtered=filtered)) == stops


def test_nothing_is_said_of_rules_before_the_batch_was_counted() -> None:
    assert verdicts(plan(contract()), Outcome()) == []


# ------------------------------------------------------------------ the equation


@pytest.mark.parametrize(
    ("counts", "written", "holds"),
    [
        ({}, Written(inserted=10), True),
        (
            {"quarantined": 2, "deduplicated": 1, "filtered": 3},
            Written(inserted=1, updated=1, unchanged=2),
            True,
        ),
        ({}, Written(inserted=9), False),
        ({}, Written(inserted=11), False),
        ({"quarantined": 1}, Written(inserted=10), False),
        ({}, Written(inserted=11, unchanged=-1), False),
    ],
)
def test_rows_in_are_rows_out(counts: dict[str, int], written: Written, holds: bool) -> None:
    outcome = counted(**counts)
    outcome.written = written
    assert (imbalance(outcome) == "") == holds


def test_an_imbalance_shows_the_sum() -> None:
    outcome = counted(filtered=3)
    outcome.written = Written(inserted=8)
    assert imbalance(outcome) == (
        "10 read, but 8 inserted + 0 updated + 0 unchanged + 0 quarantined + 0 deduplicated + 3 filtered = 11"
    )


@pytest.mark.parametrize(
    ("mode", "commit", "written"),
    [
        ("scd0_append", {"numOutputRows": 7}, Written(inserted=7)),
        ("scd0_append", None, Written()),
        ("scd0_overwrite", {"numOutputRows": 7}, Written(inserted=7)),
        ("scd0_overwrite", None, Written(unchanged=7)),
        (
            "scd1_upsert",
            {"numTargetRowsInserted": 2, "numTargetRowsUpdated": 1},
            Written(inserted=2, updated=1, unchanged=4),
        ),
        ("scd1_upsert", None, Written(unchanged=7)),
    ],
)
def test_a_mode_reads_what_its_commit_counted(mode: str, commit: dict[str, int] | None, written: Written) -> None:
    assert MODES[mode].counts(commit, {}, 7) == written


# ------------------------------------------------------------------ commits


def test_a_commit_carries_the_run_the_contract_and_the_counts() -> None:
    outcome = counted(**{"failed:positive": 3})
    outcome.content = "123"
    made = plan(contract())
    assert "content" not in json.loads(commit_text(made, outcome)), "only a write says which rows it left"
    said = json.loads(commit_text(made, outcome, outcome.content))
    assert (said["run_id"], said["contract"], said["table"]) == ("run-1", made.fingerprint, "silver.orders")
    assert (said["content"], said["rows"]) == ("123", COUNTS)


def entry(version: int, run_id: str | None, operation: str = "MERGE") -> dict[str, Any]:
    note = json.dumps({"run_id": run_id}) if run_id else None
    return {
        "version": version,
        "userMetadata": note,
        "operation": operation,
        "operationMetrics": {"n": "5", "t": "x"},
    }


def test_a_run_finds_its_own_commit_and_no_other() -> None:
    history = [
        entry(6, None),
        entry(5, "other"),
        entry(4, "run-1", "SET TBLPROPERTIES"),
        entry(3, "run-1"),
        entry(2, "run-1"),
    ]
    found = find_commit(history, "run-1", after=2)
    assert found is not None
    assert (found.version, found.metrics) == (3, {"n": 5})
    assert find_commit(history, "run-1", after=3) is None
    assert find_commit(history, "nobody", after=0) is None


@pytest.mark.parametrize("text", [None, "", "not json", "[1]", "5", '"x"'])
def test_a_note_of_somebody_else_says_nothing(text: str | None) -> None:
    assert note_of(text) == {}


@pytest.mark.parametrize(
    ("last", "content", "columns", "same"),
    [
        ('{"content": "1"}', "1", COLUMNS, True),
        ('{"content": "1"}', "2", COLUMNS, False),
        ('{"content": "1"}', None, COLUMNS, False),
        ("by hand", "1", COLUMNS, False),
        ('{"content": "1"}', "1", {"id": "string"}, False),
    ],
)
def test_a_table_holds_the_same_rows(last: str, content: str | None, columns: dict[str, str], same: bool) -> None:
    document = contract(write={"mode": "scd0_overwrite"})
    last = last.replace("{", f'{{"contract": "{fingerprint(document)}", ')
    made = plan(document, World(target=TableState(1, columns, last_commit=last)))
    assert holds_same_rows(made, Outcome(content=content)) == same


def test_another_contract_may_mean_other_rows_by_the_same_content() -> None:
    state = TableState(1, COLUMNS, last_commit='{"contract": "another", "content": "1"}')
    made = plan(contract(write={"mode": "scd0_overwrite"}), World(target=state))
    assert not holds_same_rows(made, Outcome(content="1"))


# ------------------------------------------------------------------ the record


def record(outcome: Outcome, error: BaseException | None = None) -> Any:
    made = plan(contract(quality=[{"name": "r", "check": "amount > 0", "action": "warn"}], owners=[{"name": "sales"}]))
    return make_record(made, outcome, error, RUN.now + timedelta(seconds=3), "local", {"spark": "x"})


@pytest.mark.parametrize(
    ("counts", "error", "status", "ok"),
    [
        ({}, None, "success", True),
        ({"failed:r": 1}, None, "warned", True),
        ({"failed:r": 1, "quarantined": 1}, None, "quarantined", True),
        ({"quarantined": 1}, QualityError("x"), "failed", False),
    ],
)
def test_a_record_has_the_status_of_its_run(
    counts: dict[str, int], error: Exception | None, status: str, ok: bool
) -> None:
    made = record(counted(**counts), error)
    assert (made.status, made.ok) == (status, ok)


def test_a_record_says_what_happened() -> None:
    outcome = counted(quarantined=2)
    outcome.written, outcome.commits, outcome.steps = Written(inserted=8), [Commit(1, {})], {"read": 0.12345}
    made = record(outcome)
    assert (made.rows.read, made.rows.inserted, made.rows.quarantined, made.balanced) == (10, 8, 2, True)
    assert (made.duration_seconds, made.steps, made.metrics_source) == (3.0, {"read": 0.123}, "delta")
    assert (made.sources, made.sink, made.quarantine) == (
        ("bronze.orders",),
        "silver.orders",
        "silver.orders_quarantine",
    )
    assert {expectation.rule for expectation in made.expectations} >= {"r", "id_present", "unique_keys"}


def test_a_record_never_shows_a_secret() -> None:
    outcome = counted()
    outcome.secrets, outcome.step = ["hunter22"], "read"
    made = record(outcome, RuntimeError("cannot log in with hunter22"))
    assert (made.error, made.error_class, made.failed_step) == (
        "cannot log in with ***",
        "RuntimeError",
        "read",
    )


def test_a_run_without_a_plan_leaves_a_record_too() -> None:
    made = unplanned_record(contract(tags=["pii"]), RUN, ValueError("x" * 9000), "failed", RUN.now, "local")
    assert (made.pipeline, made.status, made.failed_step, made.tags) == (
        "silver.orders",
        "failed",
        "plan",
        ("pii",),
    )
    assert made.error is not None
    assert len(made.error) == 4000
