"""Plans: a contract and the state of the world in, SQL out; the same each time, and touching nothing."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlglot
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import contract, plan
from conftest import cases
from lakepact import api
from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.errors import ContractError, PlanError
from lakepact.plan.explain import as_dict, as_text, statements
from lakepact.plan.plan import Plan, fingerprint
from lakepact.plan.state import TableState, Window, World


def plan_of(case: dict[str, Any]) -> Plan:
    target = TableState(**case["target"]) if "target" in case else None
    sides = [datetime.fromisoformat(side) if side else None for side in case.get("window", ())]
    world = World(target=target, source_columns=case.get("source_columns"))
    return plan(contract(**case["contract"]), world, Window(*sides) if sides else None)


def sql_of(made: Plan) -> dict[str, str]:
    """The statements of each step, as one text."""
    found: dict[str, str] = {}
    for step, text in statements(made):
        found[step] = f"{found.get(step, '')}{text}\n"
    return found


def facts(made: Plan) -> dict[str, Any]:
    return {
        "materialise": made.materialise,
        "refuse_empty": made.refuse_empty,
        "skip_unchanged": made.skip_unchanged,
        "rules": {rule.name: rule.action for rule in made.rules},
        "ddl": made.ddl or "none",
        "quarantine": made.quarantine or "none",
    }


@pytest.mark.parametrize("case", [case for case in cases("plans") if "refused" not in case.values[0]])
def test_a_plan_says(case: dict[str, Any]) -> None:
    made = plan_of(case)
    sql = sql_of(made)
    for step, texts in case.get("sql", {}).items():
        assert [text for text in texts if text not in sql[step]] == [], sql[step]
    for step, texts in case.get("absent", {}).items():
        assert [text for text in texts if text in sql[step]] == [], sql[step]
    assert {name: facts(made)[name] for name in case.get("facts", {})} == case.get("facts", {})
    assert_one_statement_each(made)


@pytest.mark.parametrize("case", [case for case in cases("plans") if "refused" in case.values[0]])
def test_a_plan_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(PlanError) as error:
        plan_of(case)
    assert len(error.value.problems) == len(case["refused"])
    for problem, words in zip(error.value.problems, case["refused"], strict=True):
        assert words in str(problem)


def assert_one_statement_each(made: Plan) -> None:
    for step, text in statements(made):
        assert len(sqlglot.parse(text, dialect="spark")) == 1, step
    for text in (made.probe, made.judgement.prepared):
        assert len(sqlglot.parse(text, dialect="spark")) == 1


def test_the_same_input_gives_the_same_plan() -> None:
    made = contract(quality=[{"check": "amount > 0"}], transform=[{"stamp": ["run_id", "ingested_at"]}])
    assert plan(made) == plan(made)
    assert as_dict(plan(made)) == as_dict(plan(made))


HOSTILE = st.text(st.sampled_from("ab`'\"\\;-/*\n\r\t\x00 ${}é"), min_size=1, max_size=8).filter(
    lambda text: text.strip() == text
)


@given(HOSTILE, HOSTILE)
@settings(max_examples=40, deadline=None)
def test_no_name_or_text_breaks_out_of_its_statement(name: str, text: str) -> None:
    made = contract(
        columns=[{"name": name, "type": "int", "nullable": False, "description": text}],
        description=text,
        transform=[{"standardize": {name: ["trim"]}}, {"cast": {name: "int"}}, {"rename": {"old": name}}],
        quality=[
            {"accepted_values": {name: [text]}, "rejected_as": text},
            {"regex_match": {"column": name, "pattern": text}, "name": text},
            {"unique": name, "action": "quarantine"},
        ],
        write={"mode": "upsert", "keys": name},
        layout={"properties": {text: text}},
    )
    assert_one_statement_each(plan(made))


# ------------------------------------------------------------------ explain


def test_the_dict_and_the_text_say_the_same() -> None:
    made = plan(contract(quality=[{"name": "positive", "check": "amount > 0", "rejected_as": "bad"}, {"min_rows": 1}]))
    said, text = as_dict(made), as_text(made)
    assert (said["table"], said["mode"], said["exists"], said["version"]) == (
        "silver.orders",
        "scd1_upsert",
        False,
        None,
    )
    assert said["reads"] == ["bronze.orders"]
    assert said["columns"][0] == {"name": "id", "type": "string", "nullable": False}
    assert {
        "name": "positive",
        "action": "quarantine",
        "about": "rows",
        "rejected_as": "bad",
        "good_when": "amount > 0",
    } in (said["rules"])
    assert {"name": "min_rows", "action": "fail", "about": "batch"} in said["rules"]
    assert {"name": "unique_keys", "action": "fail", "about": "keys"} in said["rules"]
    assert "not there yet: it will be created" in text
    assert "rule        positive: quarantine as bad, unless amount > 0" in text
    for statement in said["statements"]:
        assert f"-- {statement['step']}\n" in text
        assert all(line in text for line in statement["sql"].splitlines())


def test_the_text_says_what_will_change_and_may_leave_out_the_sql() -> None:
    made = plan(contract(), World(target=TableState(7, {"id": "string", "amount": "decimal(12,2)"})))
    text = as_text(made, sql=False)
    assert "version 7" in text
    assert "change      ALTER TABLE" in text
    assert "MERGE" not in text
    assert "MERGE" in as_text(made)


def test_a_plan_warns_of_what_is_allowed_but_should_be_known() -> None:
    made = plan(contract(write={"mode": "scd0_append"}, columns=[], freshness={"max_age": "1d"}))
    assert len(made.warnings) == 3
    assert plan(contract()).warnings == ()


@pytest.mark.parametrize(("load_type", "warned"), [("full", 1), ("incremental", 0), ("cdc", 0), ("streaming", 0)])
def test_an_append_that_knows_its_batches_is_no_reason_to_warn(load_type: str, warned: int) -> None:
    source = {"path": "in/x.csv", "load_type": load_type}
    assert len(plan(contract(write={"mode": "scd0_append"}, source=source)).warnings) == warned


# ------------------------------------------------------------------ fingerprint

ORDERS = """\
table: silver.orders
description: Orders
source: {table: bronze.orders}
columns:
  - {name: id, nullable: false}
  - {name: amount, type: "decimal(12,2)"}
