"""How things are found by name: first a dict you can read, then entry points `lakepact.<kind>`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from lakepact.errors import ContractError

T = TypeVar("T")


def find(kind: str, name: str, known: Mapping[str, T]) -> T:
    """The thing called `name`, from `known` or from an installed package."""
    if name in known:
        return known[name]
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    for entry in entry_points(group=f"lakepact.{kind}"):
        if entry.name == name:
            found: T = entry.load()
            return found
    raise ContractError(f"unknown {kind.rstrip('s')} {name!r}{hint(name, known)}")


def hint(name: str, known: Iterable[str]) -> str:
    """
    >>> hint("scd1_upser", ["scd1_upsert", "scd0_append"])
    "; did you mean 'scd1_upsert'?"
    >>> hint("x", ["beta", "alpha"])
    '; known: alpha, beta'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""
