"""What is dangerous or contradictory in how a contract writes."""

from __future__ import annotations

from collections.abc import Iterator

from lakepact.contract.model import Contract
from lakepact.contract.write import Write
from lakepact.errors import Problem
from lakepact.plan.expressions import predicate_problems
from lakepact.plan.known import known_columns, unknown_columns
from lakepact.plan.modes import mode_of
from lakepact.plan.target import write_keys

Found = Iterator[Problem]


def _write(contract: Contract) -> Found:
    write = contract.write
    if write is None:
        return
    mode = mode_of(write)
    if mode.needs_keys and not write_keys(write):
        yield Problem(f"{mode.name} needs keys: the columns that identify a row", "write.keys")
    for option, modes in OPTIONS.items():
        if option in write.model_fields_set and mode.name not in modes:
            yield Problem(f"only for {' and '.join(modes)}, not for {mode.name}", f"write.{option}")
    if mode.replaces and contract.source is not None and contract.source.window is not None:
        yield Problem(f"{mode.name} would replace the table with one window of its source", "source.window")
    for field in ("apply_as_deletes", "apply_as_truncates"):
        text = getattr(write, field)
        found = predicate_problems(text, known_columns(contract)) if text is not None else []
        yield from (Problem(message, f"write.{field}") for message in found)


def _write_columns(contract: Contract) -> Found:
    if contract.write is not None and mode_of(contract.write).needs_keys:
        for number, column in enumerate(contract.columns):
            if "map<" in column.type or "variant" in column.type:
                message = f"{contract.write.mode} compares rows, and a {column.type} cannot be compared"
                yield Problem(message, f"columns.{number}.type")
    for field in NAMES_COLUMNS:
        named = getattr(contract.write, field, None) or ()
        yield from unknown_columns(contract, (named,) if isinstance(named, str) else named, f"write.{field}")
    if contract.write is not None and contract.write.says_operations:
        yield from unknown_columns(contract, (contract.write.op_column or "",), "write.op_column")


NAMES_COLUMNS = (
    "keys", "hash_keys", "hash_exclude_columns", "track", "sequence_by", "effective_from", "partition_column",
    "partition", "merge_partition_column", "update_columns", "insert_only_columns", "except_column_list",
    "track_history_column_list", "track_history_except_column_list",
)  # fmt: skip


OPTIONS = {
    "sequence_by": ("scd1_upsert", "scd1_hash_diff", "cdc_merge", "append_dedup"),
    "allow_empty": ("scd0_overwrite",),
    "skip_unchanged": ("scd0_overwrite",),
    "partition_column": ("scd0_overwrite",),
    "partition_value": ("scd0_overwrite",),
    "partition": ("scd0_overwrite",),
    "merge_partition_column": ("scd1_upsert", "scd1_hash_diff", "cdc_merge"),
    "update_columns": ("scd1_upsert",),
    "insert_only_columns": ("scd1_upsert",),
    "replace_partitions": ("scd0_overwrite",),
    "replace_partitions_source_complete": ("scd0_overwrite",),
    "hash_keys": ("scd1_hash_diff",),
    "hash_exclude_columns": ("scd1_hash_diff", "scd2_historical"),
    "append_versions": ("scd1_hash_diff",),
    "effective_from": ("scd2_historical",),
    "track": ("scd2_historical",),
    "late": ("scd2_historical",),
    "apply_as_deletes": ("scd2_historical", "cdc_merge"),
    "history": ("scd2_historical", "cdc_merge"),
    "restate_from": ("scd2_historical",),
    "max_delete_ratio": ("snapshot_soft_delete",),
    "hard_delete": ("snapshot_soft_delete", "cdc_merge"),
    "op_column": ("cdc_merge",),
    "op_codes": ("cdc_merge",),
    "deleted_column": ("cdc_merge",),
    "null_keys": ("append_dedup",),
    "apply_as_truncates": ("cdc_merge",),
    "except_column_list": ("cdc_merge",),
    "stored_as_scd_type": ("cdc_merge",),
    "track_history_column_list": ("cdc_merge",),
    "track_history_except_column_list": ("cdc_merge",),
    "ignore_null_updates": ("cdc_merge",),
}


def _partitions(contract: Contract) -> Found:
    """Partitions are spoken of where the table has them."""
    write = contract.write
    if write is None:
        return
    if (write.partition_column is None) != (write.partition_value is None):
        yield Problem("partition_column and partition_value belong together", "write.partition_value")
    for field in ("partition_column", "partition", "merge_partition_column"):
        named = getattr(write, field) or ()
        others = {named} if isinstance(named, str) else {*named}
        for column in sorted(others - {*contract.layout.partition_by}):
            yield Problem(f"{column!r} is not one of layout.partition_by", f"write.{field}")


