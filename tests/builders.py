"""Contracts and plans with defaults, for tests that are about one thing of them."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from lakepact.contract.model import Contract
from lakepact.contract.project import Environment, Project, ProjectFile
from lakepact.plan.plan import Plan, make_plan
from lakepact.plan.state import RunIdentity, Window, World
from lakepact.site import places_of

LAKE = Project(root=Path("/lake"), file=ProjectFile(), environment_name="local", environment=Environment())
RUN = RunIdentity("run-1", datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc))
BASE: dict[str, Any] = {
    "table": "silver.orders",
    "source": {"table": "bronze.orders"},
    "columns": [
        {"name": "id", "nullable": False},
        {"name": "amount", "type": "decimal(12,2)"},
        {"name": "at", "type": "timestamp"},
    ],
    "write": {"mode": "scd1_upsert", "keys": "id"},
}


def contract(**changes: Any) -> Contract:
    return Contract.model_validate({**BASE, **changes})


def plan(made: Contract, world: World | None = None, window: Window | None = None) -> Plan:
    return make_plan(made, world or World(), window, RUN, places_of(LAKE, [made]))
