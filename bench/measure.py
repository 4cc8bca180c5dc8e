"""How we measure: alternatives interleaved in one process, medians, CPU of this process and its JVM."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """CPU and wall seconds."""

    cpu: float
    wall: float


def jvm_cpu() -> float:
    """CPU seconds of the JVM that this process started, 0 where there is none."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return 0.0
    pid = int(gateway.jvm.java.lang.ProcessHandle.current().pid())
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def cost(work: Callable[[], object]) -> Cost:
    """What one call costs, here and in the JVM."""
    cpu, wall = time.process_time() + jvm_cpu(), time.perf_counter()
    work()
    return Cost(time.process_time() + jvm_cpu() - cpu, time.perf_counter() - wall)


def child_cpu(work: Callable[[], object]) -> float:
    """CPU seconds of the child processes that the call starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def interleaved(ways: dict[str, Callable[[], object]], rounds: int, warmup: int = 1) -> dict[str, Cost]:
    """The median cost of each way; they take turns, so that a noisy minute hits all of them."""
    found: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(warmup + rounds):
        for name, work in ways.items():
            spent = cost(work)
            if number >= warmup:
                found[name].append(spent)
    return {name: median(costs) for name, costs in found.items()}


def median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(c.cpu for c in costs), statistics.median(c.wall for c in costs))


def in_turns(
    ways: dict[str, Callable[[], Callable[[], object]]], rounds: int, between: Callable[[], None]
) -> dict[str, Cost]:
    """Like `interleaved`, for ways that first prepare what they work on; who begins changes from round to round."""
    names = list(ways)
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for number in range(1 + rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            work = ways[name]()
            clean_jvm()
            spent = cost(work)
            found[name] += [spent] if number else []
        between()
    return {name: median(costs) for name, costs in found.items() if costs}


def clean_jvm() -> None:
    """What the way before left behind is not for the next one to clear away."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        SparkContext._gateway.jvm.java.lang.System.gc()
