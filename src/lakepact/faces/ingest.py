"""`ingest`: one call, one table; evidence first, then a typed error if the run failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakepact import api
from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.errors import ContractError, Problem
from lakepact.evidence.result import IngestResult, dry_result, result_of
from lakepact.faces.home import Given, Home, contract_of, home_of
from lakepact.plan.read import GIVEN

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What may be said beside a contract, and where it stands in one.
BESIDE = ("idempotency_key", "idempotency_policy")


def ingest(
    contract: Given | None = None,
    *,
    source: Any = None,
    project: Home = None,
    environment: str | None = None,
    spark: SparkSession | None = None,
    dry_run: bool = False,
    raise_on_failure: bool = True,
    **settings: Any,
) -> IngestResult:
    """Run one contract: a file, a document, or its parts as keyword arguments.

    `source` may be a DataFrame. A run that fails leaves its record and raises LakepactExecutionError, whose `.result`
    is what this would have returned.
    """
    home = home_of(contract, project, environment)
    frame = source if hasattr(source, "createOrReplaceGlobalTempView") else None
    found = _contract(contract, {"connector": GIVEN} if frame is not None else source, settings, home)
    if dry_run:
        return dry_result(api.plan_of(found, home, given=frame is not None))
    return result_of(api.run_contract(found, home, frame=frame, spark=spark, raise_on_failure=raise_on_failure))


def _contract(given: Given | None, source: Any, settings: dict[str, Any], home: Project) -> Contract:
    if given is None:
        said = {"source": source, **settings} if source is not None else settings
        return contract_of(said, home)
    others = sorted(set(settings) - set(BESIDE))
    if others:
        message = f"either a contract or its parts: {', '.join(others)} stand in the contract"
        raise ContractError([Problem(message, "ingest")])
    return _beside(contract_of(given, home), source, settings)


def _beside(contract: Contract, source: Any, settings: dict[str, Any]) -> Contract:
    """The contract with another source or another name for its batch."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if source is not None:
        document["source"] = {"complete": contract.source.complete, **source} if contract.source else source
    document["write"] = {**(document.get("write") or {}), **settings}
    return Contract.model_validate(document)
