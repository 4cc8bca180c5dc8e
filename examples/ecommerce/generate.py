"""Two days of a shop as JSON, with the faults such feeds have: `python generate.py 1`, and later `2`.

Day 1 brings 40 customers, 130 events of orders and 200 clicks. Day 2 brings news of some customers, 75 events of
orders, which now tell a coupon, and 150 clicks, of which some were already delivered.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LANDING = Path(__file__).parent / "landing"
START = datetime(2026, 5, 4, 8, tzinfo=timezone.utc)
NAMES = ("Ada", "Blas", "Cleo", "Dara", "Enzo", "Fay", "Gil", "Hana")
COUNTRIES = ("DE", "NL", "AT", "BE")
PAGES = ("home", "search", "product", "basket", "checkout")


def customer(number: int) -> Row:
    name = NAMES[number % 8]
    return {
        "customer_id": f"C-{number:03}",
        "name": f"{name} {number}",
        "email": f"{name.lower()}.{number}@example.com",
        "country": COUNTRIES[number % 4],
        "updated_at": at(number),
    }


def customers(day: int) -> Iterator[Row]:
    if day == 1:
        yield from (customer(number) for number in range(37))
        yield {**customer(37), "email": "not an address"}
        yield {**customer(38), "country": "Atlantis"}
        yield {**customer(39), "customer_id": None}
        return
    yield from ({**customer(number), "country": "FR", "updated_at": at(1500)} for number in (3, 8))
    yield {**customer(37), "updated_at": at(1501)}
    yield {**customer(5), "name": "old news", "updated_at": at(0)}
    yield from (customer(number) for number in range(40, 46))


def event(kind: str, order: int, minute: int, **more: object) -> Row:
    amount = f"{random.Random(order).uniform(5, 250):.2f}"
    said = {"customer_id": f"C-{order * 7 % 37:03}", "amount": amount, "status": "placed"}
    return {"op_type": kind, "order_id": f"O-{order:04}", **said, "changed_at": at(minute), **more}


def orders(day: int) -> Iterator[Row]:
    """What happened to orders: inserts, updates and deletes; the first also says which coupon was used, from day 2."""
    if day == 1:
        yield from (event("I", order, order) for order in range(90))
        yield from (event("U", order, 100 + order, status="paid") for order in range(0, 70, 2))
        yield event("D", 12, 300, amount=None, status=None)
        yield event("D", 13, 301, amount=None, status=None)
        yield event("I", 900, 302, amount="0.00")
        yield event("I", 901, 303, amount="12,50")
        yield event("I", 902, 304, customer_id="C-999")
        return
    coupons = (None, "SPRING", "WELCOME")
    for order in range(90, 130):
        yield event("I", order, 1440 + order, coupon=coupons[order % 3])
    yield from (event("U", order, 1600 + order, status="shipped", coupon=None) for order in range(0, 60, 2))
    yield event("U", 13, 250, status="paid", coupon=None)  # late: deleted since
    yield event("U", 4, 50, status="placed", amount="1.00", coupon=None)  # late: paid since
    yield event("D", 91, 1900, amount=None, status=None, coupon=None)
    yield event("merge", 92, 1901, coupon=None)
    yield event("U", 901, 1902, amount="12.50", coupon=None)


def click(number: int) -> Row:
    chance = random.Random(10_000 + number)
    page = PAGES[min(4, int(chance.expovariate(0.7)))]
    said = {"customer_id": f"C-{number * 5 % 37:03}", "page": page, "clicked_at": at(number)}
    return {"click_id": f"K-{number:05}", **said}


def clicks(day: int) -> list[Row]:
    """Delivered at least once: some come twice in a file, some again the next day."""
    if day == 1:
        found = [click(number) for number in range(180)]
        bad = [{**click(500), "page": None}, {**click(501), "clicked_at": "yesterday"}]
        return [*found, *found[20:38], *bad]
    return [*(click(number) for number in range(150, 299)), click(200)]


def at(minute: int) -> str:
    return f"{START + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"


def main(day: int) -> None:
    feeds = {"customers": list(customers(day)), "orders": list(orders(day)), "clicks": clicks(day)}
    for feed, rows in feeds.items():
        (LANDING / feed).mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (LANDING / feed / f"day{day}.jsonl").write_text(lines, encoding="utf-8")
    print("landing:", ", ".join(f"{len(rows)} {feed}" for feed, rows in feeds.items()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
