"""The twelve orders through three layers, against the same writes by hand in the same session."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lakepact import api

EXAMPLE = Path(__file__).parents[1] / "examples" / "orders"
TABLES = ("silver.orders", "gold.region_kpis")


def ways(spark: Any, work: Path) -> dict[str, Callable[[], object]]:
    """`ours` runs the contracts; `hand` is what a careful engineer would write; each in a fresh folder."""
    number = itertools.count()

    def fresh() -> Path:
        folder = Path(tempfile.mkdtemp(dir=work, prefix=f"{next(number)}-"))
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("warehouse", ".lakepact"))
        return folder

    def ours() -> object:
        return api.run(fresh(), spark=spark)

    def hand() -> object:
        return by_hand(spark, fresh(), keep_rejected=False)

    def hand_with_rejected() -> object:
        return by_hand(spark, fresh(), keep_rejected=True)

    return {"ours": ours, "hand": hand, "hand_with_rejected": hand_with_rejected}


def by_hand(spark: Any, folder: Path, keep_rejected: bool) -> Path:
    """Bronze overwrite, silver MERGE, gold overwrite; without checks that stop, evidence or counts."""
    from pyspark.sql import functions as F  # noqa: N812

    bronze, silver, gold = (str(folder / name) for name in ("bronze", "silver", "gold"))
    raw = spark.read.option("header", True).csv(str(folder / "data" / "source_orders.csv"))
    raw = raw.withColumn("_ingested_at", F.current_timestamp()).withColumn("_source_file", F.col("_metadata.file_path"))
    raw.write.format("delta").mode("overwrite").save(bronze)

    session = spark.newSession()
    session.read.format("delta").load(bronze).createOrReplaceTempView("bronze")
    session.sql(JUDGED).createOrReplaceTempView("judged")
    session.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{silver}` (order_id STRING NOT NULL, customer_id STRING,"
        " region STRING, channel STRING, status STRING, amount DECIMAL(12,2), currency STRING,"
        " order_ts TIMESTAMP) USING delta"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    session.sql(MERGE.format(silver=silver))
    if keep_rejected:
        rejected = session.sql("SELECT * FROM judged WHERE reason IS NOT NULL")
        rejected.write.format("delta").mode("append").save(f"{silver}_quarantine")
    kpis = session.sql(KPIS.format(silver=silver))
    kpis.write.format("delta").mode("overwrite").save(gold)
    return folder


JUDGED = """
SELECT *, CASE WHEN broken IS NOT NULL THEN broken
  WHEN row_number() OVER (PARTITION BY order_id, broken IS NULL ORDER BY order_ts DESC) > 1
  THEN 'stale_duplicate' END AS reason
FROM (SELECT *, CASE WHEN customer_id IS NULL THEN 'missing_customer'
  WHEN region IS NULL THEN 'missing_region'
  WHEN amount IS NULL OR amount <= 0 THEN 'non_positive_amount' END AS broken
FROM (SELECT order_id, nullif(trim(customer_id), '') AS customer_id,
  nullif(trim(region), '') AS region, channel, status,
  try_cast(amount AS DECIMAL(12,2)) AS amount, currency, try_cast(order_ts AS TIMESTAMP) AS order_ts
FROM bronze))"""

MERGE = """
MERGE INTO delta.`{silver}` AS t USING (SELECT * FROM judged WHERE reason IS NULL) AS s
ON t.order_id = s.order_id
WHEN MATCHED THEN UPDATE SET customer_id = s.customer_id, region = s.region, channel = s.channel,
  status = s.status, amount = s.amount, currency = s.currency, order_ts = s.order_ts
WHEN NOT MATCHED THEN INSERT (order_id, customer_id, region, channel, status, amount, currency, order_ts)
  VALUES (s.order_id, s.customer_id, s.region, s.channel, s.status, s.amount, s.currency, s.order_ts)"""

KPIS = """
SELECT region, CAST(sum(amount) AS DECIMAL(18,2)) AS gross_revenue_usd, count(*) AS accepted_orders,
  count_if(status = 'completed') AS completed_orders, count_if(status = 'processing') AS pipeline_orders,
  count(DISTINCT customer_id) AS distinct_customers
FROM delta.`{silver}` GROUP BY region"""
