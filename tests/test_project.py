"""A project folder: environments, placeholders, and what `--set` changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakepact import api
from lakepact.contract.overrides import override, parse_overrides
from lakepact.contract.placeholders import fill
from lakepact.errors import ContractError, Problem, ProjectError

CONTRACT = """\
table: "{catalog.silver}.orders"
source: {path: "{path.landing}/orders.csv"}
quality:
  - {regex_match: {column: id, pattern: "^[A-Z]{2,3}$"}}
write: {mode: scd1_upsert, keys: id}
"""
PROJECT = """\
name: shop
default_environment: dev
environments:
  dev:
    catalogs: {silver: silver_dev}
    paths: {landing: landing}
  prod:
    env: production
    env_short: prd
    catalogs: {silver: silver}
    paths: {landing: "s3://bucket/landing"}
    catalog: spark
    spark: {remote: "sc://host"}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, {"lakepact.yaml": PROJECT, "contracts/orders.yaml": CONTRACT})
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def problem_of(folder: Path, environment: str | None = None) -> str:
    with pytest.raises(ContractError) as error:
        api.open_project(folder, environment)
    assert error.value.exit_code == 2
    [problem] = error.value.problems
    return str(problem)


# ------------------------------------------------------------------ environments


def test_the_default_environment_is_taken(folder: Path) -> None:
    assert api.open_project(folder).environment_name == "dev"


def test_the_variable_beats_the_default_and_the_option_beats_both(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEPACT_ENV", "prod")
    assert api.open_project(folder).environment_name == "prod"
    assert api.open_project(folder, "dev").environment_name == "dev"


@pytest.mark.parametrize("name", ["prod", "production", "prd"])
def test_an_environment_answers_to_its_key_and_to_what_it_calls_itself(name: str, folder: Path) -> None:
    assert api.open_project(folder, name).environment_name == "prod"


def test_a_key_beats_what_another_environment_calls_itself(tmp_path: Path) -> None:
    write(tmp_path, {"lakepact.yaml": "environments: {local: {env: dev}, dev: {}}\n"})
    assert api.open_project(tmp_path, "dev").environment_name == "dev"


def test_an_unknown_environment_is_told_with_a_hint(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem_of(folder, "prodd").endswith("unknown environment 'prodd'; did you mean 'prod'?")
    monkeypatch.setenv("LAKEPACT_ENV", "zzz")
    assert problem_of(folder).endswith("unknown environment 'zzz'; known: dev, prod")


def test_a_project_without_environments_is_local(tmp_path: Path) -> None:
    write(tmp_path, {"lakepact.yaml": "name: small\n"})
    assert api.open_project(tmp_path).environment_name == "local"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty"),
        ("- a\n", "expected keys and values here"),
        ("name: x\nenvironment: {}\n", ":2: environment: unknown key; did you mean 'environments'?"),
        ("environments:\n  local:\n    catalogues: {}\n", ":3: environments.local.catalogues: unknown key"),
        ("environments: {local: {catalog: hive}}\n", "'hive' is not one of 'local' or 'spark'"),
        ("environments: {local: {spark: {ambient: 'yes'}}}\n", "must be true or false"),
        ("store: [{writer: json, pth: x}]\n", ":1: store.0.pth: unknown key; did you mean 'path'?"),
    ],
)
def test_a_mistake_in_the_project_file_is_told_like_one_in_a_contract(text: str, expected: str, tmp_path: Path) -> None:
    write(tmp_path, {"lakepact.yaml": text})
    assert expected in problem_of(tmp_path)


def test_a_folder_without_a_project_says_what_to_do(tmp_path: Path) -> None:
    assert "no lakepact.yaml here; run `lakepact init" in problem_of(tmp_path)
    assert problem_of(tmp_path / "nowhere").endswith("no such folder")


def test_a_project_without_contracts_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"lakepact.yaml": "name: x\n"})
    with pytest.raises(ProjectError, match="no such file or folder: contracts"):
        api.validate(api.open_project(tmp_path))
    (tmp_path / "contracts").mkdir()
    with pytest.raises(ProjectError, match="no contracts in contracts"):
        api.validate(api.open_project(tmp_path))


