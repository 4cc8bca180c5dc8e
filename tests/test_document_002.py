"""Document 002: its snippets run with the package's name changed, on one small lakehouse from landing to gold."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from conftest import CASES, MakeProject, cases
from lakepact import api
from lakepact.contract.dialects import to_native
from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.errors import ContractError, LakepactExecutionError, PlanError, ProjectError
from lakepact.evidence.stores import JsonFiles
from lakepact.faces import home
from lakepact.ingestion.engine import IngestionEngine
from lakepact.launcher import Launcher
from lakepact.names import TableRef
from lakepact.plan.migration import make_migration
from lakepact.plan.state import TableState
from lakepact.table_governance import ContractLoader, SafeMigrator, TableReader, TableWriter, load_contract

# ------------------------------------------------------------------ the document's snippets

ENGINE = """
from lakepact.launcher import Launcher
from lakepact.ingestion.engine import IngestionEngine

launcher = Launcher("config/config.json")

engine = IngestionEngine.from_spark(
    spark = launcher.spark,
    env = launcher.env,
    bronze_contracts_dir = "ingestion/batch",
    streaming_contracts_dir = "ingestion/streaming",
    silver_contracts_dir = "ingestion/silver",
    tables_base_dir = ".",
    ops_path = "ops/control",
)
bronze = engine.ingest_bronze()
streamed = engine.run_streaming()
silver = engine.promote_silver()
status = engine.status()
"""
WRITER = """
from lakepact.table_governance import load_contract, TableWriter

contract = load_contract("tables/gold/mi_tabla.json")
writer = TableWriter(contract)
seen = [writer.overwrite(df)]
seen.append(writer.append(df))
seen.append(writer.upsert(df, keys=["id"]))
seen.append(writer.overwrite_partition(df, {"fecha": "2024-01-15"}))
deleted = writer.delete("distancia_km = 0")
"""
READER = """
from lakepact.table_governance import load_contract, TableReader

contract = load_contract("tables/silver/productos_current.json")
reader = TableReader(contract)
whole = reader.read()
active = reader.read(filter="activo = true")
partition = reader.read_partition({"categoria": "ROPA"})
stream = reader.read_stream()
changes = reader.read_cdf(starting_version=5)
"""
MIGRATOR = """
from lakepact.table_governance import load_contract, SafeMigrator

contract = load_contract("tables/silver/vuelos_current.json")
planned = SafeMigrator(contract, dry_run=True).apply()
applied = SafeMigrator(contract, dry_run=False).apply()
"""

# ------------------------------------------------------------------ a lakehouse around them

LAYERS = ("landing", "bronze", "silver", "gold")


def config(root: str) -> dict[str, Any]:
    """The keys of the document's config.json."""
    return {
        "EXECUTION_ENVIRONMENT": "local",
        "SPARK_APP_NAME": "Demo1",
        "SPARK_WAREHOUSE_DIR": f"{root}/warehouse",
        "DATABRICKS_TARGET": "local",
        "DELTA_VERSION": "3.2.0",
        "environments": {
            "local": {
                "env": "local",
                "env_short": "l",
                "catalogs": {"bronze": "bronze", "silver": "silver", "gold": "gold"},
                "paths": {
                    **{layer: f"{root}/{layer}" for layer in LAYERS},
                    "checkpoint": f"{root}/checkpoints",
                    "ops": f"{root}/ops",
                },
            },
            "dev": {"env": "development", "catalogs": {"bronze": "ct_bronze", "silver": "ct_silver"}},
        },
    }


def table(layer: str, name: str, columns: str, **said: Any) -> dict[str, Any]:
    """A table's JSON; columns are written as `id:LONG!`, the mark for one that is needed."""
    pairs = [text.partition(":") for text in columns.split()]
    declared = [{"name": n, "type": kind.rstrip("!"), "nullable": not kind.endswith("!")} for n, _, kind in pairs]
    return {"catalog": f"{{catalog.{layer}}}", "schema": "aeronautica", "name": name, "columns": declared, **said}


