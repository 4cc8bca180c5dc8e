"""How much lies in files, where that can be told by looking at the folder."""

from __future__ import annotations

import glob
from pathlib import Path


def file_bytes(path: str, pattern: str | None = None) -> int | None:
    """Bytes under a local path or glob, 0 where no file came yet; None where it is remote or not there."""
    if "://" in path:
        return None
    whole = path.removeprefix("file:") + (f"/{pattern}" if pattern else "")
    found = [Path(name) for name in glob.glob(whole)]  # noqa: PTH207 - the glob may be absolute
    files = [file for place in found for file in (place.rglob("*") if place.is_dir() else [place])]
    there = found or (pattern and Path(path.removeprefix("file:")).is_dir())
    return sum(file.stat().st_size for file in files if file.is_file()) if there else None
