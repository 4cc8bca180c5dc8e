"""Contracts in the order in which they must run, from what each one reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from lakepact.contract.model import Contract
from lakepact.errors import ContractError, Problem
from lakepact.names import plain_name
from lakepact.plan.read import upstreams
from lakepact.plugins import hint


def reads(contract: Contract) -> frozenset[str]:
    """Tables this contract's SQL reads."""
    references = [r.referential_integrity or r.lifecycle_window for r in contract.quality]
    named = [plain_name(reference.table) for reference in references if reference]
    return frozenset({*upstreams(contract.source), *named} - {contract.name})


def needs(contract: Contract) -> frozenset[str]:
    """Tables that must be ready before this contract runs."""
    return reads(contract) | (frozenset(map(plain_name, contract.upstream)) - {contract.name})


def in_order(contracts: Sequence[Contract]) -> list[Contract]:
    """Each after those it reads, otherwise by name; a circle is named."""
    by_name = {contract.name: contract for contract in contracts}
    written = [*(c.name for c in contracts), *(c.quarantine_table for c in contracts)]
    double = next((name for name in written if written.count(name) > 1), None)
    if double is not None:
        raise ContractError([Problem(f"two contracts write the table {double!r}")])
    writer = {contract.quarantine_table: contract.name for contract in contracts}
    graph = {}
    for name in sorted(by_name):
        before = {writer.get(needed, needed) for needed in needs(by_name[name])}
        graph[name] = sorted((before & by_name.keys()) - {name})
    try:
        return [by_name[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        raise ContractError([Problem(f"contracts wait for each other: {' → '.join(error.args[1])}")]) from None


def chosen(contracts: Sequence[Contract], names: Iterable[str]) -> list[Contract]:
    """Those with these table names; no names means all that are enabled."""
    wanted = list(names)
    if not wanted:
        return [contract for contract in contracts if contract.enabled]
    known = {contract.name: contract for contract in contracts}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ContractError([Problem(f"no contract for table {name!r}{hint(name, known)}") for name in unknown])
    return [known[name] for name in wanted]


def left_to_streams(contracts: Sequence[Contract]) -> list[Contract]:
    """Those that a run without names leaves out, as they are streamed; where all are, it is asked by mistake."""
    streamed = [contract for contract in contracts if contract.source and contract.source.load_type == "streaming"]
    return streamed if len(streamed) < len(contracts) else []


def held_back(contract: Contract, failed: Collection[Contract]) -> str | None:
    """The contract that failed and whose table or quarantine this one needs, if there is one."""
    needed = needs(contract)
    return next((one.name for one in failed if needed & {one.name, one.quarantine_table}), None)
