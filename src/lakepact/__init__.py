"""Lakepact: one contract per table, one command per lakehouse."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_HOME = {
    "AlreadyWrittenError": "lakepact.errors",
    "Contract": "lakepact.contract.model",
    "ContractError": "lakepact.errors",
    "EngineError": "lakepact.errors",
    "IngestResult": "lakepact.evidence.result",
    "IngestionEngine": "lakepact.faces.engine",
    "LakepactError": "lakepact.errors",
    "LakepactExecutionError": "lakepact.errors",
    "Launcher": "lakepact.faces.launcher",
    "MachineError": "lakepact.errors",
    "Plan": "lakepact.plan.plan",
    "PlanError": "lakepact.errors",
    "Problem": "lakepact.errors",
    "ProjectError": "lakepact.errors",
    "QualityError": "lakepact.errors",
    "RunRecord": "lakepact.evidence.record",
    "SafeMigrator": "lakepact.faces.migrator",
    "StoreError": "lakepact.errors",
    "TableReader": "lakepact.faces.reader",
    "TableWriter": "lakepact.faces.writer",
    "UnbalancedError": "lakepact.errors",
    "Window": "lakepact.plan.state",
    "ingest": "lakepact.faces.ingest",
    "load_contract": "lakepact.api",
    "make_plan": "lakepact.plan.plan",
    "open_project": "lakepact.api",
    "optimize": "lakepact.api",
    "plans": "lakepact.api",
    "run": "lakepact.api",
    "rows": "lakepact.api",
    "runs": "lakepact.api",
    "vacuum": "lakepact.api",
    "validate": "lakepact.api",
}

# What other documents call our things.
_ALSO = {"ContractForgeExecutionError": "LakepactExecutionError", "DKOpsExecutionError": "LakepactExecutionError"}

__all__ = [*sorted([*_HOME, *_ALSO]), "__version__"]


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use, so that `import lakepact` costs next to nothing."""
    if name in _ALSO:
        return __getattr__(_ALSO[name])
    if name not in _HOME:
        raise AttributeError(f"module 'lakepact' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
