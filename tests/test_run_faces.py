"""TableWriter and TableReader: the one run path, with a DataFrame in hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject, project_in
from lakepact import TableReader, TableWriter, api, ingest
from lakepact.contract.project import Project
from lakepact.errors import ContractError, PlanError, ProjectError, QualityError

pytestmark = pytest.mark.spark

CONTRACT = {
    "table": "silver.products",
    "source": {"path": "{path.landing}/in.csv"},
    "columns": [
        {"name": "id", "type": "int"}, {"name": "kind"}, {"name": "price", "type": "decimal(10,2)"},
        {"name": "day", "type": "date"},
    ],
    "transform": [{"stamp": ["created_at"]}],
    "write": {"mode": "scd1_upsert", "keys": "id"},
    "layout": {"partition_by": ["kind"], "properties": {"delta.enableChangeDataFeed": "true"}},
}  # fmt: skip


@pytest.fixture
def project(make_project: MakeProject) -> Project:
    return make_project([CONTRACT])


AHEAD = {"project": lambda folder, spark: project_in(folder, [CONTRACT])}


def rows(project: Project) -> list[tuple[Any, ...]]:
    return [(row["id"], row["kind"], str(row["price"])) for row in api.rows(project, "silver.products")]


def test_a_frame_is_written_and_read(project: Project, spark: Any) -> None:
    writer = TableWriter("contracts/c0.yaml", project=project, spark=spark)
    reader = TableReader("contracts/c0.yaml", project=project, spark=spark)
    with pytest.raises(ProjectError, match="run its contract first"):
        reader.read()

    def frame(text: str) -> Any:
        return spark.sql(f"SELECT * FROM VALUES {text} AS t(price, id, kind, day)")

    first = writer.overwrite(frame("('1.5', 1, 'a', '2026-01-01'), ('2', 2, 'b', '2026-01-01')"))
    assert (first.rows_inserted, first.status) == (2, "SUCCESS")
    assert rows(project) == [(1, "a", "1.50"), (2, "b", "2.00")], "by name, in the contract's types"
    writer.append(frame("('3', 3, 'b', '2026-01-02')"))
    changed = writer.upsert(frame("('9', 2, 'b', '2026-01-03'), ('4', 4, 'it''s', '2026-01-01')"), keys=["id"])
    assert (changed.rows_inserted, changed.rows_updated) == (1, 1)
    assert rows(project) == [(1, "a", "1.50"), (2, "b", "9.00"), (3, "b", "3.00"), (4, "it's", "4.00")]
    kept = writer.upsert(frame("('8', 2, 'b', '2027-01-01')"), update_columns=["price"])
    assert kept.rows_updated == 1
    assert [str(row["day"]) for row in api.rows(project, "silver.products") if row["id"] == 2] == ["2026-01-03"]
    writer.overwrite_partition(frame("('7', 7, 'b', '2026-01-01')"), {"kind": "b"})
    assert rows(project) == [(1, "a", "1.50"), (4, "it's", "4.00"), (7, "b", "7.00")]
    with pytest.raises(QualityError, match="do not belong to the partition"):
        writer.overwrite_partition(frame("('7', 7, 'c', '2026-01-01')"), {"kind": "b"})

    assert reader.read().count() == 3
    assert [row.id for row in reader.read(filter="price > 3", columns=["id"]).orderBy("id").collect()] == [4, 7]
    assert reader.read(version=first.table_version_after).count() == 2
    assert [row.id for row in reader.read_partition({"kind": "it's"}).collect()] == [4]
    assert reader.read_partition({"kind": "zz' OR '1'='1"}).count() == 0
    with pytest.raises(PlanError, match="not a partition column"):
        reader.read_partition({"price": 1})
    with pytest.raises(PlanError):
        reader.read(filter="1 = 1; DROP TABLE t")
    changes = reader.read_cdf(starting_version=first.table_version_after)
    assert {row["_change_type"] for row in changes.collect()} >= {"insert", "update_postimage", "delete"}
    stream = reader.read_stream(ignoreChanges=True)
    query = stream.writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
    query.awaitTermination()
    assert spark.table("seen").count() == 3

    assert writer.delete("price >= 4", preview=True) == 2
    assert len(rows(project)) == 3, "a preview deletes nothing"
    assert writer.delete("price >= 4") == 2
    assert rows(project) == [(1, "a", "1.50")]
    told = api.runs(project)[0]
    assert (told.mode, told.rows.deleted, told.status) == ("delete", 2, "success")
    with pytest.raises(PlanError):
        writer.delete("id IN (SELECT id FROM other)")


def test_rows_that_break_the_contract_are_set_aside(project: Project, spark: Any) -> None:
    writer = TableWriter(CONTRACT | {"quality": [{"check": "price > 0"}]}, project=project, spark=spark)
    frame = spark.sql("SELECT * FROM VALUES (1, 'a', 1.0, NULL), (2, 'a', -1.0, NULL) AS t(id, kind, price, day)")
    result = writer.append(frame, idempotency_key="k")
    assert (result.rows_inserted, result.rows_quarantined, result.quality_status) == (1, 1, "QUARANTINED")
    again = writer.append(frame, idempotency_key="k")
    assert (again.status, again.skipped_by_run_id) == ("SKIPPED", result.run_id)
    with pytest.raises(QualityError, match="lacks the column"):
        writer.append(frame.drop("price"))
    with pytest.raises(QualityError, match="would empty the table"):
        writer.overwrite(frame.where("FALSE"))
    assert rows(project) == [(1, "a", "1.00")]


def test_a_frame_can_be_ingested_by_any_contract(project: Project, spark: Any) -> None:
    frame = spark.sql("SELECT 1 AS id, 'a' AS kind, 1.0 AS price, NULL AS day")
    result = ingest("contracts/c0.yaml", source=frame, project=project, spark=spark, idempotency_key="x")
    assert (result.rows_inserted, result.source, result.idempotency_key) == (1, "dataframe", "x")
    with pytest.raises(ContractError, match="either a contract or its parts: mode"):
        ingest("contracts/c0.yaml", source=frame, mode="append", project=project, spark=spark)


def test_a_full_disk_ends_as_a_typed_error(project: Project, spark: Any, tmp_path: Path) -> None:
    """A real one: the warehouse lies on a file system of 200 KB, where this machine lets us make one."""
    import subprocess

    small = tmp_path / "warehouse"
    small.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(small)], capture_output=True)
    if made.returncode:
        pytest.skip("no right to mount a small file system here")
    try:
        frame = spark.range(1, 40_000).selectExpr("id", "CAST(uuid() AS STRING) AS kind", "1 AS price", "NULL AS day")
        with pytest.raises(api.LakepactExecutionError, match="No space left on device") as error:
            TableWriter(CONTRACT | {"layout": {}}, project=project, spark=spark).append(frame)
        assert error.value.record.status == "failed"
        assert error.value.result.error_class == "EngineError"
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)
