"""The change feed of a Delta table: what changed since the last run, row by row.

The commit that brings changes names the version of the table up to which they were read, so that none is lost or comes
twice. Where nothing was read yet, the table as it is counts as inserted.
"""

from __future__ import annotations

from dataclasses import replace

from lakepact.errors import PlanError, Problem
from lakepact.names import TableRef, literal
from lakepact.plan.state import TableState

PROPERTY = "delta.enableChangeDataFeed"
CHANGE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"


def changes_sql(table: TableRef, since: int | None, until: int | None) -> str:
    """Changes after one version and up to another; what a row was before its update is left out."""
    if since is None or until is None:
        said = f"'insert' AS `{CHANGE}`, CAST({until or 0} AS BIGINT) AS `{VERSION}`"
        return f"SELECT *, {said}, CAST(NULL AS TIMESTAMP) AS `{TIMESTAMP}` FROM {replace(table, version=until).sql}"
    of = f"table_changes_by_path({literal(table.path)}" if table.path else f"table_changes({literal(table.name)}"
    return f"SELECT * FROM {of}, {since + 1}, {until}) WHERE `{CHANGE}` <> 'update_preimage'"


def check_feed(table: TableRef, state: TableState, done: int | None) -> None:
    """The table keeps its changes, and is still the one that was read."""
    if state.properties.get(PROPERTY) != "true":
        message = (
            f"{table.name} keeps no change feed; add layout.properties: {{{PROPERTY}: 'true'}} and run its contract"
        )
        raise PlanError([Problem(message, "source.change_feed")])
    if done is not None and done > state.version:
        message = f"{table.name} is at version {state.version}, but was read up to {done}: it was made anew"
        raise PlanError([Problem(f"{message}; make this table anew too", "source.change_feed")])
