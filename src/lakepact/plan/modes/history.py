"""scd2_historical: every version of a key, each valid until the next begins; one commit a batch.

The timelines of the keys in the batch are made anew from what the table holds and what the batch brings: events in
order of time, equal neighbours made one, each version ending where the next event begins. What differs from the
table is merged. So late rows, several versions of a key in one batch, deletes and returns need no rules of their own.
"""

from __future__ import annotations

from lakepact.contract.model import HistoryColumns, Write
from lakepact.names import equal_keys, literal, quote, quoted, same
from lakepact.plan.columns import TableColumn
from lakepact.plan.hashing import ALGORITHM, row_hash
from lakepact.plan.target import (
    BATCH,
    CHANGES,
    EFFECT,
    Counted,
    Guard,
    Mode,
    Target,
    Written,
    assignments,
    insert_columns,
    write_keys,
)


def changes(target: Target) -> str:
    """The versions that must be inserted, ended, updated or removed."""
    relations = {
        "incoming": _incoming(target),
        "standing": _standing(target, target.names),
        "events": _events(target),
        "once": _once(target),
        "marked": _marked(target),
        "runs": _runs(target),
        "versions": _versions(target),
    }
    chain = ",\n".join(f"{name} AS (\n  {sql}\n)" for name, sql in relations.items())
    return f"WITH\n{chain}\n{_difference(target)}"


def _at(target: Target) -> str:
    column = target.write.effective_from
    return f"CAST({quote(column)} AS TIMESTAMP)" if column else target.now


def _deleted(target: Target) -> str:
    return f"coalesce(({target.write.apply_as_deletes}), FALSE)" if target.write.apply_as_deletes else "FALSE"


def _tracked(target: Target) -> list[str]:
    excluded = set(target.write.hash_exclude_columns) | {target.write.effective_from or ""}
    return [name for name in (target.write.track or target.compared) if name not in excluded]


def _hash(target: Target) -> str:
    return row_hash([c for c in target.columns if c.name in _tracked(target)])


def _incoming(target: Target) -> str:
    return (
        f"SELECT {quoted(target.names)}, {_at(target)} AS `_at`, {_deleted(target)} AS `_gone`, TRUE AS `_new`,\n"
        f"    {_hash(target)} AS `_hash` FROM {BATCH}"
    )


def _standing(target: Target, columns: list[str]) -> str:
    """What the table holds of the batch's keys."""
    names, keys = target.write.history, equal_keys(target.keys, "i", "t")
    begins = f"t.{quote(names.valid_from)}"
    following = f"lead({begins}) OVER (PARTITION BY {quoted(target.keys, 't.')} ORDER BY {begins})"
    return (
        f"SELECT {quoted(columns, 't.')}, {begins} AS `_at`, t.{quote(names.valid_to)} AS `_until`,\n"
        f"    t.{quote(names.row_hash)} AS `_hash`, t.{quote(names.is_current)} AS `_current`, {following} AS `_next`\n"
        f"  FROM {target.table} AS t WHERE {_restated(target)}EXISTS (SELECT 1 FROM incoming AS i WHERE {keys})"
    )


def _restated(target: Target) -> str:
    """Keys that say something of the time that is told anew, whether the batch brings them or not."""
    if target.write.restate_from is None:
        return ""
    names, start, keys = target.write.history, literal(target.write.restate_from), equal_keys(target.keys, "r", "t")
    since = f"r.{quote(names.valid_from)} >= {start} OR r.{quote(names.valid_to)} >= {start}"
    return f"EXISTS (SELECT 1 FROM {target.table} AS r WHERE {keys} AND ({since})) OR "


def _events(target: Target) -> str:
    """Versions begin, keys end. A version that ended before the next began was a delete."""
    names = quoted(target.names)
    late = ""
    if target.write.late == "ignore":
        late = f" AS n WHERE NOT EXISTS ({_later(target, 'n')})"
    return (
        f"SELECT {names}, `_at`, `_gone`, `_new`, `_hash` FROM incoming{late}\n"
        f"  UNION ALL SELECT {names}, `_at`, FALSE, FALSE, `_hash` FROM standing{_before(target, '_at', 'WHERE')}\n"
        f"  UNION ALL SELECT {names}, `_until`, TRUE, FALSE, `_hash` FROM standing\n"
        f"    WHERE `_until` IS NOT NULL AND (`_next` IS NULL OR `_until` < `_next`){_before(target, '_until', 'AND')}"
    )


