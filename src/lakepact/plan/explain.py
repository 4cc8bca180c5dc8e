"""A plan for people and for machines: the same data, two forms."""

from __future__ import annotations

from typing import Any

from lakepact.plan.plan import Plan
from lakepact.plan.rules import BatchRule, ColumnsRule, KeyRule, RowRule


def statements(plan: Plan) -> list[tuple[str, str]]:
    """Each statement that will run, in order, with what it is for."""
    source = plan.read.sql or f"-- {plan.read.text}"
    found = [("read", source), ("judge", plan.judgement.sql)]
    found += [("count", plan.count)] if plan.materialise else []
    found += [("prepare table", sql) for sql in plan.ddl]
    exists = plan.world.quarantine is not None
    aside = [("quarantine", sql) for sql in plan.quarantine.statements(exists)] if plan.quarantine else []
    found += aside if plan.materialise else []
    found.append(("accept", plan.accepted))
    found += [("guard", guard.sql) for guard in plan.first_guards]
    found += list(plan.stages)
    found += [("changes", plan.changes)] if plan.changes else []
    found += [("partitions", sql) for sql in plan.find_partitions]
    after = [("optimize", plan.optimize)] if plan.optimize else []
    return [*found, ("write", plan.write), *([] if plan.materialise else aside), *after]


def as_dict(plan: Plan) -> dict[str, Any]:
    """For machines."""
    state = plan.world.target
    return {
        "table": plan.contract.name,
        "location": plan.target.path or plan.target.name,
        "layer": plan.contract.layer,
        "fingerprint": plan.fingerprint,
        "mode": plan.mode.name,
        "exists": state is not None if plan.world.looked else None,
        "version": state.version if state else None,
        "columns": [{"name": c.name, "type": c.type, "nullable": c.nullable} for c in plan.columns],
        "reads": [table.name for table in plan.read.tables] or [plan.read.label],
        "rules": [_rule(rule) for rule in plan.rules],
        "checked_before_write": plan.materialise,
        "statements": [{"step": step, "sql": sql} for step, sql in statements(plan)] if plan.columns else [],
        "warnings": list(plan.warnings),
    }


def _rule(rule: RowRule | BatchRule | KeyRule | ColumnsRule) -> dict[str, Any]:
    said: dict[str, Any] = {"name": rule.name, "action": rule.action, "about": _about(rule)}
    if isinstance(rule, RowRule):
        said |= {"rejected_as": rule.label, "good_when": rule.predicate}
    return said


def _about(rule: RowRule | BatchRule | KeyRule | ColumnsRule) -> str:
    return {RowRule: "rows", BatchRule: "batch", KeyRule: "keys", ColumnsRule: "columns"}[type(rule)]


def as_text(plan: Plan, sql: bool = True) -> str:
    """For people."""
    state, contract = plan.world.target, plan.contract
    missing = "not there yet: it will be created" if plan.world.looked else "not looked at"
    there = f"version {state.version}" if state else missing
    lines = [
        f"{contract.name}  ({plan.mode.name})",
        f"  table       {plan.target.path or plan.target.name}, {there}",
    ]
    lines += [f"  reads       {name}" for name in as_dict(plan)["reads"]]
    lines += [f"  columns     {', '.join(f'{c.name} {c.type}' for c in plan.columns) or 'those of the source'}"]
    lines += [f"  change      {text}" for text in plan.ddl if state]
    lines += [f"  rule        {rule.name}: {rule.action}{_good_when(rule)}" for rule in plan.rules]
    lines += [f"  note        {warning}" for warning in plan.warnings]
    lines += ["", *(_indented(step, text) for step, text in statements(plan))] if sql and plan.columns else []
    return "\n".join(lines)


def _good_when(rule: RowRule | BatchRule | KeyRule | ColumnsRule) -> str:
    if not isinstance(rule, RowRule):
        return ""
    return f" as {rule.label}, unless {rule.description if '`_' in rule.predicate else rule.predicate}"


def _indented(step: str, text: str) -> str:
    return f"  -- {step}\n" + "\n".join(f"  {line}" for line in text.splitlines()) + "\n"
