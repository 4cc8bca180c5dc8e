"""A document becomes a model, or a list of everything that is wrong with it."""

from __future__ import annotations

import re
import typing
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lakepact.contract.document import Lines, line_of
from lakepact.errors import ContractError, Problem
from lakepact.plugins import hint

M = TypeVar("M", bound=BaseModel)


def parse_part(model: type[M], document: Any, file: str, lines: Lines, error: type[ContractError] = ContractError) -> M:
    """The model, or an error that holds every problem with its line."""
    if not isinstance(document, dict):
        raise error([Problem("expected keys and values here", file=file, line=line_of(lines, ""))])
    try:
        return model.model_validate(document)
    except ValidationError as invalid:
        raise error(_problems(model, invalid, file, lines)) from None


def parse_what_can_be(
    model: type[M], document: dict[str, Any], file: str, lines: Lines
) -> tuple[M | None, list[Problem]]:
    """Every problem, and the model of what is left without them, so that it can be checked too."""
    try:
        return model.model_validate(document), []
    except ValidationError as invalid:
        problems = _problems(model, invalid, file, lines)
        rest = _without(document, invalid.errors())
    try:
        return (model.model_validate(rest) if rest else None), problems
    except ValidationError:
        return None, problems


# What stands in for an entry that cannot be read, so that the others keep their places.
_NEUTRAL: dict[str, Any] = {"quality": {"min_rows": 0}, "transform": {"stamp": []}}
_OF_A_COLUMN = ("type", "nullable", "description", "tags", "mask")


def _without(document: dict[str, Any], errors: list[ErrorDetails]) -> dict[str, Any] | None:
    """The document less what is wrong; None where too little would be left to judge the rest by."""
    rest = dict(document)
    for details in errors:
        head, *inner = [part for part in details["loc"] if not _is_machinery(part)] or [""]
        if head in _NEUTRAL and inner and isinstance(inner[0], int):
            rest[head] = _replaced(rest[head], inner[0], _NEUTRAL[str(head)])
        elif head == "columns" and len(inner) == 2 and inner[1] in _OF_A_COLUMN:
            position = int(inner[0])
            rest[head] = _replaced(rest[head], position, _less(rest[head][position], str(inner[1])))
        elif head in rest and head not in ("columns", "table"):
            del rest[head]
        else:
            return None
    return rest


def _replaced(entries: list[Any], position: int, entry: Any) -> list[Any]:
    return [entry if number == position else old for number, old in enumerate(entries)]


def _less(item: Any, key: str) -> Any:
    return {k: v for k, v in item.items() if k != key} if isinstance(item, dict) else item


def _problems(model: type[BaseModel], invalid: ValidationError, file: str, lines: Lines) -> list[Problem]:
    found = [_problem(model, details) for details in invalid.errors()]
    return _sorted([problem.at(file, line_of(lines, problem.field)) for problem in found])


def _sorted(problems: list[Problem]) -> list[Problem]:
    unique = {str(problem): problem for problem in problems}
    return sorted(unique.values(), key=lambda problem: (problem.line or 0, problem.field))


def _problem(model: type[BaseModel], details: ErrorDetails) -> Problem:
    place = [str(part) for part in details["loc"] if not _is_machinery(part)]
    return Problem(_message(model, details, place), ".".join(place))


def _is_machinery(part: int | str) -> bool:
    """Pydantic names the branch of a union it tried; nobody wrote that."""
    return isinstance(part, str) and bool(re.search(r"[\[\]()]|^(str|int|float|bool)$", part))


def _message(model: type[BaseModel], details: ErrorDetails, place: list[str]) -> str:
    if details["type"] == "extra_forbidden":
        return f"unknown key{hint(place[-1], _keys_at(model, place[:-1]))}"
    if details["type"] == "missing":
        return "is missing"
    if details["type"] in _WORDS:
        return f"{_WORDS[details['type']]}, found {details['input']!r}"[:200]
    if details["type"] == "literal_error":
        expected = str(details.get("ctx", {}).get("expected", ""))
        given = str(details["input"])
        return f"{given!r} is not one of {expected}{_close(given, expected)}"
    text = details["msg"].removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


_WORDS = {
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be keys and values",
    "model_type": "must be keys and values",
}


def _close(given: str, expected: str) -> str:
    suggestion = hint(given, re.findall(r"'([^']+)'", expected))
    return suggestion if "did you mean" in suggestion else ""


def _keys_at(model: type[BaseModel], place: list[str]) -> list[str]:
    """The keys that may stand at this place of the document."""
    current: Any = model
    for part in place:
        current = _step(current, part)
    found = next(iter(_models(current)), None)
    return [field.alias or name for name, field in found.model_fields.items()] if found else []


def _step(annotation: Any, part: str) -> Any:
    for found in _models(annotation):
        if part in found.model_fields:
            return found.model_fields[part].annotation
    return annotation


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models inside an annotation such as `tuple[Step, ...] | None`."""
    inner = typing.get_args(annotation)
    if inner:
        return [model for part in inner for model in _models(part)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
