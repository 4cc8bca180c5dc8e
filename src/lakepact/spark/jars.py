"""Jars by Maven coordinates: resolved once by Spark itself, then kept in a cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lakepact.errors import MachineError

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
# Spark brings these itself; a second copy on the class path would only do harm.
IN_SPARK = (
    "org.apache.hadoop:*", "org.apache.parquet:*", "org.apache.logging.log4j:*", "org.slf4j:*",
    "com.fasterxml.jackson.core:*", "com.fasterxml.jackson.datatype:*", "org.xerial.snappy:*",
    "com.github.luben:*", "io.airlift:*", "commons-logging:*", "commons-pool:*", "org.roaringbitmap:*",
    "com.google.code.findbugs:*", "javax.annotation:*", "org.locationtech.jts:*", "io.netty:*",
    "org.apache.httpcomponents:*", "commons-codec:*",
)  # fmt: skip

_RESOLVE = """
import sys
from pyspark.sql import SparkSession
packages, alone, excludes, folder = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
builder = builder.config("spark.jars.packages", packages).config("spark.jars.ivy", folder)
spark = builder.config("spark.jars.excludes", excludes).getOrCreate()
for package in filter(None, alone.split(",")):
    spark.sql(f"ADD JAR ivy://{package}")
spark.stop()
"""


def cache_folder() -> Path:
    """LAKEPACT_CACHE, or lakepact in the user's cache folder."""
    given = os.environ.get("LAKEPACT_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(given) if given else Path(base) / "lakepact"


def jars(packages: tuple[str, ...] = ()) -> list[Path]:
    """The jars of Delta and of these packages, from the cache or else from Maven.

    A package that ends in `?transitive=false` comes without what it says it needs.
    """
    return fetch((DELTA, *packages), IN_SPARK)


def fetch(packages: tuple[str, ...], excludes: tuple[str, ...]) -> list[Path]:
    """The jars of these packages and of what they need, but for those that are excluded."""
    wanted = ",".join(packages)
    folder = cache_folder() / "jars" / hashlib.sha256("\n".join((wanted, *excludes)).encode()).hexdigest()[:16]
    if not (folder / "complete").is_file():
        _resolve(wanted, excludes, folder)
    return sorted(folder.glob("*.jar"))


def _resolve(wanted: str, excludes: tuple[str, ...], folder: Path) -> None:
    """Into a folder of our own first: two processes may be doing this at once."""
    sys.stderr.write(f"fetching {wanted} (once)\n")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        whole = [package for package in wanted.split(",") if "?" not in package]
        alone = [package for package in wanted.split(",") if "?" in package]
        command = [sys.executable, "-c", _RESOLVE, ",".join(whole), ",".join(alone), ",".join(excludes), work]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        found = sorted(Path(work, "jars").glob("*.jar"))
        if done.returncode or not found:
            reason = _reason(done.stderr + done.stdout)
            raise MachineError(f"Maven packages {wanted} cannot be fetched: {reason}; check the network or a proxy")
        folder.mkdir(exist_ok=True)
        for jar in found:
            shutil.move(str(jar), folder / jar.name)
        (folder / "complete").touch()


def _reason(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if "unresolved" in line.lower() or "not found" in line.lower()]
    rest = [line.strip() for line in log.splitlines() if line.strip()]
    return (lines or rest or ["no reason given"])[-1][:300]
