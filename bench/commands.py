"""What the commands cost that start no JVM, as CPU of the child process."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.measure import child_cpu

EXAMPLE = Path(__file__).parents[1] / "examples" / "orders"
LAKEPACT = [sys.executable, "-c", "from lakepact.cli.main import main; main()"]


def call(*command: str) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, capture_output=True)


def median_cpu(work: Callable[[], object], rounds: int = 5) -> float:
    return statistics.median(child_cpu(work) for _ in range(rounds))


def import_cpu() -> float:
    """`import lakepact`, less what Python itself needs to start."""
    bare = median_cpu(call(sys.executable, "-c", "pass"))
    return median_cpu(call(sys.executable, "-c", "import lakepact")) - bare


def validate_cpu(work: Path) -> float:
    folder = _one_contract(work / "one")
    return median_cpu(call(*LAKEPACT, "validate", "--project", str(folder)))


def plan_cpu(work: Path) -> float:
    folder = _one_contract(work / "one")
    return median_cpu(call(*LAKEPACT, "plan", "--offline", "--project", str(folder)))


def validate_many_cpu(work: Path, count: int = 1000) -> float:
    """A thousand contracts like the example's largest, in one call."""
    folder = work / "many"
    (folder / "contracts").mkdir(parents=True)
    shutil.copy(EXAMPLE / "lakepact.yaml", folder)
    text = (EXAMPLE / "contracts" / "silver_orders.yaml").read_text()
    for number in range(count):
        contract = text.replace("}.orders", f"}}.orders_{number}", 1)
        (folder / "contracts" / f"c{number}.yaml").write_text(contract)
    return median_cpu(call(*LAKEPACT, "validate", "--project", str(folder)), rounds=1)


def _one_contract(folder: Path) -> Path:
    if not folder.exists():
        (folder / "contracts").mkdir(parents=True)
        shutil.copy(EXAMPLE / "lakepact.yaml", folder)
        shutil.copy(EXAMPLE / "contracts" / "silver_orders.yaml", folder / "contracts")
    return folder
