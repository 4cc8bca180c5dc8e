"""`make bench`: one table of what things cost, against what they must not exceed."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import commands, orders
from bench.measure import interleaved

RESULTS = Path(__file__).parent / "results.json"


@dataclass(frozen=True)
class Line:
    """Ours against a floor (a ratio), or against nothing (seconds of CPU)."""

    name: str
    ours: float
    floor: float | None
    ratio: float
    target: float
    unit: str

    @property
    def ok(self) -> bool:
        return self.ratio <= self.target


def cpu(name: str, seconds: float, target: float) -> Line:
    return Line(name, round(seconds, 3), None, round(seconds, 3), target, "s CPU")


def against(name: str, ours: float, floor: float, target: float, unit: str) -> Line:
    return Line(name, round(ours, 2), round(floor, 2), round(ours / floor, 2), target, unit)


def command_lines(work: Path) -> list[Line]:
    return [
        cpu("import lakepact", commands.import_cpu(), 0.3),
        cpu("validate one contract", commands.validate_cpu(work), 0.7),
        cpu("plan --offline of one contract", commands.plan_cpu(work), 0.7),
        cpu("validate 1,000 contracts", commands.validate_many_cpu(work), 10),
    ]


def orders_lines(work: Path) -> list[Line]:
    from lakepact.contract.project import SparkSettings
    from lakepact.spark.session import spark_session

    settings = SparkSettings(master="local[2]", memory="2g")
    with spark_session(settings, "bench", work) as spark:
        found = interleaved(orders.ways(spark, work), rounds=5, warmup=2)
    ours, bare, same = found["ours"], found["hand"], found["hand_with_rejected"]
    return [
        against("orders, three layers: ours / three writes by hand", ours.wall, bare.wall, 1.5, "s wall"),
        against("the same in CPU", ours.cpu, bare.cpu, 1.5, "s CPU"),
        against("the same / by hand with rejected rows kept", ours.cpu, same.cpu, 1.5, "s CPU"),
    ]


def show(lines: list[Line]) -> None:
    print(f"{'':58}{'ours':>8}{'floor':>8}{'ratio':>8}{'target':>8}")
    for line in lines:
        floor = "" if line.floor is None else f"{line.floor:.2f}"
        ratio = "" if line.floor is None else f"{line.ratio:.2f}"
        mark = "" if line.ok else "   OVER"
        print(f"{line.name:58}{line.ours:>8.2f}{floor:>8}{ratio:>8}{line.target:>8.2f} {line.unit}{mark}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lakepact-bench-") as folder:
        work = Path(folder)
        lines = [*command_lines(work), *orders_lines(work)]
    show(lines)
    RESULTS.write_text(json.dumps([asdict(line) | {"ok": line.ok} for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
