"""A flat ContractForge contract, said in Lakepact's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lakepact.contract.dialects.shape import Shape, given, shape_problems
from lakepact.contract.write import MODES
from lakepact.errors import ContractError, Problem
from lakepact.names import quote

Document = dict[str, Any]

TARGET = ("catalog", "schema", "table")
COMPLETE = ("source_complete", "full_snapshot")
LOOKUPS = ("table", "delta_table", "view", "sql")
STORAGE = ("s3", "adls", "azure_blob", "gcs", "blob", "object_storage")
FILES = ("csv", "json", "parquet", "delta", "orc", "text", "avro", "xml")
FORMATS = {**{name: name for name in FILES}, "jsonl": "json", "ndjson": "json", **dict.fromkeys(STORAGE)}
OPTIONS = {"url": "url", "table": "dbtable", "query": "query", "driver": "driver"}
ORDER = re.compile(r"(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.I | re.S)
SEVERITIES = {"warn": "warn", "quarantine": "quarantine", "abort": "fail"}
# Their rule, ours, and its action; None: whatever on_quality_fail says.
# What the write modes are told, here and natively.
WRITE = {
    "partition_value": "partition_value",
    "replace_partitions_source_complete": "replace_partitions_source_complete",
    "hash_exclude_columns": "hash_exclude_columns",
    "scd2_change_columns": "track",
    "scd2_effective_from_column": "effective_from",
    "scd2_late_arriving_policy": "late",
    "scd2_apply_as_deletes": "apply_as_deletes",
    "merge_partition_column": "merge_partition_column",
    "idempotency_key": "idempotency_key",
    "idempotency_policy": "idempotency_policy",
    "retry_attempts": "retry_attempts",
    "retry_backoff_seconds": "retry_backoff_seconds",
}
# How the table lies on disk, here and natively.
LAYOUT = {
    "cluster_columns": "cluster_by",
    "zorder_columns": "zorder_by",
    "optimize_after_write": "optimize_after_write",
}
RULES: dict[str, tuple[str, str | None]] = {
    "required_columns": ("required_columns", "fail"),
    "not_null": ("not_null", None),
    "unique_key": ("unique", "fail"),
    "accepted_values": ("accepted_values", None),
    "min_rows": ("min_rows", "fail"),
}

# Which keys stand where; () where every key may. `x[]` is an entry of the list x.
KEYS: dict[str, tuple[str, ...]] = {
    "": (
        "source", "target", "target_catalog", "target_schema", "target_table", "layer", "mode", "merge_keys",
        "hash_keys", "hash_strategy", "quality_rules", "on_quality_fail", "transform", "select_columns",
        "column_mapping", "filter_expression", "partition_column", "merge_strategy",
        "delta_properties", "partition_columns", *LAYOUT, "schema_policy", "scd2_sequence_by", "description", "owner",
        "tags", "columns", *WRITE,
    ),
    "target": TARGET,
    "source": ("type", "connector", "path", "format", "options", "read", *OPTIONS),
    "source.options": (),
    "source.read": COMPLETE,
    "transform": ("cast", "standardize", "derive", "deduplicate"),
    "transform.standardize": (),
    "transform.deduplicate": ("keys", "order_by"),
    "quality_rules": (*RULES, "max_null_ratio", "expressions"),
    "quality_rules.max_null_ratio": (),
    "quality_rules.expressions[]": ("name", "expression", "severity", "message"),
    "delta_properties": (),
}  # fmt: skip
SHORT = {"source": (str,)}
FLAGS = {"optimize_after_write", *(f"source.read.{key}" for key in COMPLETE)}
VALUES = {
    "on_quality_fail": ("fail", "warn", "quarantine"),
    "quality_rules.expressions[].severity": tuple(SEVERITIES),
    "hash_strategy": ("explicit",),
    "merge_strategy": ("delta", "delta_by_partition", "replace_partitions"),
    "schema_policy": ("permissive",),
}
# Descriptions, and numbers of their runs: nothing that happens to a row depends on them.
LEFT_OUT = {
    "_metadata", "naming", "domain", "sla", "source_system", "annotations", "operations", "applied_presets",
    "parent_run_id", "run_group_id", "master_job_id",
    "master_run_id", "target.catalog_type",
}  # fmt: skip
# What a native contract cannot say yet.
LATER = {
    "access", "allow_type_widening", "dedup_order_expr", "dry_run", "execution", "extensions", "lock_enabled",
    "preset",
    "runtime_parameters", "schemas", "shape",
    "watermark_columns", "quality_rules.custom", "source.auth",
    "source.connection_path", "source.incremental", "source.ref", "source.request", "source.table_ref",
    "transform.composite_keys", "transform.custom", "transform.shape",
}  # fmt: skip
SHAPE = Shape(KEYS, SHORT, FLAGS, VALUES, LEFT_OUT, LATER)


def is_contract(document: Document) -> bool:
    aimed = "target" in document or "target_table" in document
    return "table" not in document and ("mode" in document or (aimed and "source" in document))


def from_contract(document: Document, _read: Callable[[str], Any]) -> Document:
    if problems := [*_missing(document), *shape_problems(document, SHAPE)]:
        raise ContractError(problems)
    native = {
        "table": ".".join(_target(document).values()),
        "layer": document.get("layer"),
        "description": document.get("description"),
        "owners": [{"name": document["owner"]}] if document.get("owner") else None,
        "tags": _tags(document.get("tags")),
        "source": _source(document["source"]),
        "columns": _columns(document.get("columns")),
        "transform": _steps(document),
        "quality": _rules(document.get("quality_rules") or {}, document.get("on_quality_fail", "fail")),
        "write": _write(document),
        "layout": _layout(document),
    }
    return given(native)


def _missing(document: Document) -> Iterator[Problem]:
    if not document.get("source"):
        yield Problem("is missing; give a table's name, or keys and values", "source")
    yield from _strategy(document)
    target = _target(document)
    if "table" not in target or ("catalog" in target and "schema" not in target):
        yield Problem("is missing or not whole; give catalog, schema and table", "target")


def _strategy(document: Document) -> Iterator[Problem]:
    """How a merge looks for its rows must be said whole."""
    pruned = document.get("merge_strategy") == "delta_by_partition"
    if pruned and not document.get("merge_partition_column"):
        yield Problem("delta_by_partition needs it: the partition column to look into", "merge_partition_column")
    if document.get("merge_partition_column") and not pruned:
        yield Problem("only with merge_strategy: delta_by_partition", "merge_partition_column")


def _target(document: Document) -> dict[str, str]:
    nested = document["target"] if isinstance(document.get("target"), dict) else {}
    said = {part: document.get(f"target_{part}") or nested.get(part) for part in TARGET}
    return {part: str(name) for part, name in said.items() if name}


def _tags(tags: Any) -> Any:
    return [f"{key}={value}" for key, value in tags.items()] if isinstance(tags, dict) else tags


def _columns(columns: Any) -> Any:
    return [{"name": k, "type": v} for k, v in columns.items()] if isinstance(columns, dict) else columns


def _source(source: Any) -> Document:
    if isinstance(source, str):
        return {"table": source}
    kind = source.get("type") or "connector"
    kind = str(source.get("connector") if kind == "connector" else kind)
    options = source.get("options") or {}
    complete = any((source.get("read") or {}).get(key) for key in COMPLETE) or None
    if kind in LOOKUPS or kind in FORMATS:
        said = {"table": source.get("table"), "path": source.get("path"), "sql": source.get("query")}
        written = FORMATS.get(kind) or source.get("format")
        return given({**said, "format": written, "options": options, "complete": complete})
    named = {native: source[key] for key, native in OPTIONS.items() if key in source}
    return given({"connector": kind, "options": {**options, **named}, "complete": complete})


def _steps(document: Document) -> list[Document]:
    """In the order in which ContractForge does them."""
    transform = document.get("transform") or {}
    last = transform.get("deduplicate") or {}
    steps = {
        "select": document.get("select_columns"),
        "rename": document.get("column_mapping"),
        "cast": transform.get("cast"),
        "standardize": {k: _standards(said) for k, said in (transform.get("standardize") or {}).items()},
        "derive": transform.get("derive"),
        "filter": document.get("filter_expression"),
        "deduplicate": {**last, "order_by": _order(last["order_by"])} if last.get("order_by") else last,
    }
    return [{name: body} for name, body in given(steps).items()]


def _standards(said: Any) -> Any:
    return [name for name, wanted in said.items() if wanted] if isinstance(said, dict) else said


def _order(order: Any) -> str:
    """Where no direction is given, ContractForge means the newest first.

    >>> _order("updated_at, coalesce(a, b) asc"), _order([{"column": "x", "nulls": "last"}])
    ('updated_at DESC, coalesce(a, b) ASC', '`x` DESC NULLS LAST')
    """
    entries = order if isinstance(order, list) else re.split(r",(?![^(]*\))", str(order))
    return ", ".join(_ordered(entry) for entry in entries)


def _ordered(entry: Any) -> str:
    if isinstance(entry, dict):
        by, way, nulls = quote(str(entry.get("column"))), entry.get("direction"), entry.get("nulls")
    else:
        found = ORDER.fullmatch(str(entry).strip())
        by, way, nulls = found.groups() if found else (str(entry), None, None)
    return f"{by} {str(way or 'desc').upper()}" + (f" NULLS {str(nulls).upper()}" if nulls else "")


def _rules(rules: Document, action: str) -> list[Document]:
    plain = {key: rule for key, rule in RULES.items() if rules.get(key)}
    ratios = (rules.get("max_null_ratio") or {}).items()
    return [
        *({native: rules[key], "action": fixed or action} for key, (native, fixed) in plain.items()),
        *({"null_ratio": {"column": column, "max": most}, "action": "warn"} for column, most in ratios),
        *(_expression(said, action) for said in rules.get("expressions") or []),
    ]


def _expression(said: Document, action: str) -> Document:
    rule = {"name": said.get("name"), "check": said.get("expression"), "description": said.get("message")}
    return given({**rule, "action": SEVERITIES[said["severity"]] if "severity" in said else action})


def _write(document: Document) -> Document:
    mode = document.get("mode", "append")
    by_hash = MODES.get(str(mode).lower().replace("-", "_")) == "scd1_hash_diff"
    keys = document.get("merge_keys") or (document.get("hash_keys") if by_hash else None)
    said = {native: document.get(key) for key, native in WRITE.items()}
    if document.get("partition_value") is not None:
        said["partition_column"] = document.get("partition_column")
    if document.get("merge_strategy") == "replace_partitions":
        said["replace_partitions"] = True
    said["effective_from"] = said["effective_from"] or document.get("scd2_sequence_by")
    by_content = document.get("hash_keys") if by_hash and document.get("merge_keys") else None
    return given({"mode": mode, "keys": keys, "hash_keys": by_content, **said})


def _layout(document: Document) -> Document:
    said = (document.get("delta_properties") or {}).items()
    properties = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in said}
    folders = [document.get(key) for key in ("partition_columns", "partition_column", "merge_partition_column")]
    layout = {native: document.get(key) for key, native in LAYOUT.items()}
    return given({"partition_by": next(filter(None, folders), None), **layout, "properties": properties})
