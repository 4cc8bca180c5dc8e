"""Contract and its parts: what a table is, where it comes from, what makes a row good, how it is written."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, model_validator

from lakepact.contract.events import with_events
from lakepact.contract.fields import (
    ColumnName,
    Names,
    Part,
    Scalar,
    SomeNames,
    SparkType,
    TableText,
    Texts,
    one_key,
    one_or_many,
)
from lakepact.contract.source import Source
from lakepact.contract.write import Write
from lakepact.names import TableName

Action = Literal["warn", "quarantine", "fail"]
Severity = Literal["low", "medium", "high", "critical"]
Layer = Literal["landing", "reference", "bronze", "silver", "gold"]

_ACTIONS = {
    "expect": "warn",
    "expect_or_drop": "quarantine",
    "expect_or_quarantine": "quarantine",
    "expect_or_fail": "fail",
    "abort": "fail",
    "warning": "warn",
    "error": "fail",
}


ActionText = Annotated[
    Action,
    BeforeValidator(lambda v: _ACTIONS.get(v, v) if isinstance(v, str) else v, json_schema_input_type=str),
    Field(json_schema_extra={"enum": ["warn", "quarantine", "fail", *_ACTIONS]}),
]


class Column(Part):
    """One column of the table."""

    name: ColumnName = Field(description="as the source calls it after the transforms")
    type: SparkType = Field("string", description="any Spark type; what cannot be read as it rejects its row")
    nullable: StrictBool = Field(True, description="false: a row without a value is rejected as missing_<name>")
    description: str = ""
    tags: Texts = ()
    mask: str | None = Field(None, description="hash, redact, partial, nullify, mask_email, or a catalog function")


class Owner(Part):
    """Who answers for the table."""

    name: str
    email: str | None = None
    role: str = "owner"


class Deduplicate(Part):
    """Keep one row a key: the first in this order."""

    name: str = Field("latest_record", description="what the rule is called where rejected rows are counted")
    keys: SomeNames
    order_by: str = Field(description="as in SQL: updated_at DESC NULLS LAST")
    rejected_as: str | None = Field(None, description="label with which the others go to quarantine")
    before_rules: StrictBool = Field(False, description="true: also an invalid row may be the one that is kept")


StandardName = Literal["trim", "lower", "upper", "normalize_whitespace", "empty_as_null"]
Standards = Annotated[tuple[StandardName, ...], BeforeValidator(one_or_many)]
StampName = Literal["ingested_at", "ingested_date", "source_file", "run_id", "created_at", "updated_at"]


class Step(Part):
    """One transformation: exactly one of these."""

    sql: str | None = Field(None, description="one SELECT over `source`; must be the first step")
    select: SomeNames | None = Field(None, description="keep only these columns")
    drop: SomeNames | None = Field(None, description="leave these columns out")
    rename: dict[str, ColumnName] | None = Field(None, min_length=1, description="old name: new name")
    cast: dict[str, SparkType] | None = Field(None, min_length=1, description="column: type, for steps after it")
    derive: dict[ColumnName, str] | None = Field(None, min_length=1, description="column: SQL expression")
    standardize: dict[str, Standards] | None = Field(None, min_length=1, description="column: how to tidy its text")
    filter: str | None = Field(None, description="rows for which this is not true are left out, and counted")
    deduplicate: Deduplicate | None = Field(None, description="must be the last step")
    stamp: Annotated[tuple[StampName, ...], BeforeValidator(one_or_many)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Step:
        one_key(self, "step")
        return self

    @property
    def kind(self) -> str:
        return next(name for name in type(self).model_fields if getattr(self, name) is not None)


class Bounded(Part):
    """At least one of `min` and `max`."""

    @model_validator(mode="after")
    def _some_bound(self) -> Bounded:
        if getattr(self, "min", None) is None and getattr(self, "max", None) is None:
            raise ValueError("needs min, max or both")
        return self


class Range(Bounded):
    column: ColumnName
    min: Scalar | None = None
    max: Scalar | None = None
    inclusive: StrictBool = True


class Pattern(Part):
    column: ColumnName
    pattern: str


class Length(Bounded):
    column: ColumnName
    min: int | None = None
    max: int | None = None


class Ratio(Part):
    column: ColumnName
    max: float = Field(ge=0, le=1)


class Between(Bounded):
    min: int | None = None
    max: int | None = None


class Reference(Part):
    """A value that must exist in another table."""

    column: ColumnName
    table: TableText
    key: ColumnName


class Lifecycle(Part):
    """An event that must lie within one of its key's intervals in another table."""

    event_ts: ColumnName
    event_key: ColumnName
    table: TableText
    reference_key: ColumnName
    start_field: ColumnName = "start_date"
    end_field: ColumnName = "end_date"
    end_default: str = "9999-12-31"


