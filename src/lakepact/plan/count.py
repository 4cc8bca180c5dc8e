"""How a judged batch is counted: one query over the view `judged`.

Where keys must be unique and rows are read again rather than kept, the same query says whether one stands twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from lakepact.names import quote, quoted
from lakepact.plan.rules import KeyRule

Metric = tuple[str, str]


def count_rows(metrics: Iterable[Metric]) -> str:
    """Every number of the batch, in one row."""
    return f"SELECT {_named(metrics)}\nFROM `judged`"


def count_by_key(metrics: Iterable[Metric], rule: KeyRule) -> str:
    """The same from one grouping by key: every metric is a sum or a count, so that parts add up to the whole."""
    metrics = tuple(metrics)
    known = " AND ".join(f"{quote(key)} IS NOT NULL" for key in rule.keys)
    sums = [(name, f"coalesce(sum({quote(name)}), 0)") for name, _ in metrics]
    whole = (*sums, (doubles(rule), f"count_if(`accepted` > 1 AND {known})"))
    keys = quoted(rule.keys)
    return f"SELECT {_named(whole)}\nFROM (\n  SELECT {keys}, {_named(metrics)}\n  FROM `judged` GROUP BY {keys}\n)"


def doubles(rule: KeyRule) -> str:
    """The name of the number of keys that stand more than once."""
    return f"doubles:{rule.name}"


def _named(metrics: Iterable[Metric]) -> str:
    return ",\n    ".join(f"{sql} AS {quote(name)}" for name, sql in metrics)
