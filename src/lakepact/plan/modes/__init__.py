"""MODES: each a function from a Target to one statement. They do not know each other."""

from __future__ import annotations

from lakepact.plan.modes.append import APPEND
from lakepact.plan.modes.overwrite import OVERWRITE
from lakepact.plan.modes.upsert import UPSERT
from lakepact.plan.target import Mode

MODES: dict[str, Mode] = {mode.name: mode for mode in (APPEND, OVERWRITE, UPSERT)}