quality: [{name: positive, check: amount > 0}]
write: {mode: scd1_upsert, keys: [id]}
"""
ORDERS_AGAIN = """\
# The same in other words: keys in another order, block style, other spellings, defaults written out.
write:
  keys: id
  mode: upsert
quality:
  - action: ~
    check: 'amount > 0'
    name: "positive"
enabled: true
columns:
  - nullable: false
    name: id
    type: STRING
  - {type: "numeric( 12, 2 )", name: amount, nullable: true, tags: []}
source:
  table: bronze.orders
description: Orders
table: silver.orders
"""


def fingerprint_of(text: str) -> str:
    return fingerprint(Contract.model_validate(yaml.safe_load(text)))


def test_a_fingerprint_is_of_what_is_said_not_of_how() -> None:
    assert fingerprint_of(ORDERS) == fingerprint_of(ORDERS_AGAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("amount > 0", "amount >= 0"),
        ("[id]", "[id, amount]"),
        ("12,2", "12,3"),
        ("Orders", "orders"),
        ("upsert", "hash_diff"),
    ],
)
def test_a_fingerprint_tells_two_meanings_apart(old: str, new: str) -> None:
    assert fingerprint_of(ORDERS) != fingerprint_of(ORDERS.replace(old, new))


def test_a_flat_contract_of_another_dialect_has_the_native_ones_fingerprint(tmp_path: Path) -> None:
    foreign = {
        "target": {"catalog": "lake", "schema": "silver", "table": "orders"},
        "source": "lake.bronze.orders",
    }
    foreign |= {"mode": "scd1_upsert", "merge_keys": ["id"]}
    native = {"table": "lake.silver.orders", "source": {"table": "lake.bronze.orders"}}
    native |= {"write": {"mode": "upsert", "keys": "id"}}
    prints = []
    for name, document in {"foreign.yaml": foreign, "native.yaml": native}.items():
        (tmp_path / name).write_text(yaml.safe_dump(document), encoding="utf-8")
        prints.append(fingerprint(api.load_contract(tmp_path / name)))
    assert prints[0] == prints[1]


def test_a_setting_is_for_the_tables_named(orders: Project) -> None:
    options = api.Options(overrides=("quality.0.action=fail",))
    [silver] = api.plans(orders, ["silver.orders"], options)
    assert {rule.name: rule.action for rule in silver.rules}["customer_present"] == "fail"
    with pytest.raises(ContractError):
        api.plans(orders, (), options)
