"""Two days of a marketplace, with the faults such feeds have: `python generate.py 1`, and later `2`.

Day 1 brings 30 listings, 120 changes of orders and 250 events of visitors. Day 2 brings the listings anew, 67 changes
of orders and 160 events, of which some were already delivered.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LANDING = Path(__file__).parent / "landing"
START = datetime(2026, 9, 7, 9, tzinfo=timezone.utc)
CATEGORIES = ("books", "garden", "toys")
KINDS = ("view", "view", "view", "favourite", "basket")


def listing(number: int, day: int) -> Row:
    return {
        "listing_id": f"L-{number:02}",
        "seller": f"seller-{number % 6}",
        "category": CATEGORIES[number % 3],
        "fee_percent": "7.5" if number % 4 else "12",
        "exported_at": at(1440 * day),
    }


def listings(day: int) -> list[Row]:
    """The whole list, each day; on the second some changed hands and two are new."""
    found = [listing(number, day) for number in range(30 if day == 1 else 32)]
    if day == 1:
        found[28]["fee_percent"] = "150"
        found[29]["category"] = ""
        return found
    return [{**row, "seller": "seller-9"} if number in (4, 5) else row for number, row in enumerate(found)]


def change(kind: str, order: int, minute: int, **more: object) -> Row:
    price = f"{random.Random(order).uniform(2, 90):.2f}"
    said = {"listing_id": f"L-{order % 28:02}", "buyer": f"B-{order % 23:02}", "price": price}
    named = {"op_type": kind, "order_id": f"R-{order:04}", **said, "quantity": 1 + order % 3}
    return {**named, "changed_at": at(minute), **more}


def orders(day: int) -> Iterator[Row]:
    """What happened to orders: created (c), updated (u), deleted (d)."""
    nothing = {"listing_id": None, "buyer": None, "price": None, "quantity": None}
    if day == 1:
        yield from (change("c", order, order) for order in range(85))
        yield from (change("u", order, 100 + order, quantity=4) for order in range(0, 60, 2))
        yield from (change("d", order, 300 + order, **nothing) for order in (7, 17))
        yield change("c", 200, 400, price="free")
        yield change("c", 201, 401, quantity=0)
        yield change("c", 202, 402, listing_id="L-28")
        return
    yield from (change("c", order, 1440 + order) for order in range(85, 125))
    yield from (change("u", order, 1600 + order, quantity=5) for order in range(1, 40, 2) if order not in (7, 17))
    yield from (change("d", order, 1700 + order, **nothing) for order in (2, 90, 91))
    yield change("u", 7, 200, quantity=9)  # late: deleted since
    yield change("u", 4, 20, quantity=9)  # late: updated since
    yield change("c", 7, 1800, quantity=2)  # ordered again
    yield change("u", 202, 1801)
    yield change("u", 203, 1802, order_id=None)
    yield change("refund", 10, 1803)


def event(number: int) -> Row:
    chance = random.Random(50_000 + number)
    said = {"listing_id": f"L-{chance.randrange(28):02}", "visitor": f"B-{chance.randrange(40):02}"}
    return {"event_id": f"E-{number:05}", **said, "kind": chance.choice(KINDS), "happened_at": at(number)}


def events(day: int) -> list[Row]:
    """Delivered at least once: some come twice in a file, some again the next day."""
    if day == 1:
        found = [event(number) for number in range(228)]
        return [*found, *found[100:120], {**event(600), "kind": "stare"}, {**event(601), "event_id": None}]
    return [event(number) for number in range(200, 360)]


def at(minute: int) -> str:
    return f"{START + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"


def main(day: int) -> None:
    feeds = {"listings": listings(day), "orders": list(orders(day)), "events": events(day)}
    for feed in feeds:
        (LANDING / feed).mkdir(parents=True, exist_ok=True)
    with (LANDING / "listings" / f"day{day}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(feeds["listings"][0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(feeds["listings"])
    for feed in ("orders", "events"):
        lines = "".join(json.dumps(row) + "\n" for row in feeds[feed])
        (LANDING / feed / f"day{day}.jsonl").write_text(lines, encoding="utf-8")
    print("landing:", ", ".join(f"{len(rows)} {feed}" for feed, rows in feeds.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
