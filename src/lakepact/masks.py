"""Masks: what a person sees of a value that the contract calls sensitive."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Set

Mask = Callable[[str, str], "str | None"]


def _hashed(value: str, salt: str) -> str:
    return hmac.new(salt.encode(), value.encode(), hashlib.sha256).hexdigest()[:16]


def _partial(value: str, salt: str) -> str:
    del salt
    return "*" * max(len(value) - 4, 4) + (value[-4:] if len(value) > 8 else "")


def _email(value: str, salt: str) -> str:
    name, at, domain = value.partition("@")
    return f"{name[:1]}***@{domain}" if at else _partial(value, salt)


MASKS: dict[str, Mask] = {
    "hash": _hashed,
    "redact": lambda value, salt: "***",
    "partial": _partial,
    "nullify": lambda value, salt: None,
    "mask_email": _email,
}


def mask_value(name: str, value: object, salt: str) -> str | None:
    """A function we do not know (one of the catalog's own) hides the whole value.

    >>> mask_value("mask_email", "ada@example.com", "s"), mask_value("security.secret_fn", "x", "s")
    ('a***@example.com', '***')
    """
    if value is None:
        return None
    return MASKS.get(name.rsplit(".", 1)[-1], MASKS["redact"])(str(value), salt)


def mask_row(
    row: Mapping[str, object], masks: Mapping[str, str], salt: str, clear: Set[str] = frozenset()
) -> dict[str, object]:
    """The row as people may see it, also inside the raw text that quarantine keeps.

    There only the columns in `clear` are shown: the source may call a masked value something else.
    """
    by_name = {name.lower(): mask for name, mask in masks.items()}
    shown = {k: mask_value(by_name[k.lower()], v, salt) if k.lower() in by_name else v for k, v in row.items()}
    if masks and isinstance(shown.get("_row"), str):
        shown["_row"] = _mask_json(str(shown["_row"]), clear)
    return shown


def _mask_json(text: str, clear: Set[str]) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return "***"
    return (
        json.dumps({k: v if k in clear else "***" for k, v in content.items()}) if isinstance(content, dict) else "***"
    )
