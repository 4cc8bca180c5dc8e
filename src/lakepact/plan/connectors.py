"""CONNECTORS: sources that are neither files nor tables of the lakehouse, each with the options it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakepact.errors import Problem
from lakepact.plan import jdbc, kafka, rest

Options = Mapping[str, object]


@dataclass(frozen=True)
class Connector:
    """What stands against a contract's options, the same in Spark's words, and the packages Spark needs.

    decode         a SELECT over `encoded`, where rows come in a shape of their own, for the columns a contract asks for
    label          what is read, as a record names it
    needs_columns  only the contract can tell what columns there are
    streams        whether Spark can wait for more
    """

    problems: Callable[[Options], Iterator[Problem]]
    options: Callable[[Options], dict[str, str]]
    packages: Callable[[Options], tuple[str, ...]]
    decode: Callable[[Options, Iterable[str]], str | None] = lambda options, columns: None
    keeps_corrupt: Callable[[Options], bool] = lambda options: False
    label: Callable[[Options], str] = lambda options: ""
    needs_columns: bool = False
    streams: bool = False


CONNECTORS = {
    "jdbc": Connector(jdbc.problems, jdbc.options_for_spark, jdbc.packages),
    "kafka": Connector(
        kafka.problems, kafka.options_for_spark, kafka.packages, kafka.decode, kafka.keeps_corrupt, streams=True
    ),
    "rest": Connector(
        rest.problems, rest.options_for_reading, lambda options: (), rest.decode, lambda options: True,
        label=rest.label, needs_columns=True,
    ),
}  # fmt: skip
