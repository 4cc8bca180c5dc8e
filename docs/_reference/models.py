"""Pages of what users write: every key of the pydantic models, with its type, default and meaning."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from _reference.markdown import anchor, code, name, names, page, sentence, table
from lakepact.contract import policy
from lakepact.contract.model import Bounded, Contract, Part, Scalar
from lakepact.contract.policy import PolicyPack
from lakepact.contract.project import ProjectFile

Model = type[BaseModel]
Places = dict[Model, str]

PLAIN: dict[Any, str] = {
    str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything",
    datetime: "time (UTC where it has no zone)",
}  # fmt: skip
# What a validator's name says about a text.
CHECKED = {
    "_column_name": "column name",
    "_table_name": "table name",
    "_mode_name": "[mode](modes.md)",
    "canonical_type": "Spark type",
}


def contract() -> str:
    words = (
        "One YAML or JSON file for one table. Unknown keys are refused. A contract needs `table`, `source`\n"
        "and `write`; everything else may be left out. [The guide](../guide/contracts.md) tells it as a\n"
        "story, this page lists every key."
    )
    return _page("The contract", words, Contract)


def project() -> str:
    words = "`lakepact.yaml` in the project folder. See [the guide](../guide/environments-and-secrets.md)."
    return _page("The project file", words, ProjectFile)


def policy_pack() -> str:
    _, example = (policy.__doc__ or "").split("\n\n", 1)
    words = "What an organisation asks of every contract. A pack adds; it never takes a rule away."
    return _page("Policy packs", f"{words}\n\n{code(example, 'yaml')}", PolicyPack)


def _page(title: str, words: str, root: Model) -> str:
    places = dict(_parts(root))
    return page(title, words, *(_section(model, places) for model in places))


def _parts(model: Model, place: str = "") -> Iterator[tuple[Model, str]]:
    """Each model that can be reached, with the place where its keys are written."""
    yield model, place
    for key, field in model.model_fields.items():
        for inner, suffix in _models(field.annotation, ""):
            yield from _parts(inner, f"{place}.{field.alias or key}{suffix}".strip("."))


def _models(annotation: Any, suffix: str) -> Iterator[tuple[Model, str]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, suffix
        return
    inside = {tuple: "[]", dict: ".<name>"}.get(typing.get_origin(annotation), "")
    for inner in typing.get_args(annotation):
        yield from _models(inner, suffix + inside)


def _section(model: Model, places: Places) -> str:
    heading = f"## {name(places[model])}\n\n" if places[model] else ""
    about = _about(model) if places[model] else ""
    rows = [
        (name(field.alias or key), _type(field, places), _default(field), _meaning(field))
        for key, field in model.model_fields.items()
    ]
    return f"{heading}{about}{table(('key', 'type', 'default', 'meaning'), rows)}"


def _about(model: Model) -> str:
    own = model.__doc__ or (Bounded.__doc__ if issubclass(model, Bounded) else "")
    return f"{sentence(own)}\n\n" if own else ""


def _meaning(field: FieldInfo) -> str:
    """What the field says of itself, or else what its part says."""
    parts = [model for model, _ in _models(field.annotation, "")]
    return field.description or (sentence(parts[0].__doc__) if parts else "")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**needed**"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, bool):
        return name(str(value).lower())
    if isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
        return names(value)
    return name(str(value)) if value != "" and isinstance(value, str | int | float) else ""


def _type(field: FieldInfo, places: Places) -> str:
    return _words(field.annotation, list(field.metadata), places)


def _words(annotation: Any, metadata: list[Any], places: Places) -> str:
    """A type as a person says it."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _words(inner[0], [*inner[1:], *metadata], places)
    known = [CHECKED[found] for found in _validators(metadata) if found in CHECKED]
    if known:
        return known[0]
    if origin in (typing.Union, types.UnionType):
        return _either([part for part in inner if part is not types.NoneType], metadata, places)
    if origin is Literal:
        return names(str(value) for value in inner)
    if origin in (tuple, list):
        return _list(_words(inner[0], [], places), "one_or_many" in _validators(metadata))
    if origin is dict and inner[1] is Any:
        return "mapping"
    if origin is dict:
        return f"{_words(inner[0], [], places)} → {_words(inner[1], [], places)}"
    return _plain(annotation, places)


def _either(kinds: list[Any], metadata: list[Any], places: Places) -> str:
    if set(kinds) == set(typing.get_args(Scalar)):
        return "value"
    return " or ".join(_words(kind, metadata, places) for kind in kinds)


def _plain(annotation: Any, places: Places) -> str:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return f"[keys]({anchor(places[annotation])})"
    return PLAIN[annotation]


def _list(of: str, one_will_do: bool) -> str:
    return f"{of}, or a list" if one_will_do else f"list of {of}"


def _validators(metadata: Iterable[Any]) -> list[str]:
    return [getattr(getattr(item, "func", None), "__name__", "") for item in metadata]
