"""TableWriter: a DataFrame into a contract's table, through the same checks, modes and records as any run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakepact import api
from lakepact.contract.fields import Scalar
from lakepact.contract.model import Contract
from lakepact.contract.source import Source
from lakepact.contract.write import Write
from lakepact.evidence.result import IngestResult, dry_result, result_of
from lakepact.faces.home import Given, Home, contract_of, home_of
from lakepact.plan.read import GIVEN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableWriter:
    """Writes what the contract allows; a failed write raises, and leaves its record."""

    def __init__(
        self,
        contract: Given,
        *,
        project: Home = None,
        environment: str | None = None,
        spark: SparkSession | None = None,
        dry_run: bool = False,
    ) -> None:
        self.project = home_of(contract, project, environment)
        self.contract = contract_of(contract, self.project)
        self.spark, self.dry_run = spark, dry_run

    def overwrite(self, frame: DataFrame, *, allow_empty: bool = False) -> IngestResult:
        """The table becomes these rows, in one commit: readers see the old ones or the new ones."""
        return self._write(frame, mode="scd0_overwrite", allow_empty=allow_empty)

    def append(self, frame: DataFrame, *, idempotency_key: str | None = None) -> IngestResult:
        """The rows are added; a batch that has a name is added once."""
        return self._write(frame, mode="scd0_append", idempotency_key=idempotency_key)

    def upsert(
        self,
        frame: DataFrame,
        keys: str | Sequence[str] = (),
        update_columns: Sequence[str] = (),
        insert_only_columns: Sequence[str] = (),
    ) -> IngestResult:
        """One row a key: changed rows are updated, new ones inserted; the contract's keys are the default."""
        own = self.contract.write.keys if self.contract.write else ()
        return self._write(
            frame, mode="scd1_upsert", keys=keys or own, update_columns=tuple(update_columns or ()),
            insert_only_columns=tuple(insert_only_columns or ()),
        )  # fmt: skip

    def overwrite_partition(self, frame: DataFrame, partition: Mapping[str, Scalar]) -> IngestResult:
        """One partition becomes these rows; a row of another one stops the write."""
        return self._write(frame, mode="scd0_overwrite", partition=dict(partition))

    def delete(self, condition: str, *, preview: bool = False) -> int:
        """How many rows were deleted or, with `preview`, would be."""
        return api.delete_rows(self.contract, self.project, condition, preview or self.dry_run, self.spark)

    def _write(self, frame: DataFrame, **options: Any) -> IngestResult:
        said = {name: value for name, value in options.items() if value or name == "mode"}
        contract = _given(self.contract, Write.model_validate(said))
        if self.dry_run:
            return dry_result(api.plan_of(contract, self.project, given=True))
        return result_of(api.run_contract(contract, self.project, frame=frame, spark=self.spark))


def _given(contract: Contract, write: Write) -> Contract:
    """The contract with rows that are handed over: of its steps only the stamps still make sense."""
    stamps = tuple(step for step in contract.transform if step.stamp)
    return contract.model_copy(
        update={"source": Source(connector=GIVEN, complete=True), "write": write, "transform": stamps}
    )
