"""Source: where rows come from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, StrictBool, model_validator

from lakepact.contract.fields import ColumnName, Instant, Part, Scalar, TableText

LoadType = Literal["full", "incremental", "cdc", "streaming"]


class SourceWindow(Part):
    """The column by which a slice of the source is read, as [start, end)."""

    column: ColumnName


class SourceWatermark(Part):
    """The column by which a source is read on from where the table ends."""

    column: ColumnName = Field(description="a number, a date or a time that grows; the table keeps it")
    lookback: str | int | None = Field(None, description="how far back rows may come late: 30m, 6h, 2d, or a number")


class Source(Part):
    """Where rows come from: exactly one of `path`, `table`, `change_feed`, `sql` and `connector`."""

    path: str | None = Field(None, description="a file, a folder or a glob")
    format: str = Field("", description="csv, json, parquet, …; taken from the path's ending where left out")
    pattern: str | None = Field(None, description="which files of the folder, as a glob")
    options: dict[str, Scalar] = Field(default_factory=dict, description="handed to Spark's reader")
    table: TableText | None = None
    change_feed: TableText | None = Field(
        None, description="what changed in a Delta table since the last run, with _change_type and _commit_version"
    )
    version: int | None = Field(None, ge=0, description="table: as it was in this version")
    timestamp: Instant | None = Field(None, description="table: as it was at this moment")
    sql: str | None = Field(None, description="one SELECT over tables of the lakehouse")
    connector: str | None = Field(
        None, description="any other source by name: jdbc, kafka, rest; its settings are options"
    )
    filter: str | None = Field(None, description="rows for which this is not true are left out, and counted")
    window: SourceWindow | None = None
    watermark: SourceWatermark | None = Field(None, description="read only rows that the table may not have yet")
    envelope: Literal["debezium"] | None = Field(
        None, description="each record is an event that tells what stood before and after; brings _op, _ts_ms, _lsn"
    )
    load_type: LoadType = Field(
        "full",
        description="full: all there is; incremental and cdc: of files, those that no run has loaded yet; "
        "streaming: what comes, by `run --available-now` or `run --stream`",
    )
    changed_files: Literal["fail", "reload", "ignore"] = Field(
        "fail", description="incremental: what becomes of a file that changed after it was loaded"
    )
    max_files: int | None = Field(None, ge=1, description="incremental: at most so many files a run, oldest first")
    bad_files: Literal["fail", "quarantine"] = Field(
        "fail",
        description="what becomes of a file that cannot be read: fail names it and loads nothing; quarantine sets it "
        "aside with its reason and loads the others",
    )
    complete: StrictBool = Field(False, description="true: the source is the whole current state")

    @model_validator(mode="after")
    def _exactly_one(self) -> Source:
        given = [kind for kind in SOURCE_KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ValueError(f"needs exactly one of {', '.join(SOURCE_KINDS)}; found {found}")
        return self

    @property
    def in_parts(self) -> bool:
        """Whether a run brings only what earlier runs did not."""
        return self.names_batch or self.watermark is not None

    @property
    def names_batch(self) -> bool:
        """Whether what is new names the batch itself, so that no run brings it twice."""
        return self.only_new or self.change_feed is not None

    @property
    def only_new(self) -> bool:
        """Whether each file is loaded once, by runs that know which were."""
        return self.path is not None and self.load_type in ("incremental", "cdc")

    @property
    def kind(self) -> str:
        return next(kind for kind in SOURCE_KINDS if getattr(self, kind) is not None)


SOURCE_KINDS = ("path", "table", "change_feed", "sql", "connector")
