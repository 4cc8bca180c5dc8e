"""The numbers a run notes as it goes, and what they say about the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lakepact.plan.plan import Plan
from lakepact.plan.rules import AnyRule, BatchRule, ColumnsRule, KeyRule, RowRule
from lakepact.plan.state import Commit
from lakepact.plan.target import Written, total, write_keys


@dataclass(frozen=True)
class Verdict:
    """What one rule found. `failed` counts rows, or keys that stand twice, or missing columns."""

    rule: AnyRule
    passed: int
    failed: int
    ok: bool
    detail: str = ""


FATES = ("read", "filtered", "quarantined", "deduplicated", "accepted", "null_keys")


@dataclass
class Outcome:
    """Filled from top to bottom by the run; what is still None was not reached."""

    step: str = "start"
    counts: dict[str, int] = field(default_factory=dict)
    content: str | None = None
    doubles: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    effects: dict[str, int] = field(default_factory=dict)
    tries: int = 0
    wrote: bool = False
    refusals: list[str] = field(default_factory=list)
    written: Written | None = None
    quarantine_added: int = 0
    bad_files: int = 0
    version_before: int | None = None
    version_after: int | None = None
    commits: list[Commit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    steps: dict[str, float] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)


def verdicts(plan: Plan, outcome: Outcome) -> list[Verdict]:
    """Every rule's verdict, once the batch has been counted."""
    return [_verdict(rule, outcome) for rule in plan.rules] if "read" in outcome.counts else []


def _verdict(rule: AnyRule, outcome: Outcome) -> Verdict:
    if isinstance(rule, RowRule):
        return _rows(rule, outcome.counts)
    if isinstance(rule, BatchRule):
        return _batch(rule, outcome.counts)
    if isinstance(rule, KeyRule):
        return _keys(rule, outcome)
    return _columns(rule, outcome)


def _rows(rule: RowRule, counts: Mapping[str, int]) -> Verdict:
    judged = counts["read"] - counts["filtered"]
    failed = counts.get(f"failed:{rule.name}", 0)
    allowed = rule.tolerance * judged if rule.tolerance < 1 else rule.tolerance
    return Verdict(rule, judged - failed, failed, failed <= allowed)


def _batch(rule: BatchRule, counts: Mapping[str, int]) -> Verdict:
    value: float = counts.get(rule.metric, 0)
    if rule.share_of:
        value = value / counts[rule.share_of] if counts[rule.share_of] else 0
    ok = (rule.low is None or value >= rule.low) and (rule.high is None or value <= rule.high)
    bounds = f"at least {rule.low:g}" if rule.low is not None else ""
    bounds += " and " if bounds and rule.high is not None else ""
    bounds += f"at most {rule.high:g}" if rule.high is not None else ""
    return Verdict(rule, int(ok), int(not ok), ok, f"{value:g}, expected {bounds}")


def _keys(rule: KeyRule, outcome: Outcome) -> Verdict:
    found = outcome.doubles.get(rule.name, [])
    more = "; " + ", ".join(found[:20]) if found else ""
    return Verdict(rule, int(not found), len(found), not found, f"{', '.join(rule.keys)} stands more than once{more}")


def _columns(rule: ColumnsRule, outcome: Outcome) -> Verdict:
    missing = outcome.missing.get(rule.name, [])
    return Verdict(rule, len(rule.columns) - len(missing), len(missing), not missing, ", ".join(missing))


def reasons_to_stop(plan: Plan, outcome: Outcome) -> list[str]:
    """Why the batch must not be written: failed rules, and the guardrails that are always there."""
    counts = outcome.counts
    found = [_explain(v) for v in verdicts(plan, outcome) if v.rule.action == "fail" and not v.ok]
    if plan.mode.needs_keys and counts.get("null_keys"):
        assert plan.contract.write is not None
        keys = ", ".join(write_keys(plan.contract.write))
        found.append(f"{counts['null_keys']:,} accepted row(s) have no value in their key ({keys})")
    if plan.refuse_empty and counts.get("accepted") == 0:
        read, rejected = counts.get("read", 0), counts.get("quarantined", 0)
        why = f"of {read:,} row(s) {rejected:,} were rejected and none is left" if read else "the source is empty"
        found.append(f"{why}, which would empty the table; say write.allow_empty: true if it may")
    return found + _stopped_by_rows(plan, counts) + _too_many_rejected(plan, counts) + outcome.refusals


def _stopped_by_rows(plan: Plan, counts: Mapping[str, int]) -> list[str]:
    found = [(counts.get(f"guard:{number}", 0), guard.message) for number, guard in enumerate(plan.row_guards)]
    return [f"{rows:,} {message}" for rows, message in found if rows]


def _too_many_rejected(plan: Plan, counts: Mapping[str, int]) -> list[str]:
    ceiling = plan.contract.quarantine.max_ratio
    judged = counts.get("read", 0) - counts.get("filtered", 0)
    if ceiling is None or not judged or counts["quarantined"] / judged <= ceiling:
        return []
    share = counts["quarantined"] / judged
    return [f"{share:.1%} of the rows would go to quarantine, more than the {ceiling:.1%} allowed"]


def _explain(verdict: Verdict) -> str:
    rule = verdict.rule
    if isinstance(rule, RowRule):
        return f"rule {rule.name}: {verdict.failed:,} row(s) break it"
    return f"rule {rule.name}: {verdict.detail}"


def what_was_written(plan: Plan, outcome: Outcome) -> Written:
    """As the mode counts it; a run that had to write twice, because others wrote too, may meet a row twice."""
    told = total(*(own.metrics for own in outcome.commits)) if outcome.commits else None
    accepted = outcome.counts["accepted"]
    written = plan.mode.counts(told, outcome.effects, accepted)
    if len(outcome.commits) < 2:
        return written
    inserted = min(written.inserted, accepted)
    updated = min(written.updated, accepted - inserted)
    return replace(written, inserted=inserted, updated=updated, unchanged=accepted - inserted - updated)


def imbalance(outcome: Outcome) -> str:
    """Why rows in and rows out do not add up; empty where they do."""
    counts, written = outcome.counts, outcome.written or Written()
    out = written.rows + counts["quarantined"] + counts["deduplicated"] + counts["filtered"]
    set_aside = counts["quarantined"] + outcome.bad_files
    if counts["read"] == out and written.unchanged >= 0 and outcome.quarantine_added <= set_aside:
        return ""
    return (
        f"{counts['read']} read, but {written.inserted} inserted + {written.updated} updated + "
        f"{written.unchanged} unchanged + {counts['quarantined']} quarantined + "
        f"{counts['deduplicated']} deduplicated + {counts['filtered']} filtered = {out}"
    )
