"""doctor: what this machine and this project have, and what they lack."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lakepact import api
from lakepact.cli.output import print_json, print_table
from lakepact.contract.project import is_project
from lakepact.errors import LakepactError, MachineError

Check = Callable[[Path, "str | None"], str]


def doctor(folder: Path, env: str | None, as_json: bool) -> int:
    """0 where all is well, 3 where something is wrong."""
    found = [_ask(name, check, folder, env) for name, check in CHECKS.items()]
    if as_json:
        print_json([{"check": name, "ok": ok, "found": text} for name, ok, text in found])
    else:
        print_table("", ["", "check", "found"], [("ok" if ok else "WRONG", name, text) for name, ok, text in found])
    return 0 if all(ok for _, ok, _ in found) else 3


def _ask(name: str, check: Check, folder: Path, env: str | None) -> tuple[str, bool, str]:
    try:
        return name, True, check(folder, env)
    except LakepactError as error:
        return name, False, str(error)


def _python(folder: Path, env: str | None) -> str:
    del folder, env
    return f"{platform.python_version()} at {sys.executable}"


def _java(folder: Path, env: str | None) -> str:
    del folder, env
    from lakepact.spark.java import require_java

    return str(require_java())


def _spark(folder: Path, env: str | None) -> str:
    del folder, env
    try:
        return f"pyspark {version('pyspark')}"
    except PackageNotFoundError:
        raise MachineError("pyspark is not installed: pip install 'lakepact[spark]'") from None


def _jars(folder: Path, env: str | None) -> str:
    del folder, env
    from lakepact.spark.jars import cache_folder

    kept = list((cache_folder() / "jars").glob("*/complete"))
    return f"in {cache_folder()}" if kept else f"not fetched yet; the first run fetches them into {cache_folder()}"


def _memory(folder: Path, env: str | None) -> str:
    del folder, env
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if total < 2:
        raise MachineError(f"{total:.1f} GiB of memory; Spark wants at least 2")
    return f"{total:.0f} GiB, {os.cpu_count()} cores"


def _disk(folder: Path, env: str | None) -> str:
    del env
    free = shutil.disk_usage(folder if folder.exists() else Path.cwd()).free / 2**30
    if free < 1:
        raise MachineError(f"only {free:.1f} GiB free at {folder.resolve()}")
    return f"{free:.0f} GiB free"


def _project(folder: Path, env: str | None) -> str:
    if not is_project(folder):
        return "none here (lakepact init makes one)"
    project = api.open_project(folder, env)
    names = [contract.name for contract in api.contracts(project)]
    return f"{project.file.name} in {project.environment_name}: {len(names)} contract(s)"


def _warehouse(folder: Path, env: str | None) -> str:
    if not is_project(folder):
        return "none here"
    project = api.open_project(folder, env)
    if project.environment.catalog == "spark":
        return "tables are in Spark's catalog"
    if "://" in project.environment.warehouse:
        return f"{project.environment.warehouse}, not looked at"
    place = Path(project.place(project.environment.warehouse))
    nearest = next(p for p in (place, *place.parents) if p.exists())
    if not os.access(nearest, os.W_OK):
        raise MachineError(f"{nearest} cannot be written")
    return str(place)


CHECKS: dict[str, Check] = {
    "python": _python,
    "java": _java,
    "spark": _spark,
    "jars": _jars,
    "memory": _memory,
    "disk": _disk,
    "project": _project,
    "warehouse": _warehouse,
}
