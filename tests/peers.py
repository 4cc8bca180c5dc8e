"""What the tests of the peers' defects share: a folder of tables, and contracts that are run one after another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from lakepact import api
from lakepact.contract.project import Project, default_project
from lakepact.delta.tables import LogTables, rows_of
from lakepact.evidence.record import RunRecord
from lakepact.plan.state import TableState, Window

FILE = {"path": "landing/in.csv"}
HANDED_OVER = {"connector": "dataframe"}


def contract(columns: str, write: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """A contract for s.t that reads one CSV file; columns are written as `id v:int`."""
    pairs = [text.partition(":") for text in columns.split()]
    declared = [{"name": name, "type": kind or "string"} for name, _, kind in pairs]
    return {"table": "s.t", "source": FILE, "columns": declared, "write": write, **parts}


@dataclass(frozen=True)
class Lake:
    """Tables in a folder, and the session that writes them."""

    project: Project
    spark: Any

    def land(self, text: str, name: str = "in.csv") -> Path:
        file = self.project.root / "landing" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def run(
        self, document: dict[str, Any], csv: str | None = None, *, frame: Any = None, window: Window | None = None
    ) -> RunRecord:
        """One run; what it must have been is for the test to say."""
        if csv is not None:
            self.land(csv)
        made = api.contract_from(document, self.project)
        return api.run_contract(
            made, self.project, frame=frame, window=window, spark=self.spark, raise_on_failure=False
        )

    def rows(self, *names: str, table: str = "s.t") -> list[tuple[Any, ...]]:
        """The values of these columns, row by row; a table that is not there has none."""
        found = rows_of(self.project.table(table), None) or ()
        return sorted((tuple(row[name] for name in names) for row in found), key=repr)

    def state(self, table: str = "s.t") -> TableState | None:
        return LogTables().state(self.project.table(table))

    def version(self, table: str = "s.t") -> int:
        return LogTables().version(self.project.table(table))

    def delta(self, table: str = "s.t") -> DeltaTable:
        return DeltaTable(self.project.table(table).path or "")


def lake_in(folder: Path, spark: Any) -> Lake:
    return Lake(default_project(folder), spark)
