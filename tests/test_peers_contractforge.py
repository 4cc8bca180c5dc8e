"""Defects found in ContractForge (D1 to D18, S1), each as a test that would find it here.

Watermarks between runs are not built yet; D4 to D6 and D9 are asked of what takes their place: half-open windows of a
source, and batches with a name.
"""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import contract as planned_contract
from builders import plan
from conftest import MakeProject
from lakepact import AlreadyWrittenError, api
from lakepact.contract.model import Contract
from lakepact.contract.project import default_project
from lakepact.contract.write import Write
from lakepact.errors import ContractError, LakepactExecutionError, PlanError
from lakepact.evidence.record import RunRecord
from lakepact.evidence.result import result_of
from lakepact.names import literal
from lakepact.plan.idempotency import decide
from lakepact.plan.modes import MODES
from lakepact.plan.outcome import Outcome, reasons_to_stop
from lakepact.plan.rules import KeyRule
from lakepact.plan.state import TableState, Window, World
from peers import HANDED_OVER, Lake, contract, lake_in

APPEND = {"mode": "scd0_append"}
WINDOWED = {**HANDED_OVER, "window": {"column": "at"}}
KEYED = ["scd1_upsert", "scd1_hash_diff", "scd2_historical", "snapshot_soft_delete", "cdc_merge", "append_dedup"]


AHEAD = {"lake": lake_in}


@pytest.fixture
def lake(tmp_path: Path, spark: Any) -> Lake:
    return lake_in(tmp_path, spark)


def theirs(mode: str, columns: dict[str, str], **said: Any) -> dict[str, Any]:
    """A contract in ContractForge's own words."""
    source = {"type": "csv", "path": "landing/in.csv"}
    return {"source": source, "target": {"schema": "s", "table": "t"}, "mode": mode, "columns": columns, **said}


def events(lake: Lake, *rows: tuple[str | None, int, str]) -> Any:
    """Rows of id, v and at, handed over as a DataFrame."""
    frame = lake.spark.createDataFrame(rows, "id string, v int, at string")
    return frame.selectExpr("id", "v", "CAST(at AS TIMESTAMP) AS at")


def days(first: int, last: int) -> Window:
    """From one day of January 2026 until another, which is not part of it."""
    return Window(*(datetime(2026, 1, day, tzinfo=timezone.utc) for day in (first, last)))


# ------------------------------------------------------------------ by name, counted truly, one partition


@pytest.mark.spark
def test_d1_rows_are_written_by_name_not_by_position(lake: Lake) -> None:
    """Append and overwrite went by position: columns in another order were swapped, and the run was a success."""
    lake.run(contract("id customer status", APPEND), "id,customer,status\n1,ann,new\n")
    lake.run(contract("status customer id", APPEND), "customer,status,id\nbob,old,2\n")
    assert lake.rows("id", "customer", "status") == [("1", "ann", "new"), ("2", "bob", "old")]
    for write in (APPEND, {"mode": "scd0_overwrite"}, {"mode": "scd0_overwrite", "partition": {"id": "1"}}):
        made = plan(planned_contract(write=write, layout={"partition_by": "id"}))
        assert " BY NAME" in made.write.splitlines()[0]