FILES: dict[str, dict[str, Any]] = {
    "tables/bronze/alertas_raw.json": table("bronze", "alertas_raw", "alerta_id:LONG! nivel:STRING"),
    "tables/silver/productos_current.json": table(
        "silver", "productos_current", "id:LONG! categoria:STRING activo:BOOLEAN",
        partitions=["categoria"], properties={"change_data_feed": True, "merge_schema": True},
    ),
    "tables/gold/mi_tabla.json": table(
        "gold", "mi_tabla", "id:LONG! fecha:DATE distancia_km:DOUBLE", partitions=["fecha"]
    ),
    "tables/gold/retrasos.json": table("gold", "retrasos", "aerolinea:STRING! vuelos:LONG retraso_total:LONG"),
    "ingestion/streaming/alertas.json": {
        "name": "alertas", "ingest_type": "streaming", "load_type": "streaming", "trigger": "available_now",
        "checkpoint_suffix": "alertas", "source": {"format": "json", "path": "{path.landing}/alertas"},
        "destination_contract": "../../tables/bronze/alertas_raw.json",
        "metadata": {"add_ingested_at": False, "add_ingested_date": False, "add_source_file": False},
    },
}  # fmt: skip


def lakehouse(root: Path) -> None:
    """The JSON examples as they are printed, and what they need around them."""
    shutil.copytree(CASES / "dialects" / "dkops", root, dirs_exist_ok=True)
    for name, document in {**FILES, "config/config.json": config(str(root))}.items():
        put(root / name, document)


