"""Defects found in DKOps (D1 to D15, D18 to D21, S1, S2), each as a test that would find it here.

Files that are remembered and streams are not built yet; D1, D2 and D20 are asked of what takes their place: batches
with a name, keys that are added once, and columns that only the contract decides on.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from builders import contract as planned_contract
from builders import plan
from lakepact import TableReader, TableWriter, api, jobs
from lakepact.contract.project import default_project
from lakepact.errors import ContractError, PlanError
from lakepact.plan.migration import make_migration
from lakepact.plan.state import TableState
from lakepact.table_governance import SafeMigrator
from peers import HANDED_OVER, Lake, contract, lake_in

APPEND = {"mode": "scd0_append"}
COLUMNS = [{"name": "id", "type": "STRING"}, {"name": "v", "type": "STRING"}, {"name": "at", "type": "INTEGER"}]
Rows = dict[tuple[Any, ...], dict[str, Any]]


AHEAD = {"lake": lake_in}


@pytest.fixture
def lake(tmp_path: Path, spark: Any) -> Lake:
    return lake_in(tmp_path, spark)


def theirs(
    folder: Path, columns: list[dict[str, Any]] = COLUMNS, table: dict[str, Any] | None = None, **said: Any
) -> Any:
    """An ingestion contract in DKOps' own words, with its table's JSON beside it."""
    described = {"catalog": "c", "schema": "s", "name": "t", "columns": columns, **(table or {})}
    (folder / "table.json").write_text(json.dumps(described), encoding="utf-8")
    (folder / "bronze.json").write_text(json.dumps({**described, "name": "b"}), encoding="utf-8")
    return {"name": "load", "destination_contract": "table.json", **said}


# ------------------------------------------------------------------ files that come and go


@pytest.mark.spark
def test_d1_a_second_file_of_a_day_leaves_the_rows_of_the_first(lake: Lake) -> None:
    """The day's partition was overwritten with what lay in the folder: rows of files already archived were lost."""
    stamped = [*COLUMNS, {"name": "_ingested_date", "type": "DATE"}]
    document = theirs(
        lake.project.root, stamped, {"partitions": ["_ingested_date"]}, load_type="incremental",
        source={"format": "csv", "path": "landing/day"},
    )  # fmt: skip
    first = lake.land("id,v,at\na,1,1\n", "day/a.csv")
    lake.run(document)
    first.unlink()
    lake.land("id,v,at\nb,2,2\n", "day/b.csv")
    lake.run(document)
    found = lake.rows("id", "_ingested_date", "_source_file", table="c.s.t")
    assert [(id_, Path(file).name) for id_, _, file in found] == [("a", "a.csv"), ("b", "b.csv")]


@pytest.mark.spark
def test_d2_a_landing_file_is_loaded_once_whatever_the_day(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run read the whole folder again, and the next day under another date."""
    document = theirs(
        lake.project.root, [*COLUMNS, {"name": "_ingested_date", "type": "DATE"}], {"partitions": ["_ingested_date"]},
        load_type="incremental", source={"format": "csv", "path": "landing/day"},
    )  # fmt: skip
    lake.land("id,v,at\na,1,1\n", "day/a.csv")
    late = datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc)
    statuses = []
    for clock in (late, late.replace(day=2)):
        monkeypatch.setattr(jobs, "_now", lambda now=clock: now)
        statuses.append(lake.run(document).status)
    assert statuses == ["success", "skipped"]
    assert [str(day) for (day,) in lake.rows("_ingested_date", table="c.s.t")] == ["2026-01-01"]


@pytest.mark.spark
def test_d2_a_file_that_lies_there_the_next_day_is_not_loaded_twice(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was loaded again under the new date, which was one day in the log and another in the table."""
    late = datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc)
    step = [{"stamp": ["ingested_at", "ingested_date", "source_file"]}]
    named = contract("id v", {**APPEND, "idempotency_key": "in.csv"}, transform=step)
    by_key = contract("id v", {"mode": "append_dedup", "keys": "id"}, transform=step, table="s.k")
    lake.land("id,v\na,1\nb,2\n")
    statuses = []
    for clock in (late, late.replace(day=2)):
        monkeypatch.setattr(jobs, "_now", lambda now=clock: now)
        statuses += [lake.run(named).status, lake.run(by_key).status]
    assert statuses == ["success", "success", "skipped", "success"]
    for table in ("s.t", "s.k"):
        stamps = [("a", date(2026, 1, 1), late), ("b", date(2026, 1, 1), late)]
        assert lake.rows("id", "_ingested_date", "_ingested_at", table=table) == stamps
    assert {record.started_at.date() for record in api.runs(lake.project)} == {date(2026, 1, 1), date(2026, 1, 2)}