def _before(target: Target, moment: str, word: str) -> str:
    """Where history is restated, only what happened before stands."""
    start = target.write.restate_from
    return f" {word} {quote(moment)} < {literal(start)}" if start else ""


def _later(target: Target, row: str) -> str:
    """Something the table already knows of the key that happened after this row."""
    keys = equal_keys(target.keys, "l", row)
    return f"SELECT 1 FROM standing AS l WHERE {keys} AND greatest(l.`_at`, l.`_until`) > {row}.`_at`"


def _once(target: Target) -> str:
    """One event for each moment of a key: what is new corrects what stands, unless it says the same again."""
    moment = f"PARTITION BY {quoted(target.keys)}, `_at`"
    stands = f"max(IF(`_new` OR `_gone`, NULL, `_hash`)) OVER ({moment})"
    known = "(`_new` AND NOT `_gone` AND `_hash` <=> `_stands`)"
    rank = f"row_number() OVER ({moment} ORDER BY {known}, `_new` DESC, `_gone`)"
    return (
        f"SELECT * FROM (SELECT *, {rank} AS `_rank` FROM (SELECT *, {stands} AS `_stands` FROM events))\n"
        f"  WHERE `_rank` = 1"
    )


def _marked(target: Target) -> str:
    """An event begins something new unless it says what the one before said."""
    over = f"OVER (PARTITION BY {quoted(target.keys)} ORDER BY `_at`)"
    same_state = f"lag(`_gone`) {over} = `_gone` AND (`_gone` OR lag(`_hash`) {over} = `_hash`)"
    return f"SELECT *, NOT coalesce({same_state}, `_gone`) AS `_begins` FROM once"


def _runs(target: Target) -> str:
    over = f"OVER (PARTITION BY {quoted(target.keys)} ORDER BY `_at`)"
    return f"SELECT *, count_if(`_begins`) {over} AS `_run` FROM marked"


def _versions(target: Target) -> str:
    """Tracked values are those of a run's first event, the others those of the newest row the batch brings."""
    keys, tracked = quoted(target.keys), set(_tracked(target))
    everything = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    whole = f"OVER (PARTITION BY {keys}, `_run` ORDER BY `_new`, `_at` {everything})"
    values = [
        quote(n) if n in target.keys or n in tracked or n == target.write.effective_from
        else f"last_value({quote(n)}) {whole} AS {quote(n)}"
        for n in target.names
    ]  # fmt: skip
    begun = f"SELECT {', '.join(values)}, `_at`, `_gone`, `_hash`, `_begins` FROM runs WHERE `_run` > 0"
    over = f"OVER (PARTITION BY {keys} ORDER BY `_at`)"
    changed = ", ".join(
        f"CASE WHEN NOT ({quote(n)} <=> lag({quote(n)}) {over}) THEN {literal(n)} END" for n in _tracked(target)
    )
    first = f"row_number() {over} = 1 OR lag(`_gone`) {over}"
    return (
        f"SELECT *, lead(`_at`) {over} AS `_until`,\n"
        f"    IF({first}, NULL, array_join(array_compact(array({changed})), ',')) AS `_changed`\n"
        f"  FROM ({begun}) WHERE `_begins`"
    )


