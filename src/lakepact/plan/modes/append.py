"""scd0_append: every accepted row is added."""

from __future__ import annotations

from collections.abc import Mapping

from lakepact.names import quoted
from lakepact.plan.target import Mode, Target, Written


def statement(target: Target) -> str:
    return f"INSERT INTO {target.table} BY NAME\nSELECT {quoted(target.names)} FROM {target.batch}"


def counts(commit: Mapping[str, int] | None, accepted: int) -> Written:
    del accepted
    return Written(inserted=commit.get("numOutputRows", 0) if commit else 0)


APPEND = Mode("scd0_append", statement, counts)
