"""Lakepact: one contract per table, one command per lakehouse."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_HOME = {
    "Contract": "lakepact.contract.model",
    "ContractError": "lakepact.errors",
    "EngineError": "lakepact.errors",
    "LakepactError": "lakepact.errors",
    "LakepactExecutionError": "lakepact.errors",
    "MachineError": "lakepact.errors",
    "Plan": "lakepact.plan.plan",
    "PlanError": "lakepact.errors",
    "Problem": "lakepact.errors",
    "ProjectError": "lakepact.errors",
    "QualityError": "lakepact.errors",
    "RunRecord": "lakepact.evidence.record",
    "StoreError": "lakepact.errors",
    "UnbalancedError": "lakepact.errors",
    "Window": "lakepact.plan.state",
    "load_contract": "lakepact.api",
    "make_plan": "lakepact.plan.plan",
    "open_project": "lakepact.api",
    "plans": "lakepact.api",
    "run": "lakepact.api",
    "rows": "lakepact.api",
    "runs": "lakepact.api",
    "validate": "lakepact.api",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use, so that `import lakepact` costs next to nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'lakepact' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
