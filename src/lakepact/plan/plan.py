"""A Plan: everything a run will do, as data and SQL text. Making one needs no Spark and touches nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lakepact.contract.model import Contract
from lakepact.contract.source import Source
from lakepact.contract.write import Write
from lakepact.errors import PlanError, Problem
from lakepact.names import TableRef, literal, plain_name, quote, quoted
from lakepact.plan.bad_files import told, unlike
from lakepact.plan.changes import partitions_note
from lakepact.plan.check import find_problems, find_warnings
from lakepact.plan.columns import TableColumn, table_columns
from lakepact.plan.count import count_by_key, count_rows
from lakepact.plan.expressions import tells_the_time
from lakepact.plan.judge import Judgement, deduplication, implicit_rules, judge, ranking_rule
from lakepact.plan.layout import layout_problems, optimize
from lakepact.plan.loaded import root_of
from lakepact.plan.migration import table_changes
from lakepact.plan.modes import mode_of, stored
from lakepact.plan.modes.events import is_truncate
from lakepact.plan.quarantine import QuarantinePlan, quarantine_plan
from lakepact.plan.read import GIVEN, Read, decoded, read_feed, read_for, read_given, read_streamed, strict
from lakepact.plan.rules import (
    ACCEPTED,
    AnyRule,
    BatchRule,
    ColumnsRule,
    KeyRule,
    RowRule,
    compile_rules,
    named,
)
from lakepact.plan.state import RunIdentity, Window, World
from lakepact.plan.target import Guard, Mode, RowGuard, Target, write_keys
from lakepact.plan.transform import asked_of_source, cast_columns
from lakepact.plan.tuning import session_settings

SMALL_BESIDE = 4


@dataclass(frozen=True)
class Places:
    """Where names lead in one environment: pure functions of the project."""

    locate: Callable[[str], TableRef]
    path: Callable[[str], str]


@dataclass(frozen=True)
class Retry:
    """How often a write is tried where other writers are faster, and the first pause in seconds."""

    attempts: int
    pause: float


@dataclass(frozen=True)
class Plan:
    """What one run of one contract will do. `spark/` follows it and decides nothing."""

    contract: Contract
    fingerprint: str
    run: RunIdentity
    window: Window | None
    world: World
    target: TableRef
    columns: tuple[TableColumn, ...]
    read: Read
    judgement: Judgement
    rules: tuple[AnyRule, ...]
    accepted: str
    count: str
    materialise: bool
    keeps: bool
    refuse_empty: bool
    probe: str
    skip_unchanged: bool
    ddl: tuple[str, ...]
    quarantine: QuarantinePlan | None
    files_table: TableRef
    mode: Mode
    row_guards: tuple[RowGuard, ...]
    guards: tuple[Guard, ...]
    stages: tuple[tuple[str, str], ...]
    changes: str | None
    plain_changes: str | None
    find_partitions: tuple[str, ...]
    write: str
    optimize: str | None
    retry: Retry
    expressions: tuple[str, ...]
    settings: Mapping[str, str]
    warnings: tuple[str, ...]

    @property
    def key_rules(self) -> tuple[KeyRule, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, KeyRule))

    def must_commit(self, accepted: int, effects: Mapping[str, int]) -> bool:
        """Whether a write of so many rows cannot but leave a commit; a merge may find that there is nothing to do."""
        return bool(effects) if self.changes else bool(accepted) and not self.mode.needs_keys

    @property
    def notes(self) -> list[str]:
        """What is worth a word about the files that are read."""
        found = self.world.sorted_files
        return [*([told(found.bad)] if found.bad else []), *unlike(found.alike, self.read.asked)] if found else []

    @property
    def first_guards(self) -> tuple[Guard, ...]:
        """Those that can be asked before the write: a table that is not there yet answers nothing."""
        return self.guards if self.world.target else ()

    @property
    def commit_counts(self) -> bool:
        """Whether every row that is read is written, so that Delta's count of its commit says all there is to say."""
        return {sql for _, sql in self.judgement.metrics} == {"count(*)"}


def fingerprint(contract: Contract) -> str:
    """The same for two contracts only if they say the same, whatever their layout or dialect."""
    return hashlib.sha256(_said(contract).encode()).hexdigest()


def _said(contract: Contract) -> str:
    said = contract.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(said, sort_keys=True, separators=(",", ":"))


def _speaks_of_files(contract: Contract) -> bool:
    """Whether a stamp or an expression may want to know which file a row came from."""
    return "source_file" in _said(contract)


