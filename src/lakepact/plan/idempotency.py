"""Whether a batch that has a name is written: decided before its source is read, from the table's own log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lakepact.contract.write import Write
from lakepact.plan.state import Transaction

APP = "lakepact"


@dataclass(frozen=True)
class Decision:
    """Run it (with this transaction in the commit), leave it out, or refuse it."""

    action: Literal["run", "skip", "fail"]
    transaction: Transaction | None = None
    reason: str = ""


def app_id(key: str) -> str:
    return f"{APP}/{key}"


def decide(write: Write, done: int | None, last_attempt_failed: bool) -> Decision:
    """`done` is the version of the key in the table's log, None where the batch was never written."""
    key, policy = write.idempotency_key, write.policy
    if key is None or policy == "always_run":
        return Decision("run")
    if done is None or (policy == "rerun_if_failed" and last_attempt_failed):
        return Decision("run", Transaction(app_id(key), (done or 0) + 1))
    reason = f"the batch {key!r} was already written"
    return Decision("fail" if policy == "fail_if_success" else "skip", reason=reason)


def in_order(seen: int) -> Transaction:
    """For writes that compare with the table first: refused where another run wrote after version `seen`."""
    return Transaction(APP, seen + 1)
