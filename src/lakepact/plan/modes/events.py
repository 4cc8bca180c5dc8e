"""Change events: what a row of the batch says of its key, and where it stands in time."""

from __future__ import annotations

from collections.abc import Iterable

from lakepact.contract.types import canonical_type
from lakepact.contract.write import Write
from lakepact.names import literal, quote
from lakepact.plan.columns import TableColumn
from lakepact.plan.target import BATCH, RowGuard, Target

SEQUENCE = "_sequence"


def sequence_name(target: Target) -> str:
    """The column that says when: the events' own or, where the table does not keep that one, one of ours."""
    return _kept_as(target.write)


def _kept_as(write: Write) -> str:
    said = write.sequence_by or ""
    return SEQUENCE if said in write.except_column_list else said


def sequence_column(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    """The column of ours, where it is needed."""
    kind = sequence_type(write, columns)
    return (TableColumn(SEQUENCE, kind, description="when it happened"),) if _kept_as(write) == SEQUENCE else ()


def sequence_type(write: Write, columns: tuple[TableColumn, ...]) -> str:
    return next((column.type for column in columns if column.name == write.sequence_by), "string")


def struct_of(fields: Iterable[tuple[str, str]]) -> str:
    """The type of a struct with these fields."""
    named = (f"{name if name.isidentifier() else quote(name)}:{kind}" for name, kind in fields)
    return canonical_type(f"struct<{','.join(named)}>")


def is_delete(write: Write) -> str:
    """A predicate over the batch."""
    if write.apply_as_deletes is not None:
        return f"coalesce(({write.apply_as_deletes}), FALSE)"
    codes = [code.upper() for code, meaning in write.op_codes.items() if meaning == "delete"]
    if not write.says_operations or not codes:
        return "FALSE"
    return f"upper(trim({quote(write.op_column or '')})) IN ({', '.join(literal(code) for code in codes)})"


def is_truncate(write: Write) -> str:
    return f"coalesce(({write.apply_as_truncates}), FALSE)" if write.apply_as_truncates is not None else "FALSE"


def timed_only(target: Target) -> tuple[RowGuard, ...]:
    """An event without a time has no place among the others."""
    column = target.write.sequence_by or ""
    return (RowGuard(f"{quote(column)} IS NULL", f"row(s) have no {column}"),)


def all_events(target: Target) -> str:
    """The batch, each row with `_gone`, and its time under the name that the table has for it."""
    own = f", {quote(target.write.sequence_by or '')} AS `{SEQUENCE}`" if sequence_name(target) == SEQUENCE else ""
    return f"SELECT *, {is_delete(target.write)} AS `_gone`{own} FROM {BATCH}"
