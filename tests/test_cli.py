"""The commands that need no JVM: what they print, where, and the code they end with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from deltalake import QueryBuilder, write_deltalake
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lakepact
from conftest import EXAMPLES
from hostile import FILES, write_all
from lakepact import api
from lakepact.cli.main import app, main
from lakepact.cli.output import to_json

COMMANDS = ["init", "validate", "plan", "run", "optimize", "vacuum", "show", "runs", "schema", "doctor", "demo"]
ORDERS = EXAMPLES / "orders"


@dataclass(frozen=True)
class Called:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Called]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command, in this process."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: object) -> Called:
        monkeypatch.setattr(sys, "argv", ["lakepact", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code
        return Called(code if isinstance(code, int) else int(bool(code)), *capsys.readouterr())

    return run


def in_a_process(*words: object) -> Called:
    """The command as it is installed."""
    command = Path(sys.executable).with_name("lakepact")
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True, check=False)
    return Called(done.returncode, done.stdout, done.stderr)


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# ------------------------------------------------------------------ the package


def test_every_public_name_is_there_and_loaded_on_first_use() -> None:
    assert lakepact.__all__ == [*sorted(set(lakepact.__all__) - {"__version__"}), "__version__"]
    assert set(lakepact.__all__) == set(dir(lakepact))
    assert all(getattr(lakepact, name) is not None for name in lakepact.__all__)
    with pytest.raises(AttributeError, match="nothing_like_this"):
        lakepact.nothing_like_this  # noqa: B018 - to look is the test


def test_every_error_is_public() -> None:
    from lakepact import errors

    family = {name for name, thing in vars(errors).items() if isinstance(thing, type) and issubclass(thing, Exception)}
    assert family <= set(lakepact.__all__)


LOADS = """
import json, sys
import lakepact
heavy = {"pyspark", "pydantic", "sqlglot", "typer", "yaml", "deltalake", "rich"}
by_import = sorted(heavy & sys.modules.keys())
from lakepact.cli.main import main
for words in (["validate"], ["plan", "--offline"], ["plan", "--json"], ["runs"], ["schema"]):
    sys.argv = ["lakepact", *words] + ([] if words == ["schema"] else ["--project", sys.argv[-1]])
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, words
print("\\n" + json.dumps([by_import, sorted({"pyspark", "py4j", "delta"} & sys.modules.keys())]))
"""


def test_importing_is_light_and_looking_loads_no_spark() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS, str(ORDERS)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [[], []]


# ------------------------------------------------------------------ help and usage


def test_the_commands_are_those_that_were_promised() -> None:
    assert [
        command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands
    ] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, call: Call) -> None:
    told = call(command, "--help")
    assert (told.code, told.err) == (0, "")
    assert f"Usage: lakepact {command}" in told.out
    assert command in call("--help").out


def test_the_version_is_that_of_the_package(call: Call) -> None:
    assert call("--version") == Called(0, f"lakepact {lakepact.__version__}\n", "")


@pytest.mark.parametrize("words", [["nothing"], ["validate", "--nothing"], ["show"], ["show", "t", "--limit", "-1"]])
def test_wrong_usage_ends_with_two(words: list[str], call: Call) -> None:
    told = call(*words)
    assert (told.code, told.out) == (2, "")
    assert told.err


# ------------------------------------------------------------------ validate

FIVE_MISTAKES = """\
table: silver.orders
sourc: {}
source: {path: landing/orders.csv}
columns:
  - {name: id}
  - {name: amount, type: strng}
quality:
  - check: amount > 0
    action: explode
write:
  mode: scd1_upser
  allow_empty: "no"
