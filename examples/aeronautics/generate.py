"""Two days of airports and flights, with the faults such feeds have: `python generate.py 1`, and later `2`.

Day 1 brings 24 airports and 180 flights. Day 2 brings the airports anew, 90 more flights, news of 60 earlier ones,
and for every flight the number of passengers.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LANDING = Path(__file__).parent / "landing"
START = datetime(2026, 3, 1, 5, tzinfo=timezone.utc)
COUNTRIES = ("ES", "PT", "FR", "IT")
AIRLINES = ("Alba", "Boreal", "Celeste", "Delfin")
FIELDS = ("code", "name", "country", "runways", "updated_at")


def airport(number: int, day: int) -> Row:
    renamed = " International" if day == 2 and number % 8 == 0 else ""
    return {
        "code": f"A{chr(65 + number // 5)}{chr(65 + number % 5)}",
        "name": f"  Airport {number}{renamed} ",
        "country": COUNTRIES[number % 4],
        "runways": 1 + number % 3,
        "updated_at": f"2026-03-0{day}T00:00:00Z",
    }


def airports(day: int) -> list[Row]:
    """The whole list, each day; on the second there is one more."""
    found = [airport(number, day) for number in range(24 + (day == 2))]
    return [*found, {**found[3], "code": "", "name": "nowhere"}] if day == 1 else found


def flight(number: int) -> Row:
    chance = random.Random(number)
    origin, destination = chance.sample(range(24), 2)
    left = START + timedelta(minutes=9 * number)
    delay = max(0, round(chance.gauss(12, 18)))
    return {
        "flight_id": f"F-{number:04}",
        "airline": AIRLINES[number % 4],
        "origin": airport(origin, 1)["code"],
        "destination": airport(destination, 1)["code"],
        "scheduled_at": stamp(left),
        "status": "cancelled" if number % 37 == 5 else "departed",
        "delay_minutes": delay,
        "updated_at": stamp(left + timedelta(minutes=delay)),
    }


def flights(day: int) -> list[Row]:
    if day == 1:
        found = [flight(number) for number in range(180)]
        found[11]["delay_minutes"] = "n/a"
        found[23]["origin"] = "ZZZ"
        found[42]["destination"] = found[42]["origin"]
        found[77]["flight_id"] = None
        found[101]["status"] = "lost"
        return [*found, news_of(8, minutes=30), news_of(9, minutes=45), {**found[10]}]
    arrived = [{**news_of(number, minutes=120), "status": "landed"} for number in range(20, 80)]
    late = [{**flight(number), "status": "boarding", "updated_at": stamp(START)} for number in (90, 91, 92)]
    mended = {**news_of(11, minutes=200), "delay_minutes": 35}
    found = [*(flight(number) for number in range(180, 270)), *arrived, *late, mended]
    found[4]["delay_minutes"] = -3
    found[5]["destination"] = "ZZZ"
    return [{**row, "passengers": 80 + index % 110} for index, row in enumerate(found)]


def news_of(number: int, minutes: int) -> Row:
    """A later message about a flight."""
    known = flight(number)
    told = datetime.fromisoformat(known["updated_at"].replace("Z", "+00:00")) + timedelta(minutes=minutes)
    return {**known, "delay_minutes": known["delay_minutes"] + 5, "updated_at": stamp(told)}


def stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def main(day: int) -> None:
    for feed in ("airports", "flights"):
        (LANDING / feed).mkdir(parents=True, exist_ok=True)
    with (LANDING / "airports" / f"day{day}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(airports(day))
    lines = [json.dumps(row) for row in flights(day)]
    broken = ['{"flight_id": "F-9999", "airline": "Al'] if day == 1 else []
    (LANDING / "flights" / f"day{day}.jsonl").write_text("\n".join([*lines, *broken]) + "\n", encoding="utf-8")
    print(f"landing: {len(airports(day))} airports, {len(lines) + len(broken)} flights")


if __name__ == "__main__":
    main(int(sys.argv[1]))
