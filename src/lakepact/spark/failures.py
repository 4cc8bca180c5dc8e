"""What Spark threw, as one line a person can use."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from lakepact.errors import EngineError

_FIXES = {
    "PATH_NOT_FOUND": "check source.path and the environment's paths",
    "TABLE_OR_VIEW_NOT_FOUND": "run the contract that writes it first, or correct its name",
    "AMBIGUOUS_REFERENCE": "derive only adds columns: drop or rename the one that is there first",
    "UNRESOLVED_COLUMN": "correct the column's name in the contract",
    "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE": "deduplicate by the keys",
    "DELTA_CONCURRENT": "other writers were faster each time: run it again, or raise write.retry_attempts",
    "No space left on device": "free some space, then run it again: nothing was committed",
    "OutOfMemoryError": "give Spark more memory: environments.<env>.spark.memory",
}


def engine_error(error: Exception) -> EngineError:
    """An EngineError with the part of the message that says what is wrong, and what to do where known."""
    text = _text(error)
    fix = next((fix for word, fix in _FIXES.items() if word in text), "")
    return EngineError(f"{text}; {fix}" if fix else text)


def _innermost(error: Exception) -> str | None:
    """Spark wraps what really happened; the last of the wrapped errors that says something is it."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    said = None
    while java is not None:
        said = java.getMessage() or said
        java = java.getCause()
    return said


def _text(error: Exception) -> str:
    raw = _innermost(error)
    if raw is None and isinstance(error, PySparkException):
        raw = error.getMessage()
    raw = raw or f"{type(error).__name__}: {error}"
    first = re.split(r"\n\s*(?:at |JVM stacktrace|== SQL|'\w)|;\n|SQLSTATE", raw, maxsplit=1)[0]
    return " ".join(first.split())[:1000].rstrip(" .;")
