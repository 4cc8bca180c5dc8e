"""The examples where no JVM is needed: data that is always the same, contracts that hold, READMEs that are short."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import EXAMPLES
from lakepact import api

NAMES = ("aeronautics", "manufacturing", "ecommerce", "inventory", "marketplace")
MADE = ("warehouse", "landing", "checkpoints", ".lakepact", "__pycache__")
STAMPED = {"ingested_at", "ingested_date", "source_file"}


def copied(name: str, folder: Path) -> Path:
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns(*MADE))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_data_is_the_same_each_time_it_is_made(name: str, tmp_path: Path) -> None:
    made = []
    for folder in (copied(name, tmp_path / "one"), copied(name, tmp_path / "two")):
        for day in "12":
            subprocess.run([sys.executable, "generate.py", day], cwd=folder, check=True, capture_output=True)
        made.append({str(file.relative_to(folder)): file.read_bytes() for file in folder.glob("landing/*/*")})
    assert made[0] == made[1]
    assert 4 <= len(made[0]) <= 6
    assert 200 < sum(text.count(b"\n") for text in made[0].values()) < 1000


@pytest.mark.parametrize("name", NAMES)
def test_contracts_hold_before_and_after_they_change(name: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path / name)
    changed = sorted(folder.glob("changes/*.yaml"))
    for _ in range(2):
        found = api.validate(api.open_project(folder))
        assert found.problems == ()
        assert {contract.layer for contract in found.contracts} == {"bronze", "silver", "gold"}
        assert [contract.name for contract in found.contracts if not (contract.owners and contract.description)] == []
        for contract in found.contracts:
            stamps = {stamp for step in contract.transform for stamp in step.stamp or ()}
            assert stamps == (STAMPED if contract.layer == "bronze" else set()), contract.name
        for file in changed:
            assert (folder / "contracts" / file.name).is_file(), "a change is one of a contract that is there"
            shutil.copy(file, folder / "contracts")


@pytest.mark.parametrize("name", NAMES)
def test_a_readme_is_short(name: str) -> None:
    lines = (EXAMPLES / name / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120
