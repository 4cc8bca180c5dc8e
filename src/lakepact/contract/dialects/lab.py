"""The contract lab's rules file: named rules, each with a label for what it rejects, in a native contract."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lakepact.errors import ContractError, Problem
from lakepact.names import quote
from lakepact.plugins import hint

Document = dict[str, Any]

# As the JSON spells a key, and as the documentation's table does.
KEYS = {
    "name": "name", "field": "field", "condition": "condition", "rejected_label": "label", "layer": "layer",
    "Rule": "name", "Field": "field", "Condition": "condition", "Rejected Label": "label", "rule": "text",
}  # fmt: skip
NOT_NULL = re.compile(r"must not be null", re.I)
COMPARED = re.compile(r"must be (>=|<=|<>|!=|==?|>|<)\s*(-?\d+(?:\.\d+)?)", re.I)
NEWEST = re.compile(r"dedup(?:licate)?,?\s*keep (?:the )?(?:newest|latest)", re.I)
# What a rule's name says where field and condition are left out.
NAMES = {
    re.compile(r"(\w+)_present"): "must not be null",
    re.compile(r"positive_(\w+)"): "must be > 0",
    re.compile(r"latest_(\w+)_record"): "dedup, keep newest",
}
TIMES = {"timestamp", "timestamp_ntz", "timestamp_ltz", "datetime", "date"}


def with_rules_file(document: Document, read: Callable[[str], Any]) -> Document:
    """The contract with its `rules_file` written out."""
    if "rules_file" not in document:
        return document
    native = {key: value for key, value in document.items() if key != "rules_file"}
    file = document["rules_file"]
    entries = read(file) if isinstance(file, str) else None
    if not isinstance(entries, list):
        raise ContractError([Problem("must name a JSON file that holds a list of rules", "rules_file")])
    problems: list[Problem] = []
    parts = [_part(entry, f"{i}", native, problems) for i, entry in enumerate(entries)]
    added = {key: _joined(native, parts, key) for key in ("transform", "quality")}
    if _deduplications(added["transform"]) > 1:
        problems.append(Problem("only one rule or step of a contract can deduplicate; remove the others"))
    if problems:
        raise ContractError([problem.at(file, None) for problem in problems])
    return {**native, **added}


def _joined(native: Document, parts: list[tuple[str, Document]], key: str) -> Any:
    own = native.get(key) or []
    return [*own, *(body for place, body in parts if place == key)] if isinstance(own, list) else own


def _deduplications(steps: Any) -> int:
    return sum("deduplicate" in step for step in steps if isinstance(step, dict)) if isinstance(steps, list) else 0


def _part(entry: Any, place: str, native: Document, problems: list[Problem]) -> tuple[str, Document]:
    """Where a rule belongs in the contract, and what it says there; nowhere if it is another layer's."""
    if not isinstance(entry, dict):
        problems.append(Problem("expected keys and values here", place))
        return "", {}
    unknown = [str(key) for key in entry if key not in KEYS]
    problems += [Problem(f"unknown key{hint(key, KEYS)}", f"{place}.{key}") for key in unknown]
    rule = {KEYS[key]: value for key, value in entry.items() if key in KEYS}
    if native.get("layer") and rule.get("layer", native["layer"]) != native["layer"]:
        return "", {}
    columns = native.get("columns")
    try:
        return _said(rule, [c for c in columns if isinstance(c, dict)] if isinstance(columns, list) else [])
    except ValueError as error:
        problems.append(Problem(str(error), place))
        return "", {}


def _said(rule: Document, columns: list[Document]) -> tuple[str, Document]:
    field, condition = _field_and_condition(rule, [str(column.get("name")) for column in columns])
    if NEWEST.fullmatch(condition):
        order = f"{quote(_time(columns))} DESC NULLS LAST"
        step = {"keys": [field], "order_by": order, "rejected_as": rule.get("label")}
        return "transform", {"deduplicate": _given(step)}
    said = {"name": rule.get("name"), "rejected_as": rule.get("label"), "description": rule.get("text")}
    return "quality", {**_given(said), **_check(field, condition)}


def _field_and_condition(rule: Document, columns: list[str]) -> tuple[str, str]:
    derived = _by_name(str(rule.get("name") or ""), columns)
    field = rule.get("field") or derived[0]
    condition = rule.get("condition") or derived[1]
    if not field or not condition:
        raise ValueError(f"rule {rule.get('name')!r} does not say what it checks; add `field` and `condition`")
    if columns and field not in columns:
        raise ValueError(f"the contract has no column {field!r}{hint(str(field), columns)}")
    return str(field), str(condition).strip().rstrip(".")


def _by_name(name: str, columns: list[str]) -> tuple[str | None, str | None]:
    for pattern, condition in NAMES.items():
        if found := pattern.fullmatch(name):
            identified = [f"{found[1]}_id", found[1]] if "dedup" in condition else [found[1], f"{found[1]}_id"]
            return next((column for column in identified if column in columns), None), condition
    return None, None


def _check(field: str, condition: str) -> Document:
    if NOT_NULL.fullmatch(condition):
        return {"not_null": [field]}
    if found := COMPARED.fullmatch(condition):
        return {"check": f"{quote(field)} {found[1].replace('==', '=')} {found[2]}"}
    known = "`Must not be null`, `Must be > 0` or `Dedup, keep newest`"
    raise ValueError(f"{condition!r} is not a condition; write {known}, or a native rule")


def _time(columns: list[Document]) -> str:
    """The one column that says which row is newer."""
    times = [str(column["name"]) for column in columns if str(column.get("type")).lower() in TIMES]
    if len(times) != 1:
        found = ", ".join(times) or "none"
        raise ValueError(f"newest by which timestamp or date? found {found}; write a deduplicate step instead")
    return times[0]


def _given(part: Document) -> Document:
    return {key: value for key, value in part.items() if value}
