"""Pages of what contracts become: rules, write modes and steps, each compiled from a small example."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timezone
from typing import Any

from _reference.examples import CONTRACT, MODE_EXAMPLES, RULE_EXAMPLES, STEP_EXAMPLES
from _reference.markdown import code, name, names, one_line, page, sentence, table
from lakepact.contract.model import Contract, Rule, Step
from lakepact.contract.write import MODES as MODE_NAMES
from lakepact.names import TableRef
from lakepact.plan.columns import STAMPS
from lakepact.plan.expressions import expression_problems
from lakepact.plan.functions import SPARK_FUNCTIONS
from lakepact.plan.modes import MODES
from lakepact.plan.plan import Places, Plan, make_plan
from lakepact.plan.rules import RULES, AnyRule, BatchRule, ColumnsRule, KeyRule, RowRule, compile_rules
from lakepact.plan.state import RunIdentity, World
from lakepact.plan.target import Mode
from lakepact.plan.transform import STANDARDS, STEPS, prepare

RUN = RunIdentity("20260102T030405000000-0a1b2c3d", datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc))
ABOUT = {RowRule: "rows", BatchRule: "the batch", KeyRule: "keys", ColumnsRule: "the source's columns"}
MOST_ARGUMENTS = 5


def rules() -> str:
    words = (
        "Every kind of rule that `quality` knows. A rule is true for good data; unknown (NULL) is not good.\n"
        "Column rules other than `not_null` let NULL pass by saying so themselves. How rules act on rows is\n"
        "told in [Rules and quarantine](../guide/rules-and-quarantine.md); settings that every rule may\n"
        "have are in [the contract](contract.md#quality)."
    )
    rows = [_rule_row(kind, _compile(_nameless(RULE_EXAMPLES[kind][0]))[0]) for kind in RULES]
    overview = table(("kind", "about", "default action", "default name", "default label"), rows)
    return page("Rules", words, overview, *(_rule(kind) for kind in RULES))


def _compile(rule: dict[str, Any]) -> tuple[AnyRule, ...]:
    return compile_rules([Rule.model_validate(rule)], TableRef)


def _nameless(rule: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in rule.items() if key not in ("name", "rejected_as")}


def _rule_row(kind: str, rule: AnyRule) -> tuple[str, ...]:
    label = name(rule.label) if isinstance(rule, RowRule) else ""
    return f"[{kind}](#{kind})", ABOUT[type(rule)], name(rule.action), name(rule.name), label


def _rule(kind: str) -> str:
    meaning = sentence(Rule.model_fields[kind].description)
    return "\n\n".join(filter(None, [f"## {name(kind)}", meaning, *map(_example, RULE_EXAMPLES[kind])]))


def _example(rule: dict[str, Any]) -> str:
    return "\n\n".join([code(f"quality:\n  - {one_line(rule)}", "yaml"), *map(_becomes, _compile(rule))])


def _becomes(rule: AnyRule) -> str:
    if isinstance(rule, RowRule):
        told = f"A row breaks {name(rule.name)} and is labelled {name(rule.label)} unless this is true:"
        return f"{told}\n\n{code(rule.predicate)}"
    if isinstance(rule, BatchRule):
        share = f", as a share of the {rule.share_of} rows," if rule.share_of else ""
        return f"{name(rule.name)} holds while this number{share} is {_bounds(rule)}:\n\n{code(rule.count)}"
    return f"{name(rule.name)}: {sentence(type(rule).__doc__)}"


def _bounds(rule: BatchRule) -> str:
    low = [f"at least {rule.low:,.10g}"] if rule.low is not None else []
    high = [f"at most {rule.high:,.10g}"] if rule.high is not None else []
    return " and ".join(low + high)


def modes() -> str:
    words = "How a batch meets its table. Each mode is one statement, and so one commit."
    rows = [
        (name(mode.name), names(_aliases(mode.name)), _yes(mode.needs_keys), _yes(mode.replaces))
        for mode in MODES.values()
    ]
    built = table(("mode", "also called", "needs `keys`", "replaces the table"), rows)
    return page("Write modes", words, built, *map(_mode, MODES.values()))


def _aliases(mode: str) -> list[str]:
    return [alias for alias, meant in MODE_NAMES.items() if meant == mode and alias != mode]


def _yes(fact: bool) -> str:
    return "yes" if fact else ""


def _mode(mode: Mode) -> str:
    said = (sys.modules[mode.statement.__module__].__doc__ or "").partition(": ")[2]
    write = {
        "mode": mode.name,
        **({"keys": ["order_id"]} if mode.needs_keys else {}),
        **MODE_EXAMPLES.get(mode.name, {}),
    }
    plan = _plan({**CONTRACT, "source": {"table": "bronze.orders", "complete": mode.complete}, "write": write})
    changes = (
        f"What must change is found first:\n\n{code(plan.changes)}\n\nand then written:\n\n" if plan.changes else ""
    )
    return f"## {name(mode.name)}\n\n{sentence(said)}\n\n{changes}{code(plan.write)}"


def _plan(document: dict[str, Any]) -> Plan:
    return make_plan(Contract.model_validate(document), World(), None, RUN, Places(TableRef, str))


def steps() -> str:
    words = (
        "Every step that `transform` knows, and the SELECT it becomes. Steps run from top to bottom; each\n"
        "reads the one before. `_source` is the row as it came, `_kept` says whether filters let it pass."
    )
    kinds = [kind for kind in Step.model_fields if kind != "stamp"]
    return page("Steps", words, *map(_step, kinds), _stamps())


def _step(kind: str) -> str:
    step = STEP_EXAMPLES[kind]
    meaning = sentence(Step.model_fields[kind].description)
    example = code(f"transform:\n  - {one_line(step)}", "yaml")
    extra = _standards() if kind == "standardize" else ""
    return "\n\n".join(filter(None, [f"## {name(kind)}", meaning, example, code(_select(step, kind)), extra]))


def _select(step: dict[str, Any], kind: str) -> str:
    document = {**CONTRACT, "transform": [step]}
    if kind in STEPS or kind == "sql":
        return prepare(Contract.model_validate(document))[-1][1]
    found = re.search(r"\nranked AS \(\n(.*?)\n\)", _plan(document).judgement.sql, re.DOTALL)
    return re.sub(r"(?m)^  ", "", found[1]) if found else ""


def _standards() -> str:
    rows = [(name(said), name(sql.format("x"))) for said, sql in STANDARDS.items()]
    return table(("standard", "SQL"), rows)


def _stamps() -> str:
    words = "Columns that the run fills in. They are not compared when a row is looked at for changes."
    rows = [
        (name(said), name(stamp.column), stamp.type, "on insert" if stamp.only_on_insert else "")
        for said, stamp in STAMPS.items()
    ]
    example = code(f"transform:\n  - {one_line(STEP_EXAMPLES['stamp'])}", "yaml")
    return f"## `stamp`\n\n{words}\n\n{example}\n\n{table(('stamp', 'column', 'type', 'only'), rows)}"


def functions() -> str:
    words = (
        "An expression (`check`, `when`, `filter`, `derive`, `order_by`) is one piece of Spark SQL over the\n"
        "columns of one row: operators, `CASE`, `CAST`, `TRY_CAST`, `IN`, `BETWEEN`, `LIKE`, `RLIKE`, and\n"
        "the functions below. Refused are aggregates, window functions, subqueries, comments, semicolons,\n"
        "functions that give another answer each time, and functions that neither this list nor the SQL\n"
        "parser knows. In `order_by`, `ASC` or `DESC` and `NULLS FIRST` or `NULLS LAST` may follow."
    )
    usable = sorted(filter(_usable, SPARK_FUNCTIONS))
    letters = dict.fromkeys(function[0] for function in usable)
    rows = [(letter, names(f for f in usable if f[0] == letter)) for letter in letters]
    return page("Functions in expressions", words, table(("", "functions"), rows))


def _usable(function: str) -> bool:
    """Whether a call with some number of arguments passes."""
    return any(_passes(f"{function}({', '.join('abcde'[:n])})") for n in range(MOST_ARGUMENTS))


def _passes(call: str) -> bool:
    try:
        return not expression_problems(call)
    except (IndexError, TypeError, ValueError):
        return False
