"""Databases as sources, against a real PostgreSQL: what arrives, what the server is asked, and what goes wrong."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder

from conftest import CASES, MakeProject
from lakepact import api, ingest
from lakepact.contract.project import Project
from lakepact.errors import EngineError
from lakepact.plan.jdbc import DRIVERS
from lakepact.plan.state import Window
from servers import Postgres

pytestmark = pytest.mark.spark

CUSTOMERS = """
DROP TABLE IF EXISTS public.customers;
CREATE TABLE public.customers (
  customer_id bigint, name text, balance numeric(12,2), active boolean, born date,
  seen timestamp, updated_at timestamptz, profile jsonb
);
INSERT INTO public.customers VALUES
  (1, 'Ada',      10.50, true,  '1815-12-10', '2026-03-29 02:30:00.123456', '2026-01-01 00:00+00', '{"vip": true}'),
  (1, 'Ada L.',   11.25, true,  '1815-12-10', '2026-03-29 02:30:00.123456', '2026-01-02 01:00+01', '{"vip": true}'),
  (2, 'Žofie 🐎', -0.01, false, NULL,         NULL,                         '2026-01-01 00:00+00', NULL),
  (3, NULL,       NULL,  NULL,  '0001-01-01', '9999-12-31 23:59:59',        NULL,                  '[1, null, "ü"]'),
  (3, 'Tree',     NULL,  NULL,  NULL,         NULL,                         '2025-11-02 01:30-04', NULL);
