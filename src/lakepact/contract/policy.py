"""Policy packs: what an organisation asks of every contract. A pack adds; it never takes a rule away.

name: baseline_silver
defaults: {layout: {properties: {delta.enableChangeDataFeed: "true"}}}
silver_defaults: {quarantine: {max_ratio: 0.2}}
quality: [{min_rows: 1, action: fail}]
transformations: [{standardize: {customer_id: trim}}]
transformations_mode: prepend
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from lakepact.contract.document import read_document
from lakepact.contract.fields import Part
from lakepact.contract.problems import parse_part
from lakepact.errors import ContractError, Problem
from lakepact.plugins import hint

Mode = Literal["prepend", "append", "replace"]


class PolicyPack(Part):
    """Defaults, rules and steps for many contracts. Keys `<layer>_…` are for one layer."""

    name: str
    description: str = ""
    defaults: dict[str, Any] = Field(default_factory=dict)
    reference_defaults: dict[str, Any] = Field(default_factory=dict)
    bronze_defaults: dict[str, Any] = Field(default_factory=dict)
    silver_defaults: dict[str, Any] = Field(default_factory=dict)
    gold_defaults: dict[str, Any] = Field(default_factory=dict)
    quality: list[dict[str, Any]] = Field(default_factory=list)
    bronze_quality: list[dict[str, Any]] = Field(default_factory=list)
    silver_quality: list[dict[str, Any]] = Field(default_factory=list)
    gold_quality: list[dict[str, Any]] = Field(default_factory=list)
    transformations: list[dict[str, Any]] = Field(default_factory=list)
    transformations_mode: Mode = "prepend"
    bronze_transformations: list[dict[str, Any]] = Field(default_factory=list)
    bronze_transformations_mode: Mode = "prepend"
    silver_transformations: list[dict[str, Any]] = Field(default_factory=list)
    silver_transformations_mode: Mode = "prepend"
    gold_transformations: list[dict[str, Any]] = Field(default_factory=list)
    gold_transformations_mode: Mode = "prepend"


def read_pack(name: str, folder: Path) -> PolicyPack:
    """`<folder>/<name>.yaml`; a pack that is asked for and not there is an error."""
    file = folder / f"{name}.yaml"
    if not file.is_file():
        there = [path.stem for path in folder.glob("*.yaml")] if folder.is_dir() else []
        raise ContractError([Problem(f"no policy pack {name!r} in {folder}{hint(name, there)}", "policy_pack")])
    document, lines = read_document(file)
    return parse_part(PolicyPack, document, str(file), lines)


def apply_pack(document: dict[str, Any], pack: PolicyPack) -> dict[str, Any]:
    """The contract under the pack: its own keys win, the pack's rules and steps come in addition."""
    layer = str(document.get("layer") or "")
    result = _under(document, getattr(pack, f"{layer}_defaults", {}))
    result = _under(result, pack.defaults)
    rules = [*pack.quality, *getattr(pack, f"{layer}_quality", [])]
    own = result.get("quality") or []
    if rules and isinstance(own, list):
        result = {**result, "quality": [*own, *rules]}
    result = _with_steps(result, pack.transformations, pack.transformations_mode)
    steps = getattr(pack, f"{layer}_transformations", [])
    return _with_steps(result, steps, getattr(pack, f"{layer}_transformations_mode", "prepend"))


def _under(document: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Defaults fill what the document leaves open, at every depth."""
    result = dict(document)
    for key, value in defaults.items():
        if key not in result or result[key] is None:
            result[key] = value
        elif isinstance(value, dict) and isinstance(result[key], dict):
            result[key] = _under(result[key], value)
    return result


def _with_steps(document: dict[str, Any], steps: list[dict[str, Any]], mode: Mode) -> dict[str, Any]:
    own = document.get("transform") or []
    if not steps or not isinstance(own, list):
        return document
    merged = {"prepend": [*steps, *own], "append": [*own, *steps], "replace": steps}[mode]
    return {**document, "transform": _deduplicate_last(merged)}


def _deduplicate_last(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(steps, key=lambda step: isinstance(step, dict) and "deduplicate" in step)
