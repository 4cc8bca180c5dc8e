"""Foreign contract formats. Each is one pure function: foreign document → native document.

Nothing past this door knows that dialects exist.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from lakepact.contract.document import Lines

Document = dict[str, Any]
ReadRelative = Callable[[str], Any]

# Name, module, how to know one, how to say it natively. Loaded only for documents that are not native.
DIALECTS = (
    ("dkops_ingestion", "dkops", "is_ingestion", "from_ingestion"),
    ("dkops_table", "dkops", "is_table", "from_table"),
    ("lakelogic", "lakelogic", "is_contract", "from_contract"),
    ("contractforge", "contractforge", "is_contract", "from_contract"),
)


def to_native(document: Document, read: ReadRelative) -> tuple[str, Document]:
    """The dialect's name and the native document."""
    for name, module, is_one, translate in DIALECTS if not _is_native(document) else ():
        dialect = _module(module)
        if getattr(dialect, is_one)(document):
            native: Document = getattr(dialect, translate)(document, read)
            return name, native
    if "rules_file" in document:
        return "native", _module("lab").with_rules_file(document, read)
    return "native", document


def _is_native(document: Document) -> bool:
    return "table" in document and not isinstance(document.get("quality"), dict)


def _module(name: str) -> Any:
    return import_module(f"lakepact.contract.dialects.{name}")


def lines_by_last_key(lines: Lines) -> Lines:
    """Lines of a foreign document, found by a key's own name: `write.mode` stands where `mode` stands."""
    found = dict(lines)
    for path, line in lines.items():
        found.setdefault(path.rpartition(".")[2], line)
    return _ByLastKey(found)


class _ByLastKey(dict[str, int]):
    def __contains__(self, path: object) -> bool:
        return super().__contains__(path) or super().__contains__(str(path).rpartition(".")[2])

    def __getitem__(self, path: str) -> int:
        return super().__getitem__(path if super().__contains__(path) else path.rpartition(".")[2])
