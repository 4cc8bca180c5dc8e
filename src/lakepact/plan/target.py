"""What a write mode is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lakepact.plan.columns import TableColumn


@dataclass(frozen=True)
class Target:
    """The table to write, as SQL sees it, and the view that holds the accepted rows."""

    table: str
    columns: tuple[TableColumn, ...]
    keys: tuple[str, ...] = ()
    batch: str = "`accepted`"

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def compared(self) -> list[str]:
        """Columns whose change makes a row a changed row: neither keys nor stamps."""
        return [c.name for c in self.columns if c.name not in self.keys and c.stamp is None]

    @property
    def updated(self) -> list[str]:
        return [c.name for c in self.columns if c.name not in self.keys and not c.only_on_insert]


@dataclass(frozen=True)
class Written:
    """What became of the accepted rows."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0

    @property
    def rows(self) -> int:
        return self.inserted + self.updated + self.unchanged


@dataclass(frozen=True)
class Mode:
    """A write mode: one statement, and a few facts beside it.

    `counts` reads what the commit itself reported; None stands for a write that made no commit.
    """

    name: str
    statement: Callable[[Target], str]
    counts: Callable[[Mapping[str, int] | None, int], Written]
    needs_keys: bool = False
    replaces: bool = False
