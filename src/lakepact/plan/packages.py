"""The packages that Spark needs for what contracts speak of: databases, brokers, formats, storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lakepact.contract.model import Contract
from lakepact.contract.source import Source
from lakepact.plan.connectors import CONNECTORS
from lakepact.plan.kafka import AVRO
from lakepact.plan.read import format_of

# The client without the SDK's bundle of 700 MB: only the parts of the SDK that it uses.
S3 = (
    "org.apache.hadoop:hadoop-aws:3.5.0?transitive=false",
    "software.amazon.awssdk:s3:2.35.4",
    "software.amazon.awssdk:s3-transfer-manager:2.35.4",
    "software.amazon.awssdk:sts:2.35.4",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1?transitive=false",
)
STORAGE = {"s3a": S3}
FORMATS = {"avro": (AVRO,)}


def packages_for(contracts: Iterable[Contract], given: tuple[str, ...], folders: Iterable[str] = ()) -> tuple[str, ...]:
    """The packages given, and those that contracts and folders need; a version that was given is kept.

    >>> shop = Contract(table="t", source=Source(connector="jdbc", options={"url": "jdbc:postgresql://host/shop"}))
    >>> packages_for([shop], ())
    ('org.postgresql:postgresql:42.7.14',)
    >>> packages_for([shop], ("org.postgresql:postgresql:42.7.7",))
    ('org.postgresql:postgresql:42.7.7',)
    >>> len(packages_for([], (), ["s3a://lake/warehouse"]))
    5
    """
    needed = {package for folder in folders for package in _of_folder(folder)}
    needed |= {package for contract in contracts for package in _of_contract(contract)}
    there = {_artifact(package) for package in given}
    return (*given, *sorted(package for package in needed if _artifact(package) not in there))


def _of_contract(contract: Contract) -> Iterator[str]:
    yield from _of_folder(contract.path)
    if contract.source is not None:
        yield from _of_source(contract.source)


def _of_source(source: Source) -> Iterator[str]:
    known = CONNECTORS.get(source.connector or "")
    yield from known.packages(source.options) if known else ()
    yield from _of_folder(source.path)
    yield from FORMATS.get(format_of(source), ()) if source.path else ()


def _of_folder(path: str | None) -> tuple[str, ...]:
    return STORAGE.get((path or "").partition("://")[0], ())


def _artifact(package: str) -> str:
    """Group and name, whatever the version."""
    return ":".join(package.split(":")[:2])
