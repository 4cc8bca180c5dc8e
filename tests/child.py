"""What other processes do in tests: runs that are killed, and runs that rival each other.

python tests/child.py stop FOLDER STEP       run every contract, each up to the step, then say "ready" and wait
python tests/child.py rival FOLDER NAME N    upsert N batches of one's own
python tests/child.py stream FOLDER          stream every contract until nothing is left
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from conftest import TEST_CONFIG
from lakepact import api
from lakepact.contract.project import SparkSettings
from lakepact.plan.kafka import PACKAGES as KAFKA
from lakepact.site import Watch
from lakepact.spark.session import spark_session

# A process that lives for seconds is not worth compiling well.
SHORT_LIVED = {key: value for key, value in TEST_CONFIG.items() if key != "spark.driver.extraJavaOptions"}


def stop(spark: Any, folder: str, step: str) -> None:
    """Each contract in a thread of its own; those that reach the step wait there until the process is killed."""
    project = api.open_project(folder)
    names = [contract.name for contract in api.contracts(project)]
    there = threading.Semaphore(0)

    def wait(table: str, name: str, outcome: Any) -> None:
        if name == step:
            there.release()
            threading.Event().wait()

    def run(name: str) -> None:
        api.run(project, [name], spark=spark, watch=Watch(step=wait))
        there.release()

    for name in names:
        threading.Thread(target=run, args=(name,), daemon=True).start()
    for _ in names:
        there.acquire()
    print("ready", flush=True)  # noqa: T201 - the parent waits for it
    threading.Event().wait()


def rival(spark: Any, folder: str, name: str, count: str) -> None:
    """Each batch has a key of its own, a counter of this rival's, and a key that all rivals write."""
    project = api.open_project(folder)
    for number in range(int(count)):
        batch = Path(folder) / f"{name}.csv"
        batch.write_text(f"id,v\n{name}-{number},{number}\n{name},{number}\nshared,{number}\n", encoding="utf-8")
        api.run(project, ["s.t"], api.Options((f"source.path={batch}",)), spark=spark)


def stream(spark: Any, folder: str) -> None:
    print("ready", flush=True)  # noqa: T201 - the parent waits for it
    api.stream(api.open_project(folder), spark=spark)


def main(what: str, *arguments: str) -> None:
    packages = KAFKA if what == "stream" else ()
    settings = SparkSettings(master="local[2]", memory="1g", packages=packages, config=SHORT_LIVED)
    with tempfile.TemporaryDirectory() as scratch, spark_session(settings, "child", Path(scratch)) as spark:
        {"stop": stop, "rival": rival, "stream": stream}[what](spark, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
