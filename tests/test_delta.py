"""Delta tables without a JVM: their state, their rows, their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import CommitProperties, QueryBuilder, write_deltalake

from lakepact.delta.tables import LogTables, list_tables, rows_of, spark_type
from lakepact.names import TableRef


def make_table(folder: Path, sql: str, note: str | None = None) -> TableRef:
    said = CommitProperties(custom_metadata={"userMetadata": note}) if note else None
    write_deltalake(folder, QueryBuilder().execute(sql).read_all(), mode="append", commit_properties=said)
    return TableRef("a.b", str(folder))


def test_a_table_that_is_not_there_has_no_state_and_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in ("nowhere", "empty"):
        table = TableRef("a.b", str(tmp_path / place))
        assert LogTables().state(table) is None
        assert LogTables().commit(table, "run", -1) is None
        assert rows_of(table, None) is None


def test_a_state_is_what_the_log_says(tmp_path: Path) -> None:
    make_table(tmp_path, "SELECT CAST(1 AS BIGINT) AS n, 'x' AS s, CAST(1.5 AS DECIMAL(12,2)) AS d, [1, 2] AS l")
    table = make_table(
        tmp_path, "SELECT CAST(2 AS BIGINT) AS n, 'y' AS s, CAST(2 AS DECIMAL(12,2)) AS d, [3] AS l", "a note"
    )
    state = LogTables().state(table)
    assert state is not None
    assert state.version == 1
    assert dict(state.columns) == {"n": "bigint", "s": "string", "d": "decimal(12,2)", "l": "array<bigint>"}
    assert state.last_commit == "a note"


def test_a_run_finds_its_commit_by_its_note(tmp_path: Path) -> None:
    table = make_table(tmp_path, "SELECT 1 AS a", '{"run_id": "one"}')
    make_table(tmp_path, "SELECT 2 AS a", '{"run_id": "two"}')
    found = LogTables().commit(table, "one", after=-1)
    assert found is not None
    assert found.version == 0
    assert LogTables().commit(table, "one", after=0) is None
    assert LogTables().commit(table, "two", after=1) is None


def test_rows_come_in_the_same_order_each_time(tmp_path: Path) -> None:
    table = make_table(tmp_path, "SELECT * FROM (VALUES (2, 'b'), (1, 'z'), (1, 'a')) AS t(n, s)")
    assert list(rows_of(table, None) or []) == [{"n": 1, "s": "a"}, {"n": 1, "s": "z"}, {"n": 2, "s": "b"}]
    assert list(rows_of(table, 1) or []) == [{"n": 1, "s": "a"}]


@pytest.mark.parametrize("name", ["with space", "With Capitals", 'a"b', "a`b", "a;b", "a'b", "select"])
def test_rows_are_read_whatever_their_columns_are_called(name: str, tmp_path: Path) -> None:
    quoted = name.replace('"', '""')
    table = make_table(tmp_path, f'SELECT 1 AS "{quoted}"')
    assert list(rows_of(table, None) or []) == [{name: 1}]


def test_tables_of_a_warehouse_are_listed_by_name(tmp_path: Path) -> None:
    for folder in ("bronze.db/t", "lake/silver.db/t", "default.db/u"):
        make_table(tmp_path / folder, "SELECT 1 AS a")
    (tmp_path / "bronze.db" / "no_table").mkdir()
    assert list_tables(str(tmp_path)) == ["bronze.t", "default.u", "lake.silver.t"]
    assert list_tables(str(tmp_path / "nowhere")) == []


def test_types_of_the_log_are_spelled_as_spark_does() -> None:
    field = {"name": "a", "type": {"type": "map", "keyType": "string", "valueType": "short"}}
    assert spark_type({"type": "struct", "fields": [field]}) == "struct<a:map<string,smallint>>"
    assert [spark_type(name) for name in ("integer", "byte", "decimal(4,1)")] == [
        "int",
        "tinyint",
        "decimal(4,1)",
    ]
