"""State and commits of tables that only a catalog can find: asked through Spark."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from lakepact.names import TableName, TableRef, unquoted
from lakepact.plan.commits import LOOK_BACK, find_commit, find_writer, last_note, note_of, notes_after
from lakepact.plan.loaded import Loaded, from_notes, from_rows
from lakepact.plan.state import Commit, TableState, protocol_properties

RECENT = 50


class CatalogTables:
    """Tables by name, in the catalog of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def state(self, table: TableRef) -> TableState | None:
        """What a plan needs to know of the table; None if the catalog does not have it."""
        if not self.spark.catalog.tableExists(TableName.parse(table.name).sql):
            return None
        newest = self._history(table, LOOK_BACK)
        detail = self.spark.sql(f"DESCRIBE DETAIL {table.sql}").collect()[0].asDict()
        fields = self.spark.table(table.sql).schema.fields
        known = protocol_properties(
            detail["minReaderVersion"], detail["minWriterVersion"], detail.get("tableFeatures") or ()
        )
        return TableState(
            version=int(newest[0]["version"]),
            columns={f.name: f.dataType.simpleString() for f in fields},
            required=frozenset(f.name for f in fields if not f.nullable),
            partition_by=tuple(detail["partitionColumns"]),
            properties=dict(detail["properties"]) | known,
            last_commit=last_note(newest),
            bytes=detail["sizeInBytes"],
            files=detail["numFiles"],
            cluster_by=tuple(unquoted(name) for name in detail.get("clusteringColumns") or ()),
            comment=detail["description"] or "",
            comments={f.name: f.metadata["comment"] for f in fields if f.metadata.get("comment")},
        )

    def commit(self, table: TableRef, run_id: str, after: int) -> Commit | None:
        return find_commit(self._history(table, RECENT), run_id, after)

    def version(self, table: TableRef) -> int:
        """The newest version; -1 where there is no table."""
        if not self.spark.catalog.tableExists(TableName.parse(table.name).sql):
            return -1
        return int(self._history(table, 1)[0]["version"])

    def transaction(self, table: TableRef, app_id: str) -> int | None:
        """SQL does not show transactions, so the notes of the commits are asked: each names its batch."""
        if self.version(table) < 0:
            return None
        keys = [note_of(entry["userMetadata"]).get("transaction") for entry in self._history(table, None)]
        found = [int(said[1]) for said in keys if said and said[0] == app_id]
        return max(found, default=None)

    def make_way(self, table: TableRef) -> None:
        """A catalog knows what was made and what was not."""

    def loaded(self, table: TableRef, kept: TableRef) -> Loaded:
        """The files that the table took in."""
        rows = self.spark.table(kept.sql).collect() if self.version(kept) >= 0 else []
        known = from_rows(row.asDict() for row in rows)
        newest = max((one.version for one in known), default=-1)
        since = self.version(table) - newest
        return Loaded(known, from_notes(notes_after(self._history(table, since), newest)) if since > 0 else [])

    def writer_of(self, table: TableRef, key: str) -> str | None:
        """The run that wrote the batch of this name."""
        return find_writer(self._history(table, None), key)

    def _history(self, table: TableRef, limit: int | None) -> list[dict[str, Any]]:
        few = f" LIMIT {limit}" if limit else ""
        return [entry.asDict() for entry in self.spark.sql(f"DESCRIBE HISTORY {table.sql}{few}").collect()]
