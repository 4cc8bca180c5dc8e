"""What a commit says of itself: written with the data, read back to find a run's own commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lakepact.plan.outcome import Outcome
from lakepact.plan.plan import Plan

# Operations that move rows; a run also makes commits that only create or alter a table.
WRITES = frozenset({"WRITE", "MERGE", "DELETE", "UPDATE"})


@dataclass(frozen=True)
class Commit:
    """One commit of a run: its version, and what Delta counted."""

    version: int
    metrics: Mapping[str, int]


def commit_text(plan: Plan, outcome: Outcome, content: str | None = None) -> str:
    """The note that rides in the commit: who made it, under which contract, with which counts and rows."""
    said = {
        "lakepact": 1,
        "run_id": plan.run.run_id,
        "contract": plan.fingerprint,
        "table": plan.contract.name,
        "rows": {name: n for name, n in outcome.counts.items() if ":" not in name},
        "content": content,
    }
    return json.dumps({key: value for key, value in said.items() if value})


def find_commit(history: Iterable[Mapping[str, Any]], run_id: str, after: int) -> Commit | None:
    """The write this run made after a version, in a table's history; None if it made none."""
    for entry in history:
        ours = note_of(entry.get("userMetadata")).get("run_id") == run_id
        if ours and int(entry["version"]) > after and entry["operation"] in WRITES:
            metrics = entry.get("operationMetrics") or {}
            return Commit(int(entry["version"]), {k: int(v) for k, v in metrics.items() if str(v).isdigit()})
    return None


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
