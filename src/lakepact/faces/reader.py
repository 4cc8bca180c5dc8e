"""TableReader: a contract's table as a DataFrame: whole, filtered, by partition, as a stream, or its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakepact.contract.fields import Scalar
from lakepact.errors import PlanError, Problem, ProjectError
from lakepact.faces.home import Given, Home, contract_of, home_of, session_for
from lakepact.plan.expressions import predicate_problems
from lakepact.plan.state import TableState
from lakepact.site import tables_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEED = "delta.enableChangeDataFeed"
Moment = str | datetime


class TableReader:
    """Reads what the contract describes; values are bound as values, never put into SQL text."""

    def __init__(
        self,
        contract: Given,
        *,
        project: Home = None,
        environment: str | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        self.project = home_of(contract, project, environment)
        self.contract = contract_of(contract, self.project)
        self.spark = session_for(self.project, spark)
        self.table = self.project.table(self.contract.name, self.contract.path)

    def read(
        self,
        filter: str | None = None,  # noqa: A002 - document 002 calls it that
        columns: Sequence[str] = (),
        limit: int | None = None,
        *,
        version: int | None = None,
        timestamp: Moment | None = None,
    ) -> DataFrame:
        """The table, or part of it, now or as it was."""
        self._state()
        frame = self._load(self.spark.read, _options(versionAsOf=version, timestampAsOf=timestamp))
        if filter is not None:
            frame = frame.where(self._checked(filter))
        frame = frame.select(*(_named(name) for name in columns)) if columns else frame
        return frame if limit is None else frame.limit(limit)

    def read_partition(self, partition: Mapping[str, Scalar | None]) -> DataFrame:
        """The rows of one partition; a value is compared as a value."""
        from pyspark.sql import functions as F  # noqa: N812

        known = self._state().partition_by
        if unknown := [name for name in partition if name not in known]:
            message = f"{', '.join(unknown)}: not a partition column; the table has {', '.join(known) or 'none'}"
            raise PlanError([Problem(message, "read_partition")])
        frame = self.read()
        for name, value in partition.items():
            frame = frame.where(_named(name).eqNullSafe(F.lit(value)))
        return frame

    def read_stream(self, **options: Scalar) -> DataFrame:
        """The table as a stream of its rows; options are those of Delta's streaming reader."""
        self._state()
        return self._load(self.spark.readStream, _options(**options))

    def read_cdf(
        self,
        starting_version: int | None = None,
        ending_version: int | None = None,
        *,
        starting_timestamp: Moment | None = None,
        ending_timestamp: Moment | None = None,
    ) -> DataFrame:
        """Row by row what changed, with `_change_type`, `_commit_version` and `_commit_timestamp`."""
        if self._state().properties.get(FEED) != "true":
            message = f"the table keeps no change feed; add layout.properties: {{{FEED}: 'true'}} and run its contract"
            raise PlanError([Problem(message, "read_cdf")])
        start = 0 if starting_version is None and starting_timestamp is None else starting_version
        options = _options(
            readChangeFeed=True, startingVersion=start, endingVersion=ending_version,
            startingTimestamp=starting_timestamp, endingTimestamp=ending_timestamp,
        )  # fmt: skip
        return self._load(self.spark.read, options)

    def _load(self, reader: Any, options: dict[str, str]) -> DataFrame:
        with_options = reader.format("delta").options(**options)
        found: DataFrame = with_options.load(self.table.path) if self.table.path else with_options.table(self.table.sql)
        return found

    def _state(self) -> TableState:
        state = tables_of(self.project, self.spark).state(self.table)
        if state is None:
            raise ProjectError(f"no table {self.contract.name!r} here; run its contract first")
        return state

    def _checked(self, text: str) -> str:
        problems = predicate_problems(text, list(self._state().columns))
        if problems:
            raise PlanError([Problem(problem, "filter") for problem in problems])
        return text


def _named(name: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    from lakepact.names import quote

    return F.col(quote(name))


def _options(**said: Scalar | datetime | None) -> dict[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in said.items()
        if value is not None
    }
