"""Markdown from values: pages, tables, code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(value) for value in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str, language: str = "sql") -> str:
    return f"```{language}\n{text.strip()}\n```"


def name(text: str) -> str:
    """A name as it is typed."""
    return f"`{text}`"


def names(found: Iterable[str]) -> str:
    return ", ".join(name(text) for text in found)


def anchor(heading: str) -> str:
    """Where a link to a heading leads."""
    return "#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def one_line(value: Any) -> str:
    """A value as YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False).strip()


def sentence(text: str | None) -> str:
    """A docstring's first paragraph, or a field's description, as a sentence."""
    first = " ".join((text or "").strip().split("\n\n")[0].split())
    capital = first[:1].upper() + first[1:]
    return capital if not first or first.endswith((".", ":")) else f"{capital}."
