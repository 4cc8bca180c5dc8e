"""A table's state, its own commits and its rows, from its Delta log."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakepact.names import TableRef
from lakepact.plan.commits import LOOK_BACK, find_commit, find_writer, last_note, notes_after
from lakepact.plan.layout import CLUSTERED_BY
from lakepact.plan.loaded import Loaded, from_notes, from_rows
from lakepact.plan.state import Commit, TableState, protocol_properties

if TYPE_CHECKING:
    from deltalake import DeltaTable

RECENT = 1000
# Seconds in which Delta surely gets from the folders of a new table to its first commit.
MAKING = 10.0
_SPARK_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def open_table(table: TableRef, storage: Mapping[str, str] | None = None) -> DeltaTable | None:
    """The table in its folder, or None if there is none; `storage` says how a remote one is reached."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    path = table.path or ""
    if "://" not in path and not (Path(path) / "_delta_log").is_dir():
        return None
    try:
        return DeltaTable(path, storage_options=dict(storage or {}) if "://" in path else None)
    except TableNotFoundError:
        return None


class LogTables:
    """Tables by folder; their Delta log says it all."""

    def __init__(self, storage: Mapping[str, str] | None = None) -> None:
        self.storage = storage

    def state(self, table: TableRef) -> TableState | None:
        """What a plan needs to know of the table; None if there is none."""
        delta = open_table(table, self.storage)
        if delta is None:
            return None
        fields = json.loads(delta.schema().to_json())["fields"]
        metadata, protocol = delta.metadata(), delta.protocol()
        features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
        known = protocol_properties(protocol.min_reader_version, protocol.min_writer_version, features)
        sizes = delta.get_add_actions().column("size_bytes").to_pylist()
        return TableState(
            version=delta.version(),
            columns={field["name"]: spark_type(field["type"]) for field in fields},
            partition_by=tuple(metadata.partition_columns),
            properties=metadata.configuration | known,
            last_commit=last_note(delta.history(LOOK_BACK)),
            required=frozenset(field["name"] for field in fields if not field["nullable"]),
            bytes=sum(sizes),
            files=len(sizes),
            cluster_by=_clustered_by(metadata.configuration) if "clustering" in features else (),
            comment=metadata.description or "",
            comments={f["name"]: f["metadata"]["comment"] for f in fields if f.get("metadata", {}).get("comment")},
        )

    def commit(self, table: TableRef, run_id: str, after: int) -> Commit | None:
        """The write this run made after a version; None if it made none."""
        delta = open_table(table, self.storage)
        if delta is None or delta.version() <= after:
            return None
        return find_commit(delta.history(delta.version() - after), run_id, after)

    def version(self, table: TableRef) -> int:
        """The newest version; -1 where there is no table."""
        delta = open_table(table, self.storage)
        return -1 if delta is None else delta.version()

    def transaction(self, table: TableRef, app_id: str) -> int | None:
        """The newest version of an application's transactions that the log holds."""
        delta = open_table(table, self.storage)
        return None if delta is None else delta.transaction_version(app_id)

    def make_way(self, table: TableRef) -> None:
        """Clear away what a run left that died while it made this table: folders without a commit.

        Delta takes them for a table. They may also be those of a run that is just making it, so they must have lain
        there for a while; and a folder that holds anything by now cannot be removed like this.
        """
        path = table.path or ""
        log = Path(path) / "_delta_log"
        while "://" not in path and log.is_dir() and open_table(table, self.storage) is None:
            with contextlib.suppress(OSError):
                if time.time() - log.stat().st_mtime < MAKING:
                    time.sleep(MAKING / 20)
                    continue
                for folder in (log / "_staged_commits", log):
                    if folder.is_dir():
                        folder.rmdir()
            return

    def loaded(self, table: TableRef, kept: TableRef) -> Loaded:
        """The files that the table took in."""
        known = from_rows(rows_of(kept, None, order=False, storage=self.storage) or ())
        newest = max((one.version for one in known), default=-1)
        delta = open_table(table, self.storage)
        since = delta.version() - newest if delta else 0
        return Loaded(known, from_notes(notes_after(delta.history(since), newest)) if delta and since > 0 else [])

    def writer_of(self, table: TableRef, key: str) -> str | None:
        """The run that wrote the batch of this name."""
        delta = open_table(table, self.storage)
        return None if delta is None else find_writer(delta.history(RECENT), key)


def _clustered_by(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """As we noted it: the log's own words are for a JVM alone."""
    note = properties.get(CLUSTERED_BY)
    return None if note is None else tuple(note.split(",") if note else ())


def spark_type(kind: Any) -> str:
    """A type of the Delta log as Spark's catalog spells it.

    >>> spark_type({"type": "array", "elementType": "long", "containsNull": True})
    'array<bigint>'
    """
    if isinstance(kind, str):
        return _SPARK_NAMES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{spark_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{spark_type(kind['keyType'])},{spark_type(kind['valueType'])}>"
    return f"struct<{','.join(f['name'] + ':' + spark_type(f['type']) for f in kind['fields'])}>"


def rows_of(
    table: TableRef, limit: int | None, order: bool = True, storage: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]] | None:
    """The table's rows as Python values, in a stable order; None if there is no table."""
    delta = open_table(table, storage)
    if delta is None:
        return None
    from deltalake import QueryBuilder

    fields = json.loads(delta.schema().to_json())["fields"]
    plain = ['"' + f["name"].replace('"', '""') + '"' for f in fields if isinstance(f["type"], str)]
    sql = "SELECT * FROM t" + (f" ORDER BY {', '.join(plain)}" if order and plain else "")
    query = QueryBuilder().register("t", delta).execute(sql + (f" LIMIT {limit}" if limit is not None else ""))
    return (row for batch in query for row in batch.to_struct_array().to_pylist())


def list_tables(warehouse: str) -> list[str]:
    """Names of the tables in a local warehouse."""
    root = Path(warehouse)
    found = []
    for log in root.glob("**/*.db/*/_delta_log"):
        *catalog, schema, table = log.parent.relative_to(root).parts
        found.append(".".join([*catalog, schema.removesuffix(".db"), table]))
    return sorted(found)
