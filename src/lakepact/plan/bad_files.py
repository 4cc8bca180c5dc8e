"""Files of one load that are not alike: which can be read together, as which types, and which cannot be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lakepact.plan.loaded import MOST_NAMED, SourceFile

Columns = tuple[tuple[str, str], ...]

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_MOST_DIGITS = 38
_REASON = 300


@dataclass(frozen=True)
class BadFile:
    """A file that cannot be read, and why."""

    file: SourceFile
    reason: str


@dataclass(frozen=True)
class Alike:
    """Files with the same columns. `schema` is how Spark writes them, None where each read finds them anew."""

    files: tuple[str, ...]
    columns: tuple[str, ...] = ()
    schema: str | None = None


@dataclass(frozen=True)
class SortedFiles:
    """All files of a load: those that can be read, by their columns, and those that cannot; empty ones are neither.

    types   what becomes of columns that have other types in other files
    """

    files: tuple[SourceFile, ...]
    alike: tuple[Alike, ...]
    bad: tuple[BadFile, ...]
    types: Mapping[str, str]

    @property
    def good(self) -> tuple[str, ...]:
        return tuple(name for group in self.alike for name in group.files)

    @property
    def differ(self) -> bool:
        """Whether anything was found that a plain read stumbles over."""
        return bool(self.bad) or len(self.alike) > 1


def find_bad(files: Sequence[SourceFile], fault: Callable[[Sequence[SourceFile]], str | None]) -> tuple[BadFile, ...]:
    """The files that cannot be read, found by halving; `fault` says why some files cannot be read together.

    >>> files = [SourceFile(str(n), 1, 1) for n in range(9)]
    >>> tried = []
    >>> def fault(some):
    ...     tried.append(len(some))
    ...     return "broken" if any(file.name == "7" for file in some) else None
    >>> [bad.file.name for bad in find_bad(files, fault)], len(tried)
    (['7'], 9)
    """
    reason = fault(files) if files else None
    if reason is None:
        return ()
    if len(files) == 1:
        return (BadFile(files[0], reason[:_REASON]),)
    middle = len(files) // 2
    return (*find_bad(files[:middle], fault), *find_bad(files[middle:], fault))


def common_types(
    found: Mapping[SourceFile, Columns], declared: Mapping[str, str]
) -> tuple[dict[str, str], tuple[BadFile, ...]]:
    """The type each column gets, and the files that have another which cannot become it without loss.

    Most files decide, then the contract; of two types that fit each other it is the wider one.
    """
    types: dict[str, str] = {}
    for name in dict.fromkeys(name.lower() for columns in found.values() for name, _ in columns):
        kinds = Counter(kind for columns in found.values() for other, kind in columns if other.lower() == name)
        types[name] = _common(kinds, declared.get(name))
    faults = {file: _fault(columns, types) for file, columns in found.items()}
    return types, tuple(BadFile(file, fault) for file, fault in faults.items() if fault)


def _common(kinds: Counter[str], declared: str | None) -> str:
    ranked = sorted(kinds, key=lambda kind: (-kinds[kind], kind != declared, kind))
    chosen = ranked[0]
    for kind in ranked[1:]:
        chosen = wider(chosen, kind) or chosen
    return chosen


def _fault(columns: Columns, types: Mapping[str, str]) -> str:
    other = [(name, kind, types[name.lower()]) for name, kind in columns]
    wrong = [f"{name} is {kind}, not {wanted}" for name, kind, wanted in other if wider(kind, wanted) != wanted]
    return ", ".join(wrong)[:_REASON]


def wider(one: str, other: str) -> str | None:
    """The type that holds every value of both; None where there is none.

    >>> wider("int", "bigint"), wider("decimal(10,2)", "int"), wider("float", "double"), wider("bigint", "string")
    ('bigint', 'decimal(12,2)', 'double', None)
    """
    if one == other:
        return one
    if one in _DIGITS and other in _DIGITS:
        return max(one, other, key=_DIGITS.__getitem__)
    if "double" in (one, other) and {one, other} & {"float", "int", "smallint", "tinyint"}:
        return "double"
    return _wider_decimal(_as_decimal(one), _as_decimal(other))


def _as_decimal(kind: str) -> tuple[int, int] | None:
    """Digits before and after the point."""
    if kind in _DIGITS:
        return _DIGITS[kind], 0
    said = _DECIMAL.fullmatch(kind)
    return (int(said[1]) - int(said[2]), int(said[2])) if said else None


def _wider_decimal(one: tuple[int, int] | None, other: tuple[int, int] | None) -> str | None:
    if one is None or other is None:
        return None
    before, after = max(one[0], other[0]), max(one[1], other[1])
    return f"decimal({before + after},{after})" if before + after <= _MOST_DIGITS else None


def strangers(groups: Iterable[Alike], asked: Iterable[str]) -> dict[str, str]:
    """Files that bring none of the columns asked for, each with what to say of it."""
    wanted = {name.lower() for name in asked}
    other = [group for group in groups if group.columns and wanted and not wanted & {c.lower() for c in group.columns}]
    return {
        name: f"has none of the contract's columns: {', '.join(g.columns)}"[:_REASON] for g in other for name in g.files
    }


def told(bad: Sequence[BadFile]) -> str:
    """The files that cannot be read, in one line."""
    named = ", ".join(f"{one.file.name} ({one.reason})" for one in bad[:MOST_NAMED])
    more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
    return f"{len(bad)} file(s) cannot be read: {named}{more}"


def unlike(groups: Iterable[Alike], asked: Iterable[str]) -> list[str]:
    """What to say of files that bring other columns than most do; of as many, those that bring what is asked for."""
    wanted = {name.lower() for name in asked}
    ranked = sorted(
        groups, key=lambda g: (-len(g.files), -len(wanted & {c.lower() for c in g.columns}), len(g.columns))
    )
    if not ranked or not ranked[0].columns:
        return []
    usual = {name.lower(): name for name in ranked[0].columns}
    return [note for group in ranked[1:] if (note := _difference(group, usual))]


def _difference(group: Alike, usual: Mapping[str, str]) -> str:
    here = {name.lower(): name for name in group.columns}
    more, fewer = ([name for key, name in a.items() if key not in b] for a, b in ((here, usual), (usual, here)))
    said = [f"{word} {', '.join(names)}" for word, names in (("also bring", more), ("lack", fewer)) if names]
    files = ", ".join(group.files[:MOST_NAMED]) + (" and more" if len(group.files) > MOST_NAMED else "")
    return f"{len(group.files)} file(s) {' and '.join(said)}: {files}" if said else ""
