"""Commands for a beginning: init makes a project, demo makes the orders lakehouse and runs it."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lakepact
from lakepact import api
from lakepact.cli.look import for_people, print_records, print_rows
from lakepact.cli.output import print_json, say
from lakepact.cli.work import exit_code, run_project
from lakepact.contract.project import FILE
from lakepact.errors import ProjectError

LAYERS = ("bronze.orders", "silver.orders", "silver.orders_quarantine", "gold.region_kpis")

_PROJECT = """\
name: {name}
contracts: contracts
environments:
  local:
    paths: {{landing: landing}}
    warehouse: warehouse
"""
_CONTRACT = """\
table: bronze.events
layer: bronze
description: Describe the table here.
owners: [{name: your-team}]

source: {path: "{path.landing}/events.csv"}

columns:
  - {name: id, nullable: false}
  - {name: value, type: "decimal(12,2)"}
  - {name: at, type: timestamp}

quality:
  - {name: value_not_negative, check: value >= 0, rejected_as: negative_value}

write: {mode: scd1_upsert, keys: id}
"""
_ROWS = "id,value,at\n1,10.50,2026-01-01T08:00:00Z\n2,-3.00,2026-01-01T09:00:00Z\n3,7.25,2026-01-01T10:00:00Z\n"


def init(folder: Path, as_json: bool) -> None:
    """Nothing that is already there is touched."""
    files = {
        FILE: _PROJECT.format(name=json.dumps(folder.resolve().name)),
        "contracts/bronze_events.yaml": _CONTRACT,
        "landing/events.csv": _ROWS,
    }
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise ProjectError(f"{folder / there[0]} is already there; init starts in a new or empty folder")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if as_json:
        print_json({"project": str(folder), "files": list(files)})
        return
    where = "" if folder == Path() else f" --project {folder}"
    say(f"made {', '.join(files)}\nnext: lakepact validate{where}, then lakepact run{where}")


def demo(folder: Path, as_json: bool) -> int:
    """Copies the example once; running it again shows that nothing changes."""
    if not (folder / FILE).is_file():
        if folder.exists() and any(folder.iterdir()):
            raise ProjectError(f"{folder} holds something else; give an empty folder")
        shutil.copytree(example("orders"), folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("warehouse", ".*"))
        say(f"the example is in {folder}: see its contracts")
    project = api.open_project(folder)
    if project.file.name != "orders":
        raise ProjectError(f"{folder} holds another project, {project.file.name!r}; give an empty folder")
    records = run_project(project, [], api.Options())
    if exit_code(records):
        print_records("runs", records)
        return exit_code(records)
    if as_json:
        tables = {table: api.rows(project, table) for table in LAYERS}
        print_json({"runs": [asdict(record) for record in records], "tables": tables})
        return 0
    for table in LAYERS:
        print_rows(table, [_brief(row) for row in api.rows(project, table)])
        sys.stdout.write("\n")
    print_records("runs", records)
    say(f"\nnext: lakepact show silver.orders --project {folder}; lakepact plan --project {folder}")
    return 0


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in for_people(row).items() if key not in ("_ingested_at", "_source_file")}


def example(name: str) -> Path:
    """Inside the installed package, or beside the sources."""
    package = Path(lakepact.__file__).parent
    for place in (package / "examples" / name, package.parents[1] / "examples" / name):
        if (place / FILE).is_file():
            return place
    raise ProjectError(f"the example {name!r} is not part of this installation")
