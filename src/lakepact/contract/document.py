"""A YAML or JSON file as plain values, with the line each of them stands on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lakepact.errors import ContractError, Problem

Lines = Mapping[str, int]

LARGEST_FILE = 1_000_000
MOST_VALUES = 100_000
DEEPEST = 60

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Yaml12(_Loader):  # type: ignore[misc]
    """YAML 1.2 core scalars: `NO` is Norway, `12:30` is text, dates stay as written."""

    yaml_implicit_resolvers: dict[str, list[Any]] = {}  # noqa: RUF012 - PyYAML's own protocol


def _scalar(tag: str, pattern: str, first: str) -> None:
    _Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_scalar("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_scalar("int", r"^[-+]?[0-9]{1,38}$", "-+0123456789")
_scalar("float", r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?$", "-+0123456789.")
_scalar("null", r"^(?:~|null|Null|NULL|)$", "~nN\0")
_Yaml12.yaml_implicit_resolvers.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile(r"^$")))


class NotYamlError(ContractError):
    """The text cannot be parsed at all; JSON that YAML cannot read is still JSON."""


def read_document(file: Path) -> tuple[Any, Lines]:
    """The value in the file, and for each path in it (`write.mode`, `quality.0`) its line."""
    return parse_document(_read_text(file), str(file))


def parse_document(text: str, name: str) -> tuple[Any, Lines]:
    if name.endswith(".json"):
        return _json(text, name)
    lines: dict[str, int] = {}
    return _Reader(name, lines).value(_compose(text, name), ""), lines


def _read_text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise ContractError([Problem(f"larger than {LARGEST_FILE // 1000} kB, so not a contract", file=str(file))])
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ContractError([Problem("no such file", file=str(file))]) from None
    except IsADirectoryError:
        raise ContractError([Problem("a folder, not a file", file=str(file))]) from None
    except UnicodeDecodeError as error:
        raise ContractError(
            [Problem(f"not UTF-8 text (byte {error.start}); save it as UTF-8", file=str(file))]
        ) from None
    except OSError as error:
        raise ContractError([Problem(f"cannot be read: {error.strerror}", file=str(file))]) from None


def _json(text: str, name: str) -> tuple[Any, Lines]:
    """JSON's own parser gives the values; YAML, which knows JSON, gives the lines where it can."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ContractError([Problem(f"not JSON: {error.msg}", file=name, line=error.lineno)]) from None
    except RecursionError:
        raise ContractError([Problem("nested too deeply", file=name)]) from None
    except ValueError as error:
        raise ContractError([Problem(f"not JSON: {error}", file=name)]) from None
    lines: dict[str, int] = {}
    try:
        node = _compose(text, name)
    except NotYamlError:
        return value, lines
    _Reader(name, lines).value(node, "")
    return value, lines


def _compose(text: str, name: str) -> yaml.Node:
    try:
        _bound_depth(text, name)
        node: yaml.Node | None = yaml.compose(text, Loader=_Yaml12)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or str(error).splitlines()[0]
        line = mark.line + 1 if mark else None
        raise NotYamlError([Problem(f"not YAML: {message}", file=name, line=line)]) from None
    if node is None:
        raise ContractError([Problem("the file is empty", file=name)])
    return node


def _bound_depth(text: str, name: str) -> None:
    """libyaml's composer recurses in C and takes the process with it, so look at the events first."""
    depth = 0
    for event in yaml.parse(text, Loader=_Yaml12):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            line = event.start_mark.line + 1
            raise ContractError([Problem(f"nested more than {DEEPEST} deep", file=name, line=line)])


class _Reader:
    """Walks the nodes once; bounds what a hostile file can make of itself (aliases, depth)."""

    def __init__(self, name: str, lines: dict[str, int]) -> None:
        self.name, self.lines, self.count = name, lines, 0

    def value(self, node: yaml.Node, path: str, depth: int = 0) -> Any:
        self.count += 1
        line = node.start_mark.line + 1
        if self.count > MOST_VALUES:
            raise self._problem(f"more than {MOST_VALUES:,} values once its aliases are followed", path, line)
        if depth > DEEPEST:
            raise self._problem(f"nested more than {DEEPEST} deep", path, line)
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.CollectionNode) and node.tag not in _COLLECTIONS:
            raise self._problem(f"the tag {node.tag!r} is not allowed", path, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, _join(path, str(i)), depth + 1) for i, item in enumerate(node.value)]
        return self._scalar(node, path, line)

    def _mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._problem("a key must be plain text", path, line)
            if key in result:
                raise self._problem(f"the key {key!r} stands here twice", path, line)
            self.lines[_join(path, key)] = line
            result[key] = self.value(value_node, _join(path, key), depth + 1)
        return result

    def _scalar(self, node: yaml.Node, path: str, line: int) -> Any:
        kind = _SCALARS.get(node.tag.rsplit(":", 1)[-1])
        if kind is None:
            raise self._problem(f"the tag {node.tag!r} is not allowed", path, line)
        try:
            return kind(node.value)
        except ValueError:
            raise self._problem(f"{node.value[:80]!r} is not what its tag says", path, line) from None

    def _problem(self, message: str, path: str, line: int) -> ContractError:
        return ContractError([Problem(message, path, self.name, line)])


_COLLECTIONS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_SCALARS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text.lower() == "true",
    "null": lambda text: None,
}


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def line_of(lines: Lines, field: str) -> int | None:
    """The line of a field, or of the nearest thing around it that was written."""
    while field:
        if field in lines:
            return lines[field]
        field = field.rpartition(".")[0]
    return lines.get("")