def test_contracts_are_found_in_folders_and_as_files_but_not_if_hidden(tmp_path: Path) -> None:
    names = ["c/a.yaml", "c/deep/b.yml", "c/c.json", "c/_shared.yaml", "c/.x.yaml", "c/notes.md", "one.yaml"]
    write(tmp_path, {"lakepact.yaml": "contracts: [c, one.yaml]\n", **dict.fromkeys(names, "")})
    found = api.contract_files(api.open_project(tmp_path))
    assert [file.relative_to(tmp_path.resolve()).as_posix() for file in found] == [
        "c/a.yaml",
        "c/c.json",
        "c/deep/b.yml",
        "one.yaml",
    ]


# ------------------------------------------------------------------ places


def test_relative_places_start_at_the_project_and_others_stay(folder: Path) -> None:
    project = api.open_project(folder)
    root = folder.resolve()
    assert project.place("data") == str(root / "data")
    for place in ("/data", "s3://b/x", "dbfs:/x", "file:/x", "abfss://c@a.dfs.core.windows.net/x"):
        assert project.place(place) == place


def test_a_local_table_is_a_folder_and_a_catalog_table_is_its_name(folder: Path) -> None:
    root = folder.resolve()
    local, cluster = api.open_project(folder), api.open_project(folder, "prod")
    assert local.table("silver.orders").sql == f"delta.`{root}/warehouse/silver.db/orders`"
    assert local.table("silver.orders", "elsewhere").path == str(root / "elsewhere")
    assert cluster.table("silver.orders").sql == "`silver`.`orders`"


def test_no_two_tables_share_a_folder_and_none_lies_in_another() -> None:
    from lakepact.names import TableName

    names = ["t", "default.t", "s.t", "c.s.t", "bronze.t", "bronze.s.t", "silver.s.t", "t.t.t", "t.t"]
    folders = {name: TableName.parse(name).folder for name in names}
    assert folders["t"] == folders["default.t"]
    different = sorted(set(folders.values()))
    assert len(different) == len(names) - 1
    assert not any(other.startswith(one + "/") for one in different for other in different)


# ------------------------------------------------------------------ placeholders


def test_placeholders_are_what_the_environment_says(folder: Path) -> None:
    [contract] = api.validate(api.open_project(folder)).contracts
    assert contract.table == "silver_dev.orders"
    assert contract.source is not None
    assert contract.source.path == "landing/orders.csv", "a path of the project, wherever the project lies"
    [contract] = api.validate(api.open_project(folder, "prod")).contracts
    assert contract.source is not None
    assert (contract.table, contract.source.path) == ("silver.orders", "s3://bucket/landing/orders.csv")


def test_env_and_env_short_have_values_everywhere(folder: Path) -> None:
    values = api.open_project(folder).values()
    assert (values["env"], values["env_short"]) == ("dev", "d")
    values = api.open_project(folder, "prod").values()
    assert (values["env"], values["env_short"]) == ("production", "prd")


VALUES = {"env": "dev", "env_short": "d", "catalog.silver": "s", "path.landing": "/in"}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{catalog.silver}.orders_{env}", "s.orders_dev"),
        ("{path.landing}/{env_short}/x", "/in/d/x"),
        ("^[A-Z]{2,3}$", "^[A-Z]{2,3}$"),
        ("{2}{,5}{a}{ env }", "{2}{,5}{a}{ env }"),
        ("{{ secret:a/b }}", "{{ secret:a/b }}"),
        ("{{env}}", "{{env}}"),
        ("struct<a:int>", "struct<a:int>"),
        ("", ""),
    ],
)
def test_only_placeholders_are_filled(text: str, filled: str) -> None:
    problems: list[Problem] = []
    assert fill({"a": [text, 5, None]}, VALUES, problems) == {"a": [filled, 5, None]}
    assert problems == []


