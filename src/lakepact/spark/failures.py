"""What Spark threw, as one line a person can use."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lakepact.errors import EngineError

_FIXES = {
    "PATH_NOT_FOUND": "check source.path and the environment's paths",
    "TABLE_OR_VIEW_NOT_FOUND": "run the contract that writes it first, or correct its name",
    "AMBIGUOUS_REFERENCE": "derive only adds columns: drop or rename the one that is there first",
    "UNRESOLVED_COLUMN": "correct the column's name in the contract",
    "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE": "deduplicate by the keys",
    "OutOfMemoryError": "give Spark more memory: environments.<env>.spark.memory",
}


def engine_error(error: Exception) -> EngineError:
    """An EngineError with the part of the message that says what is wrong, and what to do where known."""
    text = _text(_innermost(error))
    fix = next((fix for word, fix in _FIXES.items() if word in text), "")
    return EngineError(f"{text}; {fix}" if fix else text)


def _innermost(error: Exception) -> Exception:
    """Spark wraps what really happened; the last wrapped error that speaks of itself is it."""
    found, cause = error, getattr(error, "_cause", None)
    while cause is not None:
        found, cause = (cause if str(cause).strip() else found), getattr(cause, "_cause", None)
    return found


def _text(error: Exception) -> str:
    if isinstance(error, Py4JJavaError):
        raw = str(error.java_exception)
    elif isinstance(error, PySparkException):
        raw = error.getMessage() or str(error)
    else:
        raw = f"{type(error).__name__}: {error}"
    first = re.split(r"\n\s*(?:at |JVM stacktrace|== SQL|'\w)|;\n|SQLSTATE", raw, maxsplit=1)[0]
    return " ".join(first.split())[:1000].rstrip(" .;")
