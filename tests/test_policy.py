"""Policy packs: they fill what a contract leaves open and add rules and steps, and take nothing away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakepact import api
from lakepact.contract.model import Contract

BASE = "table: silver.orders\nlayer: silver\nsource: {table: bronze.orders}\nwrite: {mode: scd0_append}\n"
Validate = Callable[..., api.Validation]


@pytest.fixture
def validate(tmp_path: Path) -> Validate:
    """A contract (added to BASE) under a pack called `house`."""

    def make(pack: dict[str, Any], added: str = "", ask_for: str = "house", options: Any = None) -> api.Validation:
        files = {
            "lakepact.yaml": f"policy_pack: {ask_for}\n",
            "contracts/orders.yaml": BASE + added,
            "policy_packs/house.yaml": yaml.safe_dump({"name": "house", **pack}),
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return api.validate(api.open_project(tmp_path), options=options or api.Options())

    return make


def only(validation: api.Validation) -> Contract:
    assert not validation.problems, validation.problems
    [contract] = validation.contracts
    return contract


def test_defaults_fill_what_is_open_at_every_depth(validate: Validate) -> None:
    defaults = {"description": "from the house", "layout": {"properties": {"delta.a": "1", "delta.b": "1"}}}
    contract = only(validate({"defaults": defaults}, 'layout: {properties: {delta.a: "2"}}\n'))
    assert contract.description == "from the house"
    assert contract.layout.properties == {"delta.a": "2", "delta.b": "1"}


def test_defaults_never_override(validate: Validate) -> None:
    defaults = {"description": "house", "tags": ["house"], "write": {"mode": "scd0_overwrite"}}
    contract = only(validate({"defaults": defaults}, "description: own\ntags: [own]\n"))
    assert contract.write is not None
    assert (contract.description, contract.tags, contract.write.mode) == ("own", ("own",), "scd0_append")


def test_defaults_of_the_layer_come_before_those_for_all(validate: Validate) -> None:
    pack = {
        "defaults": {"description": "all", "version": "1"},
        "silver_defaults": {"description": "silver"},
        "gold_defaults": {"description": "gold", "tags": ["gold"]},
    }
    contract = only(validate(pack))
    assert (contract.description, contract.version, contract.tags) == ("silver", "1", ())


def test_rules_are_added_behind_the_contracts_own(validate: Validate) -> None:
    pack = {
        "quality": [{"min_rows": 1}],
        "silver_quality": [{"max_rows": 9}],
        "bronze_quality": [{"min_rows": 5}],
    }
    contract = only(validate(pack, "quality: [{check: a > 0}]\n"))
    assert [(rule.kind, rule.check or rule.min_rows or rule.max_rows) for rule in contract.quality] == [
        ("check", "a > 0"),
        ("min_rows", 1),
        ("max_rows", 9),
    ]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (None, ["house", "own"]),
        ("prepend", ["house", "own"]),
        ("append", ["own", "house"]),
        ("replace", ["house"]),
    ],
)
@pytest.mark.parametrize("key", ["transformations", "silver_transformations"])
def test_steps_are_added_where_the_pack_says(
    key: str, mode: str | None, expected: list[str], validate: Validate
) -> None:
    pack = {key: [{"filter": "house"}]} | ({f"{key}_mode": mode} if mode else {})
    contract = only(validate(pack, "transform: [{filter: own}]\n"))
    assert [step.filter for step in contract.transform] == expected


def test_deduplication_stays_the_last_step(validate: Validate) -> None:
    pack = {"transformations": [{"standardize": {"id": "trim"}}], "transformations_mode": "append"}
    contract = only(validate(pack, "transform: [{deduplicate: {keys: id, order_by: id}}]\n"))
    assert [step.kind for step in contract.transform] == ["standardize", "deduplicate"]


def test_placeholders_in_a_pack_are_filled(validate: Validate) -> None:
    assert only(validate({"defaults": {"description": "in {env}"}})).description == "in local"


def test_a_contract_may_ask_for_its_own_pack_and_a_command_for_another(validate: Validate, tmp_path: Path) -> None:
    (tmp_path / "policy_packs").mkdir()
    (tmp_path / "policy_packs" / "own.yaml").write_text("name: own\ndefaults: {description: own}\n")
    house = {"defaults": {"description": "house"}}
    assert only(validate(house, "policy_pack: own\n")).description == "own"
    assert only(validate(house, options=api.Options(policy_pack="own"))).description == "own"


def test_an_unknown_pack_is_told_with_a_hint(validate: Validate) -> None:
    [problem] = validate({}, ask_for="hous").problems
    assert problem.field == "policy_pack"
    assert problem.message.startswith("no policy pack 'hous' in ")
    assert problem.message.endswith("did you mean 'house'?")


def test_a_mistake_in_a_pack_is_told_with_the_packs_own_line(validate: Validate) -> None:
    [problem] = validate({"defualts": {}}).problems
    assert Path(problem.file).name == "house.yaml"
    assert "did you mean 'defaults'?" in problem.message
    assert problem.line == 1


@pytest.mark.parametrize("added", ["quality: 5\n", "transform: 5\n", "transform: [null]\n", "transform: [5]\n"])
def test_a_broken_contract_under_a_pack_is_a_problem_and_no_crash(added: str, validate: Validate) -> None:
    pack = {"quality": [{"min_rows": 1}], "transformations": [{"filter": "a"}]}
    found = validate(pack, added)
    assert found.problems
    assert {Path(problem.file).name for problem in found.problems} == {"orders.yaml"}


def test_steps_of_a_pack_do_not_move_the_lines_of_the_contract(validate: Validate) -> None:
    added = "transform:\n  - filter: a\n  - filter: b +\n"
    [problem] = validate({"transformations": [{"filter": "house"}]}, added).problems
    assert problem.line == 7
