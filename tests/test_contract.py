"""Contracts and what `validate` says of them: every problem, its line, its field, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import cases
from lakepact import api
from lakepact.contract.project import Environment, Project, ProjectFile
from lakepact.contract.types import canonical_type
from lakepact.errors import ContractError, Problem

FIRST_LINES = """\
table: silver.orders
columns:
  - {name: id, nullable: false}
  - {name: amount, type: "decimal(12,2)"}
  - {name: at, type: timestamp}
"""
LAST_LINES = {"source": "source: {table: bronze.orders}\n", "write": "write: {mode: scd1_upsert, keys: id}\n"}


def text_of(case: dict[str, Any]) -> str:
    if "contract" in case:
        return str(case["contract"])
    added = [line for key, line in LAST_LINES.items() if f"{key}:" not in case["with"]]
    return FIRST_LINES + case["with"] + "".join(added)


def project(root: Path) -> Project:
    environment = Environment(catalogs={"bronze": "bronze", "silver": "silver"}, paths={"landing": "landing"})
    return Project(root=root, file=ProjectFile(), environment_name="local", environment=environment)


@pytest.mark.parametrize("case", cases("contracts"))
def test_validate_finds(case: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text(text_of(case), encoding="utf-8")
    found = api.validate(project(tmp_path), [file])
    assert len(found.problems) == len(case["problems"]), [str(problem) for problem in found.problems]
    for problem, (line, field, words) in zip(found.problems, case["problems"], strict=True):
        assert (problem.file, problem.line) == (str(file), line)
        assert problem.field == (problem.field if field is None else field)
        assert words in problem.message
        assert "\n" not in str(problem)
    assert len(found.contracts) == (not case["problems"])
    assert not caplog.records, "a library talks past us"


@pytest.mark.parametrize("case", cases("types"))
def test_a_type_has_one_spelling(case: dict[str, str]) -> None:
    if "problem" in case:
        with pytest.raises(ValueError, match=case["problem"]):
            canonical_type(case["name"])
    else:
        assert canonical_type(case["name"]) == case["type"]
        assert canonical_type(case["type"]) == case["type"]


def test_a_problem_says_file_line_field_and_message() -> None:
    assert str(Problem("is missing", "write.mode", "c.yaml", 3)) == "c.yaml:3: write.mode: is missing"
    assert str(Problem("is empty", file="c.yaml")) == "c.yaml: is empty"
    assert str(Problem("nothing to run")) == "nothing to run"


def test_problems_of_several_files_are_told_together_and_good_contracts_are_kept(tmp_path: Path) -> None:
    texts = {
        "a.yaml": "table: a.a\n",
        "b.yaml": FIRST_LINES + "".join(LAST_LINES.values()),
        "c.yaml": "table: [\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = api.validate(None, [tmp_path / name for name in texts])
    assert [contract.name for contract in found.contracts] == ["silver.orders"]
    assert {Path(problem.file).name for problem in found.problems} == {"a.yaml", "c.yaml"}


def test_load_contract_raises_with_every_problem(tmp_path: Path) -> None:
    file = tmp_path / "contract.yaml"
    file.write_text("tabel: a.b\nsource: {path: x.csv}\nwrite: {mode: append}\n", encoding="utf-8")
    with pytest.raises(ContractError) as error:
        api.load_contract(file)
    assert {problem.field for problem in error.value.problems} == {"table", "tabel"}
    assert error.value.exit_code == 2


def test_a_json_contract_says_the_same_as_a_yaml_one(tmp_path: Path) -> None:
    text = FIRST_LINES + "".join(LAST_LINES.values())
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "c.json").write_text(json.dumps(yaml.safe_load(text), indent=2), encoding="utf-8")
    assert api.load_contract(tmp_path / "c.yaml") == api.load_contract(tmp_path / "c.json")


def test_a_problem_in_json_has_its_line_too(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    source = '"source": {\n\t\t"pth": "x.csv", "path": "x.csv"\n\t}'
    file.write_text(f'{{\n\t"table": "a.b",\n\t{source},\n"write": {{"mode": "append"}}}}', encoding="utf-8")
    [problem] = api.validate(None, [file]).problems
    assert (problem.line, problem.field) == (4, "source.pth")


def test_a_contract_cannot_be_changed(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(FIRST_LINES + "".join(LAST_LINES.values()), encoding="utf-8")
    contract = api.load_contract(file)
    with pytest.raises(ValueError, match="frozen"):
        contract.table = "other"  # type: ignore[misc]
