"""`make bench`: one table of what things cost, against what they must not exceed."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import bronze, commands, modes, orders
from bench.measure import interleaved
from bench.modes import Found

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


def mode_lines(work: Path, names: list[str]) -> list[Line]:
    """Every mode with its checks, metrics and evidence, against hands that look at the keys and hands that do not."""
    from lakepact.contract.project import SparkSettings
    from lakepact.spark.session import spark_session

    lines: list[Line] = []
    settings = SparkSettings(master="local[2]", memory="4g")
    with spark_session(settings, "bench", work) as spark:
        for found in modes.measure(spark, work, names):
            lines += _mode_lines(found)
            show_mode(found)
    return lines


def bronze_lines(work: Path) -> list[Line]:
    """Files to bronze, against a plain read and write."""
    from lakepact.contract.project import SparkSettings
    from lakepact.spark.session import spark_session

    lines: list[Line] = []
    with spark_session(SparkSettings(master="local[2]", memory="4g"), "bench", work) as spark:
        for case, costs in bronze.measure(spark, work):
            ours, by_hand = costs["ours"], costs["hand"]
            lines.append(against(f"{case.name}: ours / by hand", ours.cpu, by_hand.cpu, 1.1, "s CPU"))
            lines.append(against(f"{case.name}: ours / by hand, wall", ours.wall, by_hand.wall, 1.1, "s wall"))
            show(lines[-2:])
            if "peer" in costs:
                beside = costs["peer"]
                print(f"  DKOps: {beside.cpu:.2f} CPU {beside.wall:.2f} wall, {beside.cpu / by_hand.cpu:.2f} by hand")
    return lines


def _mode_lines(found: Found) -> list[Line]:
    lines = []
    ours, name = found.costs["ours"], found.case.name
    for way, target in WAYS.items():
        if way in found.costs:
            floor = found.costs[way]
            lines.append(against(f"{name}: ours / by hand, {way}", ours.cpu, floor.cpu, target, "s CPU"))
            lines.append(against(f"{name}: ours / by hand, {way}, wall", ours.wall, floor.wall, target, "s wall"))
    return lines


WAYS = {"checked": 1.15, "unchecked": 1.3}


def show_mode(found: Found) -> None:
    """One line a case, as soon as it was measured."""
    costs, ours = found.costs, found.costs["ours"]
    parts = [f"{found.case.name:26}{found.commits:>2} commit{ours.cpu:>7.2f} CPU{ours.wall:>7.2f} wall"]
    for way, target in WAYS.items():
        if way in costs:
            cpu_ratio, wall_ratio = ours.cpu / costs[way].cpu, ours.wall / costs[way].wall
            over = " OVER" if max(cpu_ratio, wall_ratio) > target else ""
            parts.append(f"{way} {cpu_ratio:.2f} CPU {wall_ratio:.2f} wall (≤ {target}){over}")
    print("  ".join(parts), flush=True)


def show(lines: list[Line]) -> None:
    print(f"{'':58}{'ours':>8}{'floor':>8}{'ratio':>8}{'target':>8}")
    for line in lines:
        floor = "" if line.floor is None else f"{line.floor:.2f}"
        ratio = "" if line.floor is None else f"{line.ratio:.2f}"
        mark = "" if line.ok else "   OVER"
        print(f"{line.name:58}{line.ours:>8.2f}{floor:>8}{ratio:>8}{line.target:>8.2f} {line.unit}{mark}")


def main(words: list[str]) -> None:
    """All of it, or a part: `python -m bench bronze`, `python -m bench modes [name …]`."""
    part = words[0] if words else ""
    with tempfile.TemporaryDirectory(prefix="lakepact-bench-") as folder:
        work = Path(folder)
        lines = [] if part else [*command_lines(work), *orders_lines(work)]
        if lines:
            show(lines)
        lines += bronze_lines(work) if part in ("", "bronze") else []
        lines += mode_lines(work, words[1:]) if part in ("", "modes") else []
    keep(lines)


def keep(lines: list[Line]) -> None:
    """Lines measured now replace those of the same name; a smaller table is only for trying."""
    if modes.ROWS != modes.ALL_ROWS:
        return
    new = {line.name: asdict(line) | {"ok": line.ok} for line in lines}
    there = {line["name"]: line for line in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(list((there | new).values()), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