def _difference(target: Target) -> str:
    """Wanted versions against standing ones, by key and beginning."""
    names, columns = target.write.history, target.names
    keys = equal_keys(target.keys, "v", "t")
    wanted = ", ".join(
        f"coalesce(v.{quote(n)}, t.{quote(n)}) AS {quote(n)}" if n in target.keys else f"v.{quote(n)}" for n in columns
    )
    own = (
        f"coalesce(v.`_at`, t.`_at`) AS {quote(names.valid_from)}, v.`_until` AS {quote(names.valid_to)}, "
        f"v.`_until` IS NULL AS {quote(names.is_current)}, v.`_hash` AS {quote(names.row_hash)}, "
        f"v.`_changed` AS {quote(names.changed_columns)}"
    )
    values = same(target.compared, "t", "v")
    effect = (
        f"CASE WHEN v.`_at` IS NULL THEN 'delete' WHEN t.`_at` IS NULL THEN 'insert' "
        f"WHEN NOT ({values}) THEN 'update' WHEN t.`_current` AND v.`_until` IS NOT NULL THEN 'expire' ELSE 'move' END"
    )
    return (
        f"SELECT {wanted}, {own},\n  {effect} AS {EFFECT}\n"
        f"FROM (SELECT * FROM versions WHERE NOT `_gone`) AS v\n"
        f"FULL JOIN standing AS t ON {keys} AND v.`_at` = t.`_at`\n"
        f"WHERE v.`_at` IS NULL OR t.`_at` IS NULL OR NOT ({values}) OR NOT v.`_until` <=> t.`_until`"
    )


def statement(target: Target) -> str:
    names = target.write.history
    begins = quote(names.valid_from)
    all_names = [
        *target.names,
        names.valid_from,
        names.valid_to,
        names.is_current,
        names.row_hash,
        names.changed_columns,
    ]
    kept = {*target.keys, names.valid_from}
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.on_keys} AND t.{begins} = s.{begins}\n"
        f"WHEN MATCHED AND s.{EFFECT} = 'delete' THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments([n for n in all_names if n not in kept])}\n"
        f"WHEN NOT MATCHED AND s.{EFFECT} <> 'delete' THEN {insert_columns(all_names)}"
    )


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    if commit is None:
        return Written(unchanged=accepted)
    inserted = effects.get("insert", 0)
    updated = min(effects.get("update", 0), accepted - inserted)
    return Written(
        inserted,
        updated,
        accepted - inserted - updated,
        deleted=effects.get("delete", 0),
        expired=effects.get("expire", 0),
    )


def guards(target: Target) -> tuple[Guard, ...]:
    """A row without a time has no place in a history; late rows are refused where the contract says so."""
    found = []
    if target.write.effective_from:
        column = target.write.effective_from
        found.append(Guard(f"SELECT count(*) FROM {BATCH} WHERE {quote(column)} IS NULL", f"row(s) have no {column}"))
    if target.write.late == "reject":
        found.append(_late_guard(target))
    if target.write.restate_from:
        early = f"{_at(target)} < {literal(target.write.restate_from)}"
        message = f"row(s) are older than {target.write.restate_from:%Y-%m-%d %H:%M}, from which the batch restates"
        found.append(Guard(f"SELECT count(*) FROM {BATCH} WHERE {early}", message))
    return tuple(found)


def _late_guard(target: Target) -> Guard:
    relations = f"WITH incoming AS ({_incoming(target)}), standing AS ({_standing(target, list(target.keys))})"
    same_version = f"{equal_keys(target.keys, 'k', 'n')} AND k.`_at` = n.`_at` AND k.`_hash` = n.`_hash`"
    late = f"EXISTS ({_later(target, 'n')}) AND NOT EXISTS (SELECT 1 FROM standing AS k WHERE {same_version})"
    sql = f"{relations} SELECT count(*) FROM incoming AS n WHERE {late}"
    return Guard(sql, "row(s) are older than what the table already holds of their key", reads_table=True)


def unique(write: Write) -> tuple[str, ...]:
    return (*write_keys(write), *((write.effective_from,) if write.effective_from else ()))


def adds(write: Write) -> tuple[TableColumn, ...]:
    names: HistoryColumns = write.history
    return (
        TableColumn(names.valid_from, "timestamp"),
        TableColumn(names.valid_to, "timestamp", description="where the next version begins"),
        TableColumn(names.is_current, "boolean"),
        TableColumn(names.row_hash, "string", description=f"hash of the tracked columns ({ALGORITHM})"),
        TableColumn(names.changed_columns, "string", description="what differs from the version before"),
    )


HISTORY = Mode(
    "scd2_historical", statement, counts, changes, needs_keys=True, unique=unique, adds=adds, guards=guards,
    metrics_source="mixed",
)  # fmt: skip
