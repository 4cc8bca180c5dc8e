"""The examples do what their READMEs say: each is played as written, and compared with plain Python over its files."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from conftest import EXAMPLES
from lakepact import api
from lakepact.cli.main import app
from lakepact.delta.tables import LogTables
from lakepact.masks import mask_value

pytestmark = pytest.mark.spark

Row = dict[str, Any]
Reasons = list[str]
MADE = ("warehouse", "landing", "checkpoints", ".lakepact", "__pycache__")


class Screen(io.StringIO):
    """What each thread prints, for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[int, list[str]] = defaultdict(list)

    def write(self, text: str) -> int:
        self.of[threading.get_ident()].append(text)
        return len(text)

    def take(self) -> str:
        return "".join(self.of.pop(threading.get_ident(), []))


class Example:
    """A fresh copy of an example, and its README as a list of commands for each day."""

    def __init__(self, name: str, folder: Path, screen: Screen) -> None:
        shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns(*MADE))
        self.folder, self.screen = folder / name, screen
        self.project = api.open_project(self.folder)
        readme = (self.folder / "README.md").read_text(encoding="utf-8")
        found = re.findall(r"^## Day (\d)$.*?^```console\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
        self.days = {int(day): text.splitlines() for day, text in found}
        self.printed: dict[str, str] = {}

    def live(self, day: int) -> None:
        """Every command of that day succeeds; only runs change tables."""
        for command in self.days[day]:
            before = self.versions()
            self.printed[command] = self.type(command)
            assert self.versions() == before or is_run(command), command

    def type(self, command: str) -> str:
        """In the example's folder; other examples are played at the same time, so it is named to `lakepact`."""
        word, *rest = shlex.split(command)
        if word == "lakepact":
            code = app([*rest, "--project", str(self.folder)], prog_name="lakepact", standalone_mode=False)
            printed = self.screen.take()
            assert not code, f"{command}\n{printed}"
            return printed
        if rest == ["changes.py"]:
            return self.script(rest[0])
        words = [sys.executable if word == "python" else word, *rest]
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def script(self, name: str) -> str:
        """In this process, so that no second JVM starts; nobody else asks where they are."""
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            runpy.run_path(name)
        finally:
            os.chdir(here)
        return self.screen.take()

    def versions(self) -> dict[str, int]:
        """How many commits every table has: those of contracts, quarantines, and loaded files."""
        logs = (self.folder / "warehouse").rglob("_delta_log")
        return {str(log.relative_to(self.folder)): len(list(log.glob("*.json"))) for log in logs}

    def nothing_new(self) -> None:
        """A day on which nothing comes changes no table."""
        before = self.versions()
        for command in dict.fromkeys(filter(is_run, self.days[2])):
            self.type(command)
        assert self.versions() == before

    def rows(self, table: str) -> list[Row]:
        return api.rows(self.project, table)

    def count(self, *tables: str) -> list[int]:
        return [len(self.rows(table)) for table in tables]

    def held(self, table: str) -> Counter[str]:
        """The quarantine by reason."""
        return Counter(",".join(sorted(row["_reasons"])) for row in self.rows(f"{table}_quarantine"))

    def by(self, table: str, key: str, *columns: str) -> dict[Any, tuple[Any, ...]]:
        found = self.rows(table)
        told = {row[key]: tuple(row[column] for column in columns) for row in found}
        assert len(told) == len(found), f"{key} stands twice in {table}"
        return told

    def type_of(self, table: str, column: str) -> str | None:
        state = LogTables().state(self.project.table(table))
        assert state is not None
        return state.columns.get(column)

    def landed(self, feed: str, sep: str = ",") -> list[Row]:
        """All rows that came so far, in the order in which they came; what cannot be read is left out."""
        found: list[Row] = []
        for file in sorted((self.folder / "landing" / feed).iterdir()):
            text = file.read_text(encoding="utf-8")
            found += _csv(text, sep) if file.suffix == ".csv" else _json(text)
        return found


def is_run(command: str) -> bool:
    return command.split()[:2] == ["lakepact", "run"]


def _csv(text: str, sep: str) -> list[Row]:
    rows = csv.DictReader(text.splitlines(), delimiter=sep)
    return [{key: value or None for key, value in row.items()} for row in rows]


def _json(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


# ------------------------------------------------------------------ models


class Judge:
    """Rows that break no rule, and of the others each once by its reasons, as a quarantine keeps them."""

    def __init__(self) -> None:
        self.held: Counter[tuple[str, str]] = Counter()

    def good(self, rows: Iterable[Row], rules: Callable[[Row], Reasons]) -> list[Row]:
        judged = [(row, ",".join(sorted(rules(row)))) for row in rows]
        self.held |= Counter((json.dumps(row), reasons) for row, reasons in judged if reasons)
        return [row for row, reasons in judged if not reasons]

    @property
    def reasons(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (_, reasons), times in self.held.items():
            found[reasons] += times
        return found


def broken(**rules: bool) -> Reasons:
    """The labels of the rules that do not hold."""
    return [label for label, holds in rules.items() if not holds]


def latest(rows: Iterable[Row], key: str, by: str) -> dict[str, Row]:
    return {row[key]: row for row in sorted(rows, key=lambda row: str(row[by]))}


class Ledger:
    """The last values of each key and whether it is gone; news that is older than what is known changes nothing."""

    def __init__(self, key: str, delete: str, *values: str) -> None:
        self.key, self.delete, self.values = key, delete, values
        self.known: dict[str, tuple[str, tuple[Any, ...]]] = {}

    def tell(self, rows: Iterable[Row]) -> dict[str, tuple[Any, ...]]:
        """All events so far, of which the last of each key counts."""
        for key, events in grouped(rows, lambda row: row[self.key]).items():
            events.sort(key=lambda row: str(row["changed_at"]))
            last = str(events[-1]["changed_at"])
            if key not in self.known or self.known[key][0] < last:
                alive = [row for row in events if row["op_type"] != self.delete] or [{}]
                gone = events[-1]["op_type"] == self.delete
                self.known[key] = last, (*(alive[-1].get(name) for name in self.values), gone)
        return {key: values for key, (_, values) in self.known.items()}


def is_int(value: object) -> bool:
    return re.fullmatch(r"-?\d+", str(value)) is not None


def is_number(value: object) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", str(value)) is not None


def cents(value: Decimal | float, places: str = "0.01") -> Decimal:
    return Decimal(str(value)).quantize(Decimal(places), ROUND_HALF_UP)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return found


# ------------------------------------------------------------------ 1


def _check_aeronautics(lake: Example, airports: Judge, flights: Judge) -> None:
    """Silver, quarantine and gold are what the files say so far."""
    listed, told = lake.landed("airports"), lake.landed("flights")
    known = latest(
        airports.good(listed, lambda row: broken(missing_code=row["code"] is not None)), "code", "updated_at"
    )

    def rules(row: Row) -> Reasons:
        return broken(
            missing_flight_id=row["flight_id"] is not None,
            unknown_origin=row["origin"] in known,
            unknown_destination=row["destination"] in known,
            same_airport=row["origin"] != row["destination"],
            unaccepted_status=row["status"] in ("boarding", "departed", "landed", "cancelled"),
            malformed_delay_minutes=is_int(row["delay_minutes"]),
            delay_minutes_out_of_range=not is_int(row["delay_minutes"]) or row["delay_minutes"] >= 0,
        )

    state = latest(flights.good(told, rules), "flight_id", "updated_at")
    assert lake.count("bronze.airports", "bronze.flights") == [len(listed), len(told)]
    assert (lake.held("silver.airports"), lake.held("silver.flights")) == (airports.reasons, flights.reasons)
    assert lake.by("silver.airports", "code", "name", "country", "runways") == {
        code: (row["name"].strip(), row["country"], int(row["runways"])) for code, row in known.items()
    }
    assert lake.by("silver.flights", "flight_id", "origin", "status", "delay_minutes", "updated_at") == {
        key: (row["origin"], row["status"], row["delay_minutes"], moment(row["updated_at"]))
        for key, row in state.items()
    }
    left = grouped(state.values(), lambda row: known[row["origin"]]["country"])
    assert lake.by("gold.punctuality", "country", "flights", "cancelled", "on_time", "average_delay") == {
        country: (
            len(rows),
            sum(row["status"] == "cancelled" for row in rows),
            sum(row["delay_minutes"] <= 15 for row in rows),
            cents(sum(row["delay_minutes"] for row in rows) / len(rows)),
        )
        for country, rows in left.items()
    }


def _aeronautics(lake: Example) -> None:
    airports, flights = Judge(), Judge()
    lake.live(1)
    _check_aeronautics(lake, airports, flights)
    assert lake.held("bronze.flights") == {"malformed_record": 1}
    assert len(flights.held) == 5
    assert lake.type_of("silver.flights", "delay_minutes") == "int"
    assert {str(row["_source_file"]).rsplit("/", 1)[-1] for row in lake.rows("bronze.flights")} == {"day1.jsonl"}
    assert {row["_ingested_at"].date() for row in lake.rows("bronze.flights")} == {
        row["_ingested_date"] for row in lake.rows("bronze.flights")
    }
    lake.live(2)
    _check_aeronautics(lake, airports, flights)
    planned = lake.printed["lakepact plan bronze.flights silver.flights --summary"]
    assert re.search(r"change +ALTER TABLE \S+silver.db/flights` ADD COLUMNS \(`passengers` int\)", planned), planned
    assert lake.type_of("silver.flights", "passengers") == "int"
    carried = lake.by("silver.flights", "flight_id", "passengers")
    newest = latest((row for row in lake.landed("flights") if row["flight_id"] in carried), "flight_id", "updated_at")
    assert carried["F-0020"] == (newest["F-0020"]["passengers"],)
    assert carried["F-0000"] == carried["F-0090"] == (None,), "no news, and news that is late"
    lake.nothing_new()


# ------------------------------------------------------------------ 2


def _check_manufacturing(lake: Example, judges: Mapping[str, Judge], ledger: Ledger) -> None:
    listed, told, gauged = (lake.landed(feed, ";") for feed in ("machines", "work_orders", "measurements"))
    kept = judges["machines"].good(
        listed, lambda row: broken(unaccepted_state=row["state"].lower() in ("running", "stopped"))
    )
    machines = latest(kept, "machine_id", "exported_at")

    def order_rules(row: Row) -> Reasons:
        made = row["op_type"] == "D" or not is_int(row["quantity"]) or int(row["quantity"]) > 0
        return broken(
            unknown_operation=row["op_type"] in ("I", "U", "D"),
            unknown_machine_id=row["machine_id"] in machines,
            malformed_quantity=row["quantity"] is None or is_int(row["quantity"]),
            nothing_to_make=made,
        )

    def part_rules(row: Row) -> Reasons:
        return broken(
            missing_measured_at=row["measured_at"] is not None,
            malformed_temperature_f=is_number(row["temperature_f"]),
            no_length=Decimal(row["length_mm"]) > 0,
            unknown_machine_id=row["machine_id"].upper() in machines,
        )

    orders = ledger.tell(judges["work_orders"].good(told, order_rules))
    parts = latest(judges["measurements"].good(gauged, part_rules), "measurement_id", "recorded_at")
    assert lake.count("bronze.machines", "bronze.work_orders", "bronze.measurements") == [
        len(listed), len(told), len(gauged)
    ]  # fmt: skip
    assert {feed: lake.held(f"silver.{feed}") for feed in judges} == {f: judge.reasons for f, judge in judges.items()}
    assert lake.by("silver.machines", "machine_id", "name", "hall", "line", "state") == {
        key: (" ".join(row["name"].lower().split()), *row["location"].split("/"), row["state"].lower())
        for key, row in machines.items()
    }
    assert lake.by("silver.work_orders", "order_id", "machine_id", "product", "quantity", "is_deleted") == {
        key: (machine, product, quantity and int(quantity), gone)
        for key, (machine, product, quantity, gone) in orders.items()
    }
    heat = {key: cents((Decimal(row["temperature_f"]) - 32) * 5 / 9, "0.1") for key, row in parts.items()}
    good = {key: abs(Decimal(row["length_mm"]) - 120) <= Decimal("0.5") for key, row in parts.items()}
    assert lake.by("silver.measurements", "measurement_id", "length_mm", "temperature_c", "in_tolerance") == {
        key: (Decimal(row["length_mm"]), heat[key], good[key]) for key, row in parts.items()
    }
    expected = {}
    for place, some in grouped(machines.values(), lambda row: tuple(row["location"].split("/"))).items():
        ids = {row["machine_id"] for row in some}
        here = [key for key, row in parts.items() if row["machine_id"].upper() in ids]
        ordered = sum(int(quantity) for machine, _, quantity, gone in orders.values() if machine in ids and not gone)
        average = cents(sum(heat[key] for key in here) / len(here)) if here else None
        expected[place] = (len(here), sum(not good[key] for key in here), average, ordered)
    assert {(row["hall"], row["line"]): tuple(row.values())[2:] for row in lake.rows("gold.line_quality")} == expected


def _manufacturing(lake: Example) -> None:
    judges = {feed: Judge() for feed in ("machines", "work_orders", "measurements")}
    ledger = Ledger("order_id", "D", "machine_id", "product", "quantity")
    lake.live(1)
    _check_manufacturing(lake, judges, ledger)
    assert [len(judge.held) for judge in judges.values()] == [1, 3, 4]
    assert "Q-0014" not in lake.by("silver.measurements", "measurement_id")
    warned = next(record for record in api.runs(lake.project) if record.pipeline == "silver.measurements")
    hot = {told.rule: told.failed for told in warned.expectations}["temperature_c_in_range"]
    assert hot == sum(row["temperature_c"] > 65 for row in lake.rows("silver.measurements"))
    assert hot > 0
    lake.live(2)
    _check_manufacturing(lake, judges, ledger)
    assert "Q-0014" in lake.by("silver.measurements", "measurement_id")
    orders = lake.by("silver.work_orders", "order_id", "quantity", "is_deleted")
    assert (orders["W-009"][1], orders["W-044"][1], orders["W-090"]) == (True, False, (None, True))
    lake.nothing_new()


# ------------------------------------------------------------------ 3


def _check_ecommerce(lake: Example, judges: Mapping[str, Judge], ledger: Ledger) -> None:
    asked, told, clicked = (lake.landed(feed) for feed in ("customers", "orders", "clicks"))

    def customer_rules(row: Row) -> Reasons:
        return broken(
            missing_customer_id=row["customer_id"] is not None,
            malformed_email="@" in row["email"],
            country_wrong_length=len(row["country"]) == 2,
        )

    customers = latest(judges["customers"].good(asked, customer_rules), "customer_id", "updated_at")

    def order_rules(row: Row) -> Reasons:
        readable = row["amount"] is None or is_number(row["amount"])
        return broken(
            unknown_operation=row["op_type"] in ("I", "U", "D"),
            malformed_amount=readable,
            non_positive_amount=row["op_type"] == "D" or not readable or Decimal(row["amount"]) > 0,
            unknown_customer_id=row["customer_id"] in customers,
        )

    def click_rules(row: Row) -> Reasons:
        return broken(missing_page=row["page"] is not None, malformed_clicked_at=row["clicked_at"].startswith("2026"))

    orders = ledger.tell(judges["orders"].good(told, order_rules))
    clicks = {row["click_id"]: row for row in judges["clicks"].good(clicked, click_rules)}
    assert lake.count("bronze.customers", "bronze.orders", "bronze.clicks") == [len(asked), len(told), len(clicked)]
    assert {feed: lake.held(f"silver.{feed}") for feed in judges} == {f: judge.reasons for f, judge in judges.items()}
    assert lake.by("silver.customers", "customer_id", "name", "email", "country") == {
        key: (row["name"], mask_value("mask_email", row["email"], ""), row["country"]) for key, row in customers.items()
    }
    assert lake.by("silver.orders", "order_id", "customer_id", "amount", "status", "is_deleted") == {
        key: (who, amount and Decimal(amount), status, gone) for key, (who, amount, status, gone) in orders.items()
    }
    assert lake.by("silver.clicks", "click_id", "customer_id", "page", "clicked_at") == {
        key: (row["customer_id"], row["page"], moment(row["clicked_at"])) for key, row in clicks.items()
    }
    expected: dict[str, list[Any]] = defaultdict(lambda: [0, Decimal(0), 0, 0])
    for who, amount, _, gone in orders.values():
        if not gone:
            expected[customers[who]["country"]][0] += 1
            expected[customers[who]["country"]][1] += Decimal(amount)
    for row in clicks.values():
        expected[customers[row["customer_id"]]["country"]][2] += 1
        expected[customers[row["customer_id"]]["country"]][3] += row["page"] == "checkout"
    assert lake.by("gold.country_sales", "country", "orders", "revenue", "clicks", "checkouts") == {
        country: tuple(values) for country, values in expected.items()
    }


def _ecommerce(lake: Example) -> None:
    judges = {feed: Judge() for feed in ("customers", "orders", "clicks")}
    ledger = Ledger("order_id", "D", "customer_id", "amount", "status")
    lake.live(1)
    _check_ecommerce(lake, judges, ledger)
    assert [len(judge.held) for judge in judges.values()] == [3, 3, 2]
    assert "bronze.clicks: is streamed: run it with --available-now" in lake.printed["lakepact run"]
    shown = [text for command, text in lake.printed.items() if "show silver.customers" in command]
    assert len(shown) == 2
    assert all("***@example.com" in text and "ada.0@" not in text for text in shown)
    assert lake.type_of("bronze.orders", "coupon") is None
    lake.live(2)
    _check_ecommerce(lake, judges, ledger)
    assert lake.type_of("bronze.orders", "coupon") == "string", "taken as it came"
    assert "ADD COLUMNS (`coupon` string)" in lake.printed["lakepact plan silver.orders --summary"]
    coupons = lake.by("silver.orders", "order_id", "coupon", "is_deleted")
    used = {row["order_id"]: row["coupon"] for row in lake.landed("orders") if row.get("coupon")}
    assert len(used) > 20
    assert coupons == {key: (None if gone else used.get(key), gone) for key, (_, gone) in coupons.items()}, (
        "what was deleted before silver knew coupons has none"
    )
    lake.nothing_new()


# ------------------------------------------------------------------ 4


def _check_inventory(lake: Example, judges: Mapping[str, Judge]) -> None:
    listed, scanned, looked = (lake.landed(feed) for feed in ("products", "movements", "counts"))

    def product_rules(row: Row) -> Reasons:
        readable = is_number(row["price"])
        return broken(malformed_price=readable, no_price=not readable or Decimal(row["price"]) > 0)

    fine = judges["products"].good(listed, product_rules)
    products = latest(fine, "sku", "listed_at")
    first = {row["sku"]: row["listed_at"] for row in reversed(fine)}

    def movement_rules(row: Row) -> Reasons:
        return broken(
            missing_movement_id=row["movement_id"] is not None,
            nothing_moved=row["quantity"] != "0",
            unknown_sku=row["sku"] in products,
        )

    movements = {row["movement_id"]: row for row in judges["movements"].good(scanned, movement_rules)}
    counted = judges["counts"].good(looked, lambda row: broken(malformed_counted=is_int(row["counted"])))
    counts = {row["count_id"]: row for row in reversed(counted)}
    assert lake.count("bronze.products", "bronze.movements", "bronze.counts") == [
        len(listed), len(scanned), len(looked)
    ]  # fmt: skip
    assert {feed: lake.held(f"silver.{feed}") for feed in judges} == {f: judge.reasons for f, judge in judges.items()}
    assert lake.by("silver.products", "sku", "price", "listed_at") == {
        sku: (Decimal(row["price"]), moment(first[sku])) for sku, row in products.items()
    }
    assert lake.by("silver.movements", "movement_id", "sku", "store", "quantity") == {
        key: (row["sku"], row["store"], int(row["quantity"])) for key, row in movements.items()
    }
    assert lake.by("silver.counts", "count_id", "sku", "store", "counted") == {
        key: (row["sku"], row["store"], int(row["counted"])) for key, row in counts.items()
    }
    last = {(row["sku"], row["store"]): int(row["counted"]) for row in sorted(counted, key=lambda r: r["counted_at"])}
    expected = {}
    for (sku, store), rows in grouped(movements.values(), lambda row: (row["sku"], row["store"])).items():
        there = sum(int(row["quantity"]) for row in rows)
        expected[sku, store] = (there, last.get((sku, store)), there * Decimal(products[sku]["price"]))
    assert {(row["sku"], row["store"]): tuple(row.values())[2:] for row in lake.rows("gold.stock")} == expected


def _inventory(lake: Example) -> None:
    judges = {feed: Judge() for feed in ("products", "movements", "counts")}
    lake.live(1)
    _check_inventory(lake, judges)
    assert [len(judge.held) for judge in judges.values()] == [2, 3, 1]
    lake.live(2)
    _check_inventory(lake, judges)
    assert "ADD COLUMNS (`counted_by` string)" in lake.printed["lakepact plan bronze.counts silver.counts --summary"]
    who = lake.by("silver.counts", "count_id", "counted_by")
    told = {row["count_id"]: row.get("counted_by") for row in reversed(lake.landed("counts"))}
    assert who == {key: (told[key],) for key in who}
    assert {None, "Ida", "Jon", "Kim"} == {name for (name,) in who.values()}
    _changes(lake)
    lake.nothing_new()


def _changes(lake: Example) -> None:
    """What `changes.py` prints: the prices that rose, and the movements of each store."""
    lines = [line.split() for line in lake.printed["python changes.py"].splitlines()]
    prices = [row["price"] for row in lake.landed("products") if row["sku"] in ("S-00", "S-05", "S-10", "S-15")]
    before, after = prices[:4], prices[4:]
    assert sorted(price for _, *words, price in lines if "update_preimage" in words) == sorted(before)
    assert sorted(price for _, *words, price in lines if "update_postimage" in words) == sorted(after)
    moved = Counter[str]()
    for row in lake.rows("silver.movements"):
        moved[row["store"]] += row["quantity"]
    assert [line[1:] for line in lines if line[0] == "moved"] == [[store, str(moved[store])] for store in sorted(moved)]
    assert len(lines) == 10


# ------------------------------------------------------------------ 5


def _check_marketplace(lake: Example, judges: Mapping[str, Judge], ledger: Ledger) -> None:
    listed, told, seen = (lake.landed(feed) for feed in ("listings", "orders", "events"))
    offered = judges["listings"].good(
        listed,
        lambda row: broken(
            missing_category=row["category"] is not None, fee_percent_out_of_range=Decimal(row["fee_percent"]) <= 30
        ),
    )
    listings = latest(offered, "listing_id", "exported_at")

    def order_rules(row: Row) -> Reasons:
        readable = row["price"] is None or is_number(row["price"])
        return broken(
            missing_order_id=row["order_id"] is not None,
            unknown_operation=row["op_type"] in ("c", "u", "d"),
            malformed_price=readable,
            nothing_bought=row["op_type"] == "d" or row["quantity"] > 0,
            unknown_listing_id=row["listing_id"] is None or row["listing_id"] in listings,
        )

    def event_rules(row: Row) -> Reasons:
        return broken(
            missing_event_id=row["event_id"] is not None,
            unaccepted_kind=row["kind"] in ("view", "favourite", "basket"),
        )

    values, orders = ledger.values, ledger.tell(judges["orders"].good(told, order_rules))
    events = {row["event_id"]: row for row in judges["events"].good(seen, event_rules)}
    assert lake.count("bronze.listings", "bronze.orders", "bronze.events") == [len(listed), len(told), len(seen)]
    assert {feed: lake.held(f"silver.{feed}") for feed in judges} == {f: judge.reasons for f, judge in judges.items()}
    assert lake.by("silver.listings", "listing_id", "seller", "category", "fee_percent") == {
        key: (row["seller"], row["category"], Decimal(row["fee_percent"])) for key, row in listings.items()
    }
    assert lake.by("silver.orders", "order_id", *values, "is_deleted") == {
        key: (listing, buyer, price and Decimal(price), quantity, gone)
        for key, (listing, buyer, price, quantity, gone) in orders.items()
    }
    assert lake.by("silver.events", "event_id", "listing_id", "visitor", "kind") == {
        key: (row["listing_id"], row["visitor"], row["kind"]) for key, row in events.items()
    }
    live = [dict(zip(values, row, strict=False)) for row in orders.values() if not row[-1]]
    _revenue(lake, live, listings)
    _engagement(lake, live, list(events.values()), listings)


def _revenue(lake: Example, live: list[Row], listings: dict[str, Row]) -> None:
    expected: dict[str, list[Any]] = defaultdict(lambda: [0, Decimal(0), Decimal(0)])
    for order in live:
        listing = listings[order["listing_id"]]
        paid = Decimal(order["price"]) * order["quantity"]
        sums = expected[listing["seller"]]
        sums[0] += 1
        sums[1] += paid
        sums[2] += cents(paid * Decimal(listing["fee_percent"]) / 100)
    assert lake.by("gold.revenue", "seller", "orders", "revenue", "fees") == {
        seller: tuple(sums) for seller, sums in expected.items()
    }


def _engagement(lake: Example, live: list[Row], events: list[Row], listings: dict[str, Row]) -> None:
    def category(row: Row) -> str:
        return str(listings[row["listing_id"]]["category"])

    bought, expected = grouped(live, category), {}
    for name, rows in grouped(events, category).items():
        kinds = Counter(row["kind"] for row in rows)
        orders = bought[name]
        expected[name] = (
            kinds["view"], kinds["favourite"], kinds["basket"], len({row["visitor"] for row in rows}),
            len(orders), len({order["buyer"] for order in orders}), cents(100 * len(orders) / kinds["view"]),
        )  # fmt: skip
    columns = ("views", "favourites", "baskets", "visitors", "orders", "buyers", "orders_per_100_views")
    assert lake.by("gold.engagement", "category", *columns) == expected


def _marketplace(lake: Example) -> None:
    judges = {feed: Judge() for feed in ("listings", "orders", "events")}
    ledger = Ledger("order_id", "d", "listing_id", "buyer", "price", "quantity")
    lake.live(1)
    _check_marketplace(lake, judges, ledger)
    assert [len(judge.held) for judge in judges.values()] == [2, 3, 2]
    assert "R-0202" not in lake.by("silver.orders", "order_id")
    lake.live(2)
    _check_marketplace(lake, judges, ledger)
    orders = lake.by("silver.orders", "order_id", "quantity", "is_deleted")
    assert (orders["R-0007"], orders["R-0202"][1]) == ((2, False), False)
    assert "seller-9" in lake.by("gold.revenue", "seller")
    lake.nothing_new()


# ------------------------------------------------------------------ all of them

LIVES: dict[str, Callable[[Example], None]] = {
    "aeronautics": _aeronautics, "manufacturing": _manufacturing, "ecommerce": _ecommerce,
    "inventory": _inventory, "marketplace": _marketplace,
}  # fmt: skip


@pytest.fixture(scope="module")
def lives(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[None]]:
    """Several at a time: a small run waits a lot."""
    folder, screen = tmp_path_factory.mktemp("examples"), Screen()
    with redirect_stdout(screen), redirect_stderr(screen), ThreadPoolExecutor(3) as pool:
        return {name: pool.submit(life, Example(name, folder, screen)) for name, life in LIVES.items()}


@pytest.mark.parametrize("name", LIVES)
def test_an_example_does_what_its_readme_says(lives: dict[str, Future[None]], name: str) -> None:
    lives[name].result()
