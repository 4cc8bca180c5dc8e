"""A record as rows of flat tables: one table a grain, one type table for every store."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

from lakepact.evidence.record import RunRecord

_RUN = {"run_id": "string", "pipeline": "string", "ts": "timestamp"}

GRAINS: dict[str, dict[str, str]] = {
    "runs": {
        **_RUN,
        "status": "string",
        "environment": "string",
        "layer": "string",
        "mode": "string",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "duration_seconds": "double",
        "contract_fingerprint": "string",
        "contract_version": "string",
        "error_class": "string",
        "error": "string",
        "failed_step": "string",
        "rows_read": "bigint",
        "rows_inserted": "bigint",
        "rows_updated": "bigint",
        "rows_deleted": "bigint",
        "rows_soft_deleted": "bigint",
        "rows_expired": "bigint",
        "rows_unchanged": "bigint",
        "rows_quarantined": "bigint",
        "rows_deduplicated": "bigint",
        "rows_filtered": "bigint",
        "balanced": "boolean",
        "metrics_source": "string",
        "version_before": "bigint",
        "version_after": "bigint",
        "window_start": "timestamp",
        "window_end": "timestamp",
        "tags": "array<string>",
        "engine_json": "string",
        "idempotency_key": "string",
        "skip_reason": "string",
        "skipped_by": "string",
        "tries": "bigint",
        "schema_version": "bigint",
    },
    "sources": {**_RUN, "location": "string"},
    "sinks": {**_RUN, "location": "string", "quarantine": "string"},
    "expectations": {
        **_RUN,
        "expectation": "string",
        "action": "string",
        "label": "string",
        "passed": "bigint",
        "failed": "bigint",
        "success": "boolean",
        "severity": "string",
        "description": "string",
    },
    "owners": {**_RUN, "owner": "string", "scope": "string", "ref": "string", "role": "string"},
}


def grains(record: RunRecord) -> dict[str, list[dict[str, Any]]]:
    """Every grain's rows, with exactly the columns of GRAINS."""
    key = {"run_id": record.run_id, "pipeline": record.pipeline, "ts": record.started_at}
    rows = {f"rows_{name}": value for name, value in vars(record.rows).items()}
    run = {**vars(record), **rows, "duration_seconds": record.duration_seconds}
    run |= {"tags": list(record.tags), "engine_json": json.dumps(dict(record.engine), sort_keys=True)}
    found: dict[str, list[dict[str, Any]]] = {
        "runs": [run],
        "sources": [{"location": source} for source in record.sources],
        "sinks": [{"location": record.sink, "quarantine": record.quarantine}] if record.sink else [],
        "expectations": [{**vars(e), "expectation": e.rule} for e in record.expectations],
        "owners": [_owner(*pair, record) for pair in zip_longest(record.owners, record.roles, fillvalue="owner")],
    }
    return {grain: [_shaped(grain, {**key, **row}) for row in found[grain]] for grain in GRAINS}


def _owner(owner: str, role: str, record: RunRecord) -> dict[str, Any]:
    return {"owner": owner, "scope": "table", "ref": record.pipeline, "role": role}


def _shaped(grain: str, row: dict[str, Any]) -> dict[str, Any]:
    return {column: row.get(column) for column in GRAINS[grain]}