"""


@pytest.fixture
def server(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Postgres:
    """The customers as they were, and the secrets that lead to them."""
    postgres.sql(CUSTOMERS)
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_JDBC_URL", postgres.url_with_password)
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_PASSWORD", postgres.password)
    return postgres


@pytest.fixture
def crm(server: Postgres, make_project: MakeProject, tmp_path: Path) -> Project:
    """A project of one contract: the current-state table, just as its page has it."""
    project = make_project([])
    shutil.copy(CASES / "dialects" / "contractforge_current_state.yaml", tmp_path / "contracts")
    return project


def scans(asked: list[str]) -> list[str]:
    """The statements that fetch rows; columns are asked for with a query that finds none, and in the catalog."""
    about_columns = ("WHERE 1=0", "pg_catalog.")
    return [said for said in asked if said.startswith("SELECT") and not any(word in said for word in about_columns)]


def customers(project: Project) -> dict[int, dict[str, Any]]:
    return {row["customer_id"]: row for row in api.rows(project, "main.crm_curated.s_customers")}


# ------------------------------------------------------------------ a current-state table


def test_a_current_state_table_follows_the_database(crm: Project, server: Postgres, spark: Any) -> None:
    with server.asked() as asked:
        (first,) = api.run(crm, spark=spark)
    assert (first.status, first.sources) == ("success", ("jdbc public.customers",))
    assert (first.rows.read, first.rows.deduplicated, first.rows.inserted) == (5, 2, 3)
    assert len(scans(asked)) == 1
    assert [row["name"] for _, row in sorted(customers(crm).items())] == ["Ada L.", "Žofie 🐎", "Tree"]

    server.sql("""
        INSERT INTO public.customers (customer_id, name, updated_at) VALUES (4, 'Dan', '2026-02-01Z');
        INSERT INTO public.customers (customer_id, name, updated_at) VALUES (1, 'Ada of old', '2024-01-01Z');
        UPDATE public.customers SET balance = 99.99, updated_at = '2026-02-02Z' WHERE customer_id = 2;
    """)
    (second,) = api.run(crm, spark=spark)
    assert (second.rows.inserted, second.rows.updated, second.rows.unchanged) == (1, 1, 2)
    found = customers(crm)
    assert (found[1]["name"], found[2]["balance"], found[4]["name"]) == ("Ada L.", Decimal("99.99"), "Dan")

    with server.asked() as asked:
        (third,) = api.run(crm, spark=spark)
    assert (third.rows.unchanged, third.version_after) == (4, third.version_before)
    assert len(scans(asked)) == 1


def test_values_arrive_as_what_they_are(crm: Project, server: Postgres, spark: Any) -> None:
    api.run(crm, spark=spark)
    found = customers(crm)
    assert found[1] == {
        "customer_id": 1,
        "name": "Ada L.",
        "balance": Decimal("11.25"),
        "active": True,
        "born": date(1815, 12, 10),
        "seen": datetime(2026, 3, 29, 2, 30, 0, 123456),  # noqa: DTZ001 - it has no time zone, and gets none
        "updated_at": datetime(2026, 1, 2, tzinfo=timezone.utc),
        "profile": '{"vip": true}',
    }
    assert found[2] | {"updated_at": None} == {
        **dict.fromkeys(found[1]),
        "customer_id": 2,
        "name": "Žofie 🐎",
        "balance": Decimal("-0.01"),
        "active": False,
    }
    assert found[3]["updated_at"] == datetime(2025, 11, 2, 5, 30, tzinfo=timezone.utc)


def test_a_rejected_row_is_kept_as_it_came(server: Postgres, make_project: MakeProject, spark: Any) -> None:
    rule = {"name": "named", "check": "name IS NOT NULL", "rejected_as": "nameless"}
    project = make_project([contract(server, quality=[rule])])
    with server.asked() as asked:
        (record,) = api.run(project, spark=spark)
    assert (record.status, record.rows.inserted, record.rows.quarantined) == ("quarantined", 4, 1)
    assert len(scans(asked)) == 1
    assert '"profile":"[1, null, \\"ü\\"]"' in api.rows(project, "bronze.customers_quarantine")[0]["_row"]


def test_the_same_table_by_one_call(crm: Project, spark: Any) -> None:
    result = ingest(
        source={
            "type": "connector",
            "connector": "jdbc",
            "options": {
                "url": "{{ secret:crm/jdbc_url }}",
                "dbtable": "public.customers",
                "driver": "org.postgresql.Driver",
            },
        },
        target_catalog="main",
        target_schema="crm_curated",
        target_table="s_customers",
        layer="silver",
        mode="scd1_upsert",
        merge_keys=["customer_id"],
        transform={"deduplicate": {"keys": ["customer_id"], "order_by": "updated_at DESC NULLS LAST"}},
        quality_rules={"not_null": ["customer_id"], "unique_key": ["customer_id"]},
        project=crm,
        spark=spark,
    )
    assert (result.status, result.rows_inserted) == ("SUCCESS", 3)
    assert customers(crm)[1]["name"] == "Ada L."


def test_a_new_column_of_the_database_becomes_one_of_the_table(
    server: Postgres, make_project: MakeProject, spark: Any
) -> None:
    server.sql("DROP TABLE IF EXISTS public.events; CREATE TABLE public.events (id int PRIMARY KEY);")
    server.sql("INSERT INTO public.events VALUES (1)")
    write = {"mode": "scd1_upsert", "keys": "id"}
    project = make_project([contract(server, options={"dbtable": "public.events"}, write=write)])
    api.run(project, spark=spark)
    server.sql("ALTER TABLE public.events ADD COLUMN at timestamp DEFAULT '2026-01-01 12:00'")
    (record,) = api.run(project, spark=spark)
    assert record.rows.updated == 1
    assert api.rows(project, "bronze.customers") == [{"id": 1, "at": datetime(2026, 1, 1, 12)}]  # noqa: DTZ001


# ------------------------------------------------------------------ what the server is asked


def contract(server: Postgres, table: str = "bronze.customers", **changes: Any) -> dict[str, Any]:
    """An append of the customers; `options` and `write` are laid over, the rest replaces."""
    options = {"url": server.url, "user": server.user, "password": "{{ secret:crm/password }}"}
    asked = {"dbtable": "public.customers"} if "query" not in changes.get("options", {}) else {}
    source = {"connector": "jdbc", "options": {**options, **asked, **changes.pop("options", {})}}
    source |= changes.pop("source", {})
    return {"table": table, "source": source, "write": {"mode": "scd0_append"}, **changes}


LATEST = [{"deduplicate": {"keys": "customer_id", "order_by": "updated_at DESC NULLS LAST"}}]
NAMES = [{"name": "name"}]
WRITES: dict[str, dict[str, Any]] = {
    "append": {"columns": NAMES},
    "append with types": {"columns": [*NAMES, {"name": "balance", "type": "decimal(12,2)"}]},
    "overwrite": {"columns": NAMES, "write": {"mode": "scd0_overwrite", "skip_unchanged": False}},
    "upsert": {
        "source": {"filter": "updated_at >= '2026-01-02'"},
        "write": {"mode": "scd1_upsert", "keys": "customer_id"},
    },
    "hash diff": {"transform": LATEST, "write": {"mode": "scd1_hash_diff", "keys": "customer_id"}},
    "history": {
        "transform": LATEST,
        "write": {"mode": "scd2_historical", "keys": "customer_id", "effective_from": "updated_at"},
    },
}


@pytest.mark.parametrize("way", WRITES)
def test_the_server_is_read_once_a_run(way: str, server: Postgres, make_project: MakeProject, spark: Any) -> None:
    project = make_project([contract(server, **WRITES[way])])
    for _ in ("first", "again"):
        with server.asked() as asked:
            (record,) = api.run(project, spark=spark)
        assert record.ok
        assert len(scans(asked)) == 1, asked


FIRST_OF_JANUARY = Window(datetime(2026, 1, 1, tzinfo=timezone.utc), datetime(2026, 1, 2, tzinfo=timezone.utc))


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp", "date"])
def test_a_window_is_looked_up_by_the_database(
    kind: str, server: Postgres, make_project: MakeProject, spark: Any
) -> None:
    server.sql(f"""
        DROP TABLE IF EXISTS public.events;
        CREATE TABLE public.events (id int, at {kind});
        INSERT INTO public.events VALUES (1, '2025-12-31'), (2, '2026-01-01'), (3, '2026-01-02'), (4, NULL);
    """)
    source = {"window": {"column": "at"}}
    project = make_project([contract(server, source=source, options={"dbtable": "public.events"})])
    with server.asked() as asked:
        (record,) = api.run(project, window=FIRST_OF_JANUARY, spark=spark)
    (scan,) = scans(asked)
    assert """("at" >= '2026-01-01""" in scan
    assert """("at" < '2026-01-02""" in scan
    assert (record.rows.read, [row["id"] for row in api.rows(project, "bronze.customers")]) == (1, [2])


def test_a_window_of_a_query_is_looked_up_by_the_database(
    server: Postgres, make_project: MakeProject, spark: Any
) -> None:
    query = "SELECT customer_id, upper(name) AS name, updated_at FROM public.customers WHERE name IS NOT NULL;"
    source = {"window": {"column": "updated_at"}}
    project = make_project([contract(server, source=source, options={"query": query})])
    with server.asked() as asked:
        api.run(project, window=FIRST_OF_JANUARY, spark=spark)
    assert """("updated_at" >= '2026-01-01""" in scans(asked)[0]
    assert sorted(row["name"] for row in api.rows(project, "bronze.customers")) == ["ADA", "ŽOFIE 🐎"]


@pytest.mark.parametrize(
    "what", [{}, {"query": "SELECT customer_id, name FROM public.customers"}], ids=["table", "query"]
)
def test_a_table_is_read_in_slices(
    what: dict[str, Any], server: Postgres, make_project: MakeProject, spark: Any
) -> None:
    server.sql("INSERT INTO public.customers (customer_id, name) VALUES (NULL, 'nobody'), (-5, 'low'), (500, 'high')")
    slices = {"partition_column": "customer_id", "lower_bound": 1, "upper_bound": 4, "num_partitions": 3}
    project = make_project([contract(server, options={**what, **slices})])
    with server.asked() as asked:
        (record,) = api.run(project, spark=spark)
    assert record.rows.inserted == 8
    assert sorted(said.partition("WHERE")[2].strip() for said in scans(asked)) == [
        '"customer_id" < 2 or "customer_id" is null',
        '"customer_id" >= 2 AND "customer_id" < 3',
        '"customer_id" >= 3',
    ]


def test_more_rows_than_are_fetched_at_once(server: Postgres, make_project: MakeProject, spark: Any) -> None:
    query = "SELECT n FROM generate_series(1, 1000) AS n"
    project = make_project([contract(server, options={"query": query, "fetchsize": 7})])
    (record,) = api.run(project, spark=spark)
    assert record.rows.inserted == 1000


def test_a_million_rows_in_slices_of_a_window(server: Postgres, make_project: MakeProject, spark: Any) -> None:
    """Four statements side by side, each with its slice and the window; every row of the window lands once."""
    server.sql("""
        DROP TABLE IF EXISTS public.million;
        CREATE UNLOGGED TABLE public.million AS
        SELECT n AS id, n % 1000 AS v, timestamptz '2026-01-01Z' + n * interval '1 minute' AS at
        FROM generate_series(1, 1100000) AS n;
    """)
    slices = {"partition_column": "id", "lower_bound": 1, "upper_bound": 1_000_001, "num_partitions": 4}
    source = {"window": {"column": "at"}}
    project = make_project([contract(server, source=source, options={"dbtable": "public.million", **slices})])
    until = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(minutes=1_000_001)
    with server.asked() as asked:
        (record,) = api.run(project, window=Window(None, until), spark=spark)
    assert (record.rows.read, record.rows.inserted) == (1_000_000, 1_000_000)
    where = sorted(said.partition("WHERE")[2].strip() for said in scans(asked))
    assert len(where) == 4, asked
    assert all(f"""("at" < '{until:%Y-%m-%d %H:%M:%S}""" in said for said in where), where
    bounds = (
        '"id" < 250001 or "id" is null',
        '"id" >= 250001 AND "id" < 500001',
        '"id" >= 500001 AND',
        '"id" >= 750001',
    )
    assert all(any(bound in said for said in where) for bound in bounds), where
    table = QueryBuilder().register("t", DeltaTable(project.table("bronze.customers").path or ""))
    found = table.execute("SELECT count(*), count(DISTINCT id), min(id), max(id), sum(v) FROM t").read_all()
    assert [column.to_pylist()[0] for column in found.columns] == [1_000_000, 1_000_000, 1, 1_000_000, 499_500_000]
    server.sql("DROP TABLE public.million")


# ------------------------------------------------------------------ what goes wrong

FAILURES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no server": ({"url": "jdbc:postgresql://127.0.0.1:1/crm"}, "127.0.0.1:1 refused", "see whether the server is up"),
    "no host": ({"url": "jdbc:postgresql://nowhere.invalid/crm"}, "nowhere.invalid", "correct the host"),
    "wrong password": (
        {"password": "{{ secret:crm/wrong }}"},
        'password authentication failed for user "crm"',
        "correct user and password, or the secrets they come from",
    ),
    "no table": ({"dbtable": "public.custmers"}, '"public.custmers" does not exist', "correct source.options.dbtable"),
    "no such driver": ({"driver": "org.postgres.Driver"}, "org.postgres.Driver", "the package that has it"),
    "a driver this Spark was started without": (
        {"driver": "org.h2.Driver"},
        "ClassNotFoundException: org.h2.Driver",
        f"add to environments.<env>.spark.packages {DRIVERS['org.h2.Driver']}",
    ),
    "a driver of another database": (
        {"url": "jdbc:mysql://127.0.0.1/crm", "driver": "org.postgresql.Driver"},
        "The driver could not open a JDBC connection",
        "correct source.options.driver",
    ),
    "no driver for the url": (
        {"url": "{{ secret:crm/strange_url }}"},
        "No suitable driver",
        "name source.options.driver; known: org.postgresql.Driver",
    ),
    "a url that says the password": (
        {"url": "{{ secret:crm/broken_url }}", "driver": "org.postgresql.Driver"},
        "Unable to parse URL ***",
        "",
    ),
}


