"""Debezium's envelope: what stood before and after, what happened, and when, as rows of the table.

A row brings the columns of `after`, or of `before` where it was deleted; `_op`, `_ts_ms`, and `_lsn`: where the change
stands in the database's own log. Whether the message carries its schema does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable

from lakepact.names import literal, quote
from lakepact.plan.columns import CORRUPT

FIELDS = ("before", "after", "op", "ts_ms", "source", "payload")
OPERATION, TIME, POSITION = "_op", "_ts_ms", "_lsn"
_BESIDE = (OPERATION, TIME, POSITION)


def unwrap(messages: str, columns: Iterable[str]) -> str:
    """A SELECT over messages that have the envelope's fields as text; columns beside them are kept."""
    names = [name for name in columns if name not in _BESIDE]
    inside = ", ".join(f"{name} STRING" for name in FIELDS[:-1])
    opened = (
        f"SELECT * EXCEPT ({', '.join(FIELDS)}), coalesce(from_json(`payload`, {literal(inside)}),\n"
        f"      named_struct({', '.join(f'{literal(name)}, `{name}`' for name in FIELDS[:-1])})) AS `_e`\n"
        f"    FROM ({messages})"
    )
    kind = literal(", ".join(f"{quote(name)} STRING" for name in names) or "`_nothing` STRING")
    read = (
        f"SELECT *, from_json(IF(`_e`.`op` = 'd', `_e`.`before`, `_e`.`after`), {kind}) AS `_v` FROM (\n    {opened})"
    )
    position = ", ".join(f"get_json_object(`_e`.`source`, '$.{name}')" for name in ("lsn", "scn", "pos"))
    strange = f"coalesce(`{CORRUPT}`, IF(`_e`.`op` IS NULL, to_json(`_e`), NULL)) AS `{CORRUPT}`"
    values = "".join(f", `_v`.{quote(name)} AS {quote(name)}" for name in names)
    return (
        f"SELECT * EXCEPT (`_e`, `_v`, `{CORRUPT}`){values}, `_e`.`op` AS `{OPERATION}`, `_e`.`ts_ms` AS `{TIME}`,\n"
        f"  coalesce({position}) AS `{POSITION}`, {strange}\nFROM (\n  {read})"
    )
