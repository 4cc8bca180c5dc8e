"""The rows the write modes are measured with: made by arithmetic, so that they are the same each time.

Of every ten rows one changed, and one in a hundred is new. Rows lie in no order, as they do in real tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

COLUMNS = {"id": "bigint", "customer": "string", "amount": "decimal(12,2)", "status": "string", "ts": "timestamp"}
PARTITION = "paid"

_ROW = """
SELECT id, concat('customer ', pmod(xxhash64(id), 200000)) AS customer,
  CAST(pmod(xxhash64(id, 1), 1000000) / 100 AS DECIMAL(12,2)) AS amount,
  element_at(array('new', 'paid', 'packed', 'sent', 'closed'), CAST(pmod(xxhash64(id, 2), 5) AS INT) + 1) AS status,
  timestamp_seconds(1700000000 + pmod(xxhash64(id, 3), 20000000)) AS ts
FROM range({start}, {end})"""
_CHANGED = "pmod(id, 10) = 3"
_NEXT = "id, customer, CAST(amount + 1 AS DECIMAL(12,2)) AS amount, 'closed' AS status, ts + INTERVAL 300 DAYS AS ts"


class Data:
    """Batches as Parquet files under one folder, each made when it is first asked for."""

    def __init__(self, spark: Any, folder: Path, rows: int) -> None:
        self.spark, self.folder, self.rows = spark, folder, rows

    def batch(self, name: str) -> str:
        path = self.folder / name
        if not path.exists():
            frame = self.spark.sql(self.query(name)).repartition(2, "id").sortWithinPartitions("_place").drop("_place")
            frame.write.parquet(str(path))
        return str(path)

    def query(self, name: str) -> str:
        return f"SELECT *, xxhash64(id, 4) AS _place FROM ({BATCHES[name].format(**self._parts())})"

    def _parts(self) -> dict[str, str]:
        before = f"({_ROW.format(start=0, end=self.rows)})"
        new = f"SELECT * FROM ({_ROW.format(start=self.rows, end=self.rows + self.rows // 100)})"
        return {
            "before": f"SELECT * FROM {before}",
            "kept": f"SELECT * FROM {before} WHERE NOT {_CHANGED}",
            "changed": f"SELECT {_NEXT} FROM {before} WHERE {_CHANGED}",
            "new": new,
        }


# A key of `repeated` may stand twice; of `events` one in fifty comes twice, and one in twenty is a delete.
BATCHES = {
    "before": "{before}",
    "feed": "{kept} UNION ALL {changed} UNION ALL {new}",
    "changes": "{changed} UNION ALL {new}",
    "snapshot": "SELECT * FROM ({kept} UNION ALL {changed} UNION ALL {new}) WHERE pmod(id, 100) <> 7",
    "repeated": "{changed} UNION ALL {new} UNION ALL SELECT * FROM ({new}) WHERE pmod(id, 5) = 0",
    "partition": f"SELECT id, customer, amount, '{PARTITION}' AS status, ts FROM ({{changed}} UNION ALL {{new}})",
    "events_before": "SELECT *, 'I' AS op FROM ({before})",
    "events": """
SELECT id, IF(op = 'D', NULL, customer) AS customer, IF(op = 'D', NULL, amount) AS amount,
  IF(op = 'D', NULL, status) AS status, ts, op FROM (
  SELECT *, IF(pmod(id, 200) = 3, 'D', 'U') AS op FROM ({changed})
  UNION ALL SELECT id, customer, amount, 'sent', ts - INTERVAL 1 DAY, 'U' FROM ({changed}) WHERE pmod(id, 500) = 13
  UNION ALL SELECT *, 'I' FROM ({new}))""",
}