@pytest.mark.spark
def test_d2_counts_are_those_of_the_runs_own_commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every written row was called inserted, and the numbers were those of whatever commit came last."""
    upsert = contract("id v", {"mode": "upsert", "keys": "id"}, layout={"optimize_after_write": True})
    lake.run(upsert, "id,v\na,1\nb,1\nc,1\n")
    _another_writer_follows(lake, monkeypatch)
    record = lake.run(upsert, "id,v\na,2\nb,2\nc,1\nd,1\n")
    told = result_of(record)
    assert (told.rows_read, told.rows_inserted, told.rows_updated, told.rows_unchanged) == (4, 1, 2, 1)
    assert (told.rows_written, told.rows_deleted, told.rows_expired) == (3, 0, 0)
    assert (told.metrics_source, record.balanced) == ("delta", True)
    assert api.runs(lake.project)[0].rows == record.rows, "the evidence says the same"
    operations = [one["operation"] for one in lake.delta().history()]
    assert operations.index("MERGE") > 0, "the last commit is another one"
    empty = result_of(lake.run(contract("id v", APPEND), "id,v\n"))
    assert (empty.rows_read, empty.rows_inserted, empty.write_committed) == (0, 0, False)


def _another_writer_follows(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakepact.spark import run as running

    own, path = running.commit, lake.project.table("s.t").path

    def commit(session: Any, statement: str, *rest: Any) -> None:
        own(session, statement, *rest)
        if statement.startswith("MERGE"):
            lake.spark.sql(f"INSERT INTO delta.`{path}` VALUES ('x', '8'), ('y', '8')").collect()

    monkeypatch.setattr(running, "commit", commit)


@pytest.mark.spark
def test_d3_only_the_partition_named_is_replaced(lake: Lake) -> None:
    """partition_value was read by nobody: an overwrite of one partition emptied all others."""
    whole = theirs("scd0_overwrite", {"day": "date", "v": "int"}, partition_column="day")
    lake.run(whole, "day,v\n2026-01-01,1\n2026-01-02,2\n2026-01-03,3\n")
    record = lake.run({**whole, "partition_value": "2026-01-02"}, "day,v\n2026-01-02,9\n")
    assert record.status == "success"
    assert [(f"{day:%d}", v) for day, v in lake.rows("day", "v")] == [("01", 1), ("02", 9), ("03", 3)]


def test_d3_a_misspelt_strategy_is_refused(tmp_path: Path) -> None:
    """merge_strategy was free text: a typo in it made another kind of write of it."""
    document = theirs("scd0_overwrite", {"day": "date"}, merge_strategy="replace_partition", partition_column="day")
    with pytest.raises(ContractError, match="replace_partitions"):
        api.contract_from(document, default_project(tmp_path))


# ------------------------------------------------------------------ slices of a source, one after another


@pytest.mark.spark
def test_d4_an_empty_slice_does_not_stop_the_next(lake: Lake) -> None:
    """An empty batch left a state that no later run could read."""
    document = contract("id v:int at:timestamp", APPEND, source=WINDOWED)
    frame = events(lake, ("a", 1, "2026-01-01"), ("c", 3, "2026-01-03"))
    empty, last = (lake.run(document, frame=frame, window=days(n, n + 1)) for n in (2, 3))
    assert (empty.status, empty.rows.read, empty.rows.inserted) == ("success", 0, 0)
    assert (last.status, lake.rows("id")) == ("success", [("c",)])


@pytest.mark.spark
def test_d5_a_failed_or_skipped_run_forgets_nothing(lake: Lake) -> None:
    """A run that failed or was skipped erased how far the load had come: the next one loaded everything again."""

    def load(day: int, v: int) -> str:
        rule = {"name": "positive", "check": "v > 0", "action": "fail"}
        write = {**APPEND, "idempotency_key": f"day-{day}"}
        document = contract("id v:int at:timestamp", write, source=WINDOWED, quality=[rule])
        frame = events(lake, ("a", 1, "2026-01-01"), ("b", v, "2026-01-02"))
        return lake.run(document, frame=frame, window=days(day, day + 1)).status

    assert [load(1, -1), load(2, -1), load(1, -1)] == ["success", "failed", "skipped"]
    assert lake.rows("id", "v") == [("a", 1)]
    assert [load(2, 2), load(2, 2), load(1, 2)] == ["success", "skipped", "skipped"]
    assert lake.rows("id", "v") == [("a", 1), ("b", 2)]


@pytest.mark.spark
def test_d6_a_row_on_the_border_is_in_one_slice_and_a_late_one_is_fetched_again(lake: Lake) -> None:
    """Only what was greater than the last value was read: rows equal to it, and late ones, were lost."""
    columns, rows = "id v:int at:timestamp", [("a", 1, "2026-01-01"), ("b", 2, "2026-01-02"), ("c", 3, "2026-01-03")]
    document = contract(columns, APPEND, source=WINDOWED)
    for day in (1, 2):
        lake.run(document, frame=events(lake, *rows), window=days(day, day + 1))
    assert lake.rows("id") == [("a",), ("b",)]
    again = contract(columns, {"mode": "upsert", "keys": "id"}, source=WINDOWED)
    late = [*rows, ("late", 4, "2026-01-02"), ("same", 5, "2026-01-02")]
    record = lake.run(again, frame=events(lake, *late), window=days(2, 4))
    assert lake.rows("id") == [("a",), ("b",), ("c",), ("late",), ("same",)]
    assert (record.rows.inserted, record.rows.unchanged) == (3, 1)


@pytest.mark.spark
def test_d9_a_slice_is_judged_like_any_batch(lake: Lake) -> None:
    """Rules were not asked of slices; a failed run kept its rejected rows, each with the reasons of all."""
    rules = [
        {"name": "positive", "check": "v > 0", "rejected_as": "not_positive"},
        {"not_null": "id"},
        {"name": "small", "check": "v < 100", "action": "fail"},
    ]
    document = contract("id v:int at:timestamp", APPEND, source=WINDOWED, quality=rules)
    good = [("a", 1, "2026-01-01"), ("b", -1, "2026-01-01"), (None, 5, "2026-01-01")]
    frame = events(lake, *good, ("c", -2, "2026-01-02"), ("d", 100, "2026-01-02"))
    judged = lake.run(document, frame=frame, window=days(1, 2))
    assert (judged.status, judged.rows.inserted, judged.rows.quarantined) == ("quarantined", 1, 2)
    kept = [("b", ["not_positive"]), (None, ["missing_id"])]
    assert lake.rows("id", "_reasons", table="s.t_quarantine") == kept
    failed = lake.run(document, frame=frame, window=days(2, 3))
    assert (failed.status, failed.error_class) == ("failed", "QualityError")
    assert lake.rows("id", "_reasons", table="s.t_quarantine") == kept
    assert lake.rows("id") == [("a",)]


# ------------------------------------------------------------------ rules and guardrails


@pytest.mark.spark
@pytest.mark.parametrize("on_fail", ["quarantine", "warn"])
def test_d7_what_must_stop_the_batch_stops_it(on_fail: str, lake: Lake) -> None:
    """min_rows, required_columns and unique_key did not stop a run whose rows may be quarantined or warned about."""
    columns = {"id": "string", "v": "int"}
    asked = {"min_rows": 3, "unique_key": ["id"]}
    batch = theirs("scd0_overwrite", columns, on_quality_fail=on_fail, quality_rules=asked)
    record = lake.run(batch, "id,v\na,1\na,2\n")
    assert record.status == "failed"
    assert "min_rows: 2, expected at least 3" in (record.error or "")
    assert "unique_id" in (record.error or "")
    asked = {"required_columns": ["email"]}
    lacking = lake.run(theirs("append", columns, on_quality_fail=on_fail, quality_rules=asked), "id,v\na,1\n")
    assert lacking.status == "failed"
    assert lake.state() is None


@pytest.mark.spark
def test_d8_a_warning_keeps_its_rows(lake: Lake) -> None:
    """Rows that were only to be warned about were taken out of the batch."""
    asked = {
        "not_null": ["v"],
        "accepted_values": {"id": ["a"]},
        "max_null_ratio": {"v": 0.1},
        "expressions": [{"name": "small", "expression": "v < 5"}],
    }
    document = theirs("append", {"id": "string", "v": "int"}, on_quality_fail="warn", quality_rules=asked)
    record = lake.run(document, "id,v\na,\nb,9\n")
    assert (record.status, record.rows.inserted, record.rows.quarantined) == ("warned", 2, 0)
    assert lake.rows("id", "v") == [("a", None), ("b", 9)]
    assert lake.state("s.t_quarantine") is None
    assert {told.rule for told in record.expectations if not told.success} >= {"v_null_ratio", "small"}
    doubled = lake.run(contract("id v:int", APPEND, quality=[{"unique": "id", "action": "warn"}]), "id,v\nc,1\nc,2\n")
    assert (doubled.status, doubled.rows.inserted) == ("warned", 2)


@pytest.mark.parametrize(
    "partial",
    [
        {"source": {"table": "b.t", "complete": True, "filter": "id <> 'x'"}},
        {"source": {"table": "b.t", "complete": True, "window": {"column": "at"}}},
        {"source": {"table": "b.t", "complete": True}, "transform": [{"filter": "id <> 'x'"}]},
        {"source": {"table": "b.t"}},
        {"source": {"table": "b.t", "complete": False}},
    ],
    ids=["filter", "window", "step", "nothing said", "not complete"],
)
def test_d10_a_snapshot_of_a_part_is_refused(partial: dict[str, Any]) -> None:
    """Filters, slices and sources that nobody called complete were accepted: all other rows were marked deleted."""
    with pytest.raises(PlanError):
        plan(planned_contract(write={"mode": "snapshot_soft_delete", "keys": "id"}, **partial))


@pytest.mark.parametrize("said", ["false", "true", "no", 1])
def test_d10_only_a_real_true_calls_a_source_complete(said: Any, tmp_path: Path) -> None:
    """Any text passed for true, also "false"."""
    with pytest.raises(ValueError, match="complete"):
        planned_contract(source={"table": "b.t", "complete": said})
    document = theirs("snapshot_soft_delete", {"id": "string"}, merge_keys=["id"])
    document["source"] = {"type": "table", "table": "b.t", "read": {"source_complete": said}}
    with pytest.raises(ContractError, match="source_complete: must be true or false"):
        api.contract_from(document, default_project(tmp_path))


@pytest.mark.spark
def test_d10_a_quarantined_row_is_not_gone_and_no_row_is_not_all_gone(lake: Lake) -> None:
    """Rejected rows were marked deleted, and an empty source marked everything."""
    snapshot = contract(
        "id v:int", {"mode": "snapshot_soft_delete", "keys": "id"}, source={"path": "landing/in.csv", "complete": True}
    )
    lake.run(snapshot, "id,v\na,1\nb,2\nc,3\n")
    record = lake.run(snapshot, "id,v\na,1\nb,oops\n")
    assert (record.status, record.rows.soft_deleted, record.rows.quarantined) == ("quarantined", 1, 1)
    after = [("a", True), ("b", True), ("c", False)]
    assert lake.rows("id", "is_active") == after
    empty = lake.run(snapshot, "id,v\n")
    assert (empty.status, empty.error_class) == ("failed", "QualityError")
    assert lake.rows("id", "is_active") == after


# ------------------------------------------------------------------ histories and hashes


HISTORY = {
    "mode": "scd2_historical", "keys": "id", "effective_from": "at", "apply_as_deletes": "gone",
    "hash_exclude_columns": ["note", "gone"],
}  # fmt: skip
TURNED = "extra gone:boolean at:timestamp note w v id"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> tuple[Lake, RunRecord, RunRecord]:
    """Two batches: a changes, b changes where nobody looks, c ends; the second has other columns in another order."""
    lake = lake_in(tmp_path_factory.mktemp("history"), spark)
    first = lake.run(contract("id v w note at:timestamp gone:boolean", HISTORY), (
        "id,v,w,note,at,gone\n"
        "a,1,5,x,2024-01-01,false\n"
        "b,1,5,x,2024-01-01,false\n"
        "c,1,5,x,2024-01-01,false\n"
    ))  # fmt: skip
    second = lake.run(contract(TURNED, HISTORY), (
        "note,at,v,w,id,gone,extra\n"
        "y,2024-02-01,2,5,a,false,\n"
        "z,2024-02-01,1,5,b,false,\n"
        "n,2024-02-01,,,c,true,\n"
    ))  # fmt: skip
    return lake, first, second


@pytest.mark.spark
def test_d11_versions_do_not_overlap_and_nothing_else_makes_one(history: tuple[Lake, RunRecord, RunRecord]) -> None:
    """Versions overlapped; another column order or a new column made versions of everything; columns that are not
    tracked were lost; a column without a type leaked into the table."""
    lake, _, second = history
    assert (second.rows.inserted, second.rows.expired, second.rows.updated) == (1, 2, 2)
    told = [
        (id_, v, note, f"{begins:%m-%d}", f"{ends:%m-%d}" if ends else None, current)
        for id_, v, note, begins, ends, current in lake.rows("id", "v", "note", "valid_from", "valid_to", "is_current")
    ]
    assert sorted(told) == [
        ("a", "1", "x", "01-01", "02-01", False),
        ("a", "2", "y", "02-01", None, True),
        ("b", "1", "z", "01-01", None, True),
        ("c", "1", "x", "01-01", "02-01", False),
    ]
    state = lake.state()
    assert state is not None
    assert set(state.columns) == {
        *("id", "v", "w", "note", "at", "gone", "extra"),
        *("valid_from", "valid_to", "is_current", "row_hash", "changed_columns"),
    }
    assert "void" not in state.columns.values()


@pytest.mark.spark
def test_d11_a_late_row_is_really_rejected(history: tuple[Lake, RunRecord, RunRecord]) -> None:
    """Late rows were dropped in silence where the contract says reject."""
    lake, _, second = history
    late = "note,at,v,w,id,gone,extra\nn,2024-01-15,9,5,a,false,\n"
    record = lake.run(contract(TURNED, {**HISTORY, "late": "reject"}), late)
    assert (record.status, record.error_class) == ("failed", "QualityError")
    assert lake.version() == second.version_after


@pytest.mark.spark
def test_d12_hash_diff_keeps_one_row_a_key_run_after_run(lake: Lake) -> None:
    """Changed rows were added, not updated; without an order the third run failed, and replays made the table grow."""
    document = contract("id v w", {"mode": "scd1_hash_diff", "keys": "id"})
    lake.run(document, "id,v,w\na,1,x\nb,1,\n")
    lake.run(document, "id,v,w\na,2,x\nb,,1\n")
    assert lake.rows("id", "v", "w") == [("a", "2", "x"), ("b", None, "1")], "a shifted value is a changed one"
    turned = contract("w v id", {"mode": "scd1_hash_diff", "keys": "id"})
    back = lake.run(turned, "w,v,id\nx,1,a\n1,,b\n")
    assert (back.status, back.rows.updated, back.rows.unchanged) == ("success", 1, 1)
    assert lake.rows("id", "v", "w") == [("a", "1", "x"), ("b", None, "1")]


def test_d12_versions_are_appended_only_where_asked_and_in_an_order() -> None:
    """The latest version of a key was whichever came first."""
    with pytest.raises(PlanError, match="append_versions needs sequence_by"):
        plan(planned_contract(write={"mode": "scd1_hash_diff", "keys": "id", "append_versions": True}))


@pytest.mark.spark
def test_d13_a_key_that_moves_or_has_no_partition_stays_one_row(lake: Lake) -> None:
    """A merge by partition doubled keys that had moved, and those without a partition on every run."""
    document = theirs(
        "scd1_upsert", {"id": "string", "p": "string", "v": "int"}, merge_keys=["id"],
        merge_strategy="delta_by_partition", merge_partition_column="p",
    )  # fmt: skip
    lake.run(document, "id,p,v\nmoves,x,1\nnowhere,,1\nstays,z,1\n")
    record = lake.run(document, "id,p,v\nmoves,y,2\nnowhere,,2\n")
    assert lake.rows("id", "p", "v") == [("moves", "y", 2), ("nowhere", None, 2), ("stays", "z", 1)]
    assert (record.rows.inserted, record.rows.updated) == (0, 2)


@pytest.mark.parametrize("mode", KEYED)
def test_d14_keys_are_guarded_in_every_mode_that_has_them(mode: str) -> None:
    """Keys were looked at only where metrics were asked for, and one NULL in one key column was let through."""
    write: dict[str, Any] = {"mode": mode, "keys": ["id", "amount"]}
    write |= {"sequence_by": "at", "op_column": "id"} if mode == "cdc_merge" else {}
    made = plan(planned_contract(write=write, source={"table": "b.t", "complete": True}))
    assert dict(made.judgement.metrics)["null_keys"].endswith("(`id` IS NULL OR `amount` IS NULL))")
    counts = {"read": 2, "filtered": 0, "quarantined": 0, "accepted": 2, "null_keys": 1}
    assert reasons_to_stop(made, Outcome(counts=counts)) == [
        "1 accepted row(s) have no value in their key (id, amount)"
    ]
    doubles = [rule.keys for rule in made.rules if isinstance(rule, KeyRule)]
    by_itself = mode in ("cdc_merge", "append_dedup")
    assert doubles == ([] if by_itself else [("id", "amount")]), "unless the mode makes one row a key of them"
    assert set(KEYED) == {name for name, one in MODES.items() if one.needs_keys}


@pytest.mark.spark
def test_d14_one_row_without_one_part_of_its_key_stops_the_write(lake: Lake) -> None:
    """The guard spoke only if every row had no key at all."""
    record = lake.run(contract("a b v", {"mode": "upsert", "keys": ["a", "b"]}), "a,b,v\nx,1,1\nx,,2\ny,1,3\n")
    assert (record.status, record.error_class) == ("failed", "QualityError")
    assert "1 accepted row(s) have no value in their key (a, b)" in (record.error or "")
    assert lake.state() is None


# ------------------------------------------------------------------ failures, batches, types, names


@pytest.mark.spark
def test_d15_every_failure_leaves_evidence_and_says_what_is_wrong(lake: Lake) -> None:
    """Failures before the write left no evidence and came as raw errors; others were told as a line of a stack."""
    lake.land("id,n\na,0\n")
    no_source = contract("id", APPEND, source={"table": "b.nothing"})
    no_column = {**contract("", APPEND), "quality": [{"check": "missing > 1"}]}
    no_number = contract("id q:double", APPEND, transform=[{"derive": {"q": "1 / CAST(n AS INT)"}}])
    words = ["b.nothing, which does not exist yet", "UNRESOLVED_COLUMN", "DIVIDE_BY_ZERO"]
    records = [lake.run(document) for document in (no_source, no_column, no_number)]
    for record, expected in zip(records, words, strict=True):
        assert record.status == "failed"
        assert expected in (record.error or "")
        assert not {"\n", ".scala:", "org.apache"} & {
            part for part in ("\n", ".scala:", "org.apache") if part in (record.error or "")
        }
    told = {record.run_id: record.error for record in api.runs(lake.project)}
    assert told == {record.run_id: record.error for record in records}
    with pytest.raises(LakepactExecutionError, match="DIVIDE_BY_ZERO") as raised:
        api.run_contract(api.contract_from(no_number, lake.project), lake.project, spark=lake.spark)
    assert raised.value.result.error_message == raised.value.record.error


@pytest.mark.spark
def test_d16_a_batch_is_known_by_the_tables_own_log(lake: Lake) -> None:
    """That a batch was written stood only in a log of runs, written later; schema and rejects were committed first."""
    write = {**APPEND, "idempotency_key": "k"}
    first = lake.run(contract("id", write), "id\na\n")
    shutil.rmtree(lake.project.root / ".lakepact")  # as if the run had died between its commit and its record
    again = lake.run(contract("id", write))
    assert (first.status, again.status, again.skipped_by) == ("success", "skipped", first.run_id)
    assert lake.rows("id") == [("a",)]
    rules = [{"check": "n < 5"}, {"name": "no_seven", "check": "n <> 7", "action": "fail"}]
    failed = lake.run(contract("id n:int more", APPEND, quality=rules), "id,n,more\nb,6,x\nc,7,x\nd,1,x\n")
    assert failed.status == "failed"
    assert (lake.version(), lake.state("s.t_quarantine")) == (first.version_after, None)


def test_d16_the_four_policies_differ() -> None:
    """rerun_if_failed did the same as skip_if_success."""

    def action(policy: str, done: int | None, failed: bool) -> str:
        write = Write.model_validate({"mode": "append", "idempotency_key": "k", "idempotency_policy": policy})
        return decide(write, done, failed).action

    told = {policy: action(policy, 1, True) for policy in ("always_run", "skip_if_success", "rerun_if_failed")}
    assert told == {"always_run": "run", "skip_if_success": "skip", "rerun_if_failed": "run"}
    assert action("rerun_if_failed", 1, False) == "skip"
    assert action("fail_if_success", 1, False) == "fail"
    assert issubclass(AlreadyWrittenError, LakepactExecutionError)


@pytest.mark.spark
def test_d16_deletes_and_new_versions_are_one_commit(history: tuple[Lake, RunRecord, RunRecord]) -> None:
    """Deletes of a history were a commit of their own: a run that died after it had closed rows and opened none."""
    lake, first, second = history
    newer = (second.version_after or 0) - (first.version_after or 0)
    operations = [one["operation"] for one in lake.delta().history(newer)]
    assert operations == ["MERGE", "ADD COLUMNS"]
    assert lake.rows("id", "is_current")[-1] == ("c", False)


@pytest.mark.spark
def test_d17_a_safe_upcast_is_taken_and_a_value_that_does_not_fit_is_not_cut(lake: Lake) -> None:
    """An int was refused for a bigint column."""
    frame = lake.spark.sql("SELECT id, n FROM VALUES (1, 5L), (2, 3000000000L) AS rows(id, n)")
    record = lake.run(contract("id:bigint n:int", APPEND, source=HANDED_OVER), frame=frame)
    assert (record.status, record.rows.inserted, record.rows.quarantined) == ("quarantined", 1, 1)
    assert lake.rows("id", "n") == [(1, 5)]
    assert lake.rows("n", "_reasons", table="s.t_quarantine") == [("3000000000", ["malformed_n"])]
    state = lake.state()
    assert state is not None
    assert state.columns == {"id": "bigint", "n": "int"}


@pytest.mark.parametrize(
    ("there", "wanted"), [("decimal(10,2)", "decimal(10,4)"), ("bigint", "double"), ("bigint", "int")]
)
def test_d17_a_lossy_change_of_type_is_refused(there: str, wanted: str) -> None:
    """Types that lose digits were called wider."""
    made = planned_contract(columns=[{"name": "id"}, {"name": "n", "type": wanted}])
    with pytest.raises(PlanError, match=f"column n is {there[:6]}"):
        plan(made, World(target=TableState(1, {"id": "string", "n": there})))


def test_d18_several_keys_are_a_list_and_mean_the_same_everywhere(tmp_path: Path) -> None:
    """ "a,b" was one key to the plan and two to the rules."""
    project, columns = default_project(tmp_path), {"a": "string", "b": "string", "v": "int"}
    with pytest.raises(ContractError, match="write several as a list"):
        api.contract_from(theirs("scd1_upsert", columns, merge_keys="a,b"), project)
    made = api.plan_of(api.contract_from(theirs("scd1_upsert", columns, merge_keys=["a", "b"]), project), project)
    assert [rule.keys for rule in made.rules if isinstance(rule, KeyRule)] == [("a", "b")]
    assert "ON t.`a` = s.`a` AND t.`b` = s.`b`\n" in made.write
    assert "`a` IS NULL OR `b` IS NULL" in dict(made.judgement.metrics)["null_keys"]


# ------------------------------------------------------------------ text is text

HOSTILE = [
    "it\\'s",
    "\\' OR 1=1 --",
    "\\",
    "\\\\'",
    'say \\"hi\\"',
    "two\nlines\\n\t\r",
    "\x00 ${env:HOME} ${spark.app.name} %s ? :x `tick`",
    json.dumps({"m": 'say "hi" \\'}),
]


@pytest.mark.spark
def test_s1_a_text_is_that_text_in_sql_and_in_evidence(make_project: MakeProject, spark: Any) -> None:
    """Only quotes were escaped, not backslashes: a text could leave its literal, and JSON was stored broken."""
    from lakepact.spark.session import new_session

    values = ", ".join(literal(text) for text in HOSTILE)
    assert list(new_session(spark).sql(f"SELECT array({values})").first()[0]) == HOSTILE

    lake = Lake(make_project([], store=[{"writer": "json"}, {"writer": "spark_table", "schema": "ops"}]), spark)
    text = "\\' OR '1'='1 -- ${env:HOME} " + HOSTILE[-1]
    frame = spark.createDataFrame([(text, "1"), (text, "2")], "id string, p string")
    upsert = contract("id p", {"mode": "upsert", "keys": "id"}, source=HANDED_OVER, description=text)
    failed = lake.run(upsert, frame=frame)
    assert text in (failed.error or ""), "a doubled key is shown as it is"
    assert lake.rows("error", table="ops.lakepact_runs") == [(failed.error,)]
    assert api.runs(lake.project)[0].error == failed.error

    lake = lake_in(lake.project.root / "other", spark)
    one = {"mode": "scd0_overwrite", "partition_column": "p", "partition_value": text}
    layout = {"partition_by": "p", "properties": {"note": text}}
    rule = {"name": text, "accepted_values": {"id": [text]}, "rejected_as": text}
    replace = contract("id p", one, source=HANDED_OVER, layout=layout, description=text, quality=[rule])
    good = lake.run(replace, frame=spark.createDataFrame([(text, text), ("other", text)], "id string, p string"))
    assert (good.status, lake.rows("id", "p")) == ("quarantined", [(text, text)])
    assert [told.failed for told in good.expectations if told.rule == text] == [1], "counted under the same name"
    assert lake.rows("id", "_reasons", table="s.t_quarantine") == [("other", [text])]
    state = lake.state()
    assert state is not None
    assert (state.comment, state.properties["note"]) == (text, text)


def test_s1_no_text_of_a_contract_opens_a_second_statement() -> None:
    """The same, where statements are made: every text of a contract stands inside its literal."""
    import sqlglot

    from lakepact.plan.explain import statements

    for text in HOSTILE:
        said: dict[str, Any] = {"description": text, "layout": {"properties": {"note": text}}}
        rule = {"name": text, "accepted_values": {"id": [text]}, "rejected_as": text}
        made: Contract = planned_contract(**said, quality=[rule])
        for step, statement in statements(plan(made)):
            assert len(sqlglot.parse(statement, dialect="spark")) == 1, step
