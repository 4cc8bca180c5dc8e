"""What is dangerous or contradictory in a contract, found before any table is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lakepact.contract.model import Contract, Rule, Step, Write
from lakepact.errors import PlanError, Problem
from lakepact.plan.columns import CORRUPT, SOURCE_FILE, STAMPS, stamp_columns, table_columns
from lakepact.plan.connectors import CONNECTORS, Connector
from lakepact.plan.expressions import expression_problems, order_problems, predicate_problems
from lakepact.plan.layout import layout_problems
from lakepact.plan.modes import mode_of
from lakepact.plan.read import GIVEN, format_of, upstreams
from lakepact.plan.tables import select_problems, tables_in
from lakepact.plan.target import write_keys
from lakepact.plan.transform import asked_of_source
from lakepact.plan.watermark import KINDS, length
from lakepact.plugins import hint

Found = Iterator[Problem]


def find_problems(contract: Contract) -> list[Problem]:
    """Every reason why this contract must not run, each with the field it is about."""
    return [problem for check in CHECKS for problem in check(contract)]


def _columns(contract: Contract) -> Found:
    seen: set[str] = set()
    for number, column in enumerate(contract.columns):
        if column.name.lower() in seen:
            yield Problem(f"the column {column.name!r} is declared twice", f"columns.{number}.name")
        seen.add(column.name.lower())
    for stamp in stamp_columns(contract):
        if stamp.name.lower() in seen:
            yield Problem(f"the column {stamp.name!r} is declared and stamped; leave one out", "columns")


def _source(contract: Contract) -> Found:
    source = contract.source
    if source is None:
        return
    problems = select_problems(source.sql) if source.sql is not None else []
    yield from (Problem(message, "source.sql") for message in problems)
    if source.path is not None and not format_of(source):
        yield Problem("cannot be told from the path; write csv, json, parquet, …", "source.format")
    if source.connector is not None and source.connector not in (GIVEN, *CONNECTORS):
        near = hint(source.connector, CONNECTORS)
        yield Problem(f"{source.connector!r} is not built into this version{near}", "source.connector")
    elif source.connector in CONNECTORS:
        yield from CONNECTORS[source.connector].problems(source.options)
        yield from _connected(contract, CONNECTORS[source.connector])
    if not problems and contract.name in upstreams(source):
        yield Problem("the table would read itself", f"source.{source.kind}")
    if source.filter is not None:
        yield from (Problem(message, "source.filter") for message in predicate_problems(source.filter))


def _parts(contract: Contract) -> Found:
    """How a source is read, beside what it is."""
    source = contract.source
    if source is None:
        return
    if source.window is not None and (source.path is not None or source.change_feed is not None):
        yield Problem("a window needs a table, a query or a connector to push it into", "source.window")
    if source.envelope and format_of(source) != "json" and source.connector != "kafka":
        yield Problem("needs JSON files, or kafka with payload json", "source.envelope")


def _watermark(contract: Contract) -> Found:
    source, write = contract.source, contract.write
    if source is None or source.watermark is None:
        return
    if source.path is not None or source.change_feed is not None:
        message = "files are loaded once by load_type: incremental, and a change feed is read on by itself"
        yield Problem(message, "source.watermark")
    if source.window is not None:
        yield Problem("either a window or a watermark", "source.watermark")
    if write is not None and write.mode == "scd0_append":
        message = "scd0_append would add the rows at the mark again; write.mode: append_dedup or scd1_upsert"
        yield Problem(message, "source.watermark")
    column = source.watermark.column
    yield from _known(contract, (column,), "source.watermark.column")
    kinds = {c.name: c.type for c in contract.columns}
    if column in kinds and not KINDS.fullmatch(kinds[column]):
        message = f"a watermark is a number, a date or a time; {column} is {kinds[column]}"
        yield Problem(message, "source.watermark.column")
    if isinstance(source.watermark.lookback, str):
        yield from _lookback(source.watermark.lookback)


def _lookback(text: str) -> Found:
    try:
        length(text)
    except PlanError as wrong:
        yield from wrong.problems


def _connected(contract: Contract, known: Connector) -> Found:
    """What a connector needs of the rest of the contract."""
    assert contract.source is not None
    name = contract.source.connector
    if known.needs_columns and not asked_of_source(contract):
        yield Problem(f"{name} brings text: the contract must declare the columns, without a sql step", "columns")
    if contract.source.load_type == "streaming" and not known.streams:
        yield Problem(f"{name} cannot be streamed; say load_type: full", "source.load_type")


def _files(contract: Contract) -> Found:
    """What is said of files where files are read."""
    source = contract.source
    if source is None:
        return
    if "bad_files" in source.model_fields_set and source.path is None:
        yield Problem("is about files: needs source.path", "source.bad_files")
    if source.bad_files == "quarantine" and source.load_type == "streaming":
        yield Problem("a stream stops at a file that cannot be read; say load_type: incremental", "source.bad_files")
    if source.path is not None and format_of(source) == "xml":
        yield from _row_tag(source.options)


def _row_tag(options: Mapping[str, object]) -> Found:
    if not any(key.lower() == "rowtag" and value for key, value in options.items()):
        near = next((key for key in options if "did you mean" in hint(key, ["rowTag"])), None)
        instead = f", not {near}" if near else ""
        yield Problem(f"xml needs rowTag{instead}: the name of the element that is a row", "source.options.rowTag")


def _time_travel(contract: Contract) -> Found:
    """A table as it was: one moment, of one table, in one go."""
    source = contract.source
    given = [name for name in ("version", "timestamp") if source and getattr(source, name) is not None]
    if source is None or not given:
        return
    field = f"source.{given[0]}"
    if source.table is None:
        yield Problem("only a table of the lakehouse has versions; in a query write VERSION AS OF 3", field)
    if len(given) > 1:
        yield Problem("either a version or a timestamp, not both", field)
    if source.load_type == "streaming":
        yield Problem("a stream reads what comes, not what was", field)


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
        yield from _known(contract, (named,) if isinstance(named, str) else named, f"write.{field}")
    if contract.write is not None and contract.write.says_operations:
        yield from _known(contract, (contract.write.op_column or "",), "write.op_column")


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


def _quarantine(contract: Contract) -> Found:
    if contract.quarantine_table == contract.name:
        yield Problem("rejected rows would be written into the table itself", "quarantine.table")


def _layout(contract: Contract) -> Found:
    """A table described alone is judged without its columns: whoever fills it may stamp some of its own."""
    added = mode_of(contract.write).adds(contract.write, table_columns(contract, None)) if contract.write else ()
    columns = {column.name: column.type for column in contract.columns}
    columns |= {column.name: column.type for column in (*stamp_columns(contract), *added)}
    known = contract.columns and contract.source is not None
    yield from layout_problems(contract.layout, columns if known else None)


def _known(contract: Contract, names: tuple[str, ...], field: str) -> Found:
    columns = known_columns(contract)
    for name in names:
        if columns is not None and name not in columns:
            yield Problem(f"unknown column {name!r}{hint(name, columns)}", field)


def known_columns(contract: Contract) -> list[str] | None:
    """The table's columns; None where they are the source's own and so not known yet."""
    if not contract.columns:
        return None
    return [c.name for c in contract.columns] + [c.name for c in stamp_columns(contract)]


def _steps(contract: Contract) -> Found:
    kinds = [step.kind for step in contract.transform]
    ending = [n for n, kind in enumerate(kinds) if kind not in ("deduplicate", "stamp")]
    for number, step in enumerate(contract.transform):
        field = f"transform.{number}"
        if step.sql is not None and number > 0:
            yield Problem("must be the first step: it sees `source`", f"{field}.sql")
        if step.deduplicate is not None and any(n > number for n in ending):
            yield Problem("must be the last step", f"{field}.deduplicate")
        if step.kind in kinds[:number] and step.kind in ("deduplicate", "sql"):
            yield Problem(f"a second {step.kind}; one is enough", field)
        yield from _step_texts(contract, step, field)


def _step_texts(contract: Contract, step: Step, field: str) -> Found:
    if step.sql is not None:
        yield from (Problem(message, f"{field}.sql") for message in _source_only(step.sql))
    if step.filter is not None:
        yield from (Problem(message, f"{field}.filter") for message in predicate_problems(step.filter))
    for name, text in (step.derive or {}).items():
        yield from (Problem(message, f"{field}.derive.{name}") for message in expression_problems(text))
    if step.deduplicate is not None:
        columns = _readable_columns(contract)
        place = f"{field}.deduplicate"
        yield from _known(contract, step.deduplicate.keys, f"{place}.keys")
        found = order_problems(step.deduplicate.order_by, columns)
        yield from (Problem(message, f"{place}.order_by") for message in found)
    if step.stamp and "source_file" in step.stamp and contract.source and contract.source.path is None:
        yield Problem(f"{STAMPS['source_file'].column} needs a source of files", f"{field}.stamp")


def _source_only(sql: str) -> list[str]:
    """A step sees `source`; other tables are joined in `source.sql`, where they count as read."""
    problems = select_problems(sql)
    others = [] if problems else [name for name in tables_in(sql) if name != "source"]
    return problems or [f"reads {name}; a step sees only `source`, so join it in source.sql" for name in others]


def _readable_columns(contract: Contract) -> list[str] | None:
    known = known_columns(contract)
    return None if known is None else [*known, CORRUPT, SOURCE_FILE]


def _rules(contract: Contract) -> Found:
    names: set[str] = set()
    for number, rule in enumerate(contract.quality):
        field = f"quality.{number}"
        if rule.name and rule.name in names:
            yield Problem(f"a second rule called {rule.name!r}", f"{field}.name")
        names.add(rule.name or "")
        yield from _rule(contract, rule, field)


def _rule(contract: Contract, rule: Rule, field: str) -> Found:
    columns = known_columns(contract)
    for key, text in (("check", rule.check), ("when", rule.when)):
        if text is not None:
            yield from (Problem(message, f"{field}.{key}") for message in predicate_problems(text, columns))
    yield from _known(contract, _rule_columns(rule), f"{field}.{rule.kind}")
    if rule.kind in BATCH_KINDS and (rule.when or rule.tolerance or rule.rejected_as):
        yield Problem(f"{rule.kind} is about the batch: when, tolerance and rejected_as are for rows", field)
    if rule.kind in BATCH_KINDS - {"unique"} and rule.action == "quarantine":
        yield Problem(f"{rule.kind} is about the batch: it can warn or fail, there is no row to quarantine", field)
    if rule.tolerance and rule.action != "fail":
        yield Problem("tolerance is for rules whose action is fail", f"{field}.tolerance")


BATCH_KINDS = frozenset({"unique", "required_columns", "null_ratio", "min_rows", "max_rows", "row_count_between"})


def _rule_columns(rule: Rule) -> tuple[str, ...]:
    """The columns a rule names outside of expressions; required columns are the source's, not the table's."""
    one = [part.column for part in (rule.range, rule.regex_match, rule.length, rule.null_ratio) if part]
    one += [rule.referential_integrity.column] if rule.referential_integrity else []
    one += [rule.lifecycle_window.event_ts, rule.lifecycle_window.event_key] if rule.lifecycle_window else []
    return (*(rule.not_null or ()), *(rule.unique or ()), *(rule.accepted_values or ()), *one)


CHECKS: tuple[Callable[[Contract], Found], ...] = (
    _columns, _source, _parts, _watermark, _files, _time_travel, _steps, _rules, _write, _write_columns, _partitions,
    _replaced, _sequence, _options, _events, _snapshot, _quarantine, _layout,
)  # fmt: skip


def _named(contract: Contract) -> bool:
    """Whether a batch is known again: by its key, by its files, or as a micro-batch of its stream."""
    source = contract.source
    by_source = source is not None and (source.only_new or source.load_type == "streaming")
    return by_source or bool(contract.write and contract.write.idempotency_key)


def find_warnings(contract: Contract) -> list[str]:
    """What is allowed, and should be known."""
    warnings = []
    if contract.write and contract.write.mode == "scd0_append" and not _named(contract):
        warnings.append(
            "scd0_append adds the batch each time it runs; an idempotency_key keeps a repeated run from repeating rows"
        )
    if contract.write and contract.write.mode == "cdc_merge" and contract.write.hard_delete:
        warnings.append("a deleted row leaves nothing behind: an older event that comes in a later run brings it back")
    if not contract.columns:
        warnings.append("no columns are declared: the table takes the source's columns and types as they are")
    if contract.freshness:
        warnings.append("freshness is declared and recorded; this version does not check it")
    return warnings
