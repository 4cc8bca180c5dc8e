"""What it takes to make a table what its contract says: it is made, altered where that is safe, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakepact.contract.model import Contract
from lakepact.errors import Problem
from lakepact.names import TableRef
from lakepact.plan.changes import Change, diff, layout_diff, partitions_note
from lakepact.plan.check import find_problems
from lakepact.plan.columns import TableColumn, table_columns
from lakepact.plan.layout import create_schema, create_table, layout_problems
from lakepact.plan.modes import mode_of, stored
from lakepact.plan.state import TableState

Prepared = tuple[tuple[Change, ...], tuple[Problem, ...]]


@dataclass(frozen=True)
class Migration:
    """Changes in the order in which they are made; what cannot be done, each with its reason; what stays as it is."""

    table: TableRef
    operations: tuple[Change, ...] = ()
    refused: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the table is what the contract says; a difference that cannot be mended is one."""
        return not self.operations and not self.refused

    def __str__(self) -> str:
        lines = [(change.kind, change.sql) for change in self.operations]
        lines += [("refused", problem.message) for problem in self.refused]
        lines += [("note", note) for note in self.notes]
        counts = f"{len(self.operations)} change(s), {len(self.refused)} refused"
        said = "is what its contract says" if self.is_empty else counts
        return "\n".join([f"{self.table.name}: {said}", *(f"  {kind:<15} {text}" for kind, text in lines)])


def table_changes(
    contract: Contract, target: TableRef, columns: tuple[TableColumn, ...], state: TableState | None
) -> Prepared:
    """Changes that are safe, and everything that stands against the rest."""
    if state is None:
        made = create_table(target.sql, columns, contract.layout, contract.description)
        schemas = tuple(Change("create_schema", sql) for sql in create_schema(target))
        return (*schemas, Change("create_table", made)), ()
    new, other = diff(target.sql, columns, state), layout_diff(target.sql, contract, state)
    refused = [Problem(reason, "columns", contract.name) for reason in new.refused]
    refused += [Problem(reason, "layout", contract.name) for reason in other.refused]
    return (*new.safe, *other.safe), tuple(refused)


def make_migration(contract: Contract, target: TableRef, state: TableState | None) -> Migration:
    """Stricter than a run, which can live with some differences: here each is a change, or a reason against it."""
    own = table_columns(contract, None)
    columns = (
        (*stored(contract.write, own), *mode_of(contract.write).adds(contract.write, own)) if contract.write else own
    )
    problems = [*_contract_problems(contract, columns, state)]
    if problems:
        return Migration(target, refused=tuple(dict.fromkeys(problems)))
    safe, refused = table_changes(contract, target, columns, state)
    differences = _cannot_be(contract, columns, state) if state else ()
    return Migration(target, safe, (*refused, *differences), tuple(_left_alone(columns, state)) if state else ())


def _contract_problems(
    contract: Contract, columns: tuple[TableColumn, ...], state: TableState | None
) -> Iterator[Problem]:
    """A partition may be a column that only the table has."""
    if not contract.columns:
        yield Problem("none are declared, so there is nothing to compare the table with", "columns", contract.name)
        return
    known = dict(state.columns) if state else {}
    known |= {column.name: column.type for column in columns}
    found = [*find_problems(contract), *layout_problems(contract.layout, known)]
    yield from (Problem(problem.message, problem.field, contract.name) for problem in found)


def _cannot_be(contract: Contract, columns: tuple[TableColumn, ...], state: TableState) -> Iterator[Problem]:
    """What Delta cannot change in place."""
    there, needed = {name.lower() for name in state.columns}, {name.lower() for name in state.required}
    for column in columns:
        name = column.name.lower()
        if not column.nullable and name in there and name not in needed:
            message = f"column {column.name} may be NULL in the table and not in the contract"
            yield Problem(f"{message}; Delta cannot forbid it later: write the table anew", "columns", contract.name)
    yield from (Problem(note, "layout", contract.name) for note in partitions_note(contract.layout, state))


def _left_alone(columns: tuple[TableColumn, ...], state: TableState) -> Iterator[str]:
    declared = {column.name.lower() for column in columns}
    for name in state.columns:
        if name.lower() not in declared:
            yield f"column {name} is in the table and not in the contract; it stays"
