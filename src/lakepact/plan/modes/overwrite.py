"""scd0_overwrite: the table becomes the accepted rows, in one commit."""

from __future__ import annotations

from collections.abc import Mapping

from lakepact.names import quoted
from lakepact.plan.target import Mode, Target, Written


def statement(target: Target) -> str:
    return f"INSERT OVERWRITE {target.table} BY NAME\nSELECT {quoted(target.names)} FROM {target.batch}"


def counts(commit: Mapping[str, int] | None, accepted: int) -> Written:
    return Written(unchanged=accepted) if commit is None else Written(inserted=commit.get("numOutputRows", 0))


OVERWRITE = Mode("scd0_overwrite", statement, counts, replaces=True)
