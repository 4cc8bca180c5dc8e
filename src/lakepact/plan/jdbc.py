"""JDBC: what a contract may say of a database, the same in Spark's words, and the driver that is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from lakepact.errors import Problem
from lakepact.plugins import hint
from lakepact.secrets import SECRET

Options = Mapping[str, object]
Found = Iterator[Problem]

# Drivers, and what Maven calls the package that has them; each was fetched and looked into.
DRIVERS = {
    "org.postgresql.Driver": "org.postgresql:postgresql:42.7.14",
    "com.mysql.cj.jdbc.Driver": "com.mysql:mysql-connector-j:9.4.0",
    "org.mariadb.jdbc.Driver": "org.mariadb.jdbc:mariadb-java-client:3.5.6",
    "com.microsoft.sqlserver.jdbc.SQLServerDriver": "com.microsoft.sqlserver:mssql-jdbc:13.2.0.jre11",
    "org.sqlite.JDBC": "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.h2.Driver": "com.h2database:h2:2.3.232",
}
URLS = {
    "jdbc:postgresql:": "org.postgresql.Driver",
    "jdbc:mysql:": "com.mysql.cj.jdbc.Driver",
    "jdbc:mariadb:": "org.mariadb.jdbc.Driver",
    "jdbc:sqlserver:": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "jdbc:sqlite:": "org.sqlite.JDBC",
    "jdbc:h2:": "org.h2.Driver",
}
SLICES = ("partitionColumn", "lowerBound", "upperBound", "numPartitions")
NUMBERS = ("fetchsize", "queryTimeout", "numPartitions")
OPTIONS = (
    "url", "dbtable", "query", "driver", "user", "password", "fetchsize", "queryTimeout", *SLICES,
    "customSchema", "preferTimestampNTZ", "pushDownPredicate",
)  # fmt: skip
# Some drivers read the whole table into memory unless told otherwise. A time without a zone stays one: as an
# instant it would depend on the time zone of the machine that reads it.
DEFAULTS = {"fetchsize": "10000", "preferTimestampNTZ": "true"}
USE_A_SECRET = "a password must not stand in a contract; write {{ secret:scope/key }}"  # noqa: S105

_SPARK_NAMES = {name.lower(): name for name in OPTIONS}
_PASSWORD = re.compile(r"(?i)(?:password|passwd|pwd|token|secret)\s*=\s*([^&;)\s][^&\s]*)")
_BEFORE_HOST = re.compile(r"//[^/?;:]*:([^?;]+)@|^jdbc:oracle:\w+:[^/@]+/([^@]+)@")


def problems(options: Options) -> Found:
    """Everything that stands against these options, without asking the database."""
    for check in (_names, _place, _slices, _numbers, _passwords):
        yield from check(options)


def options_for_spark(options: Options) -> dict[str, str]:
    """The options as Spark wants them; secrets stay as they were written."""
    said = {_spark_name(key) or key: _text(value) for key, value in options.items()}
    if "query" in said:
        said["query"] = said["query"].strip().rstrip(";")
    if "query" in said and "partitionColumn" in said:  # Spark takes slices of a table only
        said["dbtable"] = f"({said.pop('query')}) lakepact_query"
    driver = driver_of(options)
    return {**DEFAULTS, **({"driver": driver} if driver else {}), **said}


def packages(options: Options) -> tuple[str, ...]:
    """The package of the driver, where it is one we know.

    >>> packages({"url": "jdbc:postgresql://host/shop"})
    ('org.postgresql:postgresql:42.7.14',)
    """
    driver = driver_of(options)
    return (DRIVERS[driver],) if driver in DRIVERS else ()


def driver_of(options: Options) -> str | None:
    """The driver named, or the one that the url tells; a url that is a secret tells nothing."""
    named, url = _said(options, "driver"), _said(options, "url") or ""
    return named or next((driver for prefix, driver in URLS.items() if url.startswith(prefix)), None)


def passwords_in(url: str) -> list[str]:
    """The passwords that a url holds, in every way they may be read.

    >>> passwords_in("jdbc:postgresql://host/shop?user=ann&password=a%20b")
    ['a%20b', 'a b']
    >>> passwords_in("jdbc:sqlserver://host;user=ann;password=long;encrypt=true")
    ['long;encrypt=true', 'long']
    """
    found = [*_PASSWORD.findall(url), *(part for pair in _BEFORE_HOST.findall(url) for part in pair if part)]
    ends = [text for password in found for text in (password, re.split("[;)]", password)[0])]
    return list(dict.fromkeys(text for password in ends for text in (password, unquote(password))))


def _names(options: Options) -> Found:
    seen: set[str] = set()
    for key in options:
        name = _spark_name(key)
        if name is None:
            near = hint(key, OPTIONS)
            rest = "" if "did you mean" in near else "; a driver's own settings stand in the url"
            yield Problem(f"unknown option of jdbc{near}{rest}", f"source.options.{key}")
        elif name in seen:
            yield Problem(f"{name} is given twice", f"source.options.{key}")
        seen.add(name or key)


def _place(options: Options) -> Found:
    url = _said(options, "url")
    if not url:
        yield Problem("needs a url: {{ secret:scope/key }}, or jdbc:postgresql://host/database", "source.options.url")
    elif not url.startswith(("jdbc:", "{{")):
        yield Problem("begins with jdbc:, for example jdbc:postgresql://host/database", "source.options.url")
    given = [name for name in ("dbtable", "query") if _said(options, name)]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        yield Problem(f"needs exactly one of dbtable and query; found {found}", "source.options")


def _slices(options: Options) -> Found:
    given = [name for name in SLICES if _said(options, name) is not None]
    missing = [name for name in SLICES if name not in given]
    if given and missing:
        message = f"{', '.join(SLICES)} belong together; missing: {', '.join(missing)}"
        yield Problem(message, f"source.options.{_written(options, given[0])}")
    lower, upper = (_said(options, name) or "" for name in ("lowerBound", "upperBound"))
    if _is_whole(lower) and _is_whole(upper) and int(lower) >= int(upper):
        yield Problem("must be more than the lower bound", f"source.options.{_written(options, 'upperBound')}")


def _numbers(options: Options) -> Found:
    for name in NUMBERS:
        text = _said(options, name)
        least = int(name == "numPartitions")
        if text is not None and not (_is_whole(text) and int(text) >= least):
            message = f"must be a whole number, {least} or more"
            yield Problem(message, f"source.options.{_written(options, name)}")


def _passwords(options: Options) -> Found:
    """Secrets are taken out first: whatever is left where a password should be was written down."""
    password, url = _said(options, "password"), _said(options, "url") or ""
    if password is not None and SECRET.sub("", password).strip():
        yield Problem(USE_A_SECRET, f"source.options.{_written(options, 'password')}")
    if passwords_in(SECRET.sub("", url)):
        yield Problem(USE_A_SECRET, f"source.options.{_written(options, 'url')}")


def _spark_name(key: str) -> str | None:
    """Spark's name of an option, whether it was written partitionColumn or partition_column."""
    return _SPARK_NAMES.get(key.replace("_", "").lower())


def _written(options: Options, name: str) -> str:
    """How the contract wrote the option that Spark calls so."""
    return next((key for key in options if _spark_name(key) == name), name)


def _said(options: Options, name: str) -> str | None:
    value = options.get(_written(options, name))
    return None if value is None else _text(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"-?\d+", text) is not None
