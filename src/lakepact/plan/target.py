"""What a write mode is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lakepact.contract.write import Write
from lakepact.names import equal_keys, literal, quote, quoted, same
from lakepact.plan.columns import TableColumn
from lakepact.plan.state import RunIdentity

BATCH = "`accepted`"
CHANGES = "`changes`"
EFFECT = "`_effect`"
PARTITIONS = "`lakepact_partitions`"


@dataclass(frozen=True)
class Target:
    """The table to write, as SQL sees it, the batch's columns, and how the contract wants them written.

    `small` says that the batch is small beside the table.
    """

    table: str
    columns: tuple[TableColumn, ...]
    write: Write
    run: RunIdentity
    rejects: bool = True
    small: bool = False

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.write.keys or self.write.hash_keys

    @property
    def compared(self) -> list[str]:
        """Columns whose change makes a row a changed row: neither keys nor stamps, nor what no update may change."""
        business = [c.name for c in self.columns if c.name not in self.keys and c.stamp is None]
        kept, wanted = self.write.insert_only_columns, self.write.update_columns
        return [name for name in business if name not in kept and (name in wanted or not wanted)]

    @property
    def updated(self) -> list[str]:
        """Columns an update gives the value of the batch."""
        kept = {*self.keys, *self.write.insert_only_columns, *(c.name for c in self.columns if c.only_on_insert)}
        wanted = {*self.write.update_columns, *(c.name for c in self.columns if c.stamp is not None)}
        return [name for name in self.names if name not in kept and (name in wanted or not self.write.update_columns)]

    @property
    def now(self) -> str:
        return literal(self.run.now)

    @property
    def on_keys(self) -> str:
        """Keys are never NULL past the guardrails, unless the contract takes NULL for a value."""
        if self.write.null_keys == "keep":
            return same(self.keys, "t", "s")
        return equal_keys(self.keys, "t", "s")

    @property
    def merge_on(self) -> str:
        """How the merge finds its rows: by key and, where the contract says so, only in the partitions concerned."""
        column = self.write.merge_partition_column
        if column is None:
            return self.on_keys
        return f"{self.on_keys} AND (t.{quote(column)} IS NULL OR array_contains({PARTITIONS}, t.{quote(column)}))"

    @property
    def was_in(self) -> str:
        """The partition in which a changed row lies now, to look for it there, also when it moves."""
        column = self.write.merge_partition_column
        return f", t.{quote(column)} AS `_was_in`" if column else ""

    @property
    def find_partitions(self) -> tuple[str, ...]:
        """Puts the partitions that the changes are about into a variable: values of the data never become SQL text."""
        column = self.write.merge_partition_column
        if column is None:
            return ()
        kind = next(c.type for c in self.columns if c.name == column)
        both = f"SELECT explode(array({quote(column)}, `_was_in`)) AS `p` FROM {CHANGES}"
        return (
            f"DECLARE OR REPLACE VARIABLE {PARTITIONS} ARRAY<{kind}>",
            f"SET VAR {PARTITIONS} = (SELECT collect_set(`p`) FROM ({both}))",
        )

    @property
    def not_older(self) -> str:
        """A further condition where the contract orders rows: an older one never overwrites a newer one."""
        if self.write.sequence_by is None:
            return ""
        sequence = quote(self.write.sequence_by)
        return f" AND (t.{sequence} IS NULL OR s.{sequence} >= t.{sequence})"

    @property
    def is_new(self) -> str:
        """True after a left join where the table has no row with the key."""
        return f"t.{quote(self.keys[0])} IS NULL"


@dataclass(frozen=True)
class Written:
    """What became of the accepted rows, and of rows that were already there."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0
    soft_deleted: int = 0
    expired: int = 0

    @property
    def rows(self) -> int:
        return self.inserted + self.updated + self.unchanged


Counted = Mapping[str, int]


@dataclass(frozen=True)
class Guard:
    """A question about batch and table, asked before the write: the batch is refused where its answer is not 0."""

    sql: str
    message: str


@dataclass(frozen=True)
class RowGuard:
    """Accepted rows of which this is true stop the write; they are counted with all else that is counted."""

    rows: str
    message: str


@dataclass(frozen=True)
class Mode:
    """A write mode: one statement, and a few facts beside it.

    changes    a SELECT of what must change, each row with its `_effect`; it is kept and counted first,
               and where it is empty nothing is written
    stages     named SELECTs that are kept one after the other, for the changes to be made of
    plain_changes  the changes where the last stage has no rows
    counts     what became of the accepted rows, from what the commit reported (None: no commit), what the
               changes counted by effect, and how many rows were accepted
    straight   the statement for a batch that need not be compared first
    unique     columns that must be unique in the batch
    adds       columns the mode keeps beside the contract's
    metrics_source  `delta` where the commit tells all of them, `mixed` where some are counted in the changes
    """

    name: str
    statement: Callable[[Target], str]
    counts: Callable[[Counted | None, Counted, int], Written]
    changes: Callable[[Target], str] | None = None
    needs_keys: bool = False
    replaces: bool = False
    complete: bool = False
    unique: Callable[[Write], tuple[str, ...]] = lambda write: ()
    adds: Callable[[Write, tuple[TableColumn, ...]], tuple[TableColumn, ...]] = lambda write, columns: ()
    guards: Callable[[Target], tuple[Guard, ...]] = lambda target: ()
    row_guards: Callable[[Target], tuple[RowGuard, ...]] = lambda target: ()
    metrics_source: str = "delta"
    straight: Callable[[Target], str] | None = None
    stages: Callable[[Target], tuple[tuple[str, str], ...]] = lambda target: ()
    plain_changes: Callable[[Target], str] | None = None
    settings: Callable[[Write], Mapping[str, str]] = field(default=lambda write: {})


def merge_counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    """For modes that merge by key: what Delta says of its own commit."""
    del effects
    inserted = commit.get("numTargetRowsInserted", 0) if commit else 0
    updated = commit.get("numTargetRowsUpdated", 0) if commit else 0
    return Written(inserted=inserted, updated=updated, unchanged=accepted - inserted - updated)


def total(*counted: Counted) -> dict[str, int]:
    """Sums, name by name."""
    names = dict.fromkeys(name for one in counted for name in one)
    return {name: sum(one.get(name, 0) for one in counted) for name in names}


def assignments(names: list[str]) -> str:
    return ", ".join(f"t.{quote(name)} = s.{quote(name)}" for name in names)


def insert_columns(names: list[str]) -> str:
    return f"INSERT ({quoted(names)}) VALUES ({quoted(names, 's.')})"


def write_keys(write: Write) -> tuple[str, ...]:
    return write.keys or write.hash_keys