class Rule(Part):
    """One thing that is true of good data: exactly one check, and what happens where it is not."""

    name: str | None = None
    check: str | None = Field(None, description="any Spark SQL predicate over the columns; NULL is not good")
    not_null: SomeNames | None = Field(None, description="these columns have a value")
    accepted_values: dict[str, tuple[Scalar, ...]] | None = Field(
        None, min_length=1, description="column: the values it may have; NULL passes"
    )
    range: Range | None = Field(None, description="a value within bounds; NULL passes, NaN does not")
    regex_match: Pattern | None = Field(None, description="text that matches a pattern; NULL passes")
    length: Length | None = Field(None, description="text of a length within bounds; NULL passes")
    referential_integrity: Reference | None = Field(None, description="a value that another table knows")
    lifecycle_window: Lifecycle | None = Field(None, description="an event within an interval of its key")
    unique: SomeNames | None = Field(None, description="no two rows agree on these columns")
    required_columns: SomeNames | None = Field(None, description="columns the source must bring")
    null_ratio: Ratio | None = Field(None, description="at most this share of a column is NULL")
    min_rows: int | None = Field(None, ge=0, description="at least so many accepted rows")
    max_rows: int | None = Field(None, ge=0, description="at most so many accepted rows")
    row_count_between: Between | None = Field(None, description="both bounds at once")

    action: ActionText | None = Field(None, description="default: quarantine for rows, fail for the batch")
    rejected_as: str | None = Field(None, description="label of the rejected row; default: the rule's name")
    description: str = ""
    severity: Severity = "high"
    category: str = ""
    when: str | None = Field(None, description="only rows for which this is true are judged")
    tolerance: float = Field(0, ge=0, description="below 1 a share of the rows, from 1 on a number of rows")

    @model_validator(mode="after")
    def _exactly_one(self) -> Rule:
        one_key(self, "rule", RULE_SETTINGS)
        return self

    @property
    def kind(self) -> str:
        fields = type(self).model_fields
        return next(n for n in fields if n not in RULE_SETTINGS and getattr(self, n) is not None)


RULE_SETTINGS = frozenset({"name", "action", "rejected_as", "description", "severity", "category", "when", "tolerance"})


class Layout(Part):
    """How the table lies on disk."""

    partition_by: Names = Field((), description="a folder for each value; for large tables and few values")
    cluster_by: Names = Field((), description="rows that are alike in these columns lie together; at most four")
    zorder_by: Names = Field((), description="columns that optimize_after_write sorts the files by")
    optimize_after_write: StrictBool = Field(False, description="true: a run that wrote compacts small files after it")
    properties: dict[str, str] = Field(
        default_factory=dict, description="Delta table properties, set where the table has others"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Layout:
        if self.partition_by and self.cluster_by:
            raise ValueError("a table is either partitioned or clustered; give one of partition_by and cluster_by")
        return self


class Quarantine(Part):
    """The review queue beside the table."""

    table: TableText | None = Field(None, description="default: the table's name with _quarantine")
    max_ratio: float | None = Field(None, ge=0, le=1, description="a larger share of rejected rows fails the run")


class Freshness(Part):
    """How old the table may grow before someone is told."""

    max_age: str
    grace: str | None = None

    @model_validator(mode="after")
    def _durations(self) -> Freshness:
        for text in (self.max_age, self.grace):
            if text is not None and not re.fullmatch(r"\d+\s*[smhdw]", text):
                raise ValueError(f"{text!r} is not a duration; write 30m, 6h or 2d")
        return self


class Contract(Part):
    """One table's contract."""

    table: TableText = Field(description="catalog.schema.table, schema.table or table")
    path: str | None = Field(None, description="the table's folder, where it is not found by name")
    layer: Layer | None = Field(None, description="policy packs may ask more of some layers")
    version: str | None = None
    description: str = ""
    owners: tuple[Owner, ...] = ()
    tags: Texts = ()
    enabled: StrictBool = Field(True, description="false: a run without names leaves it out")
    upstream: Texts = Field((), description="tables that must be ready first, beside those the source names")
    policy_pack: str | None = None
    source: Source | None = Field(None, description="where rows come from; needed to run")
    columns: tuple[Column, ...] = Field((), description="the table's columns; none: those of the source")
    transform: tuple[Step, ...] = Field((), description="steps between source and rules, in this order")
    quality: tuple[Rule, ...] = Field((), description="what is true of good data")
    write: Write | None = Field(None, description="how rows are written; needed to run")
    layout: Layout = Layout()
    quarantine: Quarantine = Quarantine()
    freshness: Freshness | None = None

    @model_validator(mode="before")
    @classmethod
    def _events_as_their_source_tells_them(cls, said: Any) -> Any:
        return with_events(said) if isinstance(said, dict) else said

    @property
    def name(self) -> str:
        return str(TableName.parse(self.table))

    @property
    def quarantine_table(self) -> str:
        named = TableName.parse(self.quarantine.table) if self.quarantine.table else None
        return str(named or TableName.parse(self.table).beside("_quarantine"))

    @property
    def quarantine_path(self) -> str | None:
        """Beside the table's own folder, where it has one and the queue has no name of its own."""
        return f"{self.path.rstrip('/')}_quarantine" if self.path and not self.quarantine.table else None

    @property
    def files_table(self) -> str:
        """Where it is kept which files were loaded."""
        return str(TableName.parse(self.table).beside("_loaded_files"))

    @property
    def files_path(self) -> str | None:
        return f"{self.path.rstrip('/')}_loaded_files" if self.path else None

    @property
    def masks(self) -> dict[str, str]:
        return {column.name: column.mask for column in self.columns if column.mask}
