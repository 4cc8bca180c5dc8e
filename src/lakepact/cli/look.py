"""Commands that only look: validate, plan, show, runs, schema. None of them starts a JVM."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from lakepact import api
from lakepact.cli.output import print_json, print_table, say
from lakepact.contract.model import Contract
from lakepact.contract.policy import PolicyPack
from lakepact.contract.project import ProjectFile, is_project
from lakepact.errors import ContractError, Problem
from lakepact.evidence.record import RunRecord
from lakepact.plugins import hint


def validate(files: list[Path], folder: Path, env: str | None, options: api.Options, as_json: bool) -> int:
    """0 where every contract holds, 2 where one does not."""
    project = None if files and not is_project(folder) else api.open_project(folder, env)
    found = api.validate(project, files, options)
    if as_json:
        print_json({
            "ok": not found.problems,
            "contracts": [contract.name for contract in found.contracts],
            "problems": [asdict(problem) for problem in found.problems],
        })  # fmt: skip
    for problem in () if as_json else found.problems:
        say(f"error: {problem}")
    if not found.problems and not as_json:
        say(f"{len(found.contracts)} contract(s) hold")
    return 2 if found.problems else 0


def plan(
    tables: list[str],
    folder: Path,
    env: str | None,
    offline: bool,
    summary: bool,
    options: api.Options,
    as_json: bool,
) -> None:
    from lakepact.plan.explain import as_dict, as_text

    made = api.plans(api.open_project(folder, env), tables, options, offline=offline)
    if as_json:
        print_json([as_dict(one) for one in made])
        return
    for one in made:
        print(as_text(one, sql=not summary))  # noqa: T201 - the plan is this command's data


def show(table: str, folder: Path, env: str | None, limit: int | None, as_json: bool) -> None:
    rows = api.rows(api.open_project(folder, env), table, limit)
    if as_json:
        print_json(rows)
        return
    print_rows(table, [for_people(row) for row in rows])


# What a person seldom wants to see; `--json` shows all of it.
BOOKKEEPING = frozenset({"_rules", "_row", "_quarantine_id", "_quarantine_run", "_contract", "_quarantined_at"})


def for_people(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in BOOKKEEPING}


def print_rows(title: str, rows: list[dict[str, Any]]) -> None:
    columns = list(rows[0]) if rows else []
    print_table(f"{title} ({len(rows)} rows)", columns, [list(row.values()) for row in rows])


def runs(table: str | None, folder: Path, env: str | None, limit: int, as_json: bool) -> None:
    found = api.runs(api.open_project(folder, env), table, limit)
    if as_json:
        print_json([{**asdict(record), "duration_seconds": record.duration_seconds} for record in found])
        return
    print_records("runs", found)


def print_records(title: str, records: list[RunRecord]) -> None:
    columns = ["table", "status", "read", "written", "unchanged", "quarantined", "left out", "seconds", "run"]
    print_table(title, columns, [_line(record) for record in records])
    for record in records:
        if record.error:
            say(f"{record.pipeline}: {record.status}: {record.error}")


def _line(record: RunRecord) -> list[object]:
    rows = record.rows
    written = None if rows.inserted is None else rows.inserted + (rows.updated or 0)
    left_out = None if rows.read is None else (rows.deduplicated or 0) + (rows.filtered or 0)
    seconds = f"{record.duration_seconds:.1f}"
    return [
        record.pipeline, record.status, rows.read, written, rows.unchanged, rows.quarantined, left_out,
        seconds, record.run_id,
    ]  # fmt: skip


SCHEMAS: dict[str, type[BaseModel]] = {
    "contract": Contract,
    "project": ProjectFile,
    "policy-pack": PolicyPack,
}


def schema(of: str) -> None:
    if of not in SCHEMAS:
        raise ContractError([Problem(f"no schema for {of!r}{hint(of, SCHEMAS)}")])
    made = SCHEMAS[of].model_json_schema(by_alias=True)
    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **made})
