"""The columns a table gets: those the contract declares, and the stamps its steps add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakepact.contract.model import Contract
from lakepact.names import literal, quote
from lakepact.plan.state import RunIdentity

CORRUPT = "_corrupt_record"
SOURCE_FILE = "_source_file"


@dataclass(frozen=True)
class TableColumn:
    """A column of the table; a stamp says something of the run, not of the row."""

    name: str
    type: str
    nullable: bool = True
    description: str = ""
    stamp: str | None = None
    only_on_insert: bool = False


@dataclass(frozen=True)
class Stamp:
    """A column that the run fills in."""

    column: str
    type: str
    only_on_insert: bool = False


STAMPS = {
    "ingested_at": Stamp("_ingested_at", "timestamp"),
    "ingested_date": Stamp("_ingested_date", "date"),
    "source_file": Stamp(SOURCE_FILE, "string"),
    "run_id": Stamp("_run_id", "string"),
    "created_at": Stamp("_created_at", "timestamp", only_on_insert=True),
    "updated_at": Stamp("_updated_at", "timestamp"),
}


def stamp_value(name: str, run: RunIdentity) -> str:
    """The SQL that fills a stamp."""
    if name == "source_file":
        return quote(SOURCE_FILE)
    if name == "run_id":
        return literal(run.run_id)
    return literal(run.now.date() if name == "ingested_date" else run.now)


def is_nested(kind: str) -> bool:
    return kind.startswith(("array<", "map<", "struct<", "variant"))


def table_columns(contract: Contract, source: Mapping[str, str] | None) -> tuple[TableColumn, ...]:
    """Declared columns, or else the source's own; then the stamps."""
    declared = tuple(TableColumn(c.name, c.type, c.nullable, c.description) for c in contract.columns)
    found = tuple(TableColumn(name, kind) for name, kind in (source or {}).items() if not _is_ours(name))
    names = {column.name for column in declared or found}
    stamps = tuple(column for column in stamp_columns(contract) if column.name not in names)
    return (declared or found) + stamps


def stamp_columns(contract: Contract) -> tuple[TableColumn, ...]:
    names = [name for step in contract.transform for name in step.stamp or ()]
    return tuple(
        TableColumn(STAMPS[name].column, STAMPS[name].type, stamp=name, only_on_insert=STAMPS[name].only_on_insert)
        for name in dict.fromkeys(names)
    )


def _is_ours(name: str) -> bool:
    return name in (CORRUPT, SOURCE_FILE, "_kept", "_source") or name.startswith(("_bad_", "_raw_"))
