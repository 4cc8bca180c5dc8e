"""RunRecord: what one run did, made by a pure function from plan, outcome and error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from typing import Any

from lakepact import secrets
from lakepact.contract.model import Contract
from lakepact.errors import AlreadyWrittenError
from lakepact.plan.outcome import Outcome, Verdict, imbalance, verdicts
from lakepact.plan.plan import Plan
from lakepact.plan.rules import RowRule
from lakepact.plan.state import RunIdentity
from lakepact.plan.target import total

SCHEMA_VERSION = 1
LONGEST_ERROR = 4000


@dataclass(frozen=True)
class Expectation:
    """One rule's result."""

    rule: str
    action: str
    label: str | None
    passed: int
    failed: int
    success: bool
    severity: str
    description: str


@dataclass(frozen=True)
class Rows:
    """read = inserted + updated + unchanged + quarantined + deduplicated + filtered."""

    read: int | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    soft_deleted: int | None = None
    expired: int | None = None
    unchanged: int | None = None
    quarantined: int | None = None
    quarantine_added: int | None = None
    deduplicated: int | None = None
    filtered: int | None = None


@dataclass(frozen=True)
class RunRecord:
    """Immutable; every run leaves one, also a failed one."""

    run_id: str
    pipeline: str
    status: str
    started_at: datetime
    ended_at: datetime
    environment: str
    contract_fingerprint: str | None = None
    contract_version: str | None = None
    layer: str | None = None
    mode: str | None = None
    error_class: str | None = None
    error: str | None = None
    failed_step: str | None = None
    rows: Rows = Rows()
    balanced: bool | None = None
    metrics_source: str | None = None
    version_before: int | None = None
    version_after: int | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    sources: tuple[str, ...] = ()
    sink: str | None = None
    quarantine: str | None = None
    owners: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    notes: tuple[str, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    engine: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    skip_reason: str | None = None
    skipped_by: str | None = None
    tries: int = 0
    operation_metrics: Mapping[str, int] = field(default_factory=dict)
    schema_changes: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def duration_seconds(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def ok(self) -> bool:
        """A run that was not needed is as good as one that succeeded; one that was held back is not."""
        return self.status in GOOD or (self.status == "skipped" and self.error is None)


GOOD = frozenset({"success", "warned", "quarantined"})


def make_record(
    plan: Plan, outcome: Outcome, error: BaseException | None, ended_at: datetime, environment: str,
    engine: Mapping[str, str],
) -> RunRecord:  # fmt: skip
    """What happened, from what was planned, what was counted and what went wrong."""
    found = verdicts(plan, outcome)
    window = plan.window
    skip, error = _left_out(plan.contract, error)
    return RunRecord(
        run_id=plan.run.run_id,
        pipeline=plan.contract.name,
        status="skipped" if skip else _status(found, outcome, error),
        started_at=plan.run.now,
        ended_at=ended_at,
        environment=environment,
        contract_fingerprint=plan.fingerprint,
        contract_version=plan.contract.version,
        layer=plan.contract.layer,
        mode=plan.mode.name,
        error_class=type(error).__name__ if error else None,
        error=secrets.hide(str(error), outcome.secrets)[:LONGEST_ERROR] if error else None,
        failed_step=outcome.step if error else None,
        rows=_rows(outcome),
        balanced=None if outcome.written is None else not imbalance(outcome),
        metrics_source=_metrics_source(plan, outcome),
        version_before=outcome.version_before,
        version_after=outcome.version_after,
        window_start=window.start if window else None,
        window_end=window.end if window else None,
        sources=tuple(t.name for t in plan.read.tables) or (plan.read.label,),
        sink=plan.contract.name,
        quarantine=plan.quarantine.table.name if plan.quarantine else None,
        owners=tuple(owner.name for owner in plan.contract.owners),
        roles=tuple(owner.role for owner in plan.contract.owners),
        tags=plan.contract.tags,
        expectations=tuple(_expectation(verdict) for verdict in found),
        notes=tuple(secrets.hide(note, outcome.secrets) for note in outcome.notes),
        steps={name: round(seconds, 3) for name, seconds in outcome.steps.items()},
        engine=engine,
        idempotency_key=_key(plan.contract),
        skip_reason=str(skip) if skip else None,
        skipped_by=skip.writer if skip else None,
        tries=outcome.tries,
        operation_metrics=total(*(own.metrics for own in outcome.commits)),
        schema_changes=plan.ddl if plan.world.target and "prepare" in outcome.steps else (),
    )


def unplanned_record(
    contract: Contract, run: RunIdentity, error: BaseException | None, status: str, ended_at: datetime,
    environment: str, secret: Sequence[str] = (),
) -> RunRecord:  # fmt: skip
    """For a run that ended before it had a plan: refused, or left out because what it needs failed or it was done."""
    skip, error = _left_out(contract, error)
    return RunRecord(
        run_id=run.run_id,
        pipeline=contract.name,
        status="skipped" if skip else status,
        started_at=run.now,
        ended_at=ended_at,
        environment=environment,
        layer=contract.layer,
        error_class=type(error).__name__ if error else None,
        error=secrets.hide(str(error), secret)[:LONGEST_ERROR] if error else None,
        failed_step="plan" if error else None,
        owners=tuple(owner.name for owner in contract.owners),
        roles=tuple(owner.role for owner in contract.owners),
        tags=contract.tags,
        sink=contract.name,
        idempotency_key=_key(contract),
        skip_reason=str(skip) if skip else None,
        skipped_by=skip.writer if skip else None,
    )


def _left_out(
    contract: Contract, error: BaseException | None
) -> tuple[AlreadyWrittenError | None, BaseException | None]:
    """A batch that is there already is no failure, unless the contract says so."""
    refuses = contract.write is not None and contract.write.policy == "fail_if_success"
    if isinstance(error, AlreadyWrittenError) and not refuses:
        return error, None
    return None, error


def _key(contract: Contract) -> str | None:
    return contract.write.idempotency_key if contract.write else None


def _metrics_source(plan: Plan, outcome: Outcome) -> str | None:
    """Where the numbers come from: Delta's count of our own commit, our count of the changes, or both."""
    if outcome.written is None:
        return None
    return plan.mode.metrics_source if outcome.commits else "logical"


def _status(found: list[Verdict], outcome: Outcome, error: BaseException | None) -> str:
    if error is not None:
        return "failed"
    if outcome.counts.get("quarantined") or outcome.bad_files:
        return "quarantined"
    warned = any(not verdict.ok and verdict.rule.action == "warn" for verdict in found)
    return "warned" if warned else "success"


def _rows(outcome: Outcome) -> Rows:
    counts, written = outcome.counts, outcome.written
    if "read" not in counts:
        return Rows()
    done = asdict(written) if written else {}
    return Rows(
        read=counts["read"],
        quarantined=counts["quarantined"],
        quarantine_added=outcome.quarantine_added if written else None,
        deduplicated=counts["deduplicated"],
        filtered=counts["filtered"],
        **done,
    )


def _expectation(verdict: Verdict) -> Expectation:
    rule = verdict.rule
    label = rule.label if isinstance(rule, RowRule) else None
    description = rule.description or (rule.predicate if isinstance(rule, RowRule) else verdict.detail)
    return Expectation(
        rule.name, rule.action, label, verdict.passed, verdict.failed, verdict.ok, rule.severity, description
    )


def to_json(record: RunRecord) -> str:
    return json.dumps(asdict(record), default=_text, indent=1)


def _text(value: object) -> str:
    assert isinstance(value, datetime)
    return value.astimezone(timezone.utc).isoformat()


def from_json(text: str) -> RunRecord:
    """A record as it was written; keys of a later version are left aside."""
    raw = json.loads(text)
    known = _known(RunRecord, raw)
    for key in ("started_at", "ended_at", "window_start", "window_end"):
        known[key] = datetime.fromisoformat(known[key]) if known.get(key) else None
    known["rows"] = Rows(**_known(Rows, known.get("rows") or {}))
    told = known.get("expectations") or ()
    known["expectations"] = tuple(Expectation(**_known(Expectation, item)) for item in told)
    for key in ("sources", "owners", "roles", "tags", "schema_changes", "notes"):
        known[key] = tuple(known.get(key) or ())
    return RunRecord(**known)


def _known(kind: type, said: Any) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise ValueError(f"expected keys and values, found {said!r}")
    names = {one.name for one in fields(kind)}
    return {key: value for key, value in said.items() if key in names}
