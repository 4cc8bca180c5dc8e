"""What lies in files, where that can be told by looking at the folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from lakepact.plan.loaded import SourceFile, root_of

HIDDEN = ("_", ".")


def file_bytes(path: str, pattern: str | None = None) -> int | None:
    """Bytes under a local path or glob, 0 where no file came yet; None where it is remote or not there."""
    if "://" in path:
        return None
    local = path.removeprefix("file:")
    there = Path(local).is_dir() if pattern else glob.glob(local)  # noqa: PTH207 - the glob may be absolute
    return sum(file.size for file in list_files(path, pattern)) if there else None


def list_files(path: str, pattern: str | None = None) -> tuple[SourceFile, ...]:
    """The files under a local path or glob, as Spark would find them: hidden ones are left out."""
    local = path.removeprefix("file:")
    whole = f"{local.rstrip('/')}/{pattern}" if pattern else local
    root = len(root_of(local).rstrip("/")) + 1
    places = [name for name in glob.glob(whole) if not _is_hidden(name[root:])]  # noqa: PTH207
    found = (file for place in places for file in _below(place))
    return tuple(
        SourceFile(name[root:], stat.st_size, stat.st_mtime_ns // 1_000_000)
        for name, stat in ((name, os.stat(name)) for name in found)  # noqa: PTH116 - of many thousand files
    )


def _is_hidden(name: str) -> bool:
    return any(part.startswith(HIDDEN) for part in name.split("/"))


def _below(place: str) -> Iterator[str]:
    """A file, or all that are not hidden in a folder; the folder says itself what is which, so none is asked."""
    if not Path(place).is_dir():
        yield place
        return
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(HIDDEN):
                continue
            if entry.is_dir():
                yield from _below(entry.path)
            elif entry.is_file():
                yield entry.path