def put(file: Path, *documents: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(one) for one in documents), encoding="utf-8")


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "_current", None)
    monkeypatch.delenv("PATH_CONFIG_LAUNCHER", raising=False)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lakehouse(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(snippet: str, **given: Any) -> dict[str, Any]:
    exec(snippet, given)  # noqa: S102 - the snippets above
    return given


def rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
    found = api.rows(home.project_at(None, None), name)
    return sorted((tuple(row[column] for column in columns) for row in found), key=repr)


def version(name: str) -> int:
    located = home.project_at(None, None).table(name)
    return DeltaTable(located.path or "").version()


# ------------------------------------------------------------------ landing → bronze → silver → gold

RAW, CURRENT = "bronze.aeronautica.vuelos_raw", "silver.aeronautica.vuelos_current"
ALERTS, GOLD = "bronze.aeronautica.alertas_raw", "gold.aeronautica.retrasos"
FLIGHTS = ("vuelo_id", "iata_aerolinea", "estado", "retraso_min")


def flight(vuelo: str | None, airline: str, state: str, delay: int, day: int) -> dict[str, Any]:
    at = f"2026-01-{day:02}T00:00:00Z"
    email = f"{(vuelo or 'x').lower()}@example.com"
    return {
        "vuelo_id": vuelo, "iata_aerolinea": airline, "estado": state, "retraso_min": delay, "email": email,
        "updated_at": at,
    }  # fmt: skip


@pytest.mark.spark
def test_flights_go_from_landing_to_gold_and_a_second_run_changes_nothing(root: Path, spark: Any) -> None:
    day_1 = [
        flight("A1", "IB", "en hora", 0, 1),
        flight("A1", "IB", "retrasado", 30, 2),
        flight("B1", "AV", "ok", 5, 1),
    ]
    put(root / "landing/vuelos_diarios/1.json", *day_1)
    put(root / "landing/alertas/1.json", {"alerta_id": 1, "nivel": "alto"}, {"alerta_id": 2, "nivel": "bajo"})
    first = run(ENGINE)
    assert [(r.target, r.status, r.rows_inserted) for r in first["bronze"]] == [(RAW, "SUCCESS", 3)]
    assert [(r.target, r.rows_inserted) for r in first["streamed"]] == [(ALERTS, 2)]
    assert [(r.target, r.rows_read, r.rows_inserted) for r in first["silver"]] == [(CURRENT, 3, 2)]
    assert rows(CURRENT, *FLIGHTS) == [("A1", "IB", "retrasado", 30), ("B1", "AV", "ok", 5)]
    assert rows(ALERTS, "alerta_id", "nivel") == [(1, "alto"), (2, "bajo")]
    assert {Path(file).name for (file,) in rows(RAW, "_source_file")} == {"1.json"}
    assert rows(CURRENT, "email") == [("a***@example.com",), ("b***@example.com",)], "people see what the mask leaves"

    def to_gold() -> Any:
        current = TableReader(load_contract("tables/silver/vuelos_current.json")).read()
        current.createOrReplaceTempView("vuelos")
        totals = spark.sql(
            "SELECT iata_aerolinea AS aerolinea, count(*) AS vuelos, sum(retraso_min) AS retraso_total "
            "FROM vuelos GROUP BY 1"
        )
        return TableWriter(load_contract("tables/gold/retrasos.json")).overwrite(totals)

    assert to_gold().rows_inserted == 2
    assert rows(GOLD, "aerolinea", "vuelos", "retraso_total") == [("AV", 1, 5), ("IB", 1, 30)]

    tables = (RAW, ALERTS, CURRENT, GOLD)
    before = {name: version(name) for name in tables}
    second = run(ENGINE)
    assert [(r.status, r.skip_reason) for r in second["bronze"]] == [
        ("SKIPPED", f"no new files in {root}/landing/vuelos_diarios")
    ]
    assert (second["streamed"], [r.rows_unchanged for r in second["silver"]]) == ([], [2])
    assert to_gold().write_committed is False
    assert {name: version(name) for name in tables} == before

    put(root / "landing/vuelos_diarios/2.json", flight("B1", "AV", "cancelado", 0, 3), flight(None, "AV", "?", 1, 3))
    third = run(ENGINE)
    assert [(r.rows_inserted, r.rows_quarantined) for r in third["bronze"]] == [(1, 1)]
    assert [(r.rows_inserted, r.rows_updated) for r in third["silver"]] == [(0, 1)]
    assert rows(CURRENT, *FLIGHTS) == [("A1", "IB", "retrasado", 30), ("B1", "AV", "cancelado", 0)]
    to_gold()
    assert rows(GOLD, "aerolinea", "vuelos", "retraso_total") == [("AV", 1, 0), ("IB", 1, 30)]

    told = {(one.layer, one.name): one for one in third["status"]}
    assert {key: (one.table, one.exists, one.last_status) for key, one in told.items()} == {
        ("bronze", "vuelos_diarios"): (RAW, True, "quarantined"),
        ("streaming", "alertas"): (ALERTS, True, "success"),
        ("silver", "vuelos_current"): (CURRENT, True, "success"),
    }
    assert told["silver", "vuelos_current"].version == version(CURRENT)
    kept = JsonFiles(str(root / "ops/control")).read()
    assert len(kept) == 3 + 2 + 2, "one for each run and micro-batch, in the folder that was asked for"
    assert (root / "checkpoints" / ALERTS).is_dir()

    migrated = run(MIGRATOR)
    assert (migrated["planned"].is_empty, migrated["applied"].is_empty) == (True, True)
    assert [note.split()[1] for note in migrated["applied"].notes] == [
        "iata_aerolinea", "updated_at", "_created_at", "_updated_at",
    ]  # fmt: skip


@pytest.mark.spark
def test_all_contracts_are_tried_and_a_failure_tells_of_each(root: Path, spark: Any) -> None:
    lost = json.loads((root / "ingestion/silver/vuelos_current.json").read_text(encoding="utf-8"))
    put(root / "tables/bronze/nadie.json", table("bronze", "nadie", "vuelo_id:STRING updated_at:TIMESTAMP"))
    put(root / "tables/silver/a_nadie.json", table("silver", "a_nadie", "vuelo_id:STRING updated_at:TIMESTAMP"))
    source, target = "../../tables/bronze/nadie.json", "../../tables/silver/a_nadie.json"
    put(
        root / "ingestion/silver/a.json",
        {**lost, "name": "a", "source_contract": source, "destination_contract": target},
    )
    put(root / "landing/vuelos_diarios/1.json", flight("A1", "IB", "ok", 0, 1))
    dirs = {"bronze_contracts_dir": "ingestion/batch", "silver_contracts_dir": "ingestion/silver"}
    engine = IngestionEngine.from_launcher(Launcher("config/config.json", spark=spark), **dirs)
    assert [one.exists for one in engine.status()] == [False, False, False]
    engine.ingest_bronze("vuelos_diarios")
    with pytest.raises(LakepactExecutionError, match=r"a_nadie: .*nadie, which does not exist yet") as error:
        engine.promote_silver()
    assert [(r.target, r.status) for r in error.value.results] == [
        ("silver.aeronautica.a_nadie", "FAILED"), (CURRENT, "SUCCESS"),
    ]  # fmt: skip
    assert [one.last_status for one in engine.status()] == ["success", "failed", "success"]
    assert [r.status for r in engine.promote_silver("vuelos_current")] == ["SUCCESS"]


# ------------------------------------------------------------------ writer, reader, migrator


@pytest.mark.spark
def test_the_writers_snippet(root: Path, spark: Any) -> None:
    Launcher("config/config.json")
    df = spark.sql(
        "SELECT * FROM VALUES (1, '2024-01-15', 0.0), (2, '2024-01-15', 120.5) AS t(id, fecha, distancia_km)"
    )
    other = spark.sql("SELECT 9 AS id, DATE '2024-01-16' AS fecha, 1.5 AS distancia_km")
    TableWriter(load_contract("tables/gold/mi_tabla.json")).append(other)
    told = run(WRITER, df=df)
    inserted = [(r.rows_inserted, r.rows_updated, r.rows_unchanged) for r in told["seen"]]
    assert inserted == [(2, 0, 0), (2, 0, 0), (0, 0, 2), (2, 0, 0)]
    assert told["deleted"] == 1
    assert [
        (str(fecha), *rest) for fecha, *rest in rows("gold.aeronautica.mi_tabla", "fecha", "id", "distancia_km")
    ] == [("2024-01-15", 2, 120.5)]


@pytest.mark.spark
def test_the_readers_snippet(root: Path, spark: Any) -> None:
    """The change feed is kept from the first commit on, whoever makes the table."""
    launcher = Launcher("config/config.json")
    contract = load_contract("tables/silver/productos_current.json", env=launcher.env)
    with pytest.raises(ProjectError, match=r"no table 'silver\.aeronautica\.productos_current' here"):
        TableReader(contract).read()
    writer = TableWriter(contract)
    for number in range(1, 7):
        kind, active = ("ROPA" if number % 2 else "HOGAR"), number < 6
        writer.append(spark.sql(f"SELECT {number} AS id, '{kind}' AS categoria, {active} AS activo"))
    found = run(READER)
    ids = {name: sorted(row.id for row in found[name].collect()) for name in ("whole", "active", "partition")}
    assert ids == {"whole": [1, 2, 3, 4, 5, 6], "active": [1, 2, 3, 4, 5], "partition": [1, 3, 5]}
    changes = found["changes"].collect()
    assert {(row.id, row["_change_type"]) for row in changes} == {(5, "insert"), (6, "insert")}
    query = found["stream"].writeStream.format("memory").queryName("productos").trigger(availableNow=True).start()
    query.awaitTermination()
    assert spark.table("productos").count() == 6
    first = found["reader"].read_cdf(starting_version=0).where("id = 1").collect()
    assert [row["_change_type"] for row in first] == ["insert"]


@pytest.mark.spark
def test_a_migration_is_planned_without_spark_made_and_then_empty(
    root: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Launcher("config/config.json", spark=spark).project
    file = root / "tables/silver/productos_current.json"
    contract = load_contract(file)
    planned = SafeMigrator(contract, dry_run=True).apply()
    assert [change.kind for change in planned.operations] == ["create_table"]
    assert "1 change(s), 0 refused\n  create_table    CREATE TABLE" in capsys.readouterr().out
    assert not (root / "warehouse").exists(), "a dry run does nothing"
    SafeMigrator(contract, spark=spark).apply()
    assert SafeMigrator(contract).plan().is_empty
    TableWriter(contract).append(spark.sql("SELECT 1 AS id, 'ROPA' AS categoria, true AS activo"))

    said = json.loads(file.read_text(encoding="utf-8"))
    said["columns"] = [{**column, "nullable": True} for column in said["columns"]]
    said["columns"][0]["comment"] = "l'identifiant"
    said["columns"].append({"name": "precio", "type": "DECIMAL(10,2)", "comment": "it's new"})
    put(file, {**said, "comment": "who's who", "properties": {**said["properties"], "quality": "curated"}})
    changed = load_contract(file)
    applied = SafeMigrator(changed, spark=spark).apply()
    kinds = ["add_columns", "drop_not_null", "column_comment", "set_properties", "table_comment"]
    assert [change.kind for change in applied.operations] == kinds
    assert SafeMigrator(changed).plan().is_empty
    assert str(SafeMigrator(changed).plan()) == "silver.aeronautica.productos_current: is what its contract says"
    record = api.runs(project)[0]
    assert (record.mode, record.status, len(record.schema_changes)) == ("migrate", "success", 5)
    assert (record.version_before, record.version_after) == (1, 6)
    assert rows(changed.name, "id", "precio") == [(1, None)]

    said["columns"][0]["type"] = "STRING"
    said["columns"].append({"name": "marca", "type": "STRING"})
    put(file, said)
    with pytest.raises(PlanError, match="column id is bigint in the table and string in the contract"):
        SafeMigrator(load_contract(file), spark=spark).apply()
    assert version(changed.name) == 6, "nothing is done where something is refused"


@pytest.mark.spark
def test_a_table_of_sparks_catalog_is_migrated_too(make_project: MakeProject, spark: Any) -> None:
    """A native contract, in a catalog that only Spark can ask."""
    project = make_project([], environments={"local": {"catalog": "spark"}})
    document = {
        "table": "migrated.t", "description": "it's", "source": {"connector": "dataframe"},
        "columns": [{"name": "id", "type": "int", "description": "l'id"}], "write": {"mode": "scd0_append"},
    }  # fmt: skip
    made = SafeMigrator(document, project=project, spark=spark).apply()
    assert [change.kind for change in made.operations] == ["create_schema", "create_table"]
    assert SafeMigrator(document, project=project, spark=spark).plan().is_empty
    document["columns"] = [{"name": "id", "type": "int", "description": "the id"}, {"name": "v"}]
    changed = SafeMigrator(document, project=project, spark=spark).apply()
    assert [change.kind for change in changed.operations] == ["add_columns", "column_comment"]
    assert SafeMigrator(document, project=project, spark=spark).plan().is_empty
    spark.sql("DROP SCHEMA migrated CASCADE")


ALONE = {"catalog": "silver", "schema": "s", "name": "vuelos"}
STATE = {"columns": {"vuelo_id": "string"}, "required": ["vuelo_id"]}


@pytest.mark.parametrize("case", cases("document_002"))
def test_each_difference_is_a_change_or_a_reason_against_it(case: dict[str, Any]) -> None:
    columns = case.get("columns", [{"name": "vuelo_id", "type": "STRING", "nullable": False}])
    _, native = to_native({**ALONE, "columns": columns, **case.get("table", {})}, lambda path: None)
    state = case.get("state", {})
    there = None if state is None else table_state({**STATE, **state})
    made = make_migration(Contract.model_validate(native), TableRef("silver.s.vuelos", "/w/t"), there)
    assert "refused" in case or [change.kind for change in made.operations] == case.get("operations", [])
    assert [str(one) for one in made.refused if not any(words in str(one) for words in case.get("refused", []))] == []
    assert len(made.refused) == len(case.get("refused", []))
    assert made.is_empty == ("operations" not in case and "refused" not in case)
    assert case.get("note", "") in "\n".join(made.notes)
    statements = "\n".join(change.sql for change in made.operations)
    assert [words for words in case.get("sql", []) if words not in statements] == []


def table_state(said: dict[str, Any]) -> TableState:
    known = {**said, "required": frozenset(said["required"]), "partition_by": tuple(said.get("partition_by", ()))}
    return TableState(3, **known)


# ------------------------------------------------------------------ the launcher, and what goes wrong


def test_a_launcher_knows_its_environment(root: Path) -> None:
    launcher = Launcher("config/config.json")
    env = launcher.env
    assert (env.env, env.env_short, env.get_catalog("gold"), env.is_databricks) == ("local", "l", "gold", False)
    assert env.get_path("checkpoint") == f"{root}/checkpoints"
    assert (env.has_catalog("oro"), env.has_path("ops")) == (False, True)
    assert launcher.config["SPARK_APP_NAME"] == "Demo1"
    assert "{path.landing} = " in str(env)
    with pytest.raises(ProjectError, match=r"environments\.local\.catalogs: no catalog 'golf'; did you mean 'gold'\?"):
        env.get_catalog("golf")
    with pytest.raises(ProjectError, match="no path 'x'; known: bronze, checkpoint, gold"):
        env.get_path("x")


def test_a_launcher_finds_its_file(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> None:
    assert Launcher().project.root == root, "that of the project around"
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(ProjectError, match=r"no configuration here; .* set PATH_CONFIG_LAUNCHER"):
        Launcher()
    monkeypatch.setenv("PATH_CONFIG_LAUNCHER", str(root / "config" / "config.json"))
    assert Launcher().project.root == root
    with pytest.raises(ProjectError, match=r"no-such\.json: no such file; give the path of a config\.json"):
        Launcher("no-such.json")


def test_the_launcher_made_last_is_the_current_one_unless_another_is_named(root: Path) -> None:
    local = Launcher("config/config.json")
    file = "tables/silver/vuelos_current.json"
    first = load_contract(file)
    assert (first.full_name, first.home) == (CURRENT, local.project)
    Launcher("config/config.json", environment="dev")
    assert load_contract(file).full_name == "ct_silver.aeronautica.vuelos_current"
    assert load_contract(file, env=local.env).full_name == CURRENT
    assert ContractLoader(local.env).load_many([file])[0].column_names == ["vuelo_id", "estado", "retraso_min", "email"]
    assert home.home_of(first, None, None) == local.project, "a contract stays where it was read"
    assert home.home_of(first, None, "dev").environment_name == "dev"
    assert first == home.homed(api.load_contract(file, local.project), local.project)


def test_what_cannot_be_launched_is_told(root: Path) -> None:
    with pytest.raises(ProjectError, match="unknown environment 'qa'; known: dev, local"):
        Launcher("config/config.json", environment="qa")
    Launcher("config/config.json", environment="dev")
    with pytest.raises(ContractError, match=r"mi_tabla\.json.*unknown placeholder \{catalog\.gold\}"):
        load_contract("tables/gold/mi_tabla.json")
    with pytest.raises(ContractError, match=r"nada\.json: no such file"):
        load_contract("tables/gold/nada.json")
    with pytest.raises(ProjectError, match="no such folder"):
        ContractLoader().load_schema("tables/platinum")
    put(root / "config" / "config.json", {**config(str(root)), "DATABRICKS_TARGET": "prod", "SPARK_APPNAME": "x"})
    with pytest.raises(ProjectError, match="SPARK_APPNAME: unknown key; did you mean 'SPARK_APP_NAME'"):
        Launcher("config/config.json")


def engine_of(project: Project, **folders: str) -> IngestionEngine:
    return IngestionEngine.from_spark(None, project, **folders)


def test_what_an_engine_cannot_run_is_told(root: Path) -> None:
    project = Launcher("config/config.json").project
    with pytest.raises(ProjectError, match="bronze_contracts_dir: nada: no such folder"):
        engine_of(project, bronze_contracts_dir="nada")
    engine = engine_of(project, bronze_contracts_dir="ingestion/batch")
    with pytest.raises(ProjectError, match="give it a silver_contracts_dir"):
        engine.promote_silver()
    with pytest.raises(ContractError, match="no contract is called 'vuelos'; did you mean 'vuelos_diarios'"):
        engine.ingest_bronze("vuelos")
    file = root / "ingestion/batch/vuelos_diarios.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    put(file, {**said, "enabled": False})
    assert engine.ingest_bronze() == [], "what is not enabled is left out"
    put(file, {**said, "destination_contract": "../nada.json"})
    with pytest.raises(ContractError, match=r"nada\.json: no such file"):
        engine.ingest_bronze()
    file.unlink()
    both = engine_of(project, bronze_contracts_dir="ingestion/batch", silver_contracts_dir="ingestion/silver")
    with pytest.raises(ProjectError, match="ingestion/batch: no contracts in this folder"):
        both.ingest_bronze()
    assert [one.name for one in both.status()] == ["vuelos_current"]


def test_a_catalog_that_a_table_json_does_not_need_is_not_asked_for(root: Path) -> None:
    """A folder of table contracts loads in one go, each with its placeholders filled."""
    loader = ContractLoader(Launcher("config/config.json").env)
    names = [contract.full_name for contract in loader.load_schema("tables/silver")]
    assert names == ["silver.aeronautica.productos_current", CURRENT]


def test_the_names_of_the_document_need_no_spark_to_be_imported() -> None:
    modules = "lakepact.launcher, lakepact.ingestion.engine, lakepact.table_governance"
    code = f"import sys, {modules}; print(sorted({{'pyspark', 'delta'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
