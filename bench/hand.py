"""What a good engineer writes by hand for each write mode, with and without a look at the keys.

Every target has deletion vectors. Rows that did not change are not written again: a full feed is first compared with
the table and only its difference is merged, which is also the fastest way found. No evidence, no metrics, no types
checked, nothing quarantined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.data import PARTITION

Hand = Callable[[Any, str, str, bool], None]

VALUES = ("customer", "amount", "status", "ts")
CHANGED = "NOT (" + " AND ".join(f"t.{name} <=> s.{name}" for name in VALUES) + ")"
SET = ", ".join(f"{name} = s.{name}" for name in VALUES)
NAMES = "id, customer, amount, status, ts"
OURS = "s.id, s.customer, s.amount, s.status, s.ts"
UPSERT = f"WHEN MATCHED THEN UPDATE SET {SET} WHEN NOT MATCHED THEN INSERT ({NAMES}) VALUES ({OURS})"


def append(session: Any, table: str, batch: str, checked: bool) -> None:
    _source(session, batch, checked).write.format("delta").mode("append").save(table)


def overwrite(session: Any, table: str, batch: str, checked: bool) -> None:
    _source(session, batch, checked).write.format("delta").mode("overwrite").save(table)


def replace_partition(session: Any, table: str, batch: str, checked: bool) -> None:
    writer = _source(session, batch, checked).write.format("delta").mode("overwrite")
    writer.option("replaceWhere", f"status = '{PARTITION}'").save(table)


def upsert(session: Any, table: str, batch: str, checked: bool) -> None:
    """A batch of changes goes straight into the MERGE."""
    _source(session, batch, checked)
    session.sql(f"MERGE INTO delta.`{table}` AS t USING source AS s ON t.id = s.id {UPSERT}")


def upsert_feed(session: Any, table: str, batch: str, checked: bool) -> None:
    _source(session, batch, checked)
    changes = (
        f"SELECT s.* FROM source AS s LEFT JOIN delta.`{table}` AS t ON t.id = s.id WHERE t.id IS NULL OR {CHANGED}"
    )
    session.sql(f"MERGE INTO delta.`{table}` AS t USING ({changes}) AS s ON t.id = s.id {UPSERT}")


def hash_diff(session: Any, table: str, batch: str, checked: bool) -> None:
    """The table keeps a 64 bit hash, the cheapest one Spark has."""
    _source(session, batch, checked)
    changes = f"""
SELECT s.* FROM (SELECT *, {HASH} AS row_hash FROM source) AS s
LEFT JOIN delta.`{table}` AS t ON t.id = s.id WHERE t.id IS NULL OR t.row_hash <> s.row_hash"""
    session.sql(f"""
MERGE INTO delta.`{table}` AS t USING ({changes}) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET {SET}, row_hash = s.row_hash
WHEN NOT MATCHED THEN INSERT ({NAMES}, row_hash) VALUES ({OURS}, s.row_hash)""")


HASH = f"xxhash64({', '.join(VALUES)})"


def snapshot(session: Any, table: str, batch: str, checked: bool) -> None:
    _source(session, batch, checked)
    changes = f"""
SELECT coalesce(s.id, t.id) AS id, {", ".join(f"s.{name}" for name in VALUES)}, s.id IS NULL AS gone
FROM source AS s FULL JOIN (SELECT * FROM delta.`{table}`) AS t ON t.id = s.id
WHERE t.id IS NULL OR (s.id IS NULL AND t.is_active) OR (s.id IS NOT NULL AND (NOT t.is_active OR {CHANGED}))"""
    session.sql(f"""
MERGE INTO delta.`{table}` AS t USING ({changes}) AS s ON t.id = s.id
WHEN MATCHED AND s.gone THEN UPDATE SET is_active = FALSE, deleted_at = current_timestamp()
WHEN MATCHED THEN UPDATE SET {SET}, is_active = TRUE, deleted_at = NULL
WHEN NOT MATCHED THEN INSERT ({NAMES}, is_active) VALUES ({OURS}, TRUE)""")


def history(session: Any, table: str, batch: str, checked: bool) -> None:
    """One MERGE: a changed row comes twice, once to end the version that stands and once to begin its own."""
    _source(session, batch, checked)
    track = ", ".join(f"IF(t.{name} <=> s.{name}, NULL, '{name}')" for name in VALUES[:-1])
    changes = f"""
SELECT s.*, IF(t.id IS NULL, NULL, concat_ws(',', {track})) AS changed_columns,
  sha2(concat_ws('|', s.customer, s.amount, s.status), 256) AS row_hash,
  explode(IF(t.id IS NULL, array(FALSE), array(TRUE, FALSE))) AS ends
FROM source AS s LEFT JOIN (SELECT * FROM delta.`{table}` WHERE is_current) AS t ON t.id = s.id
WHERE t.id IS NULL OR (s.ts > t.valid_from
  AND NOT (t.customer <=> s.customer AND t.amount <=> s.amount AND t.status <=> s.status))"""
    session.sql(f"""
MERGE INTO delta.`{table}` AS t USING ({changes}) AS s ON t.id = s.id AND t.is_current AND s.ends
WHEN MATCHED THEN UPDATE SET valid_to = s.ts, is_current = FALSE
WHEN NOT MATCHED THEN INSERT ({NAMES}, valid_from, is_current, row_hash, changed_columns)
  VALUES ({OURS}, s.ts, TRUE, s.row_hash, s.changed_columns)""")


def events(session: Any, table: str, batch: str, checked: bool) -> None:
    """The latest event of a key counts; a delete marks its row and keeps the values."""
    _source(session, batch, checked, unique=False)
    latest = "SELECT row.* FROM (SELECT max_by(struct(*), ts) AS row FROM source GROUP BY id)"
    session.sql(f"""
MERGE INTO delta.`{table}` AS t USING ({latest}) AS s ON t.id = s.id
WHEN MATCHED AND s.ts > t.ts AND s.op = 'D' THEN UPDATE SET ts = s.ts, op = s.op, is_deleted = TRUE
WHEN MATCHED AND s.ts > t.ts THEN UPDATE SET {SET}, op = s.op, is_deleted = FALSE
WHEN NOT MATCHED THEN INSERT ({NAMES}, op, is_deleted) VALUES ({OURS}, s.op, s.op = 'D')""")


def append_new(session: Any, table: str, batch: str, checked: bool) -> None:
    _source(session, batch, checked, unique=False).dropDuplicates(["id"]).createOrReplaceTempView("once")
    session.sql(f"""
MERGE INTO delta.`{table}` AS t USING once AS s ON t.id = s.id
WHEN NOT MATCHED THEN INSERT ({NAMES}) VALUES ({OURS})""")


def _source(session: Any, batch: str, checked: bool, unique: bool = True) -> Any:
    frame = session.read.parquet(batch)
    frame.createOrReplaceTempView("source")
    if checked:
        _look_at_keys(frame, unique)
    return frame


def _look_at_keys(frame: Any, unique: bool) -> None:
    """No key is NULL; where each may stand only once, none stands twice."""
    wrong = frame.groupBy("id").count().where("id IS NULL OR count > 1") if unique else frame.where("id IS NULL")
    found = wrong.limit(20).collect()
    if found:
        raise ValueError(f"bad keys: {found}")
