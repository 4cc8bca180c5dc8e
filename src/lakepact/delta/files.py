"""What lies in files, where that can be told by looking at the folder."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

from lakepact.plan.loaded import SourceFile, root_of


def file_bytes(path: str, pattern: str | None = None) -> int | None:
    """Bytes under a local path or glob, 0 where no file came yet; None where it is remote or not there."""
    if "://" in path:
        return None
    local = path.removeprefix("file:")
    there = Path(local).is_dir() if pattern else glob.glob(local)  # noqa: PTH207 - the glob may be absolute
    return sum(file.stat().st_size for file in _files(local, pattern)) if there else None


def list_files(path: str, pattern: str | None = None) -> tuple[SourceFile, ...]:
    """The files under a local path or glob, as Spark would find them: hidden ones are left out."""
    local = path.removeprefix("file:")
    root = Path(root_of(local))
    found = []
    for file in _files(local, pattern):
        name = file.relative_to(root)
        if not any(part.startswith(("_", ".")) for part in name.parts):
            stat = file.stat()
            found.append(SourceFile(name.as_posix(), stat.st_size, stat.st_mtime_ns // 1_000_000))
    return tuple(found)


def _files(path: str, pattern: str | None) -> Iterator[Path]:
    whole = f"{path.rstrip('/')}/{pattern}" if pattern else path
    for name in glob.glob(whole):  # noqa: PTH207 - the glob may be absolute
        place = Path(name)
        yield from (file for file in (place.rglob("*") if place.is_dir() else [place]) if file.is_file())
