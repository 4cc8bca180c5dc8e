"""`--set a.b=c`: a value put into the contract for one run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lakepact.contract.document import parse_document
from lakepact.contract.placeholders import PLACEHOLDER
from lakepact.errors import ContractError, Problem


def parse_overrides(settings: Iterable[str]) -> dict[str, Any]:
    """
    >>> parse_overrides(["source.path=in/x.csv", "write.keys=[a, b]", "enabled=false"])
    {'source.path': 'in/x.csv', 'write.keys': ['a', 'b'], 'enabled': False}
    """
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ContractError([Problem(f"{setting!r}: write --set key.inner=value", "--set")])
        found[key.strip()] = _value(text)
    return found


def _value(text: str) -> Any:
    """A value as YAML writes it; a placeholder is text, although its braces look like a mapping."""
    if not text.strip():
        return None
    return text if PLACEHOLDER.search(text) and not text.startswith("[") else parse_document(text, "--set")[0]


def override(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the document with the value at the path; lists are reached by position.

    >>> override({"quality": [{"check": "a > 0"}]}, "quality.0.action", "fail")
    {'quality': [{'check': 'a > 0', 'action': 'fail'}]}
    """
    changed: dict[str, Any] = _set(document, path.split("."), value, path)
    return changed


def _set(node: Any, parts: list[str], value: Any, path: str) -> Any:
    if not parts:
        return value
    head, *rest = parts
    if isinstance(node, list):
        if not (head.isascii() and head.isdigit()) or int(head) >= len(node):
            raise ContractError([Problem(f"{path}: no entry {head!r}; there are {len(node)}", "--set")])
        return [_set(item, rest, value, path) if i == int(head) else item for i, item in enumerate(node)]
    if node is not None and not isinstance(node, dict):
        raise ContractError([Problem(f"{path}: {head!r} cannot be set inside {node!r}", "--set")])
    return {**(node or {}), head: _set((node or {}).get(head), rest, value, path)}
