"""Kafka: what a contract may say of topics, the same in Spark's words, and how messages become rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lakepact.errors import Problem
from lakepact.names import literal, quote
from lakepact.plan.columns import CORRUPT
from lakepact.plugins import hint
from lakepact.secrets import SECRET

Options = Mapping[str, object]

# Spark's names of what may be said; each may also be written as in a contract: starting_offsets.
OPTIONS = (
    "subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets", "startingTimestamp",
    "endingTimestamp", "startingOffsetsByTimestamp", "endingOffsetsByTimestamp", "failOnDataLoss",
    "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions", "groupIdPrefix",
    "includeHeaders",
)  # fmt: skip
OURS = {"servers": "kafka.bootstrap.servers", "topic": "subscribe", "topics": "subscribe"}
TOPICS = ("subscribe", "subscribePattern", "assign")
PAYLOADS = ("json", "text", "avro", "binary")
DEFAULTS = {"includeHeaders": "true", "startingOffsets": "earliest"}
# What each message brings beside its payload.
BESIDE = {
    "_key": "CAST(`key` AS STRING)",
    "_topic": "`topic`",
    "_partition": "`partition`",
    "_offset": "`offset`",
    "_timestamp": "`timestamp`",
    "_headers": "to_json(transform(`headers`, h -> named_struct('key', h.key, 'value', CAST(h.value AS STRING))))",
}
# Spark's client, without the dependencies that Spark has itself or that cannot be had.
PACKAGES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0?transitive=false",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1?transitive=false",
    "org.apache.kafka:kafka-clients:3.9.2?transitive=false",
    "org.apache.commons:commons-pool2:2.13.1?transitive=false",
)
# Of the release before: that of Spark 4.2.0 cannot be had, and this one reads and writes with it.
AVRO = "org.apache.spark:spark-avro_2.13:4.1.1?transitive=false"

_SPARK_NAMES = {name.lower(): name for name in OPTIONS}
_OWN = ("payload", "avro_schema")


def problems(options: Options) -> Iterator[Problem]:
    """Everything that stands against these options, without asking the broker."""
    for check in (_names, _place, _payload, _passwords):
        yield from check(options)


def _names(options: Options) -> Iterator[Problem]:
    for key in options:
        if _spark_name(key) is None and key not in _OWN:
            known = (*OURS, *OPTIONS, *_OWN)
            yield Problem(f"unknown option of kafka{hint(key, known)}", f"source.options.{key}")


def _place(options: Options) -> Iterator[Problem]:
    said = _said(options)
    if not said.get("kafka.bootstrap.servers"):
        yield Problem("needs servers: host:9092", "source.options.servers")
    given = [name for name in TOPICS if said.get(name)]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        yield Problem(f"needs exactly one of topic, subscribe_pattern and assign; found {found}", "source.options")


def _payload(options: Options) -> Iterator[Problem]:
    if payload(options) not in PAYLOADS:
        yield Problem(f"must be one of {', '.join(PAYLOADS)}", "source.options.payload")
    if (payload(options) == "avro") != ("avro_schema" in options):
        yield Problem("payload avro and avro_schema belong together", "source.options.avro_schema")


def _passwords(options: Options) -> Iterator[Problem]:
    for key, value in options.items():
        if re.search(r"(?i)password\s*=", SECRET.sub("", str(value))):
            message = "a password must not stand in a contract; write {{ secret:scope/key }}"
            yield Problem(message, f"source.options.{key}")


def options_for_spark(options: Options) -> dict[str, str]:
    """The options as Spark wants them; secrets stay as they were written."""
    return {**DEFAULTS, **_said(options)}


def packages(options: Options) -> tuple[str, ...]:
    return (*PACKAGES, *((AVRO,) if payload(options) == "avro" else ()))


def payload(options: Options) -> str:
    return str(options.get("payload", "json"))


def decode(options: Options, columns: Iterable[str]) -> str:
    """A SELECT over the messages, `encoded`: their payload as columns, and where each came from."""
    beside = ", ".join(f"{sql} AS {quote(name)}" for name, sql in BESIDE.items())
    inside = tuple(name for name in columns if name not in BESIDE)
    return f"{DECODERS[payload(options)](options, inside)}, {beside}\nFROM `encoded`"


def keeps_corrupt(options: Options) -> bool:
    return payload(options) in ("json", "avro")


def _json(options: Options, columns: tuple[str, ...]) -> str:
    """Every value as text: types are the contract's matter. What is not JSON is kept as it came."""
    del options
    schema = literal(", ".join(f"{quote(name)} STRING" for name in (*columns, CORRUPT)))
    how = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT}')"
    read = f"from_json(CAST(`value` AS STRING), {schema}, {how})"
    return _fields(read, (*columns, CORRUPT))


def _avro(options: Options, columns: tuple[str, ...]) -> str:
    read = f"from_avro(`value`, {literal(str(options['avro_schema']))}, map('mode', 'PERMISSIVE'))"
    corrupt = f"IF({read} IS NULL AND `value` IS NOT NULL, base64(`value`), NULL) AS `{CORRUPT}`"
    return f"{_fields(read, columns)}, {corrupt}"


def _text(options: Options, columns: tuple[str, ...]) -> str:
    del options, columns
    return "SELECT CAST(`value` AS STRING) AS `value`"


def _binary(options: Options, columns: tuple[str, ...]) -> str:
    del options, columns
    return "SELECT `value`"


def _fields(read: str, names: Iterable[str]) -> str:
    return "SELECT " + ", ".join(f"{read}.{quote(name)} AS {quote(name)}" for name in names)


DECODERS = {"json": _json, "avro": _avro, "text": _text, "binary": _binary}


def _spark_name(key: str) -> str | None:
    """Spark's name of an option; what begins with `kafka.` is the client's own matter."""
    if key.startswith("kafka."):
        return key
    return OURS.get(key) or _SPARK_NAMES.get(key.replace("_", "").lower())


def _said(options: Options) -> dict[str, str]:
    named = {_spark_name(key): value for key, value in options.items()}
    return {key: str(v).lower() if isinstance(v, bool) else str(v) for key, v in named.items() if key is not None}
