"""scd2_historical: every version of a key, each valid until the next begins; one commit a batch.

The timelines of the keys in the batch are made anew from what the table holds and what the batch brings: events in
order of time, equal neighbours made one, each version ending where the next event begins. What differs from the
table is merged. So late rows, several versions of a key in one batch, deletes and returns need no rules of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from lakepact.contract.write import HistoryColumns, Write
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
    RowGuard,
    Target,
    Written,
    assignments,
    insert_columns,
    write_keys,
)

FRESH, OTHERS = "fresh", "others"


def stages(target: Target) -> tuple[tuple[str, str], ...]:
    """Most rows of most batches are `_plain`: one of its key, after all that stands of it, in other words. They end
    the current version and begin the next. Rows that say what the current version says are left out. Of the rest,
    `others` need the whole timeline of their keys; what remains are keys that the table has not seen.
    """
    if target.write.restate_from is not None:
        return ()
    names, at = target.write.history, "i.`_at`"
    own = f"{quoted(target.names)}, {quote(names.valid_from)} AS `_at`, {quote(names.row_hash)} AS `_hash`"
    current = (
        f"SELECT {quoted(target.keys)}, struct({own}, {quote(names.changed_columns)} AS `_changed`) AS `_c`\n"
        f"  FROM {target.table} AS c WHERE {quote(names.is_current)}{_asked_about(target)}"
    )
    alone = f"count(*) OVER (PARTITION BY {quoted(target.keys)}) = 1" if target.write.effective_from else "TRUE"
    untold = [n for n in _untold(target) if n in target.compared]
    known = f"{at} >= `_c`.`_at` AND i.`_hash` <=> `_c`.`_hash` AND {same(untold, 'i', '`_c`')}"
    return (
        (
            FRESH,
            f"SELECT i.*, `_c`, `_c` IS NOT NULL AND `_alone` AND NOT `_gone` AND {at} > `_c`.`_at`\n"
            f"  AND NOT i.`_hash` <=> `_c`.`_hash` AS `_plain`\n"
            f"FROM (SELECT *, {alone} AS `_alone` FROM ({_incoming(target)})) AS i\n"
            f"LEFT JOIN (\n  {current}\n) AS t ON {equal_keys(target.keys, 't', 'i')}\n"
            f"WHERE NOT coalesce(`_alone` AND NOT `_gone` AND {known}, FALSE)",
        ),
        (
            OTHERS,
            f"SELECT {quoted(target.names)}, `_at`, `_gone`, `_new`, `_hash` FROM `{FRESH}` AS i\n"
            f"WHERE NOT `_plain` AND (NOT `_alone` OR `_gone`\n"
            f"  OR EXISTS (SELECT 1 FROM {target.table} AS t WHERE {equal_keys(target.keys, 't', 'i')}))",
        ),
    )


def _asked_about(target: Target) -> str:
    """Of a large table, only rows whose keys are in the batch go into the join."""
    if not target.small:
        return ""
    return f"\n    AND EXISTS (SELECT 1 FROM {BATCH} AS b WHERE {equal_keys(target.keys, 'b', 'c')})"


def plain_changes(target: Target) -> str:
    """What must change where no row needs a timeline: each row as the end of the current version, and as the
    beginning of its own. A key that the table has not seen only begins.
    """
    return _plain(target, f"`{FRESH}`")


def _plain(target: Target, rows: str) -> str:
    names = target.write.history
    changed = ", ".join(
        f"CASE WHEN NOT ({quote(n)} <=> `_c`.{quote(n)}) THEN {literal(n)} END" for n in _tracked(target)
    )
    shown = ", ".join(f"IF(`_ends`, `_c`.{quote(n)}, {quote(n)}) AS {quote(n)}" for n in target.names)
    own = (
        f"IF(`_ends`, `_c`.`_at`, `_at`) AS {quote(names.valid_from)}, IF(`_ends`, `_at`, NULL) AS "
        f"{quote(names.valid_to)}, NOT `_ends` AS {quote(names.is_current)}, IF(`_ends`, `_c`.`_hash`, `_hash`) AS "
        f"{quote(names.row_hash)},\n  CASE WHEN `_ends` THEN `_c`.`_changed`\n"
        f"    WHEN `_plain` THEN concat_ws(',', {changed}) END AS {quote(names.changed_columns)}"
    )
    return (
        f"SELECT {shown}, {own},\n  IF(`_ends`, 'expire', 'insert') AS {EFFECT}\n"
        f"FROM {rows} LATERAL VIEW explode(IF(`_plain`, array(TRUE, FALSE), array(FALSE))) AS `_ends`"
    )


def changes(target: Target) -> str:
    """The versions that must be inserted, ended, updated or removed, and the rows that only touch one."""
    if target.write.restate_from is not None:
        return _timelines(target, _incoming(target))
    unseen = f"NOT EXISTS (SELECT 1 FROM `{OTHERS}` AS o WHERE {equal_keys(target.keys, 'o', 'f')})"
    plain = _plain(target, f"(SELECT * FROM `{FRESH}` AS f WHERE `_plain` OR {unseen})")
    timelines = _timelines(target, f"SELECT * FROM `{OTHERS}`")
    return f"{plain}\nUNION ALL SELECT * FROM (\n{timelines}\n)"


def _timelines(target: Target, incoming: str) -> str:
    relations = {
        "incoming": incoming,
        "standing": _standing(target, target.names),
        "events": _events(target),
        "once": _once(target),
        "marked": _marked(target),
        "runs": _runs(target),
        "retold": _retold(target),
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


def _standing(target: Target, columns: Iterable[str]) -> str:
    """What the table holds of the batch's keys."""
    names, keys = target.write.history, equal_keys(target.keys, "i", "t")
    return (
        f"SELECT {quoted(columns, 't.')}, t.{quote(names.valid_from)} AS `_at`,\n"
        f"    t.{quote(names.valid_to)} AS `_until`, t.{quote(names.row_hash)} AS `_hash`,\n"
        f"    t.{quote(names.changed_columns)} AS `_changed`\n"
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
    """Versions begin and end; all of a key come to one place. Where history is told anew, what began since is `_void`.

    `_own` is the version itself, as it stands.
    """
    names, start = quoted(target.names), literal(target.write.restate_from) if target.write.restate_from else None
    own = f"struct({', '.join([*(quote(n) for n in target.compared), '`_until`', '`_hash`', '`_changed`'])})"
    void = f"NOT `_ends` AND `_at` >= {start}" if start else "FALSE"
    ends = f"`_until` IS NOT NULL AND `_until` < {start}" if start else "`_until` IS NOT NULL"
    return (
        f"SELECT {names}, IF(`_ends`, `_until`, `_at`) AS `_at`, `_ends` AS `_gone`, FALSE AS `_new`, `_hash`,\n"
        f"    {void} AS `_void`, IF(`_ends`, NULL, {own}) AS `_own`\n"
        f"  FROM standing LATERAL VIEW explode(IF({ends}, array(FALSE, TRUE), array(FALSE))) AS `_ends`\n"
        f"  UNION ALL SELECT {names}, `_at`, `_gone`, `_new`, `_hash`, FALSE, NULL FROM incoming\n"
        f"  DISTRIBUTE BY {quoted(target.keys)}"
    )


def _once(target: Target) -> str:
    """One event for each moment of a key: what is new corrects what stands, unless it says the same `_again`.

    Beside it what stood: `_was`, the version that began then, or `_ended`, the end of one.
    """
    moment = f"PARTITION BY {quoted(target.keys)}, `_at`"
    told = f"SELECT *, {_latest(target)} AS `_latest` FROM events"
    stood = (
        f"SELECT *, first_value(`_own`) IGNORE NULLS OVER ({moment}) AS `_was`,\n"
        f"    max(IF(`_new` OR `_gone` OR `_void`, NULL, `_hash`)) OVER ({moment}) AS `_stands`,\n"
        f"    bool_or(`_gone` AND NOT `_new`) OVER ({moment}) AS `_ended`\n"
        f"  FROM ({told}) WHERE NOT `_new` OR `_latest` IS NULL OR `_at` >= `_latest`"
    )
    known = "(`_new` AND IF(`_gone`, `_ended` AND `_stands` IS NULL, `_hash` <=> `_stands`))"
    rank = f"row_number() OVER ({moment} ORDER BY `_void`, {known}, `_new` DESC, `_gone`)"
    again = f"bool_or({known}) OVER ({moment}) AS `_again`"
    return f"SELECT * FROM (SELECT *, {rank} AS `_rank`, {again} FROM ({stood})) WHERE `_rank` = 1"


def _latest(target: Target) -> str:
    """The last that stands of a key, where rows that are older than it are ignored."""
    if target.write.late != "ignore":
        return "CAST(NULL AS TIMESTAMP)"
    return f"max(IF(`_new`, NULL, `_at`)) OVER (PARTITION BY {quoted(target.keys)})"


def _marked(target: Target) -> str:
    """An event begins something new unless it says what the one before said."""
    state = "CASE WHEN `_void` THEN NULL WHEN `_gone` THEN '' ELSE coalesce(`_hash`, '?') END"
    before = f"lag({state}) IGNORE NULLS {_line(target)}"
    return f"SELECT *, coalesce({state} <> coalesce({before}, ''), FALSE) AS `_begins` FROM once"


def _runs(target: Target) -> str:
    """Events that say the same as the one before are of its run; each knows what began before and begins next."""
    begun = ", ".join(["`_gone`", *(quote(n) for n in _tracked(target)), "`_was`.`_until`"])
    return (
        f"SELECT *, count_if(`_begins`) {_line(target)} AS `_run`,\n"
        f"    lead(IF(`_begins`, `_at`, NULL)) IGNORE NULLS {_line(target)} AS `_until`,\n"
        f"    lag(IF(`_begins`, struct({begun}), NULL)) IGNORE NULLS {_line(target)} AS `_before`\n"
        f"  FROM marked"
    )


def _retold(target: Target) -> str:
    """Columns that are not tracked are those of the newest row that the batch brings to the run."""
    untold = _untold(target)
    if not untold:
        return "SELECT *, FALSE AS `_renews` FROM runs"
    run = f"OVER (PARTITION BY {quoted(target.keys)}, `_run`)"
    brought = "IF(`_void`, NULL, struct(`_new` OR `_again`, `_at`))"
    speaks = f"max_by(struct({quoted(untold)}), {brought}) {run} AS `_speaks`"
    newest = f"max(IF(`_new`, `_at`, NULL)) {run} AS `_newest`"
    known = same([n for n in untold if n in target.compared], "`_speaks`", "`_was`")
    renewed = f"bool_or(`_begins` AND `_was` IS NOT NULL AND NOT ({known})) {run}"
    return f"SELECT *, `_at` = `_newest` AND {renewed} AS `_renews` FROM (SELECT *, {speaks}, {newest} FROM runs)"


def _line(target: Target) -> str:
    return f"OVER (PARTITION BY {quoted(target.keys)} ORDER BY `_at`)"


def _untold(target: Target) -> list[str]:
    told = {*target.keys, *_tracked(target), target.write.effective_from}
    return [name for name in target.names if name not in told]


def _difference(target: Target) -> str:
    """Each moment as it should be against what stood there."""
    names, untold = target.write.history, set(_untold(target))
    value = {n: f"`_speaks`.{quote(n)}" if n in untold else quote(n) for n in target.names}
    changed = ", ".join(
        f"CASE WHEN NOT ({quote(n)} <=> `_before`.{quote(n)}) THEN {literal(n)} END" for n in _tracked(target)
    )
    told = (
        f"SELECT *, IF(coalesce(`_before`.`_gone`, TRUE), NULL,\n"
        f"    concat_ws(',', {changed})) AS `_changed`,\n"
        f"    {' AND '.join(f'{value[n]} <=> `_was`.{quote(n)}' for n in target.compared) or 'TRUE'} AS `_same`\n"
        f"  FROM retold"
    )
    shown = ", ".join(f"{value[n]} AS {quote(n)}" for n in target.names)
    own = (
        f"`_at` AS {quote(names.valid_from)}, `_until` AS {quote(names.valid_to)}, "
        f"`_until` IS NULL AS {quote(names.is_current)}, `_hash` AS {quote(names.row_hash)}, "
        f"`_changed` AS {quote(names.changed_columns)}"
    )
    compared = f"SELECT {shown}, {own},\n  {_effect()} AS {EFFECT}\n  FROM (\n  {told}\n)"
    return f"SELECT * FROM ({compared}) WHERE {EFFECT} IS NOT NULL"


def _effect() -> str:
    """What becomes of a moment.

    A row of the batch that begins nothing may `touch` the version before: it ends it, takes back its end, or gives it
    other values in columns that are not tracked. It counts, and changes nothing at its own moment.
    """
    ends = "`_begins` AND NOT `_before`.`_until` <=> `_at`"
    touches = f"`_new` AND IF(`_gone`, {ends}, NOT `_begins` AND (`_ended` OR `_renews`))"
    corrects = "`_new` AND NOT `_same`"
    return (
        f"CASE WHEN `_begins` AND NOT `_gone` THEN CASE\n"
        f"      WHEN `_was` IS NULL THEN 'insert'\n"
        f"      WHEN `_same` AND `_until` <=> `_was`.`_until` AND `_changed` <=> `_was`.`_changed` THEN NULL\n"
        f"      WHEN `_was`.`_until` IS NULL AND `_until` IS NOT NULL THEN IF({corrects}, 'update_expire', 'expire')\n"
        f"      ELSE IF({corrects}, 'update', 'move') END\n"
        f"    WHEN `_was` IS NOT NULL THEN IF(`_new`, 'replace', 'delete')\n"
        f"    WHEN {touches} THEN 'touch' END"
    )


def statement(target: Target) -> str:
    names = target.write.history
    begins = quote(names.valid_from)
    own = [names.valid_to, names.is_current, names.row_hash, names.changed_columns]
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s\n"
        f"ON {target.on_keys} AND t.{begins} = s.{begins} AND s.{EFFECT} <> 'insert'\n"
        f"WHEN MATCHED AND s.{EFFECT} IN ('delete', 'replace') THEN DELETE\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments([*target.updated, *own])}\n"
        f"WHEN NOT MATCHED AND s.{EFFECT} = 'insert' THEN {insert_columns([*target.names, names.valid_from, *own])}"
    )


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    """Rows of the batch: those that began a version, those that changed one otherwise, and the rest."""
    if commit is None:
        return Written(unchanged=accepted)
    n = Counter(effects)
    updated = n["update"] + n["update_expire"] + n["replace"] + n["touch"]
    return Written(
        n["insert"],
        updated,
        accepted - n["insert"] - updated,
        deleted=n["delete"] + n["replace"],
        expired=n["expire"] + n["update_expire"],
    )


