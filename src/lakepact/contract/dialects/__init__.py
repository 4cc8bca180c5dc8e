"""Foreign contract formats. Each is one pure function: foreign document → native document.

Nothing past this door knows that dialects exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lakepact.contract.dialects import contractforge, dkops, lab, lakelogic
from lakepact.contract.document import Lines

Document = dict[str, Any]
ReadRelative = Callable[[str], Any]


@dataclass(frozen=True)
class Dialect:
    """How to know a document of this dialect, and how to say it natively."""

    name: str
    is_one: Callable[[Document], bool]
    translate: Callable[[Document, ReadRelative], Document]


DIALECTS = (
    Dialect("dkops_ingestion", dkops.is_ingestion, dkops.from_ingestion),
    Dialect("dkops_table", dkops.is_table, dkops.from_table),
    Dialect("lakelogic", lakelogic.is_contract, lakelogic.from_contract),
    Dialect("contractforge", contractforge.is_contract, contractforge.from_contract),
)


def to_native(document: Document, read: ReadRelative) -> tuple[str, Document]:
    """The dialect's name and the native document."""
    for dialect in DIALECTS:
        if dialect.is_one(document):
            return dialect.name, dialect.translate(document, read)
    return "native", lab.with_rules_file(document, read)


def lines_by_last_key(lines: Lines) -> Lines:
    """Lines of a foreign document, found by a key's own name: `write.mode` stands where `mode` stands."""
    found: dict[str, int] = {}
    for path, line in lines.items():
        found.setdefault(path, line)
    for path, line in lines.items():
        found.setdefault(path.rpartition(".")[2], line)
    return _ByLastKey(found)


class _ByLastKey(dict[str, int]):
    def __contains__(self, path: object) -> bool:
        return super().__contains__(path) or super().__contains__(str(path).rpartition(".")[2])

    def __getitem__(self, path: str) -> int:
        return super().__getitem__(path if super().__contains__(path) else path.rpartition(".")[2])
