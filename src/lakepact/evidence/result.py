"""A run's record under the names that callers of `ingest` know."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from lakepact.evidence.record import RunRecord, unplanned_record
from lakepact.plan.plan import Plan

STATUSES = {"success": "SUCCESS", "warned": "SUCCESS", "quarantined": "SUCCESS", "skipped": "SKIPPED"}


@dataclass(frozen=True)
class IngestResult:
    """What a run did; counters are of its own commit, None where the run did not get that far."""

    status: str
    run_id: str
    target: str
    source: str
    mode: str | None
    layer: str | None
    quality_status: str
    rows_read: int | None
    rows_effective: int | None
    rows_written: int | None
    rows_inserted: int | None
    rows_updated: int | None
    rows_deleted: int | None
    rows_soft_deleted: int | None
    rows_expired: int | None
    rows_unchanged: int | None
    rows_quarantined: int | None
    metrics_source: str | None
    write_committed: bool
    table_version_before: int | None
    table_version_after: int | None
    started_at: datetime
    finished_at: datetime
    duration_seconds: float
    stage_durations: dict[str, float] = field(default_factory=dict)
    operation_metrics: dict[str, int] = field(default_factory=dict)
    schema_changes: list[str] = field(default_factory=list)
    idempotency_key: str | None = None
    skip_reason: str | None = None
    skipped_by_run_id: str | None = None
    contract_fingerprint: str | None = None
    error_class: str | None = None
    error_message: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def result_of(record: RunRecord) -> IngestResult:
    rows = record.rows
    return IngestResult(
        status=STATUSES.get(record.status, "FAILED"),
        run_id=record.run_id,
        target=record.pipeline,
        source=", ".join(record.sources),
        mode=record.mode,
        layer=record.layer,
        quality_status=_quality(record),
        rows_read=rows.read,
        rows_effective=_sum(rows.inserted, rows.updated, rows.unchanged),
        rows_written=_sum(rows.inserted, rows.updated, rows.deleted, rows.soft_deleted, rows.expired),
        rows_inserted=rows.inserted,
        rows_updated=rows.updated,
        rows_deleted=rows.deleted,
        rows_soft_deleted=rows.soft_deleted,
        rows_expired=rows.expired,
        rows_unchanged=rows.unchanged,
        rows_quarantined=rows.quarantined,
        metrics_source=record.metrics_source,
        write_committed=record.version_after is not None and record.version_after != record.version_before,
        table_version_before=record.version_before,
        table_version_after=record.version_after,
        started_at=record.started_at,
        finished_at=record.ended_at,
        duration_seconds=record.duration_seconds,
        stage_durations=dict(record.steps),
        operation_metrics=dict(record.operation_metrics),
        schema_changes=list(record.schema_changes),
        idempotency_key=record.idempotency_key,
        skip_reason=record.skip_reason or (record.error if record.status == "skipped" else None),
        skipped_by_run_id=record.skipped_by,
        contract_fingerprint=record.contract_fingerprint,
        error_class=record.error_class,
        error_message=record.error,
    )


def dry_result(plan: Plan) -> IngestResult:
    """What a run would be about; nothing was read or written."""
    record = unplanned_record(plan.contract, plan.run, None, "dry_run", plan.run.now, "")
    return replace(result_of(record), status="DRY_RUN", mode=plan.mode.name, contract_fingerprint=plan.fingerprint)


def _sum(*counts: int | None) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _quality(record: RunRecord) -> str:
    """PASSED, WARNED, QUARANTINED or FAILED; NOT_CONFIGURED where no rule was asked."""
    if record.error_class == "QualityError":
        return "FAILED"
    if record.status in ("warned", "quarantined"):
        return record.status.upper()
    return "PASSED" if record.expectations else "NOT_CONFIGURED"
