"""Two days of a retailer's stock, with the faults such feeds have: `python generate.py 1`, and later `2`.

Day 1 brings 20 products, 180 movements of goods and 40 counts of shelves. Day 2 brings the products anew with other
prices, 110 movements, of which some were already delivered, and 21 counts, which now tell who counted.
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LANDING = Path(__file__).parent / "landing"
START = datetime(2026, 6, 1, 7, tzinfo=timezone.utc)
STORES = ("north", "south")


def product(number: int, day: int) -> Row:
    raised = day == 2 and number % 5 == 0
    price = 3 + number * 1.25 + (0.5 if raised else 0)
    return {"sku": f"S-{number:02}", "name": f"Article {number}", "price": f"{price:.2f}", "listed_at": at(1440 * day)}


def products(day: int) -> list[Row]:
    """The whole list, each day."""
    found = [product(number, day) for number in range(20)]
    if day == 1:
        found[17]["price"] = "ask"
        found[18]["price"] = "-4.00"
        return found
    return [*found[:19], product(20, day), product(21, day)]


def movement(number: int) -> Row:
    chance = random.Random(number)
    arrives = number % 5 == 0
    quantity = chance.randint(20, 60) if arrives else -chance.randint(1, 12)
    said = {"sku": f"S-{number % 17:02}", "store": STORES[number % 2], "quantity": quantity}
    return {"movement_id": f"V-{number:04}", **said, "moved_at": at(number)}


def movements(day: int) -> list[Row]:
    """Scanners repeat what they are not sure to have sent: in the same file and the next day."""
    if day == 1:
        found = [movement(number) for number in range(170)]
        found[30]["quantity"] = 0
        found[31]["sku"] = "S-77"
        found[32]["movement_id"] = ""
        return [*found, *found[40:50]]
    return [movement(number) for number in range(150, 260)]


def count(number: int, day: int) -> Row:
    counted = random.Random(7_000 + number).randint(0, 400)
    return {
        "count_id": f"N-{day}-{number:02}",
        "sku": f"S-{number // 2:02}",
        "store": STORES[number % 2],
        "counted": counted,
        "counted_at": at(700 + 1440 * (day - 1) + number),
    }


def counts(day: int) -> list[Row]:
    if day == 1:
        found = [count(number, 1) for number in range(34)]
        return [*found, *found[:5], {**count(35, 1), "counted": "many"}]
    late = {**count(3, 1), "count_id": "N-1-late", "counted": 1, "counted_at": at(60)}
    found = [*(count(number, 2) for number in range(16)), *(count(number, 1) for number in range(4)), late]
    return [{**row, "counted_by": ("Ida", "Jon", "Kim")[index % 3]} for index, row in enumerate(found)]


def at(minute: int) -> str:
    return f"{START + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"


def main(day: int) -> None:
    feeds = {"products": products(day), "movements": movements(day), "counts": counts(day)}
    for feed, rows in feeds.items():
        (LANDING / feed).mkdir(parents=True, exist_ok=True)
        with (LANDING / feed / f"day{day}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print("landing:", ", ".join(f"{len(rows)} {feed}" for feed, rows in feeds.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