def make_plan(contract: Contract, world: World, window: Window | None, run: RunIdentity, places: Places) -> Plan:
    """The plan, or a PlanError that says everything that stands against it."""
    problems = find_problems(contract)
    if contract.source and contract.source.connector == GIVEN and world.looked and not world.given_view:
        problems.append(Problem("its rows are handed over as a DataFrame: use TableWriter or ingest", "source"))
    if problems or contract.source is None or contract.write is None:
        raise PlanError(problems or [Problem("needs a source and a way to write to be run", contract.name)])
    read = decoded(_read(contract.source, world, window, places), contract.source, asked_of_source(contract))
    read = replace(read, files=tuple(file.name for file in world.new_files)) if world.new_files else read
    read = _without_bad_files(read, world)
    read = strict(read) if contract.transform and contract.transform[0].sql else read
    read = _files_asked(read, contract, world) if read.of_files else read
    read = replace(read, schema=world.source_schema) if read.columnar else read
    columns = table_columns(contract, world.source_columns)
    exact = _exact(contract, columns, world)
    rules = _all_rules(contract, columns, read, places, exact)
    rows = tuple(rule for rule in rules if isinstance(rule, RowRule))
    batch = tuple(rule for rule in rules if isinstance(rule, BatchRule))
    mode, table = mode_of(contract.write), places.locate(contract.name)
    kept = stored(contract.write, columns)
    rejects, small = any(rule.action == "quarantine" for rule in rows), _is_small(world)
    tells = read.tells_file or (read.of_files and (rejects or _speaks_of_files(contract)))
    read = replace(read, tells_file=tells)
    target = Target(table.sql, kept, contract.write, run, rejects, small)
    skip = _skips_unchanged(contract.write, mode, read)
    judgement = judge(contract, columns, rows, batch, _key_missing(contract.write), read, run, exact)
    print_ = fingerprint(contract)
    keeps, row_guards = _keeps(contract, rules, read, world), mode.row_guards(target)
    straight = mode.straight is not None and _goes_straight(contract.write, small)
    return Plan(
        contract=contract,
        fingerprint=print_,
        run=run,
        window=window,
        world=world,
        target=table,
        columns=columns,
        read=read,
        judgement=judgement,
        rules=rules,
        accepted=f"SELECT {quoted(c.name for c in columns)} FROM `judged` WHERE {ACCEPTED}",
        count=_count(judgement, rules, row_guards, skip, keeps),
        keeps=keeps,
        materialise=skip
        or not world.observes_writes
        or bool(world.bad_files)
        or _needs_batch_first(contract, rules, row_guards, mode, read),
        refuse_empty=(mode.replaces or mode.complete) and not contract.write.allow_empty and bool(world.target),
        probe=f"SELECT * FROM ({judgement.sql}) WHERE {ACCEPTED} LIMIT 1",
        skip_unchanged=skip,
        ddl=_ddl(contract, table, (*kept, *mode.adds(contract.write, columns)), world),
        quarantine=_quarantine(contract, world, columns, rows, print_, run, places, read),
        files_table=places.locate(contract.files_table),
        mode=mode,
        row_guards=row_guards,
        guards=mode.guards(target),
        stages=mode.stages(target) if columns else (),
        changes=mode.changes(target) if mode.changes and not straight else None,
        plain_changes=mode.plain_changes(target) if mode.plain_changes and columns else None,
        find_partitions=target.find_partitions if columns and not straight else (),
        retry=Retry(contract.write.retry_attempts, contract.write.retry_backoff_seconds),
        write=mode.straight(target) if mode.straight and straight else mode.statement(target),
        optimize=_optimize(contract, table, world),
        expressions=_expressions(contract),
        settings={**session_settings(world), **mode.settings(contract.write), **_sources_kept(mode, straight, world)},
        warnings=(*find_warnings(contract), *_layout_warnings(contract, world)),
    )


def _read(source: Source, world: World, window: Window | None, places: Places) -> Read:
    """What is read: rows that were handed over, a micro-batch, or what the contract names."""
    if world.given_view and not world.streamed:
        return read_given(source, world.given_view, window)
    if source.change_feed and not world.streamed:
        return read_feed(places.locate(plain_name(source.change_feed)), world.since_version, world.source_version)
    read = read_for(source, _pinned(source, world, places), places.path, window, world.since)
    return read_streamed(read, world.given_view) if world.given_view else read


def _files_asked(read: Read, contract: Contract, world: World) -> Read:
    """What the contract asks of files, also where none came yet."""
    asked, lenient = asked_of_source(contract), bool(contract.source and contract.source.bad_files == "quarantine")
    return replace(read, asked=asked, awaited=asked if _nothing_to_read(world) else (), may_lack=lenient)


def _nothing_to_read(world: World) -> bool:
    return world.source_bytes == 0 or (world.sorted_files is not None and not world.sorted_files.good)


