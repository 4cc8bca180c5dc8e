"""Where a source is read on from: the highest value that the table holds, less a lookback for rows that come late."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal

from lakepact.errors import PlanError, Problem

Mark = datetime | date | int | Decimal
KINDS = re.compile(r"date|timestamp|tinyint|smallint|int|bigint|decimal\(.*\)")

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LENGTH = re.compile(r"(\d+)\s*([smhdw])")


def read_on_from(highest: object, lookback: str | int | None) -> Mark | None:
    """The mark, or None where the table has no value yet.

    >>> read_on_from(datetime(2026, 1, 9), "2d"), read_on_from(date(2026, 1, 9), "2d"), read_on_from(40, 5)
    (datetime.datetime(2026, 1, 7, 0, 0), datetime.date(2026, 1, 7), 35)
    """
    if highest is None:
        return None
    if not isinstance(highest, Mark):
        raise _wrong(f"a watermark is a number, a date or a time, not {highest!r}")
    if lookback is None:
        return highest
    if isinstance(highest, date):
        return highest - length(lookback)
    if isinstance(lookback, int):
        return highest - lookback
    raise _wrong(f"{lookback!r} back from the number {highest}: write a number")


def length(text: str | int) -> timedelta:
    """
    >>> length("6h"), length("2 d")
    (datetime.timedelta(seconds=21600), datetime.timedelta(days=2))
    """
    found = _LENGTH.fullmatch(str(text).strip())
    if not found:
        raise _wrong(f"{text!r} is not a length of time; write 30m, 6h or 2d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _wrong(message: str) -> PlanError:
    return PlanError([Problem(message, "source.watermark.lookback")])
