"""file → dialect → policy packs → placeholders → --set → Contract, or every problem with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakepact.contract import dialects
from lakepact.contract.document import Lines, line_of, read_document
from lakepact.contract.model import Contract
from lakepact.contract.overrides import override
from lakepact.contract.placeholders import fill
from lakepact.contract.policy import apply_pack, read_pack
from lakepact.contract.problems import parse_part
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
    """The one contract in a file."""
    document, lines = read_document(file)
    return load_document(document, lines, file, setting)


def load_document(document: Any, lines: Lines, file: Path, setting: Setting | None = None) -> Loaded:
    """The same, for a document that is already read."""
    setting = setting or Setting()
    if not isinstance(document, dict):
        raise ContractError(
            [Problem("a contract is keys and values, starting with `table:`", file=str(file), line=1)]
        )
    name, native = _native(document, file, lines)
    try:
        native = _dress(native, setting)
    except ContractError as error:
        raise _placed(error, str(file), lines) from None
    where = lines if name == "native" else dialects.lines_by_last_key(lines)
    contract = parse_part(Contract, native, str(file), where)
    return _runnable(Loaded(contract, str(file), where), name)


def _native(document: dict[str, Any], file: Path, lines: Lines) -> tuple[str, dict[str, Any]]:
    def read(relative: str) -> Any:
        return read_document(file.parent / relative)[0]

    try:
        return dialects.to_native(document, read)
    except ContractError as error:
        raise _placed(error, str(file), lines) from None


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


def _placed(error: ContractError, file: str, lines: Lines) -> ContractError:
    """The same problems, each with its file and line unless it already has one."""
    placed = [p if p.file else p.at(file, line_of(lines, p.field)) for p in error.problems]
    return type(error)(placed)


def _runnable(loaded: Loaded, dialect: str) -> Loaded:
    """A contract needs a source and a way to write; only DKOps' table files describe a table alone."""
    if dialect == "dkops_table":
        return loaded
    needed = {"source": loaded.contract.source, "write": loaded.contract.write}
    missing = [Problem("is missing", key) for key, part in needed.items() if part is None]
    if missing:
        raise ContractError([loaded.place(problem) for problem in missing])
    return loaded
