"""What a commit says of itself: written with the data, read back to find a run's own commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Any

from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Plan
from lakepact.plan.state import Commit, Transaction

# Operations that move rows; a run also makes commits that only create or alter a table.
WRITES = frozenset({"WRITE", "MERGE", "DELETE", "UPDATE", "CREATE TABLE AS SELECT"})

# Operations after which a table holds the same rows under the same columns.
TIDYING = frozenset({
    "OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "CLUSTER BY",
})  # fmt: skip

# As many commits are looked at to find one that did more.
LOOK_BACK = 10


def commit_text(
    plan: Plan, outcome: Outcome, content: str | None = None, transaction: Transaction | None = None
) -> str:
    """The note that rides in the commit: who made it, under which contract, with which counts and rows."""
    said = {
        "lakepact": 1,
        "run_id": plan.run.run_id,
        "contract": plan.fingerprint,
        "table": plan.contract.name,
        "rows": {name: n for name, n in outcome.counts.items() if ":" not in name},
        "content": content,
        "key": plan.contract.write.idempotency_key if plan.contract.write else None,
    }
    if transaction:
        said["transaction"] = [transaction.app_id, transaction.version]
        said["files"] = [astuple(file) for file in plan.world.new_files or ()]
    return json.dumps({key: value for key, value in said.items() if value})


def find_commit(history: Iterable[Mapping[str, Any]], run_id: str, after: int) -> Commit | None:
    """The write this run made after a version, in a table's history; None if it made none."""
    for entry in history:
        ours = note_of(entry.get("userMetadata")).get("run_id") == run_id
        if ours and int(entry["version"]) > after and entry["operation"] in WRITES:
            metrics = entry.get("operationMetrics") or {}
            counted = {k: int(v) for k, v in metrics.items() if str(v).isdigit()}
            return Commit(int(entry["version"]), counted, entry.get("readVersion"))
    return None


def find_writer(history: Iterable[Mapping[str, Any]], key: str) -> str | None:
    """The run that wrote the batch of this name, where the history still tells."""
    notes = (note_of(entry.get("userMetadata")) for entry in history if entry["operation"] in WRITES)
    return next((note.get("run_id") for note in notes if note.get("key") == key), None)


def notes_after(history: Iterable[Mapping[str, Any]], version: int) -> list[tuple[int, dict[str, Any]]]:
    """What the writes after a version say of themselves."""
    found = [entry for entry in history if int(entry["version"]) > version and entry["operation"] in WRITES]
    return [(int(entry["version"]), note_of(entry.get("userMetadata"))) for entry in found]


def last_note(history: Iterable[Mapping[str, Any]]) -> str | None:
    """What the newest commit says of itself, those that only tidied up left aside."""
    told = (entry.get("userMetadata") for entry in history if entry["operation"] not in TIDYING)
    return next(told, None)


def holds_same_rows(plan: Plan, outcome: Outcome) -> bool:
    """Whether the table's last commit left exactly the rows that this run is about to write."""
    before = plan.world.target
    if before is None or plan.ddl or outcome.content is None:
        return False
    said = note_of(before.last_commit)
    same_contract = said.get("contract") == plan.fingerprint
    return plan.skip_unchanged and same_contract and said.get("content") == outcome.content


def note_of(text: str | None) -> dict[str, Any]:
    """Somebody else's commit may say anything, or nothing."""
    try:
        said = json.loads(text or "{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
