"""A LakeLogic contract, said in Lakepact's words. Its two phases become one: rules judge rows after all steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lakepact.errors import ContractError, Problem
from lakepact.names import quote
from lakepact.plugins import hint

Document = dict[str, Any]
Links = dict[str, str]

STRATEGIES = {"append": "scd0_append", "merge": "scd1_upsert", "overwrite": "scd0_overwrite", "scd2": "scd2_historical"}
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
        "event_ts": "event_ts", "event_key": "event_key", "reference": "table", "reference_key": "reference_key",
        "start_field": "start_field", "end_field": "end_field", "end_default": "end_default",
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
    "rename": (("from", "to", "mappings"), lambda old, new, many: {"rename": many or {old: new}}),
    "cast": (("columns",), lambda columns: {"cast": columns}),
    "derive": (("field", "sql", "sql_spark"), lambda field, sql, spark: {"derive": {field: spark or sql}}),
    "filter": (("sql",), lambda sql: {"filter": sql}),
    "trim": (("fields",), lambda fields: {"standardize": dict.fromkeys(_names(fields), "trim")}),
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
    "metadata": ("layer", "policy_pack"),
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
    "materialization": ("strategy", "target_path", "partition_by", "cluster_by", "format", "table_properties"),
    "materialization.table_properties": (),
    "quarantine": ("target", "table", "fail_on_quarantine"),
}  # fmt: skip
SHORT = {"quality.row_rules[].not_null", "quality.dataset_rules[].unique"}  # a bare name will do
FLAGS = {
    "quality.fail_pipeline_on_dataset_error", "quality.enforce_required", "quarantine.fail_on_quarantine",
    "model.fields[].required", "model.fields[].nullable",
}  # fmt: skip
VALUES: dict[str, tuple[str, ...]] = {
    "source.type": ("landing", "table", "delta"),
    "source.load_mode": ("full", "incremental"),
    "model.fields[].masking": ("nullify", "hash", "redact", "partial"),
    "materialization.strategy": tuple(STRATEGIES),
    "materialization.format": ("delta",),
    "transformations[].phase": ("pre", "post"),
}
# Who, why and how important; where their own logs and caches lie; how their other engines spell a thing.
LEFT_OUT = re.compile(
    r"tier|contract_file_name|downstream|observatory|natural_key|compliance|schedule|cost|model\.grain(_key)?"
    r"|metadata\.(domain|system|title|description|owner|team|run_log_\w+|cache_reference_links)"
    r"|model\.fields\[\]\.generated|links\[\]\.(broadcast|columns)|quarantine\.include_error_reason"
    r"|transformations\[\]\.derive\.sql_duckdb"
)
# What a native contract cannot say yet.
LATER = re.compile(
    r"environments|extensions|external_logic|extraction|lineage|logic|schema_policy|server|service_levels|stages"
    r"|upstream_\w+|metadata\.(approval|upstream)_\w+|source\.(cdc_\w+|dlt|empty_behavior|flatten_nested|lookback"
    r"|partition|post_ingestion|query|watermark_strategy)|links\[\]\.(filter|query)|model\.fields\[\]\.(foreign_key"
    r"|masking_format|milestone|pii_vault|rules|security_groups|extraction_\w+)|quality\.\w+\[\]\.(sql|must_be_\w+)"
    r"|materialization\.(compaction|deletion|fact|location|merge_dedup_guard|reprocess_\w+|scd[12]|secondary_targets"
    r"|soft_delete_\w+|unknown_member)|quarantine\.(format|location|\w*notifications\w*|write_mode)"
    r"|transformations\[\]\.(bucket|coalesce|date_\w+|explode|join|json_extract|lookup|map_values|pivot|rollup|split"
    r"|unpivot|trim\.side|deduplicate\.blank_keys)"
)
SAME_AS_ABSENT = {
    "metadata.upstream_policy": "strict", "source.empty_behavior": "skip", "source.watermark_strategy": "max_target",
    "source.post_ingestion": {"action": "retain"}, "materialization.reprocess_policy": "overwrite_partition",
    "quarantine.format": "delta", "quarantine.write_mode": "append", "transformations.trim.side": "both",
}  # fmt: skip
