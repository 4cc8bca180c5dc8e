"""The write kernel: batches with a name, other writers, partitions, restated history."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from conftest import MakeProject
from lakepact import api
from lakepact.contract.project import Project
from lakepact.errors import AlreadyWrittenError
from lakepact.evidence.record import RunRecord
from lakepact.site import Watch

pytestmark = pytest.mark.spark

COLUMNS = [{"name": "id"}, {"name": "v", "type": "int"}]
FILE = {"path": "{path.landing}/in.csv"}
# So many rows that the batch is compared with the table first, and not merged as it is.
MANY = "".join(f"row {number},0\n" for number in range(400))


def contract(**write: Any) -> dict[str, Any]:
    return {"table": "s.t", "source": FILE, "columns": COLUMNS, "write": write}


def table(project: Project) -> DeltaTable:
    return DeltaTable(project.table("s.t").path or "")


def values(project: Project, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names or ("id", "v")) for row in api.rows(project, "s.t"))


# ------------------------------------------------------------------ batches with a name


def test_a_batch_with_a_name_is_added_once(make_project: MakeProject, spark: Any) -> None:
    project = make_project([contract(mode="append", idempotency_key="day-1")], {"landing/in.csv": "id,v\na,1\n"})
    (first,) = api.run(project, spark=spark)
    reads: list[str] = []
    (again,) = api.run(project, spark=spark, watch=Watch(step=lambda table, step, outcome: reads.append(step)))
    assert (again.status, again.ok, again.skipped_by) == ("skipped", True, first.run_id)
    assert reads == [], "decided before the source is read"
    assert values(project) == [("a", 1)]
    assert table(project).transaction_version("lakepact/day-1") == 1
    project = make_project([contract(mode="append", idempotency_key="day-2")])
    api.run(project, spark=spark)
    assert values(project) == [("a", 1), ("a", 1)], "another name is another batch"


def test_a_batch_that_must_not_come_twice_fails(make_project: MakeProject, spark: Any) -> None:
    write = {"mode": "append", "idempotency_key": "k", "idempotency_policy": "fail_if_success"}
    project = make_project([contract(**write)], {"landing/in.csv": "id,v\na,1\n"})
    api.run(project, spark=spark)
    with pytest.raises(AlreadyWrittenError, match="'k' was already written") as error:
        api.run(project, spark=spark)
    assert error.value.record.status == "failed"
    assert error.value.result.to_dict()["status"] == "FAILED"
    assert values(project) == [("a", 1)]


def test_after_a_failure_the_batch_is_run_again(make_project: MakeProject, spark: Any) -> None:
    write = {"mode": "append", "idempotency_key": "k", "idempotency_policy": "rerun_if_failed"}
    rule = {"quality": [{"min_rows": 2}]}
    project = make_project([{**contract(**write), **rule}], {"landing/in.csv": "id,v\na,1\n"})
    (failed,) = api.run(project, spark=spark, raise_on_failure=False)
    assert (failed.status, failed.idempotency_key) == ("failed", "k")
    project = make_project([{**contract(**write), **rule}], {"landing/in.csv": "id,v\na,1\nb,2\n"})
    (good,) = api.run(project, spark=spark)
    (skipped,) = api.run(project, spark=spark)
    assert (good.status, skipped.status) == ("success", "skipped")
    # Only this policy looks at the last attempt, not at any success: a failure after a success runs again.
    always = make_project([{**contract(**write | {"idempotency_policy": "always_run"}), "quality": [{"min_rows": 9}]}])
    api.run(always, spark=spark, raise_on_failure=False)
    project = make_project([{**contract(**write), **rule}])
    (again,) = api.run(project, spark=spark)
    assert again.status == "success"
    assert table(project).transaction_version("lakepact/k") == 2


@pytest.mark.parametrize("write", [{"mode": "append"}, {"mode": "scd1_upsert", "keys": "id"}], ids=["append", "upsert"])
def test_two_runs_of_one_batch_write_it_once(write: dict[str, Any], make_project: MakeProject, spark: Any) -> None:
    """Both decide to run before either has written; the transaction in the commit lets one of them through."""
    project = make_project([contract(**write, idempotency_key="k")], {"landing/in.csv": "id,v\na,1\n"})
    together = threading.Barrier(2)

    def wait(table: str, step: str, outcome: Any) -> None:
        if step == "write":
            together.wait(timeout=60)

    records = _at_once(project, spark, Watch(step=wait), 2)
    assert sorted(record.status for record in records) == ["skipped", "success"]
    assert values(project) == [("a", 1)]


# ------------------------------------------------------------------ other writers


def test_writers_at_once_lose_nothing(make_project: MakeProject, spark: Any, tmp_path: Path) -> None:
    """Four upserts that begin with no table at all, each with a key of its own and one they share."""
    project = make_project([contract(mode="upsert", keys="id")])
    for number in range(4):
        (tmp_path / f"in{number}.csv").write_text(f"id,v\nown{number},{number}\nshared,{number}\nbad,x\n")
    options = [api.Options((f"source.path={tmp_path}/in{number}.csv",)) for number in range(4)]
    records = _together([lambda n=n: api.run(project, ["s.t"], options[n], spark=spark) for n in range(4)])
    assert all(record.balanced for record in records)
    found = dict(values(project))
    assert {name: found[name] for name in found if name != "shared"} == {f"own{n}": n for n in range(4)}
    assert found["shared"] in range(4)
    assert len(api.rows(project, "s.t_quarantine")) == 1, "the same rejected row is kept once"


@pytest.mark.alone
def test_a_write_between_look_and_merge_is_seen(make_project: MakeProject, spark: Any) -> None:
    """Another job changes a row that our batch did not think had to change: our batch is applied to what is there."""
    project = make_project([contract(mode="upsert", keys="id")], {"landing/in.csv": f"id,v\na,1\nb,1\n{MANY}"})
    api.run(project, spark=spark)
    project = make_project([contract(mode="upsert", keys="id")], {"landing/in.csv": f"id,v\na,1\nb,2\n{MANY}"})
    path = project.table("s.t").path
    from lakepact.spark import run as running

    original, meddled = running._has_changes, []

    def meddle(run: Any) -> bool:
        found = original(run)
        if not meddled:
            meddled.append(spark.sql(f"UPDATE delta.`{path}` SET v = 99 WHERE id = 'a'").collect())
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_has_changes", meddle)
        (record,) = api.run(project, spark=spark)
    assert values(project)[:2] == [("a", 1), ("b", 2)]
    assert (record.balanced, record.rows.updated, record.tries) == (True, 2, 2)


@pytest.mark.alone
def test_conflicts_are_given_up_after_the_tries_allowed(make_project: MakeProject, spark: Any) -> None:
    write = {"mode": "upsert", "keys": "id", "retry_attempts": 2, "retry_backoff_seconds": 0}
    project = make_project([contract(**write)], {"landing/in.csv": f"id,v\na,1\n{MANY}"})
    api.run(project, spark=spark)
    project = make_project([contract(**write)], {"landing/in.csv": f"id,v\na,2\n{MANY}"})
    path = project.table("s.t").path
    from lakepact.spark import run as running

    original = running._has_changes

    def meddle(run: Any) -> bool:
        spark.sql(f"UPDATE delta.`{path}` SET v = v + 10 WHERE id = 'a'").collect()
        return original(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_has_changes", meddle)
        (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert (record.status, record.tries) == ("failed", 2)
    assert "other writers" in (record.error or "")


# ------------------------------------------------------------------ partitions


@pytest.mark.parametrize("mode", ["scd1_upsert", "scd1_hash_diff", "cdc_merge"])
def test_keys_that_move_or_have_no_partition_stay_one_row(mode: str, make_project: MakeProject, spark: Any) -> None:
    cdc = {"sequence_by": "n", "op_column": "op"} if mode == "cdc_merge" else {}
    document = {
        "table": "s.t",
        "source": FILE,
        "columns": [{"name": "id"}, {"name": "p"}, {"name": "n", "type": "int"}, {"name": "op"}],
        "layout": {"partition_by": "p"},
        "write": {"mode": mode, "keys": "id", "merge_partition_column": "p", **cdc},
    }
    rows = "".join(
        f"{name},{part},1,I\n" for name, part in zip("abcdef", ["x", "y", "z", "", "w", "it's"], strict=True)
    )
    project = make_project([document], {"landing/in.csv": f"id,p,n,op\n{rows}"})
    api.run(project, spark=spark)
    moved = "a,y,2,U\nb,y,2,U\nd,x,2,U\nf,,2,U\ng,x,2,I\n"
    project = make_project([document], {"landing/in.csv": f"id,p,n,op\n{moved}"})
    (record,) = api.run(project, spark=spark)
    wanted = [("a", "y"), ("b", "y"), ("c", "z"), ("d", "x"), ("e", "w"), ("f", None), ("g", "x")]
    assert sorted((row["id"], row["p"]) for row in api.rows(project, "s.t")) == wanted
    assert (record.rows.inserted, record.rows.updated) == (1, 4)


def test_a_merge_by_partition_looks_into_no_other(make_project: MakeProject, spark: Any) -> None:
    """Files of other partitions are taken away: a merge that looked for them would fail."""
    columns = [{"name": "id"}, {"name": "p"}]
    write = {"mode": "scd1_upsert", "keys": "id", "merge_partition_column": "p"}
    layout = {"layout": {"partition_by": "p"}}
    document = {"table": "s.t", "source": FILE, "columns": columns, "write": write, **layout}
    project = make_project([document], {"landing/in.csv": "id,p\na,x\nb,y\n"})
    api.run(project, spark=spark)
    (plan,) = api.plans(project)
    for file in Path(project.table("s.t").path or "").glob("p=y/*.parquet"):
        file.unlink()
    session = spark.newSession()
    changed = "SELECT 'a' AS id, 'x' AS p, 'update' AS _effect, 'x' AS _was_in"
    session.sql(changed).createOrReplaceTempView("changes")
    for statement in (*plan.find_partitions, plan.write):
        session.sql(statement).collect()
    assert table(project).history(1)[0]["operationMetrics"]["numTargetRowsUpdated"] == "1"


# ------------------------------------------------------------------ restated history


def test_history_is_told_anew_from_a_moment_on(make_project: MakeProject, spark: Any) -> None:
    columns = [{"name": "id"}, {"name": "v"}, {"name": "at", "type": "timestamp"}]
    write = {"mode": "scd2_historical", "keys": "id", "effective_from": "at"}
    document = {"table": "s.t", "source": FILE, "columns": columns, "write": write}
    days = "id,v,at\na,1,2026-01-01\na,2,2026-01-05\na,3,2026-01-09\nb,1,2026-01-02\nb,9,2026-01-06\nc,1,2026-01-07\n"
    project = make_project([document], {"landing/in.csv": days})
    api.run(project, spark=spark)
    restated = {**document, "write": {**write, "restate_from": "2026-01-05"}}
    project = make_project([restated], {"landing/in.csv": "id,v,at\na,7,2026-01-06\n"})
    api.run(project, spark=spark)

    def told() -> list[tuple[str, str, str, bool]]:
        rows = api.rows(project, "s.t")
        return sorted((r["id"], r["v"], f"{r['valid_from']:%d}", r["is_current"]) for r in rows)

    wanted = [("a", "1", "01", False), ("a", "7", "06", True), ("b", "1", "02", True)]
    assert told() == wanted
    (again,) = api.run(project, spark=spark)
    assert (told(), again.rows.unchanged) == (wanted, 1)
    project = make_project([restated], {"landing/in.csv": "id,v,at\na,7,2026-01-04\n"})
    (early,) = api.run(project, spark=spark, raise_on_failure=False)
    assert "older than 2026-01-05" in (early.error or "")


# ------------------------------------------------------------------ commits


def test_a_run_makes_at_most_three_commits(make_project: MakeProject, spark: Any) -> None:
    project = make_project([contract(mode="upsert", keys="id")], {"landing/in.csv": "id,v\na,1\nb,x\n"})
    api.run(project, spark=spark)
    assert _commits(project) == 3, "the table, its rows, and the rejected rows with theirs"
    project = make_project([contract(mode="upsert", keys="id")], {"landing/in.csv": "id,v\na,2\nc,x\n"})
    api.run(project, spark=spark)
    assert _commits(project) == 5


def _commits(project: Project) -> int:
    quarantine = DeltaTable(project.table("s.t_quarantine").path or "")
    return table(project).version() + 1 + quarantine.version() + 1


def _at_once(project: Project, spark: Any, watch: Watch, runs: int) -> list[RunRecord]:
    return _together([lambda: api.run(project, spark=spark, watch=watch) for _ in range(runs)])


def _together(works: list[Any]) -> list[RunRecord]:
    found: list[RunRecord] = []
    threads = [threading.Thread(target=lambda work=work: found.extend(work())) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(works), "a run raised"
    return found


# ------------------------------------------------------------------ keys that stand twice


@pytest.mark.parametrize("mode", ["scd1_upsert", "scd1_hash_diff", "snapshot_soft_delete"])
def test_doubles_are_found_in_typed_files_that_are_compared(mode: str, make_project: MakeProject, spark: Any) -> None:
    """Also of rows that say nothing new, and named by value; rows of other keys are counted as ever."""
    project = make_project([])
    landing = str(project.root / "landing" / "in")
    source = {"path": landing, "format": "parquet", "complete": True}
    project = make_project([{**contract(mode=mode, keys="id"), "source": source}])

    def land(*rows: tuple[str, int]) -> RunRecord:
        frame = spark.createDataFrame(list(rows), "id STRING, v INT").coalesce(1)
        frame.write.mode("overwrite").parquet(landing)
        return api.run(project, spark=spark, raise_on_failure=False)[0]

    land(("a", 1), ("b", 1))
    refused = land(("a", 1), ("a", 1), ("b", 2))
    assert (refused.error_class, refused.version_after) == ("QualityError", None)
    assert "id stands more than once; a" in (refused.error or "")
    assert values(project) == [("a", 1), ("b", 1)]
    good = land(("a", 1), ("b", 2), ("c", 1))
    assert (good.rows.inserted, good.rows.updated, good.rows.unchanged) == (1, 1, 1)
    assert {e.rule: e.success for e in good.expectations} == {"unique_keys": True}
