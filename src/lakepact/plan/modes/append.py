"""scd0_append: every accepted row is added."""

from __future__ import annotations

from lakepact.names import quoted
from lakepact.plan.target import BATCH, Counted, Mode, Target, Written


def statement(target: Target) -> str:
    return f"INSERT INTO {target.table} BY NAME\nSELECT {quoted(target.names)} FROM {BATCH}"


def counts(commit: Counted | None, effects: Counted, accepted: int) -> Written:
    del effects, accepted
    return Written(inserted=commit.get("numOutputRows", 0) if commit else 0)


APPEND = Mode("scd0_append", statement, counts)