def _without_bad_files(read: Read, world: World) -> Read:
    """Where files turned out not to be alike, those that can be read, each with its own kind."""
    if world.sorted_files is None:
        return read
    return replace(read, files=world.sorted_files.good, alike=world.sorted_files.alike, types=world.sorted_files.types)


def _pinned(source: Source, world: World, places: Places) -> Callable[[str], TableRef]:
    """A table is read as it was when the plan was made, so that looking twice shows the same rows."""
    version = world.source_version if source.version is None else source.version
    if source.table is None or (version is None and source.timestamp is None):
        return places.locate
    if source.timestamp is not None:
        return lambda name: replace(places.locate(name), at=source.timestamp)
    return lambda name: replace(places.locate(name), version=version)


def _exact(contract: Contract, columns: tuple[TableColumn, ...], world: World) -> frozenset[str]:
    """Columns whose type is already the table's: their values can be read, so nobody has to look."""
    there = {name.lower(): kind for name, kind in (world.source_columns or {}).items()}
    same = {column.name for column in columns if there.get(column.name.lower()) == column.type}
    return frozenset(same - set(cast_columns(contract)))


def _all_rules(
    contract: Contract, columns: tuple[TableColumn, ...], read: Read, places: Places, exact: frozenset[str]
) -> tuple[AnyRule, ...]:
    asked = compile_rules(contract.quality, places.locate)
    given = implicit_rules(contract, columns, read.keeps_corrupt, exact)
    return named((*ranking_rule(contract), *given, *_operations(contract), *asked, *_key_guard(contract, asked)))


def _operations(contract: Contract) -> tuple[RowRule, ...]:
    """A change event must say what happened in a word we know."""
    assert contract.write is not None
    write = contract.write
    if not write.says_operations or write.op_column is None:
        return ()
    codes = ", ".join(literal(code.upper()) for code in write.op_codes)
    truncates = f" OR coalesce(({write.apply_as_truncates}), FALSE)" if write.apply_as_truncates else ""
    known = f"upper(trim({quote(write.op_column)})) IN ({codes}){truncates}"
    return (RowRule("operation_known", "unknown_operation", known, frozenset({write.op_column.lower()})),)


def _key_missing(write: Write) -> str | None:
    """True for a row without a key, where a row must have one; a truncation is about all keys and needs none."""
    if write.null_keys == "keep" or not write_keys(write):
        return None
    missing = " OR ".join(f"{quote(key)} IS NULL" for key in write_keys(write))
    return f"({missing}) AND NOT {is_truncate(write)}" if write.apply_as_truncates else missing


def _key_guard(contract: Contract, asked: tuple[AnyRule, ...]) -> tuple[KeyRule, ...]:
    """Modes that match by key need each key once; where that is already certain, nobody has to look."""
    assert contract.write is not None
    unique = mode_of(contract.write).unique(contract.write)
    keys = set(unique)
    if not keys:
        return ()
    dedupe = deduplication(contract)
    deduplicated = dedupe is not None and set(dedupe.keys) <= keys
    looked_at = any(isinstance(r, KeyRule) and r.action == "fail" and set(r.keys) <= keys for r in asked)
    quarantined = any(r.unique and r.action == "quarantine" and set(r.unique) <= keys for r in contract.quality)
    if deduplicated or looked_at or quarantined:
        return ()
    return (KeyRule("unique_keys", unique, description="each key stands once in the batch"),)


def _needs_batch_first(
    contract: Contract, rules: tuple[AnyRule, ...], guards: tuple[RowGuard, ...], mode: Mode, read: Read
) -> bool:
    """Whether anything can stop the write: then the batch is judged as a whole before a row is written.

    To look for doubles takes the whole batch too, whatever becomes of them.
    """
    stops = any(rule.action == "fail" and not isinstance(rule, ColumnsRule) for rule in rules)
    return (
        stops
        or any(isinstance(rule, KeyRule) for rule in rules)
        or deduplication(contract) is not None
        or mode.needs_keys
        or (mode.replaces and read.only_once)
        or bool(guards)
        or contract.quarantine.max_ratio is not None
        or (any(rule.action == "quarantine" for rule in rules) and not _rejects_later(contract, read))
    )


def _rejects_later(contract: Contract, read: Read) -> bool:
    """Rejected rows may follow the write only where a run that dies in between is made good by the next one: a batch
    that was given a name is not run again once it is written."""
    assert contract.write is not None
    named = contract.write.policy != "always_run" or bool(contract.source and contract.source.change_feed)
    return not named and _reads_the_same_twice(contract, read)