def test_every_unknown_placeholder_is_listed_with_its_place() -> None:
    problems: list[Problem] = []
    fill({"a": "{catalog.silvr} {path.x}", "b": [{"c": "{catalog.zzz}"}]}, VALUES, problems)
    assert [(problem.field, problem.message.split(";")[0]) for problem in problems] == [
        ("a", "unknown placeholder {catalog.silvr}"),
        ("a", "unknown placeholder {path.x}"),
        ("b.0.c", "unknown placeholder {catalog.zzz}"),
    ]
    assert "did you mean 'catalog.silver'?" in problems[0].message


def test_a_value_is_not_searched_for_placeholders_again() -> None:
    assert fill("{catalog.a}", {"catalog.a": "{env}", "env": "x"}, []) == "{env}"


# ------------------------------------------------------------------ DKOps' config.json

DKOPS: dict[str, Any] = {
    "EXECUTION_ENVIRONMENT": "local",
    "SPARK_APP_NAME": "DKOps-Demo1",
    "SPARK_WAREHOUSE_DIR": "/tmp/dkops_demo1/warehouse",  # noqa: S108 - as printed in the document
    "DATABRICKS_TARGET": "local",
    "DELTA_VERSION": "3.2.0",
    "environments": {
        "local": {
            "env": "local",
            "env_short": "l",
            "catalogs": {"bronze": "bronze", "silver": "silver", "gold": "gold"},
            "paths": {"landing": "/tmp/dkops_demo1/landing", "ops": "/tmp/dkops_demo1/ops"},  # noqa: S108
        }
    },
}


@pytest.mark.parametrize("name", ["config.json", "config/config.json"])
def test_a_dkops_config_is_a_project(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: json.dumps(DKOPS)})
    project = api.open_project(tmp_path)
    assert (project.file.name, project.environment_name) == ("DKOps-Demo1", "local")
    assert project.table("silver.orders").path == "/tmp/dkops_demo1/warehouse/silver.db/orders"  # noqa: S108
    assert project.values() == {
        "env": "local",
        "env_short": "l",
        "catalog.bronze": "bronze",
        "catalog.silver": "silver",
        "catalog.gold": "gold",
        "path.landing": "/tmp/dkops_demo1/landing",  # noqa: S108
        "path.ops": "/tmp/dkops_demo1/ops",  # noqa: S108
    }


def test_a_dkops_config_for_databricks_uses_its_session_and_catalog(tmp_path: Path) -> None:
    block = {"env": "dev", "catalogs": {"bronze": "ct_bronze"}}
    config = {
        "EXECUTION_ENVIRONMENT": "databricks",
        "DATABRICKS_TARGET": "dev",
        "environments": {"dev": block},
    }
    write(tmp_path, {"config.json": json.dumps(config)})
    project = api.open_project(tmp_path)
    assert (project.environment.catalog, project.environment.spark.ambient) == ("spark", True)
    assert project.table("ct_bronze.s.t").sql == "`ct_bronze`.`s`.`t`"


@pytest.mark.parametrize("environments", [[1], {"local": 5}, {"local": None}, "local", {"local": {"catalogs": 5}}])
def test_a_broken_dkops_config_is_a_problem_and_no_crash(environments: Any, tmp_path: Path) -> None:
    write(tmp_path, {"config.json": json.dumps({"environments": environments})})
    assert "config.json" in problem_of(tmp_path)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"EXECUTION_ENVIRONMENT": "locl"}, "EXECUTION_ENVIRONMENT: 'locl' is not supported; did you mean 'local'?"),
        ({"EXECUTION_ENVIRONMENT": "databricks"}, "DATABRICKS_TARGET: is missing"),
        ({"SPARK_WAREHOUSE": "w"}, "SPARK_WAREHOUSE: unknown key; did you mean 'SPARK_WAREHOUSE_DIR'?"),
        ({"DATABRICKS_TOKEN": "dapi"}, "DATABRICKS_TOKEN: Databricks Connect is not supported"),
        ({"DATABRICKS_TARGET": "prd"}, "unknown environment 'prd'; known: local"),
        (
            {"environments": {"local": {"catalog": {}}}},
            "environments.local.catalog: unknown key; did you mean 'catalogs'?",
        ),
    ],
)
def test_what_a_dkops_config_does_not_mean_is_told(said: dict[str, Any], told: str, tmp_path: Path) -> None:
    write(tmp_path, {"config.json": json.dumps({"environments": {"local": {}}, **said})})
    assert told in problem_of(tmp_path)