def _replaced(contract: Contract) -> Found:
    """What an overwrite of partitions must say, so that it replaces no more than it should."""
    write = contract.write
    if write is None:
        return
    if write.replace_partitions and write.named_partition:
        yield Problem("either the partition named or those of the batch, not both", "write.replace_partitions")
    if write.replace_partitions and not contract.layout.partition_by:
        yield Problem("needs layout.partition_by", "write.replace_partitions")
    if write.replace_partitions and not write.replace_partitions_source_complete:
        message = "needs replace_partitions_source_complete: true, or rows the source left out would be lost"
        yield Problem(message, "write.replace_partitions")


def _sequence(contract: Contract) -> Found:
    write = contract.write
    if write is None or write.sequence_by:
        return
    if write.mode == "cdc_merge":
        yield Problem("cdc_merge needs sequence_by: which event of a key is the latest", "write.sequence_by")
    if write.append_versions:
        yield Problem("append_versions needs sequence_by: which version of a key is the latest", "write.sequence_by")


def _options(contract: Contract) -> Found:
    """Settings that make no sense alone, or together."""
    write, source = contract.write, contract.source
    if write is None:
        return
    if source and source.names_batch and write.idempotency_key:
        yield Problem("what is new names its batch itself; leave out the key", "write.idempotency_key")
    if source and source.in_parts and (write.mode in ("scd0_overwrite", "snapshot_soft_delete")):
        field = "load_type" if source.only_new else "watermark" if source.watermark else "change_feed"
        message = f"{write.mode} replaces the table by the batch, and would forget what earlier runs brought"
        yield Problem(message, f"source.{field}")
    if write.policy != "always_run" and not write.idempotency_key:
        yield Problem(f"{write.policy} needs an idempotency_key: the name of the batch", "write.idempotency_policy")
    if write.restate_from and write.late != "apply":
        yield Problem("a batch that restates history is applied; leave out late", "write.late")
    if write.restate_from and not write.effective_from:
        yield Problem("needs effective_from: when each row of the batch became true", "write.restate_from")
    for name in sorted({*write.update_columns} & {*write.keys, *write.insert_only_columns}):
        yield Problem(f"{name!r} is a key or insert-only, and cannot be updated", "write.update_columns")


def _events(contract: Contract) -> Found:
    """Change events: what cannot be kept, or not together."""
    write = contract.write
    if write is None or write.mode != "cdc_merge":
        return
    yield from _versions(write)
    for name in sorted({*write.except_column_list} & {*write.keys}):
        yield Problem(f"{name!r} is a key, which the table needs", "write.except_column_list")
    for column in contract.columns if write.apply_as_truncates else ():
        if column.name in write.keys and not column.nullable:
            what = f"a truncation has no {column.name}, and is kept as a row without one"
            yield Problem(f"{what}: leave out nullable: false", "write.apply_as_truncates")


def _versions(write: Write) -> Found:
    if not write.keeps_versions:
        for field in sorted({"history", *TRACKS} & write.model_fields_set):
            yield Problem("needs stored_as_scd_type: 2", f"write.{field}")
    if all(getattr(write, field) for field in TRACKS):
        yield Problem("either the columns that make versions or those that make none", f"write.{TRACKS[1]}")
    if write.keeps_versions or write.ignore_null_updates:
        how = "stored_as_scd_type: 2" if write.keeps_versions else "ignore_null_updates"
        for field in ("hard_delete", "apply_as_truncates", "merge_partition_column"):
            if getattr(write, field):
                yield Problem(f"cannot be had together with {how}", f"write.{field}")


TRACKS = ("track_history_column_list", "track_history_except_column_list")


def _snapshot(contract: Contract) -> Found:
    """What is not in the batch is taken for gone, so the batch must be everything there is."""
    source, write = contract.source, contract.write
    if source is None or write is None or not mode_of(write).complete:
        return
    if not source.complete:
        yield Problem(f"{write.mode} needs complete: true, the source's whole current state", "source.complete")
    if source.window is not None:
        yield Problem(f"{write.mode} cannot read a window of its source", "source.window")
    if source.filter is not None:
        yield Problem(f"{write.mode} cannot filter its source: rows left out would be taken for gone", "source.filter")
    for number, step in enumerate(contract.transform):
        if step.filter is not None:
            yield Problem(
                f"{write.mode} cannot filter: rows left out would be taken for gone",
                f"transform.{number}.filter",
            )


WRITE_CHECKS = (_write, _write_columns, _partitions, _replaced, _sequence, _options, _events, _snapshot)
