"""The one family of errors. Each says what is wrong, where, and what to do.

LakepactError
├── ContractError            what was written cannot be used (exit 2)
│   ├── PlanError            it can be read, but must not be run as it stands
│   └── ProjectError         the project folder or its environment is not usable
├── MachineError             Java, jars or a package are missing (exit 3)
├── StoreError               evidence could not be written or read (exit 3)
└── LakepactExecutionError   a run failed; carries its record (exit 1 or 3)
    ├── QualityError         the data broke a rule, a guardrail or a gate (exit 1)
    ├── AlreadyWrittenError  the batch of this name is in the table (exit 1)
    ├── UnbalancedError      rows in and rows out do not add up (exit 1)
    └── EngineError          Spark, Delta or the storage failed (exit 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar


@dataclass(frozen=True)
class Problem:
    """One thing to mend: what, and where."""

    message: str
    field: str = ""
    file: str = ""
    line: int | None = None

    def at(self, file: str, line: int | None) -> Problem:
        return replace(self, file=file, line=line)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.field, self.message) if part)


class LakepactError(Exception):
    """Anything Lakepact raises on purpose."""

    exit_code = 3


class ContractError(LakepactError):
    """Holds every problem found, not only the first."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        found = [Problem(problems)] if isinstance(problems, str) else problems
        self.problems: tuple[Problem, ...] = tuple(found)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class PlanError(ContractError):
    """The contract is readable, but contradicts itself or would do harm."""


class ProjectError(ContractError):
    """No project here, or an environment that does not fit it."""


class MachineError(LakepactError):
    """This machine lacks something, and the text says how to get it."""

    exit_code = 3


class StoreError(LakepactError):
    """Evidence could not be written or read."""


class LakepactExecutionError(LakepactError):
    """A run failed. Its record was written first and is in `.record`; `.result` says it in `ingest`'s words.

    Where several contracts were run, `.results` holds what became of each of them.
    """

    def __init__(self, message: str, record: Any = None, result: Any = None) -> None:
        super().__init__(message)
        self.record, self.result = record, result
        self.results: tuple[Any, ...] = ()


class QualityError(LakepactExecutionError):
    """The data is not what the contract promises; nothing was written."""

    exit_code = 1


class AlreadyWrittenError(LakepactExecutionError):
    """The batch was written before, by the run in `.writer`; nothing was written now."""

    exit_code = 1

    def __init__(self, message: str, record: Any = None, result: Any = None, writer: str | None = None) -> None:
        super().__init__(message, record, result)
        self.writer = writer


class UnbalancedError(LakepactExecutionError):
    """Rows read are not the rows written, unchanged, rejected and left out."""

    exit_code = 1


class EngineError(LakepactExecutionError):
    """Spark, Delta or the storage failed."""

    exit_code = 3


E = TypeVar("E", bound=LakepactError)


def error_class(name: str | None, family: type[E]) -> type[E]:
    """The error of the family that a record names; the family itself where it names none of it."""
    found = globals().get(name or "")
    return found if isinstance(found, type) and issubclass(found, family) else family
