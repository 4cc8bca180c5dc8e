"""cdc_merge with ignore_null_updates: events that say only what changed, in whatever order they come.

Beside each row stands when each of its columns was last said, when the key was last alive and when it ended: so an
older event that comes late still fills what no newer one said, and nothing else.
"""

from __future__ import annotations

from lakepact.contract.write import Write
from lakepact.names import quote, quoted
from lakepact.plan.columns import TableColumn
from lakepact.plan.modes.cdc import counts
from lakepact.plan.modes.events import all_events, sequence_column, sequence_name, sequence_type, struct_of, timed_only
from lakepact.plan.target import (
    CHANGES,
    EFFECT,
    Mode,
    Target,
    assignments,
    insert_columns,
)

SAID = "_said_at"


def changes(target: Target) -> str:
    """What each key becomes, where that differs from what it is."""
    own, mark = f"t.`{SAID}`", target.write.deleted_column
    met = (
        f"SELECT {quoted(target.keys, 's.')}, {_stamped(target, 's.')}greatest(s.`_live`, {own}.`_live`) AS `_live`,\n"
        f"    greatest(s.`_gone`, {own}.`_gone`) AS `_gone`, {_met(target)},\n"
        f"    t.{quote(target.keys[0])} IS NULL AS `_new`, {own} AS `_was_said`, t.{quote(mark)} AS `_was_gone`,\n"
        f"    {_struct(target, 't.')} AS `_was`\n"
        f"  FROM ({_folded(target)}) AS s LEFT JOIN {target.table} AS t ON {target.on_keys}"
    )
    ended = f"SELECT *, `_gone` IS NOT NULL AND coalesce(`_gone` >= `_live`, TRUE) AS `_ended` FROM (\n  {met}\n  )"
    shown = f"SELECT {quoted(target.keys)}, {_stamped(target)}{_shown(target)}, `_ended` AS {quote(mark)},\n"
    said = f"    {_said(target)} AS `{SAID}`, `_new`, `_was_said`, `_was_gone`, `_was` FROM (\n  {ended}\n  )"
    effect = (
        f"CASE WHEN `_new` THEN IF({quote(mark)}, 'tombstone', 'insert')\n"
        f"    WHEN {quote(mark)} AND NOT coalesce(`_was_gone`, FALSE) THEN 'soft_delete' ELSE 'update' END"
    )
    differs = f"NOT (`{SAID}` <=> `_was_said` AND {_struct(target)} <=> `_was`)"
    return f"SELECT *, {effect} AS {EFFECT} FROM (\n  {shown}{said}\n) WHERE `_new` OR {differs}"


def _struct(target: Target, relation: str = "") -> str:
    return f"struct({quoted([*_values(target), *_latest_of(target)], relation) or 'TRUE'})"


def _latest_of(target: Target) -> list[str]:
    """Columns of which the latest event counts, also a delete: when it was, and what it was."""
    ours = (target.write.sequence_by, target.write.op_column)
    return [name for name in target.names if name in ours]


def _values(target: Target) -> list[str]:
    left = {*target.keys, *_latest_of(target)}
    return [column.name for column in target.columns if column.name not in left and column.stamp is None]


def _stamps(target: Target) -> list[str]:
    return [column.name for column in target.columns if column.stamp is not None]


def _stamped(target: Target, relation: str = "") -> str:
    return "".join(f"{relation}{quote(name)}, " for name in _stamps(target))


def _folded(target: Target) -> str:
    """All events of a key as one: of each column the newest value, and when it was said."""
    at = quote(sequence_name(target))
    newest = [f"max(IF(`_gone` OR {quote(n)} IS NULL, NULL, struct({at} AS `at`, {quote(n)} AS `v`)))" for n in
              _values(target)]  # fmt: skip
    latest = [f"max(struct({at} AS `at`, `_gone` AS `g`, {quote(n)} AS `v`))" for n in _latest_of(target)]
    told = zip([*newest, *latest], [*_values(target), *_latest_of(target)], strict=True)
    columns = "".join(f",\n      {sql} AS {quote(name)}" for sql, name in told)
    stamps = "".join(f", max({quote(name)}) AS {quote(name)}" for name in _stamps(target))
    return (
        f"SELECT {quoted(target.keys)}, max(IF(`_gone`, NULL, {at})) AS `_live`, max(IF(`_gone`, {at}, NULL)) AS "
        f"`_gone`{columns}{stamps}\n    FROM ({all_events(target)}) GROUP BY {quoted(target.keys)}"
    )


def _met(target: Target) -> str:
    """Of each column the newer of what the batch says and what the table knows."""
    at = quote(sequence_name(target))
    values = [
        f"greatest(s.{quote(n)}, IF(t.`{SAID}`.{quote(n)} IS NULL, NULL, "
        f"struct(t.`{SAID}`.{quote(n)} AS `at`, t.{quote(n)} AS `v`))) AS {quote(n)}"
        for n in _values(target)
    ]
    mark = f"coalesce(t.{quote(target.write.deleted_column)}, FALSE)"
    values += [
        f"greatest(s.{quote(n)}, IF(t.{at} IS NULL, NULL, struct(t.{at} AS `at`, {mark} AS `g`, t.{quote(n)} AS `v`)))"
        f" AS {quote(n)}"
        for n in _latest_of(target)
    ]
    return ", ".join(values) or "TRUE AS `_nothing`"


def _shown(target: Target) -> str:
    """What was said before the key last ended is no longer true, but a key that is gone keeps its last values."""
    values = [f"IF(`_ended` OR {_counts(n)}, {quote(n)}.`v`, NULL) AS {quote(n)}" for n in _values(target)]
    values += [f"{quote(n)}.`v` AS {quote(n)}" for n in _latest_of(target)]
    own = sequence_name(target)
    values += [f"greatest(`_live`, `_gone`) AS {quote(own)}"] if own not in target.names else []
    return ", ".join(values)


def _counts(name: str) -> str:
    return f"coalesce({quote(name)}.`at` > `_gone`, TRUE)"


def _said(target: Target) -> str:
    times = [f"IF(`_ended` OR {_counts(n)}, {quote(n)}.`at`, NULL) AS {quote(n)}" for n in _values(target)]
    return f"struct({', '.join(['`_live`', '`_gone`', *times])})"


def statement(target: Target) -> str:
    own = [target.write.deleted_column, SAID]
    own += [sequence_name(target)] if sequence_name(target) not in target.names else []
    return (
        f"MERGE INTO {target.table} AS t USING {CHANGES} AS s ON {target.on_keys}\n"
        f"WHEN MATCHED THEN UPDATE SET {assignments([*target.updated, *own])}\n"
        f"WHEN NOT MATCHED THEN {insert_columns([*target.names, *own])}"
    )


def adds(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    kind = sequence_type(write, columns)
    left = {*write.keys, *write.except_column_list, write.sequence_by, write.op_column}
    times = [c.name for c in columns if c.name not in left and c.stamp is None]
    said = struct_of((name, kind) for name in ("_live", "_gone", *times))
    return (
        TableColumn(write.deleted_column, "boolean"),
        TableColumn(SAID, said, description="when each column was last said"),
        *sequence_column(write, columns),
    )


CDC_PARTIAL = Mode(
    "cdc_merge", statement, counts, changes, needs_keys=True, adds=adds, row_guards=timed_only,
    metrics_source="mixed",
)  # fmt: skip
