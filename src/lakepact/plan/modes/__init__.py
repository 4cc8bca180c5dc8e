"""MODES: each a function from a Target to one statement. They do not know each other."""

from __future__ import annotations

from lakepact.plan.modes.append import APPEND
from lakepact.plan.modes.append_dedup import APPEND_DEDUP
from lakepact.plan.modes.cdc import CDC
from lakepact.plan.modes.hash_diff import HASH_DIFF
from lakepact.plan.modes.history import HISTORY
from lakepact.plan.modes.overwrite import OVERWRITE
from lakepact.plan.modes.snapshot import SNAPSHOT
from lakepact.plan.modes.upsert import UPSERT
from lakepact.plan.target import Mode

_ALL = (APPEND, OVERWRITE, UPSERT, HASH_DIFF, HISTORY, SNAPSHOT, CDC, APPEND_DEDUP)
MODES: dict[str, Mode] = {mode.name: mode for mode in _ALL}
