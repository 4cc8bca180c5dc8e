"""`{catalog.x}`, `{path.x}`, `{env}`, `{env_short}`: names that the environment gives a meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lakepact.errors import Problem
from lakepact.plugins import hint

# Only these are placeholders: a regular expression's {2,3} is left alone, {{ secret:… }} too.
PLACEHOLDER = re.compile(r"(?<!\{)\{((?:catalog|path)\.[\w\-]+|env|env_short)\}(?!\})")


def fill(document: Any, values: Mapping[str, str], problems: list[Problem]) -> Any:
    """The document with every placeholder replaced; unknown ones are noted."""

    def one(text: str, path: str) -> str:
        def value(found: re.Match[str]) -> str:
            if found[1] not in values:
                problems.append(Problem(f"unknown placeholder {{{found[1]}}}{hint(found[1], values)}", path))
            return values.get(found[1], found[0])

        return PLACEHOLDER.sub(value, text)

    return map_texts(document, one)


def map_texts(document: Any, change: Callable[[str, str], str], path: str = "") -> Any:
    """The same document with `change(text, path)` applied to each text in it."""
    if isinstance(document, str):
        return change(document, path)
    if isinstance(document, dict):
        return {key: map_texts(value, change, f"{path}.{key}".strip(".")) for key, value in document.items()}
    if isinstance(document, list):
        return [map_texts(value, change, f"{path}.{i}".strip(".")) for i, value in enumerate(document)]
    return document
