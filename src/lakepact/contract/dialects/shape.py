"""The shape of a foreign document, as tables; and everything a document has that they do not allow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from lakepact.errors import Problem
from lakepact.plugins import hint


@dataclass(frozen=True)
class Shape:
    """Places are dotted paths, `[]` standing for each entry of a list.

    keys      which keys may stand at a place; () for any
    short     places where a bare value of these types will do instead of keys and values
    flags     places of real booleans
    values    places with a closed set of values
    left_out  descriptive keys: read, and not needed
    later     keys that a native contract cannot say yet
    """

    keys: Mapping[str, tuple[str, ...]]
    short: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    flags: Set[str] = frozenset()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: Set[str] = frozenset()
    later: Set[str] = frozenset()


def shape_problems(value: Any, shape: Shape, place: str = "") -> Iterator[Problem]:
    """Everything that the shape has against a value and what is in it."""
    name = re.sub(r"\.\d+", "[]", place)
    keys = shape.keys
    yield from _value_problems(value, shape, place, name)
    if isinstance(value, list) and f"{name}[]" in keys:
        for position, entry in enumerate(value):
            yield from shape_problems("" if entry is None else entry, shape, f"{place}.{position}")
    elif isinstance(value, dict) and name in keys:
        for key, inner in value.items():
            yield from _key_problems(str(key), inner, f"{place}.{key}".strip("."), keys[name], shape)
    elif value is not None and not _is_short(value, name, shape) and (name in keys or f"{name}[]" in keys):
        yield Problem("expected keys and values here" if name in keys else "expected a list here", place)


def _value_problems(value: Any, shape: Shape, place: str, name: str) -> Iterator[Problem]:
    if name in shape.flags and not isinstance(value, bool):
        yield Problem(f"must be true or false, found {value!r}", place)
    if name in shape.values and str(value) not in shape.values[name]:
        yield Problem(f"{value!r} is not supported{hint(str(value), shape.values[name])}", place)


def _is_short(value: Any, name: str, shape: Shape) -> bool:
    return isinstance(value, shape.short.get(name, ()))


def _key_problems(key: str, value: Any, place: str, known: tuple[str, ...], shape: Shape) -> Iterator[Problem]:
    name = re.sub(r"\.\d+", "[]", place)
    if not known or key in known:
        yield from shape_problems(value, shape, place)
    elif name not in shape.later and name not in shape.left_out:
        yield Problem(f"unknown key{hint(key, known)}", place)
    elif name in shape.later and value and value != {"enabled": False}:
        yield Problem("is not supported yet; remove it or write this contract natively", place)


def given(part: dict[str, Any]) -> dict[str, Any]:
    """What was really said."""
    return {key: value for key, value in part.items() if value is not None and value not in ("", [], {})}
