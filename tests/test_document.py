"""Files as plain values with their lines; whatever a file does to us, it gets one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import cases
from hostile import FILES
from lakepact.contract.document import line_of, parse_document, read_document
from lakepact.contract.load import load_contract
from lakepact.errors import ContractError, Problem


def only_problem(file: Path) -> Problem:
    with pytest.raises(ContractError) as error:
        load_contract(file)
    assert "\n" not in str(error.value)
    [problem] = error.value.problems
    return problem


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_one_problem_of_one_line(name: str, tmp_path: Path) -> None:
    content, words = FILES[name]
    (tmp_path / name).write_bytes(content)
    problem = only_problem(tmp_path / name)
    assert words in problem.message
    assert problem.file == str(tmp_path / name)
    assert len(str(problem)) < 500


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    assert only_problem(tmp_path / "nobody.yaml").message == "no such file"
    assert only_problem(tmp_path).message == "a folder, not a file"


def test_a_file_behind_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be read" in only_problem(tmp_path / "file" / "contract.yaml").message


@pytest.mark.parametrize(
    ("name", "line"),
    [("double.yaml", 3), ("double.json", 2), ("tab.yaml", 3), ("comma.json", 2), ("tag.yaml", 1)],
)
def test_a_problem_of_the_text_has_its_line(name: str, line: int, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name][0])
    assert only_problem(tmp_path / name).line == line


@pytest.mark.parametrize("case", cases("scalars"))
def test_a_scalar_means_what_yaml_1_2_says(case: dict[str, Any]) -> None:
    value = parse_document(f"a: {case['name']}", "x.yaml")[0]["a"]
    assert (value, type(value)) == (case["value"], type(case["value"]))


def test_keys_are_text_whatever_they_look_like() -> None:
    assert parse_document("1: a\ntrue: b\n2024-01-01: c\n", "x.yaml")[0] == {
        "1": "a",
        "true": "b",
        "2024-01-01": "c",
    }


def test_an_alias_is_its_anchor() -> None:
    assert parse_document("a: &x [1, 2]\nb: *x\n", "x.yaml")[0] == {"a": [1, 2], "b": [1, 2]}


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xef\xbb\xbftable: a.b\n")
    assert read_document(tmp_path / "x.yaml")[0] == {"table": "a.b"}


def test_windows_line_ends_do_not_move_lines() -> None:
    _, lines = parse_document("a: 1\r\nb:\r\n  c: 2\r\n", "x.yaml")
    assert lines["b.c"] == 3


TEXT = """\
# a comment
table: a.b

quality:
  - name: first
    check: |
      a > 0
      AND b > 0
  - {name: second,
     check: c > 0}
"""


def test_every_place_has_its_line() -> None:
    _, lines = parse_document(TEXT, "x.yaml")
    assert {path: lines[path] for path in ("table", "quality", "quality.0", "quality.0.check", "quality.1.check")} == {
        "table": 2,
        "quality": 4,
        "quality.0": 5,
        "quality.0.check": 6,
        "quality.1.check": 10,
    }


def test_what_was_not_written_has_the_line_of_what_is_around_it() -> None:
    _, lines = parse_document(TEXT, "x.yaml")
    assert line_of(lines, "quality.0.action") == 5
    assert line_of(lines, "quality.7.action") == 4
    assert line_of(lines, "write.mode") == lines[""]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18) + 1, 10**18 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(VALUES)
def test_what_json_writes_is_read_back(value: Any) -> None:
    assert parse_document(json.dumps(value, indent=1), "x.json")[0] == value


@settings(deadline=None)
@given(st.text(max_size=80), st.sampled_from(["x.yaml", "x.json"]))
def test_any_text_is_a_value_or_a_problem(text: str, name: str) -> None:
    try:
        parse_document(text, name)
    except ContractError as error:
        told = str(error)
    else:
        told = ""
    assert "\n" not in told
