"""A LakeLogic contract, said in Lakepact's words.

Its two phases become one: rules judge rows after all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lakepact.contract.dialects.shape import Shape, given, shape_problems
from lakepact.errors import ContractError, Problem
from lakepact.names import quote

Document = dict[str, Any]
Links = dict[str, str]

STRATEGIES = {
    "append": "scd0_append", "merge": "scd1_upsert", "overwrite": "scd0_overwrite", "scd2": "scd2_historical",
}  # fmt: skip
MARKS = ("pii", "phi", "sensitive")
ACTIONS = {"error": None, "warning": "warn", "info": "warn"}
SETTINGS = ("name", "category", "description", "severity", "phase")
# The keys of a rule, and what they are called natively.
RULES: dict[str, dict[str, str]] = {
    "not_null": {"field": "column", "fields": "columns"},
    "accepted_values": {"field": "column", "values": "values"},
    "regex_match": {"field": "column", "pattern": "pattern"},
    "range": {"field": "column", "min": "min", "max": "max", "inclusive": "inclusive"},
    "referential_integrity": {"field": "column", "reference": "table", "key": "key"},
    "lifecycle_window": {
        "event_ts": "event_ts", "event_key": "event_key", "reference": "table", "end_default": "end_default",
        "reference_key": "reference_key", "start_field": "start_field", "end_field": "end_field",
    },
}  # fmt: skip
BATCH_RULES: dict[str, dict[str, str]] = {
    "unique": {"field": "column", "fields": "columns"},
    "null_ratio": {"field": "column", "max": "max"},
    "row_count_between": {"min": "min", "max": "max"},
}
# A step, its keys, and the native step that their values make.
STEPS: dict[str, tuple[tuple[str, ...], Callable[..., Document]]] = {
    "select": (("columns",), lambda columns: {"select": columns}),
    "drop": (("columns",), lambda columns: {"drop": columns}),
    "rename": (("from", "to", "mappings"), lambda old, new, many: {"rename": many or {_word(old): new}}),
    "cast": (("columns",), lambda columns: {"cast": columns}),
    "derive": (
        ("field", "sql", "sql_spark"),
        lambda field, sql, spark: {"derive": {_word(field): spark or sql}},
    ),
    "filter": (("sql",), lambda sql: {"filter": sql}),
    "trim": (("fields", "side"), lambda fields, _: {"standardize": dict.fromkeys(_names(fields), "trim")}),
    "lower": (("fields",), lambda fields: {"standardize": dict.fromkeys(_names(fields), "lower")}),
    "upper": (("fields",), lambda fields: {"standardize": dict.fromkeys(_names(fields), "upper")}),
    "deduplicate": (("on", "sort_by", "order"), lambda *said: {"deduplicate": _deduplicate(*said)}),
}

# Which keys stand where; () where every key may. `x[]` is an entry of the list x.
KEYS: dict[str, tuple[str, ...]] = {
    "": (
        "version", "info", "dataset", "layer", "stage", "metadata", "primary_key", "model", "source", "links",
        "upstream", "quality", "transformations", "materialization", "quarantine",
    ),
    "info": (),
    "metadata": ("layer", "policy_pack", "upstream_policy"),
    "model": ("fields",),
    "model.fields[]": (
        "name", "type", "description", "required", "nullable", "masking", "accepted_values", "min", "max",
        "max_length", *MARKS,
    ),
    "source": ("type", "path", "table", "pattern", "format", "options", "load_mode", "watermark_field"),
    "links[]": ("name", "type", "path", "table"),
    "quality": ("row_rules", "dataset_rules", "fail_pipeline_on_dataset_error", "enforce_required"),
    "quality.row_rules[]": ("sql", *RULES, *SETTINGS),
    **{f"quality.row_rules[].{kind}": (*keys, *SETTINGS) for kind, keys in RULES.items()},
    "quality.dataset_rules[]": (*BATCH_RULES, *SETTINGS),
    **{f"quality.dataset_rules[].{kind}": (*keys, *SETTINGS) for kind, keys in BATCH_RULES.items()},
    "transformations[]": ("sql", "phase", *STEPS),
    **{f"transformations[].{kind}": keys for kind, (keys, _) in STEPS.items()},
    "materialization": (
        "strategy", "target_path", "partition_by", "cluster_by", "format", "table_properties",
        "reprocess_policy",
    ),
    "materialization.table_properties": (),
    "quarantine": ("target", "table", "enabled", "fail_on_quarantine", "format", "write_mode"),
}  # fmt: skip
SHORT = dict.fromkeys(("quality.row_rules[].not_null", "quality.dataset_rules[].unique"), (str, list))
FLAGS = {
    "quality.fail_pipeline_on_dataset_error", "quality.enforce_required", "quarantine.fail_on_quarantine",
    "model.fields[].required", "model.fields[].nullable",
}  # fmt: skip
VALUES: dict[str, tuple[str, ...]] = {
    "source.type": ("landing", "table", "delta"),
    "source.load_mode": ("full", "incremental"),
    "model.fields[].masking": ("nullify", "hash", "redact", "partial"),
    "transformations[].phase": ("pre", "post"),
    "transformations[].trim.side": ("both",),
    "materialization.strategy": tuple(STRATEGIES),
    "materialization.format": ("delta",),
    "materialization.reprocess_policy": ("overwrite_partition",),
    "metadata.upstream_policy": ("strict",),
    "quarantine.enabled": ("True",),
    "quarantine.format": ("delta",),
    "quarantine.write_mode": ("append",),
    **{f"{place}.severity": tuple(ACTIONS) for place, keys in KEYS.items() if "severity" in keys},
}
# Who, why and how important; where their own logs and caches lie; how their other engines spell a thing.
LEFT_OUT = {
    "tier", "contract_file_name", "downstream", "observatory", "natural_key", "compliance", "schedule",
    "metadata.domain", "metadata.system", "metadata.title", "metadata.description", "metadata.owner",
    "metadata.team", "metadata.run_log_dir", "metadata.run_log_path", "metadata.run_log_table",
    "metadata.run_log_backend", "metadata.run_log_database", "metadata.cache_reference_links", "model.grain",
    "model.grain_key", "links[].broadcast", "links[].columns", "quarantine.include_error_reason",
    "transformations[].derive.sql_duckdb",
}  # fmt: skip
# What a native contract cannot say yet.
LATER = {
    "environments", "extensions", "external_logic", "extraction", "lineage", "logic", "schema_policy",
    "server", "service_levels", "stages", "upstream_contracts", "upstream_sources", "metadata.approval_file",
    "metadata.approval_quarantine_ratio_threshold", "metadata.approval_required",
    "metadata.approval_schema_drift", "metadata.upstream_grace_hours", "model.fields[].rules",
    "model.fields[].masking_format", "source.cdc_op_field", "source.post_ingestion", "source.query",
    "materialization.scd2", "materialization.deletion", "materialization.fact", "quality.dataset_rules[].sql",
    "quarantine.notifications", "transformations[].join", "transformations[].lookup",
}  # fmt: skip
SHAPE = Shape(KEYS, SHORT, FLAGS, VALUES, LEFT_OUT, LATER)


def is_contract(document: Document) -> bool:
    quality = document.get("quality")
    judged = isinstance(quality, dict) and ("row_rules" in quality or "dataset_rules" in quality)
    named = any(key in document for key in ("dataset", "info", "materialization"))
    return "table" not in document and (judged or named)


def from_contract(document: Document, _read: Callable[[str], Any]) -> Document:
    if problems := [*shape_problems(document, SHAPE), *_missing(document)]:
        raise ContractError(problems)
    links, version = _links(document), document.get("version")
    info, quarantine = document.get("info") or {}, document.get("quarantine") or {}
    native = {
        **_place(document, info, document.get("metadata") or {}),
        "version": None if version is None else str(version),
        "description": info.get("description") or info.get("title"),
        "owners": [{"name": info["owner"]}] if info.get("owner") else None,
        "upstream": [links.get(name, _plain(name)) for name in _names(document.get("upstream"))],
        "source": _source(document.get("source") or {}),
        "transform": [_step(step) for step in sorted(document.get("transformations") or [], key=_is_late)],
        **_columns_and_rules(document, links),
        **_materialization(document.get("materialization") or {}, document.get("primary_key")),
        "quarantine": given({
            "table": _plain(quarantine.get("table") or quarantine.get("target")),
            "max_ratio": 0.0 if quarantine.get("fail_on_quarantine") else None,
        }),
    }  # fmt: skip
    return given(native)


def _missing(document: Document) -> Iterator[Problem]:
    info = document.get("info")
    if not document.get("dataset") and not (isinstance(info, dict) and info.get("table_name")):
        yield Problem("is missing; it names the table", "dataset")
    for name in [name for name, table in _links(document).items() if not table]:
        yield Problem(f"{name!r} is a path, which is not supported yet; give its `table`", "links")


def _links(document: Document) -> Links:
    """Other tables by the name that this contract gives them; empty where a link is a file."""
    found: Links = {}
    for link in document["links"] if isinstance(document.get("links"), list) else []:
        if isinstance(link, dict):
            path = str(link.get("path") or "")
            is_table = link.get("type") == "table" or path.startswith("table:")
            found[str(link.get("name"))] = _plain(link.get("table") or (path if is_table else ""))
    return found


def _place(document: Document, info: Document, metadata: Document) -> Document:
    layer = document.get("layer") or document.get("stage") or metadata.get("layer")
    layer = layer or info.get("target_layer")
    dataset = _plain(document.get("dataset") or info.get("table_name"))
    table = f"{layer}.{dataset}" if layer and "." not in dataset else dataset
    return {"table": table, "layer": layer, "policy_pack": metadata.get("policy_pack")}


def _source(source: Document) -> Document:
    by_path = source.get("type") == "table" and not source.get("table")
    column = source.get("watermark_field") if source.get("load_mode") == "incremental" else None
    said = {key: source.get(key) for key in ("path", "pattern", "format", "options")}
    said |= {"path": None} if by_path else {}
    said |= {"format": "delta"} if source.get("type") == "delta" else {}
    table = _plain(source.get("path") if by_path else source.get("table"))
    return given({"table": table, **said, "window": given({"column": column})})


def _columns_and_rules(document: Document, links: Links) -> Document:
    fields = (document.get("model") or {}).get("fields") or []
    quality = document.get("quality") or {}
    enforced = quality.get("enforce_required", True)
    batch = "fail" if quality.get("fail_pipeline_on_dataset_error") else "warn"
    rules = [
        *(rule for field in fields for rule in _limits(field)),
        *(_rule(said, "quarantine", links) for said in quality.get("row_rules") or []),
        *(_rule(said, batch, links) for said in quality.get("dataset_rules") or []),
    ]
    return {"columns": [_column(field, enforced) for field in fields], "quality": rules}


def _column(field: Document, enforced: bool) -> Document:
    required = enforced and (field.get("required") or field.get("nullable") is False)
    said = {key: field.get(key) for key in ("name", "type", "description")}
    marks = [mark for mark in MARKS if field.get(mark)]
    nullable = False if required else None
    return given({**said, "mask": field.get("masking"), "tags": marks, "nullable": nullable})


def _limits(field: Document) -> list[Document]:
    name, bounds = _word(field.get("name")), given({"min": field.get("min"), "max": field.get("max")})
    rules = {
        "accepted_values": {name: field["accepted_values"]} if field.get("accepted_values") else None,
        "range": {"column": name, **bounds} if bounds else None,
        "length": {"column": name, "max": field["max_length"]} if field.get("max_length") else None,
    }
    return [{kind: body, "action": "quarantine"} for kind, body in given(rules).items()]


def _rule(rule: Document, action: str, links: Links) -> Document:
    bodies = {kind: rule[kind] for kind in (*RULES, *BATCH_RULES) if kind in rule}
    inner = next((body for body in bodies.values() if isinstance(body, dict)), {})
    settings = {key: inner.get(key) or rule.get(key) for key in SETTINGS}
    said = {key: settings[key] for key in ("name", "category", "description")}
    checks = {kind: _check(kind, body, links) for kind, body in bodies.items()}
    decided = ACTIONS[settings["severity"] or "error"] or action
    return {**given({**said, "check": rule.get("sql")}), **checks, "action": decided}


def _check(kind: str, body: Any, links: Links) -> Any:
    if not isinstance(body, dict):
        return body
    said = {native: body[key] for key, native in {**RULES, **BATCH_RULES}[kind].items() if key in body}
    if kind in ("not_null", "unique"):
        return said.get("columns") or said.get("column")
    if kind == "accepted_values":
        return {_word(said.get("column")): said.get("values")}
    return {**said, "table": links.get(str(said["table"]), said["table"])} if "table" in said else said


def _is_late(step: Document) -> bool:
    return step.get("phase") != "pre"


def _step(step: Document) -> Document:
    native = given({"sql": step.get("sql")})
    for kind, (keys, make) in STEPS.items():
        if kind in step:
            native |= make(*((step[kind] or {}).get(key) for key in keys))
    return native


def _deduplicate(keys: Any, order_by: Any, direction: Any) -> Document:
    way = f"{str(direction or 'desc').upper()} NULLS LAST"
    return {"keys": keys, "order_by": ", ".join(f"{quote(name)} {way}" for name in _names(order_by))}


def _materialization(said: Document, primary_key: Any) -> Document:
    strategy = said.get("strategy", "append")
    properties = (said.get("table_properties") or {}).items()
    texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in properties}
    layout = {
        "partition_by": said.get("partition_by"),
        "cluster_by": said.get("cluster_by"),
        "properties": texts,
    }
    write = {"mode": STRATEGIES[strategy], "keys": primary_key if strategy in ("merge", "scd2") else None}
    return {"path": said.get("target_path"), "write": given(write), "layout": given(layout)}


def _plain(name: Any) -> str:
    """`table:silver.orders` is how LakeLogic writes a table where it expects a path."""
    return str(name or "").removeprefix("table:")


def _word(value: Any) -> str | None:
    """A name to be used as a key; None, which the model refuses, where there is none."""
    return value if isinstance(value, str) else None


def _names(value: Any) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else [str(value)] if value else []
