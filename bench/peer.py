"""The peer's own bronze load, where it is installed (`pip install dkops loguru`): the same files, its own contracts."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

TYPES = {"bigint": "LONG", "string": "STRING", "decimal(12,2)": "DECIMAL", "timestamp": "TIMESTAMP"}


def is_here() -> bool:
    return importlib.util.find_spec("DKOps") is not None and importlib.util.find_spec("loguru") is not None


def bronze_load(spark: Any, place: Path, kind: str, columns: dict[str, str]) -> Callable[[], object]:
    """A load of the files under `place/landing`; the whole folder, as it always does."""
    from DKOps.ingestion.engine import IngestionEngine
    from DKOps.launcher import Launcher

    for name, said in _contracts(place, kind, columns).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(json.dumps(said))
    with contextlib.redirect_stderr(None), contextlib.redirect_stdout(None):
        launcher = Launcher(str(place / "config.json"))
    engine = IngestionEngine.from_spark(
        spark=spark, env=launcher.env, bronze_contracts_dir=str(place / "batch"), silver_contracts_dir=None,
        streaming_contracts_dir=None, tables_base_dir=str(place), ops_path=str(place / "ops"),
    )  # fmt: skip

    def load() -> None:
        failed = engine.ingest_bronze()
        assert not failed, failed

    return load


def _contracts(place: Path, kind: str, columns: dict[str, str]) -> dict[str, Any]:
    block = {
        "env": "local", "env_short": "l", "catalogs": {"bronze": "bronze"},
        "paths": {"landing": str(place / "landing"), "checkpoint": str(place / "checkpoints")},
    }  # fmt: skip
    stamps = {"_ingested_at": "TIMESTAMP", "_ingested_date": "DATE", "_source_file": "STRING"}
    declared = [{"name": n, "type": TYPES[t]} for n, t in columns.items()]
    schema = [{"name": name, "type": "string"} for name in columns] if kind == "csv" else []
    source = {"format": kind, "path": str(place / "landing"), "options": {"header": "true"} if kind == "csv" else {}}
    return {
        "config.json": {
            "EXECUTION_ENVIRONMENT": "local", "SPARK_APP_NAME": "bench", "DATABRICKS_TARGET": "local",
            "SPARK_WAREHOUSE_DIR": str(place / "warehouse"), "LOG_DIR": str(place / "logs"), "LOG_LEVEL": "ERROR",
            "environments": {"local": block},
        },
        "tables/orders.json": {
            "catalog": "bronze", "schema": place.name, "name": "orders", "type": "MANAGED", "format": "DELTA",
            "columns": [*declared, *({"name": n, "type": t} for n, t in stamps.items())],
            "partitions": ["_ingested_date"],
        },
        "batch/orders.json": {
            "name": "orders", "ingest_type": "batch", "load_type": "full", "enabled": True,
            "source": {**source, **({"schema": schema} if schema else {})},
            "destination_contract": "../tables/orders.json",
            "metadata": {"add_ingested_at": True, "add_ingested_date": True, "add_source_file": True},
        },
    }  # fmt: skip