@pytest.mark.parametrize("columns", [[], NAMES], ids=["columns of the source", "columns of the contract"])
@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_one_line_that_helps_and_hides(
    case: str,
    columns: list[dict[str, str]],
    server: Postgres,
    make_project: MakeProject,
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    options, what, fix = FAILURES[case]
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_WRONG", "hunter22-wrong")
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_STRANGE_URL", "jdbc:strange://host?password=hunter22-strange")
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_BROKEN_URL", "jdbc:postgresql://host:port/x?password=hunter22-broken")
    project = make_project([contract(server, options=options, columns=columns)])
    with pytest.raises(EngineError) as raised:
        api.run(project, spark=spark)
    message = str(raised.value)
    assert what in message
    assert fix in message
    assert "\n" not in message
    assert raised.value.record.status == "failed"
    kept = message + "".join(file.read_text() for file in (tmp_path / ".lakepact").rglob("*.json"))
    assert raised.value.record.run_id in kept
    assert [secret for secret in ("hunter22", server.password) if secret in kept] == []


def test_a_password_inside_a_secret_url_is_hidden_by_itself(
    server: Postgres, make_project: MakeProject, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server repeats what it was asked for; the url as a whole never stands there."""
    monkeypatch.setenv("LAKEPACT_SECRET_CRM_URL", f"{server.url}?user=crm&password={server.password}")
    options = {"url": "{{ secret:crm/url }}", "dbtable": f'"{server.password}"'}
    document = contract(server, options=options)
    for key in ("user", "password"):
        del document["source"]["options"][key]
    project = make_project([document])
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert 'relation "***" does not exist' in (record.error or "")


def test_a_missing_secret_is_named(server: Postgres, make_project: MakeProject, spark: Any) -> None:
    project = make_project([contract(server, options={"password": "{{ secret:crm/none }}"})])
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert "secret crm/none is not set; export LAKEPACT_SECRET_CRM_NONE" in (record.error or "")


# ------------------------------------------------------------------ the driver


def test_a_run_brings_the_driver_along(server: Postgres, make_project: MakeProject, tmp_path: Path) -> None:
    """A process of its own: nobody told its Spark of a driver, and the contract names only the url."""
    project = make_project([contract(server, columns=NAMES)])
    command = str(Path(sys.executable).with_name("lakepact"))
    done = subprocess.run([command, "run", "--project", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(api.rows(project, "bronze.customers")) == 5
    assert server.password not in done.stdout + done.stderr
