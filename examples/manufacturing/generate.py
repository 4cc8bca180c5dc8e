"""Two days of a factory as CSV, with the faults such feeds have: `python generate.py 1`, and later `2`.

Day 1 brings 12 machines, 70 events of work orders and 160 measurements. Day 2 brings the machines anew, 44 more
events (some late, some deletes), 60 more measurements and corrections of 20 earlier ones.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LANDING = Path(__file__).parent / "landing"
START = datetime(2026, 4, 6, 6, tzinfo=timezone.utc)


def machines(day: int) -> list[Row]:
    """The whole list, each day; on the second a machine stands still and another is new."""
    found = [
        {
            "machine_id": f"M-{number:02}",
            "name": f" press   {number} " if number % 3 else f"Lathe {number}",
            "location": f"Hall {1 + number // 6}/Line {1 + number % 4}",
            "state": "STOPPED" if day == 2 and number == 7 else "running",
            "exported_at": f"2026-04-0{5 + day}T04:00:00Z",
        }
        for number in range(12 + (day == 2))
    ]
    return [*found, {**found[2], "machine_id": "M-99", "state": "melted"}] if day == 1 else found


def event(kind: str, order: int, minute: int, **more: object) -> Row:
    quantity = 50 + order * 7 % 200
    said = {"machine_id": f"M-{order % 12:02}", "product": f"P-{order % 5}", "quantity": quantity}
    return {"op_type": kind, "order_id": f"W-{order:03}", **said, "changed_at": at(minute), **more}


def work_orders(day: int) -> Iterator[Row]:
    """What happened to work orders: inserts, updates and deletes."""
    if day == 1:
        yield from (event("I", order, order) for order in range(48))
        yield from (event("U", order, 100 + order, quantity=500 + order) for order in range(0, 30, 2))
        yield from (event("D", order, 200 + order, product="", quantity="") for order in (3, 9, 15, 21))
        yield event("X", 5, 300)
        yield event("I", 60, 301, quantity=-5)
        yield event("I", 61, 302, quantity="a lot")
        return
    yield from (event("I", order, 1440 + order) for order in range(48, 72))
    yield from (event("U", order, 1500 + order, quantity=700 + order) for order in range(1, 20, 2) if order != 9)
    yield from (event("D", order, 1600 + order, product="", quantity="") for order in (0, 2, 50))
    yield from (event("U", order, 50 + order, quantity=1) for order in (4, 6, 8, 10))  # late: newer ones are known
    yield event("U", 9, 150, quantity=2)  # late: the order has been deleted since
    yield event("D", 90, 1700, product="", quantity="")  # of an order that nobody has seen
    yield event("D", 44, 10, product="", quantity="")  # late, and older than the insert
    yield event("I", 91, 1701, machine_id="M-77")


def measurement(number: int, drift: float = 0) -> Row:
    chance = random.Random(number)
    return {
        "measurement_id": f"Q-{number:04}",
        "machine_id": f"m-{number % 12:02}",
        "measured_at": at(3 * number),
        "length_mm": f"{chance.gauss(120, 0.3) + drift:.3f}",
        "temperature_f": f"{chance.uniform(95, 160):.1f}",
        "recorded_at": at(3 * number + (2880 if drift else 0)),
    }


def measurements(day: int) -> list[Row]:
    if day == 1:
        found = [measurement(number) for number in range(160)]
        found[13]["length_mm"] = "-1.000"
        found[14]["temperature_f"] = "hot"
        found[15]["machine_id"] = "m-55"
        found[16]["measured_at"] = ""
        return found
    corrected = [measurement(number, drift=0.05) for number in range(14, 154, 7)]
    return [*(measurement(number) for number in range(480, 540)), *corrected]


def at(minute: int) -> str:
    return f"{START + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"


def main(day: int) -> None:
    feeds = {"machines": machines(day), "work_orders": list(work_orders(day)), "measurements": measurements(day)}
    for feed, rows in feeds.items():
        (LANDING / feed).mkdir(parents=True, exist_ok=True)
        with (LANDING / feed / f"day{day}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=";", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print("landing:", ", ".join(f"{len(rows)} {feed}" for feed, rows in feeds.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
