"""How a source tells of changes: what its operations are called, and what says when they happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]

CHANGE_FEED = {
    "op_column": "_change_type",
    "op_codes": {"insert": "insert", "update_postimage": "update", "delete": "delete"},
    "sequence_by": "_commit_version",
}
DEBEZIUM = {"op_column": "_op", "op_codes": {"c": "insert", "r": "insert", "u": "update", "d": "delete"}}
_EVENTS = ("cdc_merge", "auto_cdc")


def with_events(contract: Document) -> Document:
    """A contract that merges events of such a source need not say again how they are told."""
    source, write = contract.get("source"), contract.get("write")
    if not isinstance(source, Mapping) or not isinstance(write, Mapping) or write.get("mode") not in _EVENTS:
        return contract
    told = CHANGE_FEED if source.get("change_feed") else DEBEZIUM if source.get("envelope") else {}
    if write.get("apply_as_deletes"):
        told = {key: value for key, value in told.items() if key == "sequence_by"}
    return {**contract, "write": {**told, **write}} if told else contract