def row_guards(target: Target) -> tuple[RowGuard, ...]:
    """A row without a time has no place in a history, nor one from before the time that is told anew."""
    found = []
    if target.write.effective_from:
        column = target.write.effective_from
        found.append(RowGuard(f"{quote(column)} IS NULL", f"row(s) have no {column}"))
    if target.write.restate_from:
        message = f"row(s) are older than {target.write.restate_from:%Y-%m-%d %H:%M}, from which the batch restates"
        found.append(RowGuard(f"{_at(target)} < {literal(target.write.restate_from)}", message))
    return tuple(found)


def guards(target: Target) -> tuple[Guard, ...]:
    """Late rows are refused where the contract says so."""
    return (_late_guard(target),) if target.write.late == "reject" else ()


def _late_guard(target: Target) -> Guard:
    """A row is late if the table knows of something after it, unless it says what the table says of its moment.

    The table is asked for its keys alone: a column that is new in the contract is not there yet.
    """
    relations = f"WITH incoming AS ({_incoming(target)}), standing AS ({_standing(target, target.keys)})"

    def known(what: str) -> str:
        return f"EXISTS (SELECT 1 FROM standing AS k WHERE {equal_keys(target.keys, 'k', 'n')} AND {what})"

    begun, ended = known("k.`_at` = n.`_at`"), known("k.`_until` = n.`_at`")
    said = f"IF(n.`_gone`, {ended} AND NOT {begun}, {known('k.`_at` = n.`_at` AND k.`_hash` = n.`_hash`')})"
    late = f"{known('greatest(k.`_at`, k.`_until`) > n.`_at`')} AND NOT {said}"
    sql = f"{relations} SELECT count(*) FROM incoming AS n WHERE {late}"
    return Guard(sql, "row(s) are older than what the table already holds of their key")


def unique(write: Write) -> tuple[str, ...]:
    return (*write_keys(write), *((write.effective_from,) if write.effective_from else ()))


def adds(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    del columns
    names: HistoryColumns = write.history
    return (
        TableColumn(names.valid_from, "timestamp"),
        TableColumn(names.valid_to, "timestamp", description="where the next version begins"),
        TableColumn(names.is_current, "boolean"),
        TableColumn(names.row_hash, "string", description=f"hash of the tracked columns ({ALGORITHM})"),
        TableColumn(names.changed_columns, "string", description="what differs from the version before"),
    )


HISTORY = Mode(
    "scd2_historical", statement, counts, changes, needs_keys=True, unique=unique, adds=adds,
    guards=guards, row_guards=row_guards, metrics_source="mixed", stages=stages, plain_changes=plain_changes,
)  # fmt: skip