"""


def test_five_mistakes_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    file = write(tmp_path, {"orders.yaml": FIVE_MISTAKES}) / "orders.yaml"
    told = in_a_process("validate", file)
    assert (told.code, told.out) == (2, "")
    assert [line.removeprefix(f"error: {file}:").split(":")[0] for line in told.err.splitlines()] == [
        "2",
        "6",
        "9",
        "11",
        "12",
    ]
    for words in (
        "did you mean 'source'?",
        "did you mean 'string'?",
        "'explode' is not one of",
        "did you mean 'scd1_upsert'?",
    ):
        assert words in told.err


def test_the_five_hostile_files_get_one_line_each(tmp_path: Path) -> None:
    write_all(tmp_path)
    names = ["bomb.yaml", "long_line.yaml", "latin1.yaml", "empty.yaml", "missing.yaml"]
    told = in_a_process("validate", *(tmp_path / name for name in names))
    assert (told.code, told.out) == (2, "")
    assert [line.removeprefix(f"error: {tmp_path}/").split(":")[0] for line in told.err.splitlines()] == names


@pytest.mark.parametrize("name", [*FILES, "missing.yaml", "folder.yaml"])
def test_a_hostile_file_gets_one_line(name: str, tmp_path: Path, call: Call) -> None:
    (tmp_path / "folder.yaml").mkdir()
    if name in FILES:
        (tmp_path / name).write_bytes(FILES[name][0])
    told = call("validate", tmp_path / name)
    assert (told.code, told.out) == (2, "")
    assert len(told.err.splitlines()) == 1
    assert told.err.startswith(f"error: {tmp_path / name}")


def test_contracts_that_hold_end_with_zero(call: Call) -> None:
    assert call("validate", "--project", ORDERS) == Called(0, "", "3 contract(s) hold\n")


def test_json_goes_to_standard_output_and_nothing_else_does(tmp_path: Path, call: Call) -> None:
    told = call("validate", "--project", ORDERS, "--json")
    assert (told.code, told.err) == (0, "")
    assert told.data == {
        "ok": True,
        "contracts": ["bronze.orders", "gold.region_kpis", "silver.orders"],
        "problems": [],
    }
    file = write(tmp_path, {"orders.yaml": FIVE_MISTAKES}) / "orders.yaml"
    told = call("validate", file, "--json")
    assert (told.code, told.err, told.data["ok"], told.data["contracts"]) == (2, "", False, [])
    first = told.data["problems"][0]
    assert first.pop("message").startswith("unknown key")
    assert first == {"file": str(file), "line": 2, "field": "sourc"}


def test_a_file_of_a_project_is_read_in_its_environment(tmp_path: Path, call: Call) -> None:
    contract = 'table: "{catalog.silver}.t"\nsource: {table: b.t}\nwrite: {mode: append}\n'
    native = write(
        tmp_path / "native",
        {"lakepact.yaml": "environments: {local: {catalogs: {silver: s}}}", "t.yaml": contract},
    )
    config = json.dumps({"environments": {"local": {"catalogs": {"silver": "s"}}}})
    dkops = write(tmp_path / "dkops", {"config.json": config, "t.yaml": contract})
    for project in (native, dkops):
        assert call("validate", project / "t.yaml", "--project", project, "--json").data["contracts"] == ["s.t"]


def test_a_setting_and_an_environment_reach_the_contracts(call: Call) -> None:
    told = call("validate", "--project", ORDERS, "--set", "write.mod=x")
    assert (told.code, told.err.count("write.mod: unknown key")) == (2, 3)
    told = call("validate", "--project", ORDERS, "--env", "prod")
    assert told.code == 2
    assert told.err.endswith("unknown environment 'prod'; known: local\n")
    assert call("validate", "--project", ORDERS, "--set", "nonsense").err.startswith("error: --set: 'nonsense'")


def test_a_folder_without_a_project_says_what_to_do(tmp_path: Path, call: Call) -> None:
    for command in ("validate", "plan", "runs", "run"):
        told = call(command, "--project", tmp_path)
        assert (told.code, told.out) == (2, "")
        assert "no lakepact.yaml here; run `lakepact init" in told.err


# ------------------------------------------------------------------ init, plan, run, runs, schema


def test_init_makes_a_project_that_holds_and_never_overwrites(tmp_path: Path, call: Call) -> None:
    project = tmp_path / "shop"
    assert call("init", project).code == 0
    assert call("validate", "--project", project).err == "1 contract(s) hold\n"
    (project / "lakepact.yaml").write_text("name: mine\n", encoding="utf-8")
    told = call("init", project)
    assert told.code == 2
    assert "is already there" in told.err
    assert (project / "lakepact.yaml").read_text(encoding="utf-8") == "name: mine\n"


@pytest.mark.parametrize("name", ["2024", "true", "my: lake", "it's #1", "{x}", "- a"])
def test_init_works_in_a_folder_of_any_name(name: str, tmp_path: Path, call: Call) -> None:
    assert call("init", tmp_path / name, "--json").data["project"] == str(tmp_path / name)
    assert call("validate", "--project", tmp_path / name).code == 0
    assert api.open_project(tmp_path / name).file.name == name


def test_demo_leaves_a_folder_alone_that_holds_something_else(tmp_path: Path, call: Call) -> None:
    write(tmp_path, {"thesis.tex": "x"})
    told = call("demo", tmp_path)
    assert (told.code, told.out) == (2, "")
    assert "holds something else; give an empty folder" in told.err
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_plan_is_printed_in_order_for_people_and_for_machines(call: Call) -> None:
    told = call("plan", "--project", ORDERS, "--offline", "--json")
    assert (told.code, told.err) == (0, "")
    assert [plan["table"] for plan in told.data] == ["bronze.orders", "silver.orders", "gold.region_kpis"]
    silver = told.data[1]
    assert [statement["step"] for statement in silver["statements"]][-1] == "write"
    assert "MERGE INTO" in silver["statements"][-1]["sql"]
    assert {rule["name"]: rule.get("rejected_as") for rule in silver["rules"]}[
        "latest_order_record"
    ] == "stale_duplicate"
    for_people = call("plan", "silver.orders", "--project", ORDERS, "--offline").out
    assert "MERGE INTO" in for_people
    assert "bronze.orders  (" not in for_people
    assert "MERGE INTO" not in call("plan", "silver.orders", "--project", ORDERS, "--summary").out


def test_a_plan_of_an_unknown_table_ends_with_two_and_a_hint(call: Call) -> None:
    told = call("plan", "silver.order", "--project", ORDERS)
    assert told == Called(2, "", "error: no contract for table 'silver.order'; did you mean 'silver.orders'?\n")


@pytest.mark.parametrize("command", ["plan", "run"])
def test_invalid_contracts_are_refused_before_anything_starts(command: str, tmp_path: Path, call: Call) -> None:
    told = call(command, "--project", write(tmp_path, {"lakepact.yaml": "name: x", "contracts/o.yaml": FIVE_MISTAKES}))
    assert (told.code, told.out, len(told.err.splitlines())) == (2, "", 5)


def test_a_project_that_never_ran_has_no_runs(call: Call) -> None:
    assert call("runs", "--project", ORDERS, "--json") == Called(0, "[]\n", "")
    assert call("runs", "--project", ORDERS).code == 0


@pytest.mark.parametrize(("of", "required"), [("contract", ["table"]), ("policy-pack", ["name"]), ("project", [])])
def test_a_schema_names_what_is_needed_and_lets_nothing_else_in(of: str, required: list[str], call: Call) -> None:
    schema = call("schema", of).data
    assert schema.get("required", []) == required
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for name, part in {of: schema, **schema.get("$defs", {})}.items():
        assert part["additionalProperties"] is False, name
    assert set(references(schema)) <= {f"#/$defs/{name}" for name in schema.get("$defs", {})}


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key == "$ref")
        for value in node.values():
            yield from references(value)
    if isinstance(node, list):
        for value in node:
            yield from references(value)


def test_the_contracts_schema_lists_the_words_that_are_allowed(call: Call) -> None:
    schema = call("schema").data
    assert {"scd0_append", "scd1_upsert", "upsert"} <= set(schema["$defs"]["Write"]["properties"]["mode"]["enum"])
    assert {"trim", "quarantine", "silver", "ingested_at"} <= set(words(schema))


def words(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        yield from node.get("enum", ())
        for value in node.values():
            yield from words(value)
    if isinstance(node, list):
        for value in node:
            yield from words(value)


def test_a_schema_of_something_else_is_refused(call: Call) -> None:
    told = call("schema", "contrakt")
    assert told == Called(2, "", "error: no schema for 'contrakt'; did you mean 'contract'?\n")


# ------------------------------------------------------------------ show

PEOPLE = """\
table: bronze.people
source: {path: in/people.csv}
columns:
  - {name: id, nullable: false}
  - {name: email, mask: mask_email}
  - {name: amount, type: "decimal(12,2)"}
