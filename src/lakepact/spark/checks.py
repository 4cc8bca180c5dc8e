"""All that can stop a write, before anything is written."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from lakepact.errors import QualityError
from lakepact.names import quote, quoted
from lakepact.plan.count import doubles
from lakepact.plan.outcome import Outcome, reasons_to_stop
from lakepact.plan.plan import Plan
from lakepact.plan.rules import ColumnsRule, KeyRule
from lakepact.plan.target import Guard

MOST_DOUBLES = 20


def parse_expressions(plan: Plan) -> None:
    """Spark's own parser reads each of the user's expressions alone, before it stands in a statement."""
    for text in plan.expressions:
        F.expr(text)


def look_for_columns(plan: Plan, session: SparkSession, source: DataFrame, outcome: Outcome) -> None:
    """Names are compared before any row is read: a clear error, not a half-run job."""
    _required(plan, source, outcome)
    if not plan.contract.columns:
        return
    arrived = session.sql(plan.judgement.prepared) if plan.contract.transform else source
    names = {name.lower() for name in arrived.columns}
    missing = [column.name for column in plan.contract.columns if column.name.lower() not in names]
    if missing:
        outcome.lacking = tuple(missing)
        brings = ", ".join(name for name in arrived.columns if not name.startswith("_"))
        raise QualityError(f"the source lacks the column(s) {', '.join(missing)}; it brings {brings}")


def _required(plan: Plan, source: DataFrame, outcome: Outcome) -> None:
    arrived = {name.lower() for name in source.columns}
    for rule in plan.rules:
        if isinstance(rule, ColumnsRule):
            missing = [name for name in rule.columns if name.lower() not in arrived]
            outcome.missing[rule.name] = missing
            if missing and rule.action == "fail":
                raise QualityError(f"rule {rule.name}: the source lacks {', '.join(missing)}")


def check(plan: Plan, session: SparkSession, outcome: Outcome) -> None:
    """Rules, keys, guards and gates; what stops the write is told with all its reasons."""
    for rule in plan.key_rules:
        known = outcome.counts.pop(doubles(rule), None)
        outcome.doubles[rule.name] = [] if known == 0 else _doubles(plan, session, rule)
    _ask(plan.first_guards, session, outcome)
    if plan.refuse_empty and not plan.materialise and not session.sql(plan.probe).take(1):
        outcome.counts["accepted"] = 0
    _stop(plan, outcome)


def check_again(plan: Plan, session: SparkSession, outcome: Outcome) -> None:
    """What depends on the table must hold for the table as it is now."""
    _ask(plan.guards, session, outcome)
    _stop(plan, outcome)


def _ask(guards: tuple[Guard, ...], session: SparkSession, outcome: Outcome) -> None:
    outcome.refusals = []
    for guard in guards:
        answer = session.sql(guard.sql).collect()[0][0]
        outcome.refusals += [f"{answer:,} {guard.message}"] if answer else []


def _stop(plan: Plan, outcome: Outcome) -> None:
    reasons = reasons_to_stop(plan, outcome)
    if reasons:
        raise QualityError("; ".join(reasons))


def _doubles(plan: Plan, session: SparkSession, rule: KeyRule) -> list[str]:
    """Keys that stand more than once, by value, unless they are masked."""
    keys = quoted(rule.keys)
    known = " AND ".join(f"{quote(key)} IS NOT NULL" for key in rule.keys)
    sql = f"SELECT {keys}, count(*) AS n FROM `accepted` WHERE {known} GROUP BY {keys} HAVING count(*) > 1"
    found = session.sql(f"{sql} ORDER BY n DESC, {keys} LIMIT {MOST_DOUBLES + 1}").collect()
    hidden = [key in plan.contract.masks for key in rule.keys]
    return [
        " / ".join("***" if masked else str(value) for value, masked in zip(row[:-1], hidden, strict=True))
        for row in found
    ]