def _keeps(contract: Contract, rules: tuple[AnyRule, ...], read: Read, world: World) -> bool:
    """Whether the judged batch is kept, so that it is computed once; else it is read again, which is sure to be the
    same and costs less: typed columns of files or of one version of a table, of which no row is rejected."""
    rejects = any(rule.action == "quarantine" for rule in rules) or deduplication(contract) is not None
    same = (read.columnar or read.pinned) and not any(tells_the_time(text) for text in _expressions(contract))
    return rejects or not same or bool(contract.transform and contract.transform[0].sql) or not world.observes_writes


def _count(
    judgement: Judgement, rules: tuple[AnyRule, ...], guards: tuple[RowGuard, ...], skip_unchanged: bool, keeps: bool
) -> str:
    """One query counts the batch; where its rows are read again it looks for doubles too, and saves a reading."""
    guarded = [(f"guard:{n}", f"count_if({ACCEPTED} AND ({guard.rows}))") for n, guard in enumerate(guards)]
    metrics = (*judgement.metrics, *guarded, *((("content", judgement.content),) if skip_unchanged else ()))
    keyed = [rule for rule in rules if isinstance(rule, KeyRule)]
    return count_rows(metrics) if keeps or not keyed else count_by_key(metrics, keyed[0])


def _reads_the_same_twice(contract: Contract, read: Read) -> bool:
    """Rejected rows may be fetched by a second scan only where it is sure to find what the first one found."""
    return read.of_files and not any(tells_the_time(text) for text in _expressions(contract))


def _goes_straight(write: Write, small: bool) -> bool:
    """A batch that is small beside its table is merged as it is: to compare it first would read the table twice."""
    return small and not write.merge_partition_column and not write.append_versions


def _is_small(world: World) -> bool:
    """Whether the batch is small beside its table, or there is no row to compare it with."""
    if world.target is None or world.target.bytes == 0:
        return True
    sizes = world.source_bytes, world.target.bytes
    return None not in sizes and (sizes[0] or 0) * SMALL_BESIDE <= (sizes[1] or 0)


def _sources_kept(mode: Mode, straight: bool, world: World) -> dict[str, str]:
    """Changes that are kept need not be kept a second time by Delta."""
    kept = mode.changes is not None and not straight and world.observes_writes
    return {"spark.databricks.delta.merge.materializeSource": "none"} if kept else {}


def _skips_unchanged(write: Write, mode: Mode, read: Read) -> bool:
    whole = mode.replaces and not write.named_partition and not write.replace_partitions
    return whole and (not read.of_files if write.skip_unchanged is None else write.skip_unchanged)


def _ddl(contract: Contract, target: TableRef, columns: tuple[TableColumn, ...], world: World) -> tuple[str, ...]:
    """The table is made, or altered where it differs; a layout that fits none of its columns is refused."""
    found = {column.name: column.type for column in columns} if world.source_columns is not None else None
    problems = [] if contract.columns else list(layout_problems(contract.layout, found))
    safe, refused = table_changes(contract, target, columns, world.target)
    if problems or refused:
        raise PlanError([*problems, *refused])
    return tuple(change.sql for change in safe)


def _layout_warnings(contract: Contract, world: World) -> list[str]:
    return partitions_note(contract.layout, world.target) if world.target else []


def _optimize(contract: Contract, target: TableRef, world: World) -> str | None:
    """Of one partition where only that one is written."""
    if not contract.layout.optimize_after_write or contract.write is None:
        return None
    folders = world.target.partition_by if world.target else contract.layout.partition_by
    written = contract.write.named_partition
    return optimize(target.sql, contract.layout, written if written.keys() <= {*folders} else None)


def _quarantine(
    contract: Contract,
    world: World,
    columns: tuple[TableColumn, ...],
    rules: tuple[RowRule, ...],
    print_: str,
    run: RunIdentity,
    places: Places,
    read: Read,
) -> QuarantinePlan | None:
    if not any(rule.action == "quarantine" for rule in rules) and not world.bad_files:
        return None
    table, folder = places.locate(contract.quarantine_table), root_of(read.path or "")
    files = tuple(replace(one, file=replace(one.file, name=f"{folder}/{one.file.name}")) for one in world.bad_files)
    return quarantine_plan(contract, table, world.quarantine, columns, rules, print_, run, files)


def _expressions(contract: Contract) -> tuple[str, ...]:
    """Every text of the user that stands in a statement; Spark's own parser reads each alone first."""
    texts = [text for rule in contract.quality for text in (rule.check, rule.when)]
    texts += [step.filter for step in contract.transform]
    texts += [text for step in contract.transform for text in (step.derive or {}).values()]
    texts += [contract.source.filter] if contract.source else []
    texts += [contract.write.apply_as_deletes, contract.write.apply_as_truncates] if contract.write else []
    return tuple(text for text in texts if text is not None)