transform:
  - rename: {mail: email}
write: {mode: scd1_upsert, keys: id}
"""
ROWS = """
SELECT * FROM (VALUES
  ('b', 'bob@example.com', CAST('0.10' AS DECIMAL(12,2))),
  ('a', 'ada@example.com', CAST('220.00' AS DECIMAL(12,2)))
) AS t(id, email, amount)
"""
REJECTED = """SELECT 'c' AS id, 'eve@example.com' AS email, '{"id": "c", "mail": "eve@example.com"}' AS _row"""


def make_table(folder: Path, sql: str) -> None:
    write_deltalake(folder, QueryBuilder().execute(sql).read_all())


@pytest.fixture
def people(tmp_path: Path) -> Path:
    make_table(tmp_path / "warehouse" / "bronze.db" / "people", ROWS)
    make_table(tmp_path / "warehouse" / "bronze.db" / "people_quarantine", REJECTED)
    return write(tmp_path, {"lakepact.yaml": "name: x\n", "contracts/people.yaml": PEOPLE})


def test_rows_are_shown_in_order_masked_and_digit_for_digit(people: Path, call: Call) -> None:
    told = call("show", "bronze.people", "--json", "--project", people)
    assert (told.code, told.err) == (0, "")
    assert json.loads(told.out, parse_float=Decimal) == [
        {"id": "a", "email": "a***@example.com", "amount": Decimal("220.00")},
        {"id": "b", "email": "b***@example.com", "amount": Decimal("0.10")},
    ]
    assert '"amount": 220.00' in told.out


def test_rows_are_shown_to_people_and_at_most_so_many(people: Path, call: Call) -> None:
    told = call("show", "bronze.people", "--limit", "1", "--project", people).out
    assert "bronze.people (1 rows)" in told
    assert "220.00" in told
    assert "b***" not in told
    assert call("show", "bronze.people", "--limit", "0", "--json", "--project", people).data == []


@pytest.mark.parametrize("name", ["bronze.people", "`bronze`.`people`", "bronze.`people`", " bronze.people "])
def test_a_mask_holds_however_the_table_is_called(name: str, people: Path, call: Call) -> None:
    told = call("show", name, "--json", "--project", people)
    assert "ada@" not in told.out
    assert "a***@" in told.out


@pytest.mark.parametrize("added", ["colour: blue\n", "quality: [{check: amont > 0}]\n", "table: [\n"])
def test_a_mask_holds_while_its_contract_is_broken(added: str, people: Path, call: Call) -> None:
    write(people, {"contracts/people.yaml": PEOPLE + added})
    assert "ada@" not in call("show", "bronze.people", "--json", "--project", people).out


def test_a_mask_holds_in_quarantine_also_for_names_of_the_source(people: Path, call: Call) -> None:
    told = call("show", "bronze.people_quarantine", "--json", "--project", people)
    assert told.code == 0
    assert "eve@" not in told.out


def test_a_missing_table_ends_with_two_and_a_hint(people: Path, call: Call) -> None:
    told = call("show", "bronze.peopel", "--project", people)
    assert told == Called(2, "", "error: no table 'bronze.peopel' here; did you mean 'bronze.people'?\n")


@pytest.mark.parametrize("name", ["../../etc", "a.b.c.d", "", "a b"])
def test_a_name_that_is_none_ends_with_two(name: str, people: Path, call: Call) -> None:
    told = call("show", name, "--project", people)
    assert (told.code, told.out, len(told.err.splitlines())) == (2, "", 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(JSON)
@example("\x01abc\x01")
@example({"\x015\x01": "\x015\x01"})
def test_what_is_printed_as_json_is_read_back(value: Any) -> None:
    assert json.loads(to_json(value), parse_float=Decimal, parse_int=Decimal) == value


def test_json_has_words_for_what_it_has_no_numbers_for() -> None:
    values = [float("nan"), float("inf"), Decimal("NaN"), b"\x00\xff"]
    assert json.loads(to_json(values)) == ["nan", "inf", "NaN", "AP8="]
