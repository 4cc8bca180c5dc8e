"""Spark column types: one spelling for each, whatever a dialect calls it."""

from __future__ import annotations

import re

from lakepact.plugins import hint

_SIMPLE = {
    "string": "string", "str": "string", "text": "string", "varchar": "string", "char": "string",
    "boolean": "boolean", "bool": "boolean",
    "tinyint": "tinyint", "byte": "tinyint", "smallint": "smallint", "short": "smallint",
    "int": "int", "integer": "int", "bigint": "bigint", "long": "bigint",
    "float": "float", "real": "float", "double": "double",
    "decimal": "decimal(10,0)", "numeric": "decimal(10,0)", "dec": "decimal(10,0)",
    "date": "date", "timestamp": "timestamp", "timestamp_ltz": "timestamp", "timestamp_ntz": "timestamp_ntz",
    "datetime": "timestamp", "binary": "binary", "variant": "variant",
}  # fmt: skip
_DECIMAL = re.compile(r"(?:decimal|numeric|dec)\((\d{1,2}),?(\d{1,2})?\)")
_VARCHAR = re.compile(r"(?:varchar|char)\(\d+\)")
_NAME = re.compile(r"`[^`]+`|[\w]+")


def canonical_type(text: str) -> str:
    """The type as Spark's catalog spells it.

    >>> canonical_type("LONG"), canonical_type("Decimal(12, 2)"), canonical_type("array<struct<a: INT>>")
    ('bigint', 'decimal(12,2)', 'array<struct<a:int>>')
    >>> canonical_type("strng")
    Traceback (most recent call last):
    ValueError: unknown type 'strng'; did you mean 'string'?
    """
    compact = re.sub(r"\s*([<>(),:])\s*", r"\1", text.strip())
    return _type(compact, text)


def _type(text: str, whole: str) -> str:
    lower = text.lower()
    if lower in _SIMPLE:
        return _SIMPLE[lower]
    if found := _DECIMAL.fullmatch(lower):
        return _decimal(int(found[1]), int(found[2] or 0), whole)
    if _VARCHAR.fullmatch(lower):
        return "string"
    for outer, inner in (("array<", 1), ("map<", 2), ("struct<", 0)):
        if lower.startswith(outer) and text.endswith(">"):
            return outer + _inner(_split(text[len(outer) : -1]), inner, whole) + ">"
    raise ValueError(f"unknown type {whole!r}{hint(lower, _SIMPLE)}")


def _decimal(precision: int, scale: int, whole: str) -> str:
    if not 0 < precision <= 38 or scale > precision:
        raise ValueError(f"{whole!r}: a decimal has 1 to 38 digits, and no more behind the point than in all")
    return f"decimal({precision},{scale})"


def _inner(parts: list[str], expected: int, whole: str) -> str:
    if expected and len(parts) != expected:
        raise ValueError(f"{whole!r}: expected {expected} inner type(s), found {len(parts)}")
    if expected:
        return ",".join(_type(part, whole) for part in parts)
    return ",".join(_field(part, whole) for part in parts)


def _field(text: str, whole: str) -> str:
    found = _NAME.match(text)
    if not found or text[found.end() : found.end() + 1] not in (":", " "):
        raise ValueError(f"{whole!r}: a struct is written struct<name:type,…>")
    return f"{found[0]}:{_type(text[found.end() + 1 :], whole)}"


def _split(text: str) -> list[str]:
    """Split at the commas that are not inside another type."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]
