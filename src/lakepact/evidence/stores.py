"""Stores: where records go, and where they are read back from."""

from __future__ import annotations

import os
import re
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from lakepact.errors import StoreError
from lakepact.evidence.record import RunRecord, from_json, to_json

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")


class Store(Protocol):
    """Append-only: a record is written once and never changed."""

    def write(self, record: RunRecord) -> None: ...


class JsonFiles:
    """`{path}/{pipeline}/{run_id}.json`, each file whole or not there at all."""

    def __init__(self, path: str) -> None:
        self.folder = Path(path)

    def write(self, record: RunRecord) -> None:
        if not _RUN_ID.fullmatch(record.run_id):
            raise StoreError(f"run id {record.run_id!r} cannot be a file's name")
        file = self.folder / _safe(record.pipeline) / f"{record.run_id}.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(file, to_json(record))
        except OSError as error:
            raise StoreError(f"{file}: the run's record cannot be written: {error.strerror}") from error

    def read(self, pipeline: str | None = None, limit: int | None = None) -> list[RunRecord]:
        """Newest first. A file that cannot be read raises; it never looks as if there were none."""
        files = sorted(self._files(pipeline), key=lambda file: file.name, reverse=True)
        return [self._one(file) for file in files[:limit]]

    def newest(self, pipeline: str) -> Iterator[RunRecord]:
        """One by one, newest first: whoever has found what they look for reads no further."""
        files = sorted(self._files(pipeline), key=lambda file: file.name, reverse=True)
        return (self._one(file) for file in files)

    def _files(self, pipeline: str | None) -> Iterator[Path]:
        folder = _safe(pipeline) if pipeline else "*"
        return self.folder.glob(f"{folder}/*.json")

    def _one(self, file: Path) -> RunRecord:
        try:
            return from_json(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{file}: not a run's record ({error}); move it away or mend it") from error


def _safe(pipeline: str) -> str:
    """A folder's name that no other pipeline has."""
    name = urllib.parse.quote(pipeline, safe=" ", errors="surrogatepass")
    return name if name.strip(".") else name.replace(".", "%2E") or "%none"


def _write_whole(file: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
