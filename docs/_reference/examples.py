"""One small example for each kind of rule and step, and the contract they stand in."""

from __future__ import annotations

from typing import Any

Example = dict[str, Any]

CONTRACT: Example = {
    "table": "silver.orders",
    "source": {"table": "bronze.orders"},
    "columns": [
        {"name": "order_id", "nullable": False},
        {"name": "amount", "type": "decimal(12,2)"},
        {"name": "updated_at", "type": "timestamp"},
    ],
    "write": {"mode": "scd0_append"},
}

RULE_EXAMPLES: dict[str, tuple[Example, ...]] = {
    "check": (
        {"name": "positive_amount", "check": "amount > 0", "rejected_as": "non_positive_amount"},
        {"name": "paid_has_date", "check": "paid_at IS NOT NULL", "when": "status = 'paid'"},
    ),
    "not_null": ({"not_null": ["customer_id"]},),
    "accepted_values": ({"accepted_values": {"status": ["open", "paid"]}},),
    "range": ({"range": {"column": "amount", "min": 0, "max": 1000}},),
    "regex_match": ({"regex_match": {"column": "email", "pattern": "^[^@]+@[^@]+$"}},),
    "length": ({"length": {"column": "country", "min": 2, "max": 2}},),
    "referential_integrity": (
        {"referential_integrity": {"column": "region", "table": "reference.regions", "key": "code"}},
    ),
    "lifecycle_window": (
        {
            "lifecycle_window": {
                "event_ts": "called_at",
                "event_key": "customer_id",
                "table": "reference.customers",
                "reference_key": "customer_id",
            }
        },
    ),
    "unique": ({"unique": ["order_id"]}, {"unique": ["order_id"], "action": "quarantine"}),
    "required_columns": ({"required_columns": ["order_id", "amount"]},),
    "null_ratio": ({"null_ratio": {"column": "email", "max": 0.1}},),
    "min_rows": ({"min_rows": 1},),
    "max_rows": ({"max_rows": 1000000},),
    "row_count_between": ({"row_count_between": {"min": 1, "max": 1000}},),
}

STEP_EXAMPLES: dict[str, Example] = {
    "sql": {"sql": "SELECT order_id, amount, updated_at FROM source"},
    "select": {"select": ["order_id", "amount", "updated_at"]},
    "drop": {"drop": ["internal_note"]},
    "rename": {"rename": {"id": "order_id"}},
    "cast": {"cast": {"amount": "decimal(12,2)"}},
    "derive": {"derive": {"amount": "price * quantity"}},
    "standardize": {"standardize": {"region": ["trim", "upper"]}},
    "filter": {"filter": "status <> 'test'"},
    "deduplicate": {"deduplicate": {"keys": ["order_id"], "order_by": "updated_at DESC NULLS LAST"}},
    "stamp": {"stamp": ["ingested_at", "source_file"]},
}

MODE_EXAMPLES: dict[str, Example] = {
    "cdc_merge": {"sequence_by": "updated_at", "op_column": "amount"},
    "scd2_historical": {"effective_from": "updated_at"},
}
