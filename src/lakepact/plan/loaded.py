"""Which files a table has taken in: each commit says which it brought, and a table beside it keeps what they said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from lakepact.contract.source import Source
from lakepact.errors import QualityError
from lakepact.names import TableRef, quoted

COLUMNS = {"file": "STRING", "size": "BIGINT", "modified": "BIGINT", "version": "BIGINT", "run_id": "STRING"}
LISTED = "loaded_files"
MOST_NAMED = 5


@dataclass(frozen=True)
class SourceFile:
    """A file as it lies in the landing folder: its name under the source's root, its bytes, its time in ms."""

    name: str
    size: int
    modified: int


@dataclass(frozen=True)
class LoadedFile:
    """A file that a commit brought."""

    file: SourceFile
    version: int
    run_id: str

    @property
    def row(self) -> tuple[Any, ...]:
        return (*astuple(self.file), self.version, self.run_id)


@dataclass(frozen=True)
class Loaded:
    """What a table took in: files that were written down, and files that only the commits since speak of."""

    kept: list[LoadedFile]
    since: list[LoadedFile]

    @property
    def all(self) -> list[LoadedFile]:
        return self.kept + self.since


def from_rows(rows: Iterable[Mapping[str, Any]]) -> list[LoadedFile]:
    """What the table beside says."""
    return [
        LoadedFile(SourceFile(row["file"], row["size"], row["modified"]), row["version"], row["run_id"]) for row in rows
    ]


def from_notes(notes: Iterable[tuple[int, Mapping[str, Any]]]) -> list[LoadedFile]:
    """What commits say of themselves."""
    return [
        LoadedFile(SourceFile(*file), version, str(note.get("run_id", "")))
        for version, note in notes
        for file in note.get("files", ())
    ]


def choose(found: Iterable[SourceFile], loaded: Iterable[LoadedFile], source: Source) -> tuple[SourceFile, ...]:
    """The files to load now, oldest first; one that changed since it was loaded follows the contract's policy."""
    last = {one.file.name: one for one in sorted(loaded, key=lambda one: one.version)}
    new = [file for file in found if file.name not in last]
    changed = [file for file in found if file.name in last and last[file.name].file != file]
    if changed and source.changed_files == "fail":
        raise QualityError(_changed(changed, last))
    wanted = new + (changed if source.changed_files == "reload" else [])
    return tuple(sorted(wanted, key=lambda file: (file.modified, file.name))[: source.max_files])


def root_of(path: str) -> str:
    """The folder that files of a path or glob surely lie in; a name with a dot is that of a file.

    >>> root_of("landing/orders/*/*.csv"), root_of("s3a://bucket/in"), root_of("landing/in.csv")
    ('landing/orders', 's3a://bucket/in', 'landing')
    """
    sure = re.split(r"[*?\[{]", path)[0]
    last = sure.rpartition("/")[2]
    is_folder = sure == path and "." not in last
    return (sure if is_folder else sure.rpartition("/")[0]).rstrip("/") or "/"


def _changed(changed: list[SourceFile], last: Mapping[str, LoadedFile]) -> str:
    named = ", ".join(f"{file.name} (loaded by run {last[file.name].run_id})" for file in changed[:MOST_NAMED])
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    what = f"{len(changed)} file(s) changed after they were loaded: {named}{more}"
    return f"{what}; say source.changed_files: reload or ignore"


def keep_statement(table: TableRef, exists: bool) -> str:
    """The first files make their table, which Delta tidies up by itself: each run adds a little."""
    rows = f"SELECT {quoted(COLUMNS)} FROM `{LISTED}`"
    if exists:
        return f"INSERT INTO {table.sql} BY NAME {rows}"
    return f"CREATE TABLE {table.sql} USING delta TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true') AS {rows}"
