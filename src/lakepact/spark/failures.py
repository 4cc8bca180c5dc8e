"""What Spark threw, as one line a person can use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException

from lakepact.errors import EngineError
from lakepact.plan.jdbc import DRIVERS

_ADD = "this Spark was started without it: add to environments.<env>.spark.packages"
_FIXES = {
    "PATH_NOT_FOUND": "check source.path and the environment's paths",
    "UNABLE_TO_INFER_SCHEMA": "no file tells the columns yet: wait for one, or declare the contract's columns",
    "TABLE_OR_VIEW_NOT_FOUND": "run the contract that writes it first, or correct its name",
    "AMBIGUOUS_REFERENCE": "derive only adds columns: drop or rename the one that is there first",
    "UNRESOLVED_COLUMN": "correct the column's name in the contract",
    "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE": "deduplicate by the keys",
    "DELTA_CONCURRENT": "other writers were faster each time: run it again, or raise write.retry_attempts",
    "No space left on device": "free some space, then run it again: nothing was committed",
    "OutOfMemoryError": "give Spark more memory: environments.<env>.spark.memory",
    **{f"ClassNotFoundException: {driver}": f"{_ADD} {package}" for driver, package in DRIVERS.items()},
    "ClassNotFoundException": f"{_ADD} the package that has it",
    "No suitable driver": f"name source.options.driver; known: {', '.join(DRIVERS)}",
    "registered driver": "correct source.options.driver",
    "driver could not open": "driver and url do not fit each other: correct source.options.driver",
    "password authentication failed": "correct user and password, or the secrets they come from",
    "ConnectException": "see whether the server is up, and correct its address in source.options",
    "UnknownHostException": "correct the host in source.options",
    "SocketTimeoutException": "see whether the server can be reached, and correct its address in source.options",
    'relation "': "correct source.options.dbtable",
}
_NETWORK = ("ConnectException", "UnknownHostException", "SocketTimeoutException", "NoRouteToHostException")


def engine_error(error: Exception) -> EngineError:
    """An EngineError with the part of the message that says what is wrong, and what to do where known."""
    text = _text(error)
    fix = next((fix for word, fix in _FIXES.items() if word in text), "")
    return EngineError(f"{text}; {fix}" if fix else text)


def _innermost(error: Exception) -> str | None:
    """Spark wraps what really happened; the last of the wrapped errors that says something is it.

    Where that is the network, the one before it says who was called.
    """
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    said = list(_said(java))
    if len(said) > 1 and said[-1].startswith(_NETWORK):
        return f"{said[-2].rstrip('.')}: {said[-1]}"
    return said[-1] if said else None


def _said(java: Any) -> Iterator[str]:
    """What each of the wrapped errors says; where that is not a sentence, with what kind of error it is."""
    while java is not None:
        kind, message = java.getClass().getSimpleName(), java.getMessage()
        if message:
            yield f"{kind}: {message}" if kind in _NETWORK or " " not in message else message
        java = java.getCause()


def _text(error: Exception) -> str:
    raw = _innermost(error)
    if raw is None and isinstance(error, PySparkException):
        raw = error.getMessage()
    raw = raw or f"{type(error).__name__}: {error}"
    first = re.split(r"\n\s*(?:at |JVM stacktrace|== SQL|'\w)|;\n|SQLSTATE", raw, maxsplit=1)[0]
    return " ".join(first.split())[:1000].rstrip(" .;")
