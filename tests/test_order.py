"""The order in which contracts run, from what each one reads."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from lakepact.contract.model import Contract
from lakepact.driver.order import chosen, held_back, in_order, left_to_streams, needs
from lakepact.errors import ContractError


def contract(table: str, reads: str | None = None, **changes: Any) -> Contract:
    source = {"table": reads} if reads else {"path": "in/x.csv"}
    return Contract.model_validate({"table": table, "source": source, "write": {"mode": "scd0_append"}, **changes})


def names(contracts: list[Contract]) -> list[str]:
    return [one.name for one in contracts]


CHAIN = [
    contract("gold.k", "silver.o"),
    contract("silver.o", "bronze.o"),
    contract("bronze.o"),
    contract("bronze.a"),
]


@pytest.mark.parametrize("contracts", list(permutations(CHAIN)))
def test_each_runs_after_those_it_reads_in_whatever_order_they_come(contracts: tuple[Contract, ...]) -> None:
    assert names(in_order(contracts)) == names(in_order(CHAIN))
    assert names(in_order(contracts)).index("bronze.o") < names(in_order(contracts)).index("silver.o")
    assert names(in_order(contracts))[-1] == "gold.k"


@pytest.mark.parametrize(
    "reading",
    [
        {"source": {"table": "bronze.o"}},
        {"source": {"table": "`bronze`.`o`"}},
        {"source": {"table": " bronze.o "}},
        {"source": {"sql": "WITH x AS (SELECT * FROM `bronze`.o) SELECT * FROM x"}},
        {"upstream": "bronze.o"},
        {"quality": [{"referential_integrity": {"column": "a", "table": "bronze.o", "key": "a"}}]},
        {
            "quality": [
                {
                    "lifecycle_window": {
                        "event_ts": "a",
                        "event_key": "b",
                        "table": "bronze.o",
                        "reference_key": "c",
                    }
                }
            ]
        },
    ],
)
def test_a_table_is_needed_however_it_is_read(reading: dict[str, Any]) -> None:
    reader = contract("a.first_by_name", **reading)
    assert needs(reader) == {"bronze.o"}
    assert names(in_order([reader, contract("bronze.o")])) == ["bronze.o", "a.first_by_name"]


def test_a_quarantine_is_read_after_the_contract_that_fills_it() -> None:
    contracts = [contract("a.review", "silver.o_quarantine"), contract("silver.o", "bronze.o")]
    assert names(in_order(contracts)) == ["silver.o", "a.review"]


def test_files_and_tables_of_nobody_are_not_waited_for() -> None:
    assert needs(contract("a.b")) == frozenset()
    assert names(in_order([contract("a.b", "elsewhere.t")])) == ["a.b"]


def test_a_circle_is_named() -> None:
    circle = [contract("a.a", "a.c"), contract("a.b", "a.a"), contract("a.c", "a.b"), contract("a.d")]
    with pytest.raises(ContractError) as error:
        in_order(circle)
    message = str(error.value)
    assert message.startswith("contracts wait for each other: ")
    assert all(name in message for name in ("a.a", "a.b", "a.c"))
    assert "a.d" not in message


@pytest.mark.parametrize("second", ["a.b", "`a`.`b`", " a.b "])
def test_two_writers_of_one_table_are_refused(second: str) -> None:
    with pytest.raises(ContractError, match=r"two contracts write the table 'a\.b'"):
        in_order([contract("a.b"), contract(second)])


def test_a_table_may_not_be_written_as_the_quarantine_of_another() -> None:
    with pytest.raises(ContractError, match=r"a\.b_quarantine"):
        in_order([contract("a.b", columns=[{"name": "id", "type": "int"}]), contract("a.b_quarantine")])


def test_no_selection_is_every_contract_that_is_enabled() -> None:
    contracts = [contract("a.b"), contract("a.off", enabled=False)]
    assert names(chosen(contracts, [])) == ["a.b"]
    assert names(chosen(contracts, ["a.off"])) == ["a.off"]


def test_every_unknown_selection_is_told_with_a_hint() -> None:
    with pytest.raises(ContractError) as error:
        chosen(CHAIN, ["silver.oo", "bronze.o", "zzz"])
    assert [problem.message for problem in error.value.problems] == [
        "no contract for table 'silver.oo'; did you mean 'silver.o'?",
        "no contract for table 'zzz'; known: bronze.a, bronze.o, gold.k, silver.o",
    ]


def test_a_contract_is_held_back_by_an_upstream_that_failed() -> None:
    reader = contract("gold.k", "silver.o", upstream=["bronze.a"])
    assert held_back(reader, []) is None
    assert held_back(reader, [contract("bronze.o")]) is None
    assert held_back(reader, [contract("silver.o")]) == "silver.o"
    assert held_back(reader, [contract("bronze.a"), contract("silver.o")]) == "bronze.a"
    assert held_back(contract("gold.r", "silver.o_quarantine"), [contract("silver.o")]) == "silver.o"


def test_a_run_leaves_streams_to_streams_unless_there_is_nothing_else() -> None:
    streamed = contract("bronze.s", source={"path": "in/s.csv", "load_type": "streaming"})
    assert left_to_streams([streamed, *CHAIN]) == [streamed]
    assert left_to_streams(CHAIN) == []
    assert left_to_streams([streamed]) == [], "then someone should be told"
