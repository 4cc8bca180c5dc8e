"""The contract against the table as it is: what must change, and what must not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakepact.contract.model import Contract, Layout
from lakepact.plan.columns import TableColumn
from lakepact.plan.layout import (
    CLUSTERED_BY,
    add_columns,
    drop_not_null,
    set_clustering,
    set_column_comment,
    set_comment,
    set_properties,
)
from lakepact.plan.state import TableState

CLUSTERING = "delta.feature.clustering"
ZONELESS = "delta.feature.timestampNtz"
VERSIONS = ("delta.minreaderversion", "delta.minwriterversion")


@dataclass(frozen=True)
class Change:
    """One statement, and what kind of change it makes."""

    kind: str
    sql: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sql}"


@dataclass(frozen=True)
class Changes:
    """Changes that are safe, and reasons why the rest is not done."""

    safe: tuple[Change, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(change.sql for change in self.safe)


def diff(table: str, columns: tuple[TableColumn, ...], state: TableState) -> Changes:
    """Columns are added, and need no value any more where the contract says so; another type is refused."""
    there = {name.lower(): kind for name, kind in state.columns.items()}
    new = tuple(c for c in columns if c.name.lower() not in there)
    refused = [
        f"column {c.name} is {there[c.name.lower()]} in the table and {c.type} in the contract"
        for c in columns
        if c.name.lower() in there and there[c.name.lower()] != c.type
    ]
    refused += [f"column {c.name} is new and may not be NULL, but the table has rows" for c in new if not c.nullable]
    needed = {c.name.lower() for c in columns if not c.nullable}
    relaxed = [name for name in sorted(state.required) if name.lower() not in needed]
    safe = [*_features(table, new, state), Change("add_columns", add_columns(table, new))] if new else []
    safe += [Change("drop_not_null", drop_not_null(table, name)) for name in relaxed]
    return Changes((*safe, *_comments(table, columns, state)), tuple(refused))


def _comments(table: str, columns: tuple[TableColumn, ...], state: TableState) -> Iterator[Change]:
    """Only what the contract says something about."""
    there = {name.lower(): text for name, text in state.comments.items()}
    known = {name.lower() for name in state.columns}
    for column in columns:
        name = column.name.lower()
        if column.description and name in known and there.get(name) != column.description:
            yield Change("column_comment", set_column_comment(table, column.name, column.description))


def _features(table: str, new: tuple[TableColumn, ...], state: TableState) -> list[Change]:
    """A new table may hold times without a zone; one that was made without them must be told first."""
    wanted = any("timestamp_ntz" in column.type for column in new) and ZONELESS not in state.properties
    return [Change("set_properties", set_properties(table, {ZONELESS: "supported"}))] if wanted else []


def layout_diff(table: str, contract: Contract, state: TableState) -> Changes:
    """Only what differs is set, for each statement is a commit; what the contract does not mention is left alone."""
    layout, comment = contract.layout, contract.description
    differ = {key: value for key, value in layout.properties.items() if not _holds(state.properties, key, value)}
    safe = [Change("set_properties", set_properties(table, differ))] if differ else []
    safe += _clustering(table, layout, state)
    safe += [Change("table_comment", set_comment(table, comment))] if comment and comment != state.comment else []
    return Changes(tuple(safe), tuple(_impossible(contract, state)))


def partitions_note(layout: Layout, state: TableState) -> list[str]:
    """A table cannot be partitioned anew in place; it works as it is, and somebody should know."""
    there = ", ".join(state.partition_by) or "nothing"
    if layout.cluster_by and state.partition_by:
        wanted = f"clustered by {', '.join(layout.cluster_by)}"
    elif _folded(layout.partition_by) != _folded(state.partition_by):
        wanted = f"partitioned by {', '.join(layout.partition_by) or 'nothing'}"
    else:
        return []
    return [f"the table is partitioned by {there} and stays so; to have it {wanted}, write it anew under another name"]


def _clustering(table: str, layout: Layout, state: TableState) -> list[Change]:
    """Noted last: a run that stops before it clusters once more, which changes nothing."""
    wanted, note = layout.cluster_by, state.properties.get(CLUSTERED_BY, "")
    if state.partition_by or not (wanted or note):
        return []
    same = state.cluster_by is not None and _folded(state.cluster_by) == _folded(wanted)
    if same and note.lower() == ",".join(wanted).lower():
        return []
    cluster = [] if same else [Change("cluster_by", set_clustering(table, wanted))]
    return [*cluster, Change("set_properties", set_properties(table, {CLUSTERED_BY: ",".join(wanted)}))]


def _impossible(contract: Contract, state: TableState) -> Iterator[str]:
    """What would replace other rows than it should, or what OPTIMIZE would refuse after the rows are written."""
    layout, there = contract.layout, ", ".join(state.partition_by) or "nothing"
    by_partition = contract.write is not None and contract.write.replace_partitions
    if by_partition and set(_folded(layout.partition_by)) != set(_folded(state.partition_by)):
        wanted = ", ".join(layout.partition_by)
        yield f"the table is partitioned by {there}, so that replace_partitions would not replace those of {wanted}"
    if layout.zorder_by and CLUSTERING in state.properties:
        yield "the table was clustered once, and Delta sorts such a table by cluster_by alone; say that, not zorder_by"
    for name in layout.zorder_by:
        if name.lower() in _folded(state.partition_by):
            yield f"the table is partitioned by {name}, on which all rows of a partition agree: not for zorder_by"


def _holds(properties: Mapping[str, str], key: str, value: str) -> bool:
    """Delta keeps values as they were written, and takes no notice of upper and lower case in its own names."""
    there = {(k.lower() if _is_deltas(k) else k): v for k, v in properties.items()}
    found = there.get(key.lower() if _is_deltas(key) else key)
    if found is None:
        return False
    if key.lower() in VERSIONS:
        return found.isdigit() and value.isdigit() and int(found) >= int(value)
    if key.lower().startswith("delta.feature."):
        return True
    return found == value or (value.lower() in ("true", "false") and found.lower() == value.lower())


def _is_deltas(key: str) -> bool:
    return key.lower().startswith("delta.")


def _folded(names: Iterable[str]) -> list[str]:
    return [name.lower() for name in names]
