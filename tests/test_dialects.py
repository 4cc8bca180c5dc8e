"""Foreign contracts become the same native contract, or every reason why not."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CASES, cases
from lakepact.contract.dialects import to_native
from lakepact.contract.load import Setting, load_contract
from lakepact.contract.model import Contract
from lakepact.contract.problems import parse_part
from lakepact.errors import ContractError

EXAMPLES = CASES / "dialects"
LOCAL = Setting(values={"catalog.bronze": "bronze", "catalog.silver": "silver", "path.landing": "/landing"})


def native(case: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    def read(path: str) -> Any:
        if path not in case.get("files", {}):
            raise ContractError(f"no such file: {path}")
        return case["files"][path]

    return to_native(case["document"], read)


def load(name: str) -> dict[str, Any]:
    """The parts of a contract that its file says something about."""
    return load_contract(EXAMPLES / name, LOCAL).contract.model_dump(exclude_defaults=True)


def chosen(kind: str) -> list[Any]:
    return [case for case in cases("dialects") if kind in case.values[0]]


@pytest.mark.parametrize("case", chosen("native"))
def test_a_foreign_contract_says_the_same_natively(case: dict[str, Any]) -> None:
    dialect, document = native(case)
    assert dialect == case["dialect"]
    assert {key: document.get(key) for key in case["native"]} == case["native"]
    assert not [key for key in case.get("absent", []) if key in document]
    parse_part(Contract, document, "native", {})


@pytest.mark.parametrize("case", chosen("problems"))
def test_everything_that_is_wrong_is_told_at_once(case: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as refused:
        native(case)
    found = {problem.field: problem.message for problem in refused.value.problems}
    assert found.keys() == case["problems"].keys()
    assert not {place: found[place] for place, text in case["problems"].items() if text not in found[place]}


@pytest.mark.parametrize("case", chosen("invalid"))
def test_what_contradicts_itself_reaches_the_model_and_is_refused_there(case: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match=case["invalid"]):
        parse_part(Contract, native(case)[1], "native", {})


def test_the_snapshot_example_claims_a_complete_source() -> None:
    contract = load("contractforge_snapshot.yaml")
    assert contract["source"] == {"table": "main.raw.devices_snapshot", "complete": True}
    assert contract["write"] == {"mode": "snapshot_soft_delete", "keys": ("device_id",)}


def test_the_guardrail_example_fails_on_null_and_duplicate_keys() -> None:
    contract = load("contractforge_guardrail.yaml")
    assert contract["quality"] == (
        {"not_null": ("customer_id",), "action": "fail"},
        {"unique": ("customer_id",), "action": "fail"},
    )
    newest = {"keys": ("customer_id",), "order_by": "updated_at DESC NULLS LAST"}
    assert contract["transform"] == ({"deduplicate": newest},)


def test_the_current_state_example_keeps_its_secret_unread() -> None:
    contract = load("contractforge_current_state.yaml")
    assert (contract["table"], contract["layer"]) == ("main.crm_curated.s_customers", "silver")
    assert contract["source"]["connector"] == "jdbc"
    assert contract["source"]["options"]["url"] == "{{ secret:crm/jdbc_url }}"


def test_the_ingest_call_of_the_document_is_the_same_contract() -> None:
    url = "{{ secret:crm/jdbc_url }}"
    options = {"url": url, "dbtable": "public.customers", "driver": "org.postgresql.Driver"}
    said = {
        "source": {"type": "connector", "connector": "jdbc", "options": options},
        "target_catalog": "main",
        "target_schema": "crm_curated",
        "target_table": "s_customers",
        "layer": "silver",
        "mode": "scd1_upsert",
        "merge_keys": ["customer_id"],
        "transform": {"deduplicate": {"keys": ["customer_id"], "order_by": "updated_at DESC NULLS LAST"}},
        "quality_rules": {"not_null": ["customer_id"], "unique_key": ["customer_id"]},
    }
    called = Contract.model_validate(native({"document": said})[1])
    assert called.model_dump(exclude_defaults=True) == load("contractforge_current_state.yaml")


def test_the_table_example_needs_no_source_and_keeps_its_mask() -> None:
    contract = load("dkops/tables/silver/vuelos_current.json")
    assert contract["table"] == "silver.aeronautica.vuelos_current"
    assert "source" not in contract
    assert contract["columns"][3] == {"name": "email", "mask": "security.mask_email"}
    assert contract["layout"]["partition_by"] == ("iata_aerolinea",)
    assert contract["layout"]["properties"]["delta.enableChangeDataFeed"] == "true"


def test_the_batch_example_lands_files_with_stamps() -> None:
    contract = load("dkops/ingestion/batch/vuelos_diarios.json")
    assert contract["table"] == "bronze.aeronautica.vuelos_raw"
    assert contract["source"] == {"path": "/landing/vuelos_diarios", "format": "json", "load_type": "incremental"}
    assert contract["transform"] == ({"stamp": ("ingested_at", "ingested_date", "source_file")},)
    assert [column["name"] for column in contract["columns"]] == [
        "vuelo_id", "iata_aerolinea", "estado", "retraso_min", "email", "updated_at",
    ]  # fmt: skip


def test_the_promotion_example_upserts_the_newest_row() -> None:
    contract = load("dkops/ingestion/silver/vuelos_current.json")
    assert contract["source"] == {"table": "bronze.aeronautica.vuelos_raw"}
    assert contract["write"] == {"mode": "scd1_upsert", "keys": ("vuelo_id",)}
    newest = {"keys": ("vuelo_id",), "order_by": "`updated_at` DESC NULLS LAST"}
    assert contract["transform"] == ({"stamp": ("created_at", "updated_at")}, {"deduplicate": newest})


def test_columns_that_the_promotion_example_only_names_are_those_it_reads() -> None:
    """Its table is partitioned by one and ordered by another, and declares neither."""
    contract = load("dkops/ingestion/silver/vuelos_current.json")
    declared = ["vuelo_id", "estado", "retraso_min", "email"]
    assert [column["name"] for column in contract["columns"]] == [*declared, "iata_aerolinea", "updated_at"]
    assert contract["columns"][-1] == {"name": "updated_at", "type": "timestamp"}


def test_the_lifecycle_example_finds_its_reference_through_a_link() -> None:
    contract = load("lakelogic_lifecycle.yaml")
    assert contract["table"] == "silver.events"
    assert contract["quality"][0]["lifecycle_window"]["table"] == "reference.subscribers"


@pytest.mark.parametrize("name", ["lab/orders_by_rules.yaml", "lab/orders_by_table.yaml"])
def test_the_rules_of_the_lab_reject_with_their_labels(name: str) -> None:
    contract = load(name)
    labels = [rule.get("rejected_as") for rule in contract["quality"]]
    assert labels == [None, "missing_customer", "missing_region", "non_positive_amount"]
    assert contract["quality"][3]["check"] == "`amount` > 0"
    newest = {
        "keys": ("order_id",),
        "order_by": "`order_ts` DESC NULLS LAST",
        "rejected_as": "stale_duplicate",
    }
    assert contract["transform"] == ({"deduplicate": newest},)


def test_a_problem_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("source: a.b\ntarget: {table: t}\nmode: append\nquality_rules:\n  not_nul: [id]\n")
    with pytest.raises(ContractError) as refused:
        load_contract(file)
    assert str(refused.value) == f"{file}:5: quality_rules.not_nul: unknown key; did you mean 'not_null'?"


def test_a_native_problem_of_a_foreign_contract_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("source: a.b\ntarget: {table: t}\nmode: scd9\n")
    with pytest.raises(ContractError, match=rf"{file}:3: write.mode: unknown mode 'scd9'"):
        load_contract(file)


def test_a_missing_table_file_is_told_beside_the_other_problems(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"destination_contract": "gone.json", "source": {"path": "x"}, "trigger": "y"}))
    with pytest.raises(ContractError) as refused:
        load_contract(file)
    assert [problem.message.split(";")[0] for problem in refused.value.problems] == [
        "'y' is not supported",
        "no such file",
    ]


def test_a_problem_of_the_rules_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('[{"name": "odd"}]')
    file = tmp_path / "c.yaml"
    file.write_text("table: t\nsource: {table: a}\nwrite: {mode: append}\nrules_file: rules.json\n")
    with pytest.raises(ContractError, match=r"^rules.json: 0: rule 'odd' does not say what it checks"):
        load_contract(file)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copied = copy.copy(document)
    copied[path[0]] = put(document[path[0]], path[1:], value)
    return copied


ODD = st.sampled_from([None, "", "x", 0, -1, 1.5, True, [], ["x"], [None], [[]], {}, {"x": 1}, {"x": {"y": []}}])


@given(st.sampled_from([case.values[0] for case in cases("dialects")]), st.data(), ODD)
def test_a_spoilt_contract_is_understood_or_refused_but_never_crashes(
    case: dict[str, Any], data: st.DataObject, odd: Any
) -> None:
    place = data.draw(st.sampled_from([place for place in places(case["document"]) if place]))
    spoilt = {**case, "document": put(case["document"], place, odd)}
    with contextlib.suppress(ContractError):
        parse_part(Contract, native(spoilt)[1], "native", {})
