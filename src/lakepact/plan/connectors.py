"""CONNECTORS: sources that are neither files nor tables of the lakehouse, each with the options it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakepact.contract.model import Contract
from lakepact.contract.source import Source
from lakepact.errors import Problem
from lakepact.plan import jdbc, kafka

Options = Mapping[str, object]


@dataclass(frozen=True)
class Connector:
    """What stands against a contract's options, the same in Spark's words, and the packages Spark needs.

    decode   a SELECT over `encoded`, where rows come in a shape of their own, for the columns a contract asks for
    """

    problems: Callable[[Options], Iterator[Problem]]
    options: Callable[[Options], dict[str, str]]
    packages: Callable[[Options], tuple[str, ...]]
    decode: Callable[[Options, Iterable[str]], str | None] = lambda options, columns: None
    keeps_corrupt: Callable[[Options], bool] = lambda options: False


CONNECTORS = {
    "jdbc": Connector(jdbc.problems, jdbc.options_for_spark, jdbc.packages),
    "kafka": Connector(
        kafka.problems, kafka.options_for_spark, kafka.packages, kafka.decode, kafka.keeps_corrupt
    ),
}  # fmt: skip


def packages_for(contracts: Iterable[Contract], given: tuple[str, ...]) -> tuple[str, ...]:
    """The packages given, and those that the contracts' sources need; a version that was given is kept.

    >>> shop = Contract(table="t", source=Source(connector="jdbc", options={"url": "jdbc:postgresql://host/shop"}))
    >>> packages_for([shop], ())
    ('org.postgresql:postgresql:42.7.14',)
    >>> packages_for([shop], ("org.postgresql:postgresql:42.7.7",))
    ('org.postgresql:postgresql:42.7.7',)
    """
    sources = [contract.source for contract in contracts if contract.source]
    needed = {package for one in sources for package in _packages(one)}
    there = {_artifact(package) for package in given}
    return (*given, *sorted(package for package in needed if _artifact(package) not in there))


def _packages(source: Source) -> tuple[str, ...]:
    known = CONNECTORS.get(source.connector or "")
    return known.packages(source.options) if known else ()


def _artifact(package: str) -> str:
    """Group and name, whatever the version."""
    return ":".join(package.split(":")[:2])
