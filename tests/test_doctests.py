"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import lakepact

MODULES = [
    module.name
    for module in pkgutil.walk_packages(lakepact.__path__, "lakepact.")
    if not module.name.startswith("lakepact.spark")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.failed == 0


def test_there_are_examples() -> None:
    assert len(MODULES) > 30
    finder = doctest.DocTestFinder()
    assert sum(len(test.examples) for name in MODULES for test in finder.find(import_module(name))) >= 20