# ------------------------------------------------------------------ change events


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> tuple[Lake, Rows]:
    """Two files of events, deletes kept as marks; each key is for one test."""
    lake = lake_in(tmp_path_factory.mktemp("marked"), spark)
    document = contract("site id v at:int op_type", {"mode": "cdc_merge", "keys": ["site", "id"], "sequence_by": "at"})
    lake.run(document, (
        "site,id,v,at,op_type\n"
        "A,late,new,10,U\n"
        "A,kept,keepme,1,I\n"
        "A,unseen,,5,D\n"
        "A,unknown,first,1,I\nA,unknown,second,2,UPDATE\n"
        "A,small,x,1,i\n"
    ))  # fmt: skip
    lake.run(document, (
        "site,id,v,at,op_type\n"
        "A,late,old,5,U\n"
        "A,kept,,2,D\n"
        "A,unseen,ghost,3,I\n"
        "A,other,z,1,r\n"
        "A,small,,2,d\n"
    ))  # fmt: skip
    names = ("site", "id", "v", "at", "is_deleted")
    return lake, {row[:2]: dict(zip(names, row, strict=True)) for row in lake.rows(*names)}


@pytest.mark.spark
def test_d3_a_late_event_does_not_overwrite_a_newer_one(marked: tuple[Lake, Rows]) -> None:
    """An older event in a later file won."""
    late = marked[1]["A", "late"]
    assert (late["v"], late["at"], late["is_deleted"]) == ("new", 10, False)


@pytest.mark.spark
def test_d4_a_delete_keeps_the_last_values_and_makes_no_ghost(marked: tuple[Lake, Rows]) -> None:
    """The empty columns of a delete event overwrote the row's values; a key never seen became a row like any other."""
    rows = marked[1]
    assert (rows["A", "kept"]["v"], rows["A", "kept"]["is_deleted"]) == ("keepme", True)
    unseen = rows["A", "unseen"]
    assert (unseen["v"], unseen["at"], unseen["is_deleted"]) == (None, 5, True), "a mark, against older events"
    assert {key[1] for key, row in rows.items() if not row["is_deleted"]} == {"late", "unknown"}


@pytest.mark.spark
def test_d5_an_unknown_operation_is_set_aside_and_hides_nothing(marked: tuple[Lake, Rows]) -> None:
    """Events with other words were dropped without a trace, after they had hidden the known event before them."""
    lake, rows = marked
    assert (rows["A", "unknown"]["v"], rows["A", "unknown"]["at"]) == ("first", 1)
    assert rows["A", "small"]["is_deleted"] is True, "upper and lower case mean the same"
    aside = lake.rows("id", "op_type", "_reasons", table="s.t_quarantine")
    assert aside == [("other", "r", ["unknown_operation"]), ("unknown", "UPDATE", ["unknown_operation"])]


@pytest.mark.spark
def test_d5_a_file_of_unknown_operations_is_no_error_of_the_engine(lake: Lake) -> None:
    """The run ended with a view that could not be found."""
    write = {"mode": "cdc_merge", "keys": "id", "sequence_by": "at"}
    record = lake.run(contract("id at:int op_type", write), "id,at,op_type\na,1,r\nb,1,UPDATE\n")
    assert (record.status, record.rows.read, record.rows.quarantined) == ("quarantined", 2, 2)
    assert lake.rows("id") == []


