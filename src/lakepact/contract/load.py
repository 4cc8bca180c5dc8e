"""file → dialect → policy pack → --set → placeholders → Contract, or every problem with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakepact.contract import dialects
from lakepact.contract.document import Lines, line_of, read_document
from lakepact.contract.model import Contract
from lakepact.contract.overrides import override
from lakepact.contract.placeholders import fill
from lakepact.contract.policy import apply_pack, read_pack
from lakepact.contract.problems import parse_what_can_be
from lakepact.errors import ContractError, Problem


@dataclass(frozen=True)
class Setting:
    """What surrounds a contract when it is read."""

    values: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    policy_pack: str | None = None
    policy_pack_dir: Path = Path("policy_packs")


@dataclass(frozen=True)
class Loaded:
    """A contract, and where each part of it was written."""

    contract: Contract
    file: str
    lines: Lines

    def place(self, problem: Problem) -> Problem:
        return problem.at(self.file, line_of(self.lines, problem.field))


def load_contract(file: Path, setting: Setting | None = None) -> Loaded:
    """The one contract in a file, or an error with every problem of it."""
    loaded, problems = inspect_contract(file, setting)
    if loaded is None or problems:
        raise ContractError(problems)
    return loaded


def inspect_contract(file: Path, setting: Setting | None = None) -> tuple[Loaded | None, list[Problem]]:
    """What could be read of a contract, and everything that is wrong with the rest."""
    try:
        document, lines = read_document(file)
        return _inspect(document, lines, file, setting or Setting())
    except ContractError as error:
        return None, list(error.problems)


def contract_from(document: Mapping[str, Any], folder: Path, setting: Setting | None = None) -> Contract:
    """A contract that is not in a file; files it names are looked for in `folder`."""
    loaded, problems = _inspect(dict(document), {}, folder / "contract", setting or Setting())
    if loaded is None or problems:
        raise ContractError([problem.at("", None) for problem in problems])
    return loaded.contract


def _inspect(document: Any, lines: Lines, file: Path, setting: Setting) -> tuple[Loaded | None, list[Problem]]:
    if not isinstance(document, dict):
        message = "a contract is keys and values, starting with `table:`"
        raise ContractError([Problem(message, file=str(file), line=1)])
    with _placing(str(file), lines):
        dialect, native = dialects.to_native(document, lambda path: read_document(file.parent / path)[0])
        dressed = _dress(native, setting)
    where = lines if dialect == "native" else dialects.lines_by_last_key(lines)
    where = _moved(where, native, dressed)
    contract, problems = parse_what_can_be(Contract, dressed, str(file), where)
    missing = [] if dialect == "dkops_table" else _missing(dressed)
    problems += [problem.at(str(file), line_of(where, problem.field)) for problem in missing]
    return (Loaded(contract, str(file), where) if contract else None), problems


@contextmanager
def _placing(file: str, lines: Lines) -> Iterator[None]:
    """Problems that know only their field are given their file and line."""
    try:
        yield
    except ContractError as error:
        placed = [p if p.file else p.at(file, line_of(lines, p.field)) for p in error.problems]
        raise type(error)(placed) from None


def _dress(document: dict[str, Any], setting: Setting) -> dict[str, Any]:
    pack = document.get("policy_pack") or setting.policy_pack
    if pack:
        document = apply_pack(document, read_pack(str(pack), setting.policy_pack_dir))
    for path, value in setting.overrides.items():
        document = override(document, path, value)
    problems: list[Problem] = []
    filled: dict[str, Any] = fill(document, setting.values, problems)
    if problems:
        raise ContractError(problems)
    return filled


def _moved(lines: Lines, before: dict[str, Any], after: dict[str, Any]) -> Lines:
    """Steps that a pack puts in front move the contract's own; their lines move along."""
    own, all_steps = before.get("transform"), after.get("transform")
    if not isinstance(own, list) or not isinstance(all_steps, list) or len(own) == len(all_steps):
        return lines
    first = next((n for n, step in enumerate(all_steps) if own and step == own[0]), 0)
    return {_shifted(path, first): line for path, line in lines.items()}


def _shifted(path: str, by: int) -> str:
    head, *rest = path.split(".")
    if head != "transform" or not rest or not rest[0].isdigit():
        return path
    return ".".join([head, str(int(rest[0]) + by), *rest[1:]])


def _missing(document: dict[str, Any]) -> list[Problem]:
    """A contract needs a source and a way to write; only DKOps' table files describe a table alone."""
    return [Problem("is missing", key) for key in ("source", "write") if document.get(key) is None]
