"""DKOps' config.json, said as a project file: what each environment calls things, and which Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lakepact.contract.dialects.shape import Shape, given, shape_problems
from lakepact.errors import Problem, ProjectError

Document = dict[str, Any]

# Databricks Connect: not how Lakepact reaches a workspace.
CONNECT = ("CLUSTER_ID", "DATABRICKS_HOST", "DATABRICKS_PROFILE", "DATABRICKS_TOKEN")
# Delta is the one that fits the Spark installed; nothing is logged to files.
LEFT_OUT = {
    "DELTA_VERSION", "LOG_LEVEL", "LOG_DIR", "LOG_FILENAME", "LOG_ROTATION", "LOG_RETENTION", "LOG_SERIALIZE", "_doc",
}  # fmt: skip
FILE = Shape(
    {
        "": (
            "EXECUTION_ENVIRONMENT", "SPARK_APP_NAME", "SPARK_WAREHOUSE_DIR", "DATABRICKS_TARGET", "environments",
            *CONNECT,
        ),
        "environments": (),
    },
    values={"EXECUTION_ENVIRONMENT": ("local", "databricks")},
    left_out=LEFT_OUT,
)  # fmt: skip
KEPT = ("env", "env_short", "catalogs", "paths", "tags")
BLOCK = Shape({"": KEPT}, left_out={"workspace_host", "storage_accounts", "secrets", "_doc"})


def from_config(document: Any) -> Document:
    """The project file that says the same, or every reason why there is none."""
    if problems := list(_problems(document)):
        raise ProjectError(problems)
    warehouse = document.get("SPARK_WAREHOUSE_DIR", "warehouse")
    platform = {"catalog": "spark", "spark": {"ambient": True}} if _on_databricks(document) else {}
    blocks = document.get("environments") or {"local": {}}
    environments = {key: {"warehouse": warehouse, **_environment(block), **platform} for key, block in blocks.items()}
    return {
        "name": document.get("SPARK_APP_NAME", "lakehouse"),
        "contracts": ["ingestion"],
        "default_environment": document.get("DATABRICKS_TARGET") or "local",
        "environments": environments,
    }


def _environment(block: Document) -> Document:
    """Streams keep how far they came where the paths say so."""
    paths = block.get("paths")
    checkpoints = paths.get("checkpoint") if isinstance(paths, dict) else None
    return given({**{key: block.get(key) for key in KEPT}, "checkpoints": checkpoints})


def _on_databricks(document: Document) -> bool:
    return bool(document.get("EXECUTION_ENVIRONMENT") == "databricks")


def _problems(document: Any) -> Iterator[Problem]:
    yield from shape_problems(document, FILE)
    if not isinstance(document, dict):
        return
    for key in CONNECT:
        if document.get(key):
            yield Problem("Databricks Connect is not supported; run on the workspace itself and remove this", key)
    if _on_databricks(document) and not document.get("DATABRICKS_TARGET"):
        yield Problem("is missing; say which of the environments this is", "DATABRICKS_TARGET")
    blocks = document.get("environments")
    for key, block in blocks.items() if isinstance(blocks, dict) else ():
        found = shape_problems("nothing" if block is None else block, BLOCK)
        yield from (replace(one, field=f"environments.{key}.{one.field}".rstrip(".")) for one in found)