@pytest.fixture(scope="module")
def removed(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> list[tuple[Any, ...]]:
    """The keys that are left after deletes that really delete, one of them with a key that is SQL."""
    lake = lake_in(tmp_path_factory.mktemp("removed"), spark)
    write = {"mode": "cdc_merge", "keys": ["site", "id"], "sequence_by": "at", "hard_delete": True}
    document = contract("site id at:int op_type", write)
    lake.run(document, "site,id,at,op_type\nA,1,1,I\nA,2,1,I\nzzz,1,1,I\n")
    lake.run(document, "site,id,at,op_type\nA,1,2,D\nzzz') OR ('1'='1,1,2,D\n")
    return lake.rows("site", "id")


@pytest.mark.spark
def test_d6_a_delete_goes_by_all_keys(removed: list[tuple[Any, ...]]) -> None:
    """Only the first key column was looked at: rows that shared it went too."""
    assert ("A", "1") not in removed
    assert ("A", "2") in removed


@pytest.mark.spark
def test_s1_a_key_that_is_sql_deletes_nothing_else(removed: list[tuple[Any, ...]]) -> None:
    """One delete event with SQL in its key emptied the table."""
    assert removed == [("A", "2"), ("zzz", "1")]


# ------------------------------------------------------------------ keys and order


@pytest.mark.spark
def test_d7_append_dedup_adds_a_key_once_and_never_takes_a_broken_table_for_a_new_one(lake: Lake) -> None:
    """Doubles within a batch stayed, and any error while the table was read meant that all was added again."""
    document = contract("id v", {"mode": "append_dedup", "keys": "id"})
    first = lake.run(document, "id,v\na,1\na,2\nb,3\n")
    assert (first.rows.inserted, lake.rows("id")) == (2, [("a",), ("b",)])
    again = lake.run(document, "id,v\na,2\nb,3\nb,4\n")
    assert (again.rows.inserted, lake.rows("id")) == (0, [("a",), ("b",)])
    for file in Path(lake.project.table("s.t").path or "").glob("*.parquet"):
        file.unlink()
    broken = lake.run(document, "id,v\na,2\n")
    assert (broken.status, broken.error_class) == ("failed", "EngineError")
    assert lake.version() == first.version_after


@pytest.mark.parametrize("mode", ["append_dedup", "full_merge", "cdc_merge"])
def test_d7_a_merge_without_keys_is_refused(mode: str) -> None:
    """Without merge_keys all rows were added again on every run."""
    with pytest.raises(PlanError, match="needs keys"):
        plan(planned_contract(write={"mode": mode}))


@pytest.mark.spark
def test_d8_a_row_without_a_key_does_not_come_again_with_every_run(lake: Lake) -> None:
    """Each run added one more row for a key that is NULL."""
    stopped = lake.run(contract("id v", {"mode": "full_merge", "keys": "id"}), "id,v\na,1\n,2\n")
    assert (stopped.status, stopped.error_class, lake.state()) == ("failed", "QualityError", None)
    kept = contract("id v", {"mode": "append_dedup", "keys": "id", "null_keys": "keep"})
    for _ in range(2):
        lake.run(kept)
        assert lake.rows("id", "v") == [("a", "1"), (None, "2")]


@pytest.mark.parametrize("strategy", ["full_merge", "cdc_merge", "append_dedup"])
def test_d9_a_misspelt_watermark_is_refused(strategy: str, tmp_path: Path) -> None:
    """With a column that is not there any row of a key was kept, the old one for example."""
    columns = [*COLUMNS, {"name": "op_type", "type": "STRING"}]
    said = {"source_contract": "bronze.json", "strategy": strategy, "merge_keys": ["id"]}
    project = default_project(tmp_path)
    assert api.contract_from(theirs(tmp_path, columns, **said, watermark_col="at"), project).write
    with pytest.raises(ContractError, match=r"unknown column 'att'; did you mean 'at'\?"):
        api.contract_from(theirs(tmp_path, columns, **said, watermark_col="att"), project)


def test_d9_rows_of_the_same_moment_have_an_order() -> None:
    """Of two rows with the same watermark either could win."""
    steps = [{"deduplicate": {"keys": "id", "order_by": "at DESC"}}]
    assert "ORDER BY at DESC, `id`, `amount`, `at`)" in plan(planned_contract(transform=steps)).judgement.sql
    columns = [{"name": "id"}, {"name": "v"}, {"name": "at", "type": "int"}, {"name": "op_type"}]
    for mode in ("cdc_merge", "append_dedup"):
        made = plan(planned_contract(columns=columns, write={"mode": mode, "keys": "id", "sequence_by": "at"}))
        chosen = f"{made.changes or ''}{made.write}"
        ordered = "max(struct(`at`, `_gone`, `v`" if mode == "cdc_merge" else "min(struct(`at`, `v`"
        assert ordered in chosen


# ------------------------------------------------------------------ the contract's columns, and no others


@pytest.mark.spark
def test_d10_types_are_the_contracts_and_a_required_column_is_required(lake: Lake) -> None:
    """Tables got the types that the rows happened to have, and NULLs where the contract forbids them."""
    document = contract("name n:int amount:double day:date", APPEND)
    document["columns"][0]["nullable"] = False
    frame = lake.spark.sql(
        "SELECT name, 7L AS n, CAST(1.5 AS DECIMAL(5,2)) AS amount, TIMESTAMP '2026-01-01 00:00:00' AS day"
        " FROM VALUES ('a'), (NULL) AS rows(name)"
    )
    told = TableWriter(document, project=lake.project, spark=lake.spark).append(frame)
    assert (told.rows_inserted, told.rows_quarantined, told.quality_status) == (1, 1, "QUARANTINED")
    state = lake.state()
    assert state is not None
    assert state.columns == {"name": "string", "n": "int", "amount": "double", "day": "date"}
    assert state.required == {"name"}
    assert lake.rows("name", "n", "amount", "day") == [("a", 7, 1.5, date(2026, 1, 1))]


@pytest.mark.spark
def test_d11_what_cannot_be_read_is_set_aside_as_it_came(lake: Lake) -> None:
    """A broken JSON line became a row of NULLs and a column of its own; a bad number in a CSV became NULL."""
    lake.land('{"id": 1, "v": "a"}\n{"id": 2, "v": \n{"id": "x", "v": "c"}\n', "in.jsonl")
    lake.land("id,v\n4,d\ny,e\n5,f,g\n")
    kept: list[tuple[Any, ...]] = []
    for path, wanted in [("landing/in.jsonl", [(1, "a")]), ("landing/in.csv", [(1, "a"), (4, "d")])]:
        record = lake.run(contract("id:int v", APPEND, source={"path": path}))
        assert (record.status, record.rows.inserted, record.rows.quarantined) == ("quarantined", 1, 2)
        assert lake.rows("id", "v") == wanted
    kept = lake.rows("_reasons", "_row", table="s.t_quarantine")
    assert (
        sorted(reason for reasons, _ in kept for reason in reasons) == ["malformed_id"] * 2 + ["malformed_record"] * 2
    )
    assert all(any(part in row for _, row in kept) for part in ('\\"v\\": ', '"x"', '"y"', "5,f,g")), kept
    state = lake.state()
    assert state is not None
    assert set(state.columns) == {"id", "v"}


@pytest.mark.spark
def test_d12_a_surprise_column_stays_out_and_a_missing_one_is_named(lake: Lake) -> None:
    """Unknown columns were added to the table, or refused in the engine's words; so were missing ones."""
    document = contract("id v", APPEND)
    surprise = lake.run(document, "id,surprise,v\nb,x,2\n")
    assert surprise.status == "success"
    state = lake.state()
    assert state is not None
    assert (set(state.columns), lake.rows("id", "v")) == ({"id", "v"}, [("b", "2")])
    missing = lake.run(document, "id\nc\n")
    assert (missing.error_class, missing.error) == ("QualityError", "the source lacks the column(s) v; it brings id")
    assert lake.version() == state.version


# ------------------------------------------------------------------ whole or not at all


@pytest.mark.spark
def test_d13_an_overwrite_that_fails_leaves_the_table_as_it_was(lake: Lake) -> None:
    """The table was dropped before it was written: a write that failed left none. A first upsert kept doubles."""
    document = contract("id q:double", {"mode": "scd0_overwrite"}, transform=[{"derive": {"q": "1 / CAST(n AS INT)"}}])
    first = lake.run(document, "id,n\na,1\nb,2\n")
    failed = lake.run(document, "id,n\nc,1\nd,0\n")
    assert (failed.status, failed.failed_step, failed.error_class) == ("failed", "write", "EngineError")
    assert (lake.version(), lake.rows("id", "q")) == (first.version_after, [("a", 1.0), ("b", 0.5)])
    upsert = contract("id v", {"mode": "upsert", "keys": "id"}, table="s.new")
    doubled = lake.run(upsert, "id,v\na,1\na,2\n")
    assert (doubled.error_class, lake.state("s.new")) == ("QualityError", None)


# ------------------------------------------------------------------ migrations


def described(folder: Path, columns: list[dict[str, Any]], **said: Any) -> Path:
    """A table's JSON."""
    document = {"catalog": "c", "schema": "s", "name": "t", "columns": columns, **said}
    file = folder / "table.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


@pytest.mark.spark
def test_d14_a_migration_does_all_it_says_or_nothing(lake: Lake) -> None:
    """A required column, a bare ARRAY and a comment with a quote failed, and it said that all was done; the next
    plan listed them again."""
    root = lake.project.root
    made = described(root, COLUMNS, properties={"active": False})
    SafeMigrator(made, project=lake.project, spark=lake.spark).apply()
    with pytest.raises(ContractError, match="unknown type 'ARRAY'"):
        SafeMigrator(described(root, [*COLUMNS, {"name": "x", "type": "ARRAY"}]), project=lake.project)
    quoted = {"name": "w", "type": "ARRAY<STRING>", "comment": "it's; --"}
    needed = described(root, [*COLUMNS, quoted, {"name": "n", "type": "LONG", "nullable": False}])
    with pytest.raises(PlanError, match="column n is new and may not be NULL"):
        SafeMigrator(needed, project=lake.project, spark=lake.spark).apply()
    assert lake.version("c.s.t") == 0, "nothing is done where something is refused"
    commented = [{**COLUMNS[0], "comment": "l'id"}, *COLUMNS[1:], quoted]
    wanted = described(root, commented, comment="who's who", properties={"active": False, "change_data_feed": True})
    done = SafeMigrator(wanted, project=lake.project, spark=lake.spark).apply()
    assert [one.kind for one in done.operations] == ["add_columns", "column_comment", "set_properties", "table_comment"]
    state = lake.state("c.s.t")
    assert state is not None
    assert (state.columns["w"], state.comments, state.comment) == (
        "array<string>", {"id": "l'id", "w": "it's; --"}, "who's who",
    )  # fmt: skip
    assert SafeMigrator(wanted, project=lake.project).plan().is_empty


@pytest.mark.parametrize(
    ("columns", "said", "found"),
    [
        ([{"name": "id", "type": "LONG"}], {}, "column id is string in the table and bigint in the contract"),
        ([{"name": "id", "type": "STRING", "nullable": False}], {}, "column id may be NULL in the table"),
        ([{"name": "id", "type": "STRING"}], {}, "column v is in the table and not in the contract"),
        ([{"name": "id", "type": "STRING"}], {"partitions": ["id"]}, "partitioned by nothing and stays so"),
        ([{"name": "id", "type": "STRING"}], {"clustering": {"columns": ["id"]}}, "CLUSTER BY (`id`)"),
        ([{"name": "id", "type": "STRING"}], {"change_data_feed": True}, "'delta.enableChangeDataFeed' = 'true'"),
    ],
    ids=["type", "nullability", "dropped column", "partitions", "clustering", "change feed"],
)
def test_d15_every_difference_is_told(
    columns: list[dict[str, Any]], said: dict[str, Any], found: str, tmp_path: Path
) -> None:
    """The plan was empty where the table had another type, another layout or no change feed."""
    project = default_project(tmp_path)
    made = api.load_contract(described(tmp_path, columns, **said), project)
    state = TableState(0, {"id": "string", "v": "string"})
    assert found in str(make_migration(made, project.table("c.s.t"), state))


def test_d18_two_catalogs_are_two_tables_and_a_location_is_a_location(tmp_path: Path) -> None:
    """Locally the catalog was left out of the name: bronze and silver wrote the same table; locations were ignored."""
    project = default_project(tmp_path)
    documents = {name: {**contract("id", APPEND), "table": f"{name}.s.orders"} for name in ("bronze", "silver")}
    said = {"load_type": "incremental", "source": {"format": "csv", "path": "landing/in.csv"}}
    outside = {"type": "EXTERNAL", "location": str(tmp_path / "outside" / "orders")}
    documents["outside"] = theirs(tmp_path, COLUMNS, outside, **said)
    made = {name: api.plan_of(api.contract_from(one, project), project) for name, one in documents.items()}
    assert len({one.target.path for one in made.values()}) == 3
    assert made["outside"].target.path == str(tmp_path / "outside" / "orders")
    for one in made.values():
        assert f"INSERT INTO delta.`{one.target.path}` BY NAME" in one.write


@pytest.mark.spark
def test_d19_a_failed_write_leaves_the_session_as_it_was(lake: Lake) -> None:
    """A setting of the shared session was changed for a write, and stayed so where the write failed."""
    write = {"mode": "scd0_overwrite", "replace_partitions": True, "replace_partitions_source_complete": True}
    steps = [{"derive": {"q": "1 / CAST(n AS INT)"}}]
    document = contract("id q:double", write, transform=steps, layout={"partition_by": "id"})
    before = dict(lake.spark.conf.getAll)
    failed = lake.run(document, "id,n\na,1\nb,0\n")
    assert (failed.status, failed.failed_step) == ("failed", "write")
    assert dict(lake.spark.conf.getAll) == before


def test_d19_a_plain_overwrite_does_not_depend_on_the_session() -> None:
    """What was left behind made the next overwrite of a whole table one of some partitions."""
    made = plan(planned_contract(write={"mode": "scd0_overwrite"}, layout={"partition_by": "id"}))
    assert made.settings["spark.sql.sources.partitionOverwriteMode"] == "static"


@pytest.mark.spark
def test_d20_names_come_from_the_header_and_types_from_the_contract(lake: Lake) -> None:
    """Options were not used to find the columns, which were called _c0 and _c1; an empty folder could not be read."""
    document = contract("code n:int", APPEND, source={"path": "landing/day", "format": "csv"})
    lake.land("n,code\n", "day/empty.csv")
    empty = lake.run(document)
    assert (empty.status, empty.rows.read) == ("success", 0)
    state = lake.state()
    assert state is not None
    assert state.columns == {"code": "string", "n": "int"}
    lake.land("n,code\n7,007\n", "day/full.csv")
    lake.run(document)
    assert lake.rows("code", "n") == [("007", 7)]
    reader = TableReader(document, project=lake.project, spark=lake.spark)
    assert reader.read_stream().dtypes == [("code", "string"), ("n", "int")]


@pytest.mark.spark
def test_d20_an_empty_folder_is_a_batch_of_no_rows(lake: Lake) -> None:
    """The run ended with a schema that could not be inferred."""
    (lake.project.root / "landing" / "day").mkdir(parents=True)
    steps = [{"rename": {"Code": "code"}}, {"derive": {"twice": "CAST(n AS INT) * 2"}}, {"stamp": "source_file"}]
    source = {"path": "landing/day", "pattern": "*.csv", "filter": "kind = 'a'"}
    record = lake.run(contract("code n:int twice:int", APPEND, source=source, transform=steps))
    assert (record.status, record.rows.read, record.error) == ("success", 0, None)
    state = lake.state()
    assert state is not None
    assert state.columns == {"code": "string", "n": "int", "twice": "int", "_source_file": "string"}
    unsaid = lake.run({**contract("", APPEND), "source": {"path": "landing/day", "format": "csv"}})
    assert "no file tells the columns yet" in (unsaid.error or "")


@pytest.mark.spark
def test_d21_an_append_that_is_tried_again_adds_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there was no partition to overwrite rows were appended, and appended again on retry."""
    from lakepact.spark import run as running

    document = contract("id v", {**APPEND, "idempotency_key": "k", "retry_backoff_seconds": 0})
    own = running.commit

    def lost(session: Any, statement: str, *rest: Any) -> None:
        own(session, statement, *rest)
        if statement.startswith("INSERT"):
            raise ConnectionError("the answer never came")

    monkeypatch.setattr(running, "commit", lost)
    first = lake.run(document, "id,v\na,1\n")
    again = lake.run(document, "id,v\na,1\n")
    assert (first.status, first.rows.inserted, again.status) == ("success", 1, "skipped")
    assert lake.rows("id", "v") == [("a", "1")]


# ------------------------------------------------------------------ values are values


@pytest.mark.spark
def test_s2_a_partition_value_is_compared_as_a_value(lake: Lake) -> None:
    """A value with a quote in it became SQL: a read of one partition returned all."""
    text = "zz' OR '1'='1"
    document = contract("p v", APPEND, source=HANDED_OVER, layout={"partition_by": "p"}, description="it's `one`; --")
    frame = lake.spark.createDataFrame([("a", "1"), ("it's", "2")], "p string, v string")
    assert lake.run(document, frame=frame).status == "success"
    reader = TableReader(document, project=lake.project, spark=lake.spark)
    assert [reader.read_partition({"p": p}).count() for p in (text, "a", "it's")] == [0, 1, 1]
    for condition in ("p = 'a') OR (1 = 1", "p = 'a'; DROP TABLE t", "p = 'a' --", "v IN (SELECT v FROM t)"):
        with pytest.raises(PlanError):
            reader.read(filter=condition)
        with pytest.raises(PlanError):
            TableWriter(document, project=lake.project, spark=lake.spark).delete(condition)
    assert len(lake.rows("p")) == 2


@pytest.mark.parametrize("name", ["s.t`; DROP TABLE x", "s.t x", "s..t", "s.t'", "a.b.c.d", "../t"])
def test_s2_a_name_that_is_more_than_a_name_is_refused(name: str) -> None:
    """Names of tables stood unquoted in statements."""
    with pytest.raises(ValueError, match="is not a table name"):
        planned_contract(table=name)
