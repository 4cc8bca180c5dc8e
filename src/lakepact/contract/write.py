"""Write: how a batch meets its table."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool

from lakepact.contract.fields import (
    ColumnName,
    Instant,
    Names,
    Part,
    Scalar,
)
from lakepact.plugins import hint

MODES = {
    "scd0_append": "scd0_append",
    "scd0_overwrite": "scd0_overwrite",
    "scd1_upsert": "scd1_upsert",
    "scd1_hash_diff": "scd1_hash_diff",
    "scd2_historical": "scd2_historical",
    "snapshot_soft_delete": "snapshot_soft_delete",
    "cdc_merge": "cdc_merge",
    "append_dedup": "append_dedup",
    "auto_cdc": "cdc_merge",
    "append": "scd0_append",
    "overwrite": "scd0_overwrite",
    "upsert": "scd1_upsert",
    "merge_current": "scd1_upsert",
    "full_merge": "scd1_upsert",
    "incremental_replace": "scd1_upsert",
    "hash_diff_upsert": "scd1_hash_diff",
    "historical": "scd2_historical",
    "snapshot_reconcile_soft_delete": "snapshot_soft_delete",
}


def _mode_name(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    name = value.lower().replace("-", "_")
    if name not in MODES:
        raise ValueError(f"unknown mode {value!r}{hint(name, MODES)}")
    return MODES[name]


Mode = Annotated[str, BeforeValidator(_mode_name), Field(json_schema_extra={"enum": list(MODES)})]


class HistoryColumns(Part):
    """What the columns of a history are called."""

    valid_from: ColumnName = "valid_from"
    valid_to: ColumnName = "valid_to"
    is_current: ColumnName = "is_current"
    row_hash: ColumnName = "row_hash"
    changed_columns: ColumnName = "changed_columns"


IdempotencyPolicy = Literal["always_run", "skip_if_success", "fail_if_success", "rerun_if_failed"]
Operation = Literal["insert", "update", "delete"]
OPERATIONS: dict[str, Operation] = {"I": "insert", "U": "update", "D": "delete"}


class Write(Part):
    """How the batch meets the table."""

    mode: Mode = Field(description="how accepted rows meet those that are there")
    keys: Names = Field((), description="columns that identify a row")
    sequence_by: ColumnName | None = Field(
        None,
        description="upsert, cdc: an older row never overwrites a newer one, in whatever order they come",
    )
    partition_column: ColumnName | None = Field(None, description="overwrite: replace only one partition …")
    partition_value: Scalar | None = Field(None, description="… namely this one")
    partition: dict[str, Scalar] = Field(
        default_factory=dict, description="overwrite: the one partition to replace, where it has several columns"
    )
    replace_partitions: StrictBool = Field(False, description="overwrite: replace the partitions in the batch")
    replace_partitions_source_complete: StrictBool = Field(
        False,
        description="the source holds the whole of each partition it brings; replace_partitions needs it",
    )
    merge_partition_column: ColumnName | None = Field(
        None, description="upsert, hash diff, cdc: the merge looks only into the partitions its changes are about"
    )
    update_columns: Names = Field((), description="upsert: columns an update may change; default: all but the keys")
    insert_only_columns: Names = Field((), description="upsert: columns that keep the value of their first row")
    hash_keys: Names = Field((), description="hash diff: columns whose change counts; default: all but the keys")
    hash_exclude_columns: Names = Field((), description="hash diff, history: columns whose change does not count")
    append_versions: StrictBool = Field(False, description="hash diff: add changed rows instead of updating them")
    effective_from: ColumnName | None = Field(None, description="history: when a row became true; default: now")
    track: Names = Field((), description="history: columns whose change makes a version; default: all but keys")
    late: Literal["apply", "ignore", "reject"] = Field("apply", description="history: what becomes of late rows")
    apply_as_deletes: str | None = Field(
        None, description="history, cdc: rows for which this is true end their key; cdc then needs no op_column"
    )
    restate_from: Instant | None = Field(
        None,
        description="history: from this moment on the batch is the truth, and what the table says of it is forgotten",
    )
    history: HistoryColumns = HistoryColumns()
    max_delete_ratio: float | None = Field(
        None, ge=0, le=1, description="snapshot: at most this share of the active rows may disappear"
    )
    hard_delete: StrictBool = Field(False, description="snapshot, cdc: rows are deleted, not marked")
    op_column: ColumnName | None = Field(
        "op_type", description="cdc: the column that says what happened; null: every row is an upsert"
    )
    op_codes: dict[str, Operation] = Field(
        default_factory=lambda: dict(OPERATIONS), description="cdc: what codes mean; case does not matter"
    )
    deleted_column: ColumnName = Field("is_deleted", description="cdc: the mark of a deleted row")
    apply_as_truncates: str | None = Field(
        None, description="cdc: a row for which this is true ends every key; it needs no key itself"
    )
    except_column_list: Names = Field((), description="cdc: columns of the events that the table does not keep")
    stored_as_scd_type: Literal[1, 2] = Field(1, description="cdc: 1 keeps the latest state, 2 every version")
    track_history_column_list: Names = Field(
        (), description="cdc, type 2: columns whose change makes a version; default: all but the keys"
    )
    track_history_except_column_list: Names = Field((), description="cdc, type 2: columns whose change makes none")
    ignore_null_updates: StrictBool = Field(False, description="cdc: an event changes only columns it has a value for")
    null_keys: Literal["fail", "keep"] = Field("fail", description="append_dedup: rows without a key")
    allow_empty: StrictBool = Field(False, description="true: an empty source may replace the table")
    skip_unchanged: StrictBool | None = Field(
        None,
        description="overwrite: no commit when the rows are those of the last one; default: unless files",
    )
    idempotency_key: str | None = Field(None, min_length=1, description="names the batch; a table takes a batch once")
    idempotency_policy: IdempotencyPolicy | None = Field(
        None, description="what happens when the key was already written; default: skip_if_success"
    )
    retry_attempts: int = Field(10, ge=1, le=1000, description="tries, where other writers are faster")
    retry_backoff_seconds: float = Field(0.5, ge=0, le=600, description="pause before the second try; it doubles")

    @property
    def named_partition(self) -> dict[str, Scalar]:
        """The one partition to replace, however it was said."""
        if self.partition_column is None or self.partition_value is None:
            return self.partition
        return {**self.partition, self.partition_column: self.partition_value}

    @property
    def keeps_versions(self) -> bool:
        """Whether change events are kept as versions."""
        return self.stored_as_scd_type == 2

    @property
    def says_operations(self) -> bool:
        """Whether a column of the events says what happened; a predicate may say it instead."""
        given = "op_column" in self.model_fields_set or self.apply_as_deletes is None
        return self.mode == "cdc_merge" and self.op_column is not None and given

    @property
    def policy(self) -> IdempotencyPolicy:
        return self.idempotency_policy or ("skip_if_success" if self.idempotency_key else "always_run")