def test_a_dkops_config_says_where_streams_keep_how_far_they_came(tmp_path: Path) -> None:
    write(tmp_path, {"config.json": json.dumps({"environments": {"local": {"paths": {"checkpoint": "marks"}}}})})
    assert api.open_project(tmp_path).environment.checkpoints == "marks"


def test_lakepact_yaml_beats_a_config_beside_it(folder: Path) -> None:
    write(folder, {"config.json": json.dumps(DKOPS)})
    assert api.open_project(folder).file.name == "shop"


# ------------------------------------------------------------------ --set


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("a=text", {"a": "text"}),
        ("a.b=5", {"a.b": 5}),
        ("a=1.5", {"a": 1.5}),
        ("a=false", {"a": False}),
        ("a='false'", {"a": "false"}),
        ("a=[x, y]", {"a": ["x", "y"]}),
        ("a={b: 1}", {"a": {"b": 1}}),
        ("a=x=y", {"a": "x=y"}),
        ("a=", {"a": None}),
        ("a=2024-01-01", {"a": "2024-01-01"}),
        (" a = b ", {"a": "b"}),
        ("a={path.landing}/x.csv", {"a": "{path.landing}/x.csv"}),
    ],
)
def test_a_setting_has_a_typed_value(setting: str, expected: dict[str, Any]) -> None:
    assert parse_overrides([setting]) == expected


@pytest.mark.parametrize("setting", ["a", "=x", " =x", "a=[x", "a={b", "a=!x 1"])
def test_a_setting_that_cannot_be_read_is_refused(setting: str) -> None:
    with pytest.raises(ContractError, match="--set"):
        parse_overrides([setting])


DOCUMENT = {"table": "a.b", "quality": [{"check": "a > 0"}, {"check": "b > 0"}]}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("table", {**DOCUMENT, "table": 7}),
        ("write.mode", {**DOCUMENT, "write": {"mode": 7}}),
        ("quality.1.action", {**DOCUMENT, "quality": [{"check": "a > 0"}, {"check": "b > 0", "action": 7}]}),
        ("quality.0", {**DOCUMENT, "quality": [7, {"check": "b > 0"}]}),
        ("quality", {**DOCUMENT, "quality": 7}),
    ],
)
def test_an_override_changes_one_place_of_a_copy(path: str, expected: dict[str, Any]) -> None:
    before = json.dumps(DOCUMENT)
    assert override(DOCUMENT, path, 7) == expected
    assert json.dumps(DOCUMENT) == before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("quality.2.action", "no entry '2'; there are 2"),
        ("quality.-1.action", "no entry '-1'"),
        ("quality.²", "no entry"),
        ("quality.last", "no entry 'last'"),
        ("table.name", "'name' cannot be set inside 'a.b'"),
    ],
)
def test_an_override_of_a_place_that_is_not_there_is_refused(path: str, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        override(DOCUMENT, path, 7)


def test_a_setting_reaches_the_contract_and_is_checked_like_it(folder: Path) -> None:
    project = api.open_project(folder)
    options = api.Options(overrides=["write.mode=scd0_append", "write.keys=[]", "table={catalog.silver}.other"])
    [contract] = api.validate(project, options=options).contracts
    assert contract.write is not None
    assert (contract.table, contract.write.mode, contract.write.keys) == (
        "silver_dev.other",
        "scd0_append",
        (),
    )
    [problem] = api.validate(project, options=api.Options(overrides=["write.mod=x"])).problems
    assert problem.field == "write.mod"
