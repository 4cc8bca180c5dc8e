"""Files to bronze, stamped, lines that cannot be read kept, against a plain read and write by hand.

The table is there, with a few rows; then the files arrive. A full load takes what the folder holds, an incremental one
finds out which files are new and writes that down.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import peer
from bench.data import COLUMNS, Data
from bench.measure import Cost, in_turns
from bench.modes import ROWS
from lakepact import api

STAMPS = ["ingested_at", "ingested_date", "source_file"]
FEW = 100
Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """CSV is all text, as bronze keeps it; Parquet has its types."""

    kind: str
    load_type: str

    @property
    def name(self) -> str:
        return f"{self.kind} to bronze, {self.load_type}"

    @property
    def columns(self) -> dict[str, str]:
        return {name: kind if self.kind == "parquet" else "string" for name, kind in COLUMNS.items()}


CASES = tuple(Case(kind, load) for kind in ("csv", "parquet") for load in ("full", "incremental"))


def measure(spark: Any, work: Path, rounds: int = 3) -> Iterator[tuple[Case, dict[str, Cost]]]:
    for case in CASES:
        trial = Trial(spark, work / "bronze", _files(spark, work, case.kind, ROWS), case)
        trial.first = _files(spark, work, case.kind, FEW)
        others = {"peer": trial.peer} if peer.is_here() and case.load_type == "full" else {}
        yield case, in_turns({"ours": trial.ours, "hand": trial.hand, **others}, rounds, between=trial.compare)
        shutil.rmtree(trial.folder)


def _files(spark: Any, work: Path, kind: str, rows: int) -> Path:
    folder = work / f"{kind}-{rows}"
    if not folder.exists():
        frame = spark.read.parquet(Data(spark, work / f"data-{rows}", rows).batch("before"))
        frame.repartition(4 if rows > FEW else 1).write.option("header", "true").format(kind).save(str(folder))
    return folder


class Trial:
    """One case; each way loads the same files into a table of its own that holds a few rows."""

    first: Path

    def __init__(self, spark: Any, folder: Path, files: Path, case: Case) -> None:
        self.spark, self.folder, self.files, self.case, self.number = spark, folder, files, case, 0
        self.made: dict[str, Path] = {}

    def ours(self) -> Work:
        project = self._fresh()
        contract = {
            "table": "bronze.orders",
            "source": {"path": "landing", "format": self.case.kind, "load_type": self.case.load_type},
            "columns": [{"name": name, "type": kind} for name, kind in self.case.columns.items()],
            "transform": [{"stamp": STAMPS}],
            "write": {"mode": "scd0_append"},
            "layout": {"partition_by": "_ingested_date"},
        }
        (project / "contracts").mkdir()
        (project / "lakepact.yaml").write_text("name: bench\n")
        (project / "contracts" / "orders.json").write_text(json.dumps(contract))
        self._arrive(self.first, project)
        api.run(project, spark=self.spark)
        if self.case.load_type == "full":
            shutil.rmtree(project / "landing")
        self._arrive(self.files, project)
        self.made["ours"] = project / "warehouse" / "bronze.db" / "orders"
        return lambda: api.run(project, spark=self.spark)

    def hand(self) -> Work:
        place = self._fresh()
        self.made["hand"] = place / "orders"
        self._arrive(self.first, place)
        self._load(place)
        shutil.rmtree(place / "landing")
        self._arrive(self.files, place)
        return lambda: self._load(place)

    def peer(self) -> Work:
        place = self._fresh().rename(self.folder / f"peer_{self.case.kind}_{self.number}")
        self._arrive(self.files, place)
        return peer.bronze_load(self.spark, place, self.case.kind, self.case.columns)

    def _load(self, place: Path) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        session, schema = self.spark.newSession(), ", ".join(f"{n} {kind}" for n, kind in self.case.columns.items())
        reader = session.read.schema(schema).option("header", "true").format(self.case.kind)
        stamped = reader.load(str(place / "landing")).withColumns(
            {
                "_ingested_at": F.current_timestamp(),
                "_ingested_date": F.current_date(),
                "_source_file": F.col("_metadata.file_path"),
            }
        )
        stamped.write.format("delta").mode("append").partitionBy("_ingested_date").save(str(place / "orders"))

    def _arrive(self, files: Path, place: Path) -> None:
        (place / "landing").mkdir(exist_ok=True)
        for file in files.glob("part-*"):
            os.link(file, place / "landing" / file.name)

    def compare(self) -> None:
        shown = ", ".join(f"CAST({name} AS STRING)" for name in COLUMNS)
        total = f"count(*), sum(CAST(xxhash64({shown}) AS DECIMAL(38,0)))"
        sums = {
            tuple(self.spark.sql(f"SELECT {total} FROM delta.`{table}`").collect()[0]) for table in self.made.values()
        }
        assert len(sums) == 1, f"{self.case.name}: the ways left different rows: {sums}"
        for table in self.made.values():
            shutil.rmtree(table.parent)

    def _fresh(self) -> Path:
        self.number += 1
        folder = self.folder / str(self.number)
        folder.mkdir(parents=True)
        return folder
