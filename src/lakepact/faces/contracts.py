"""load_contract: a table's contract from its file, at home in the environment whose names it was filled with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lakepact.contract.project import Project
from lakepact.errors import ProjectError
from lakepact.faces.environment import EnvironmentConfig, project_of
from lakepact.faces.home import TableContract, contract_of, homed, path_in, project_at

Env = EnvironmentConfig | Project | None


def load_contract(path: str | Path, env: Env = None) -> TableContract:
    """The contract in a file; without `env` placeholders mean what they mean to the current launcher."""
    project = project_at(None, None) if env is None else project_of(env)
    return homed(contract_of(Path(path), project), project)


class ContractLoader:
    """Loads contracts for one environment."""

    def __init__(self, env: Env = None) -> None:
        self.project = project_at(None, None) if env is None else project_of(env)

    def load(self, path: str | Path) -> TableContract:
        return load_contract(path, self.project)

    def load_many(self, paths: Iterable[str | Path]) -> list[TableContract]:
        return [self.load(path) for path in paths]

    def load_schema(self, folder: str | Path) -> list[TableContract]:
        """Every table's JSON in a folder, by name."""
        there = path_in(self.project, folder)
        if not there.is_dir():
            raise ProjectError(f"{folder}: no such folder")
        return self.load_many(sorted(there.glob("*.json")))
