"""MODES: each a function from a Target to one statement. They do not know each other."""

from __future__ import annotations

from lakepact.contract.write import Write
from lakepact.plan.columns import TableColumn
from lakepact.plan.modes.append import APPEND
from lakepact.plan.modes.append_dedup import APPEND_DEDUP
from lakepact.plan.modes.cdc import CDC
from lakepact.plan.modes.cdc_history import CDC_HISTORY
from lakepact.plan.modes.cdc_partial import CDC_PARTIAL
from lakepact.plan.modes.hash_diff import HASH_DIFF
from lakepact.plan.modes.history import HISTORY
from lakepact.plan.modes.overwrite import OVERWRITE
from lakepact.plan.modes.snapshot import SNAPSHOT
from lakepact.plan.modes.upsert import UPSERT
from lakepact.plan.target import Mode

_ALL = (APPEND, OVERWRITE, UPSERT, HASH_DIFF, HISTORY, SNAPSHOT, CDC, APPEND_DEDUP)
MODES: dict[str, Mode] = {mode.name: mode for mode in _ALL}


def stored(write: Write, columns: tuple[TableColumn, ...]) -> tuple[TableColumn, ...]:
    """The columns of a batch that the table keeps."""
    return tuple(column for column in columns if column.name not in write.except_column_list)


def mode_of(write: Write) -> Mode:
    """How a contract's batch is written; change events are kept in three ways under one name."""
    if write.mode == CDC.name and write.keeps_versions:
        return CDC_HISTORY
    return CDC_PARTIAL if write.mode == CDC.name and write.ignore_null_updates else MODES[write.mode]
