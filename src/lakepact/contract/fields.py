"""What fields of a contract are made of: names, types and texts, and the strict base of all its parts."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from lakepact.contract.types import canonical_type
from lakepact.names import TableName


def one_or_many(value: Any) -> Any:
    """A text alone is a list of one."""
    return (value,) if isinstance(value, str) else value


def _column_name(name: str) -> str:
    if not name or "," in name or name != name.strip():
        raise ValueError(f"{name!r} is not a column name; write several as a list: [a, b]")
    if name.lower().startswith(("_lakepact", "_bad_", "_raw_")) or name.lower() in RESERVED:
        raise ValueError(f"{name!r} is a name that Lakepact keeps for itself")
    return name


def _in_utc(moment: datetime) -> datetime:
    """A moment without a time zone is taken for UTC."""
    return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment


def _table_name(text: str) -> str:
    TableName.parse(text)
    return text


# Names of columns that ride along with each row, or that the quarantine has for itself.
RESERVED = frozenset({
    "_failed", "_rejected", "_duplicate", "_kept", "_source", "_text", "_broken", "_again", "_corrupt_record",
    "_reasons", "_rules", "_row", "_quarantine_id", "_quarantine_run", "_contract", "_quarantined_at",
})  # fmt: skip

ColumnName = Annotated[str, AfterValidator(_column_name)]
_ONE_OR_MANY = BeforeValidator(one_or_many, json_schema_input_type=str | list[str])
Names = Annotated[tuple[ColumnName, ...], _ONE_OR_MANY]
SomeNames = Annotated[tuple[ColumnName, ...], Field(min_length=1), _ONE_OR_MANY]
Texts = Annotated[tuple[str, ...], _ONE_OR_MANY]
SparkType = Annotated[str, AfterValidator(canonical_type)]
TableText = Annotated[str, AfterValidator(_table_name)]
Scalar = str | int | float | bool
Instant = Annotated[datetime, AfterValidator(_in_utc)]


class Part(BaseModel):
    """Frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def one_key(part: Part, what: str, besides: frozenset[str] = frozenset()) -> None:
    """A part that says exactly one thing."""
    kinds = [name for name in type(part).model_fields if name not in besides]
    given = [name for name in kinds if getattr(part, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise ValueError(f"a {what} says exactly one thing; found {found} (one of {', '.join(kinds)})")
