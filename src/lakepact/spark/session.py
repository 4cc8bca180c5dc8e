"""The Spark session: a tuned local one, a master's, a Spark Connect remote's, or the one already there."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from lakepact.contract.project import SparkSettings
from lakepact.errors import MachineError
from lakepact.spark.jars import jars
from lakepact.spark.java import require_java

DELTA_CONFIG = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}

# Spark's defaults are for clusters; a small table on a laptop must not pay for them.
LOCAL_CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.driver.extraJavaOptions": (
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.level=ERROR -Duser.timezone=UTC"
    ),
    "spark.log.level": "ERROR",
    "spark.sql.catalogImplementation": "in-memory",
}


@contextlib.contextmanager
def spark_session(settings: SparkSettings, app_name: str, scratch: Path) -> Iterator[SparkSession]:
    """The session for an environment; it is stopped again unless it was already there."""
    there = None if settings.remote else _there()
    if settings.ambient or there is not None:
        yield _usable(there)
        return
    session = _start(settings, app_name, scratch)
    try:
        yield session
    finally:
        session.stop()


def lasting_session(settings: SparkSettings, app_name: str) -> SparkSession:
    """The one already running, or one that stays until the program ends."""
    there = None if settings.remote else _there()
    if settings.ambient or there is not None:
        return _usable(there)
    scratch = tempfile.mkdtemp(prefix="lakepact-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return _start(settings, app_name, Path(scratch))


def _there() -> SparkSession | None:
    """The session of this thread or else of this process: to another thread than its own it is not the active one."""
    with contextlib.suppress(PySparkException):
        session = SparkSession.getActiveSession() or SparkSession.active()
        return None if hasattr(session, "_sc") and session._sc._jsc is None else session
    return None


def new_session(spark: SparkSession) -> SparkSession:
    """Another session of the same Spark, which Spark Connect calls a clone; ${…} in a text stays what it is.

    Spark would put a setting or a variable of the environment in its place, also inside of a literal.
    """
    way = "newSession" if hasattr(spark, "newSession") else "cloneSession"
    made: SparkSession = getattr(spark, way)()
    made.conf.set("spark.sql.variable.substitute", "false")
    return made


def frame_of(session: SparkSession, rows: Sequence[tuple[object, ...]], schema: str | StructType) -> DataFrame:
    """A frame of values. Spark makes its session the active one; the caller's stays it, for their views are there."""
    active = SparkSession.getActiveSession()
    frame = session.createDataFrame(list(rows), schema)
    if active is not None:
        active.createDataFrame([], "nothing int")
    return frame


def _usable(session: SparkSession | None) -> SparkSession:
    if session is None:
        raise MachineError("spark.ambient is true, but no Spark session is running here")
    if "delta" not in str(session.conf.get("spark.sql.extensions", "")).lower() and not _on_databricks(session):
        raise MachineError("the Spark session that is already running here was started without Delta's extension")
    return session


def _on_databricks(session: SparkSession) -> bool:
    return bool(session.conf.get("spark.databricks.clusterUsageTags.clusterId", ""))


def _start(settings: SparkSettings, app_name: str, scratch: Path) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    if settings.remote:
        return _configured(builder.remote(settings.remote), settings.config).getOrCreate()
    require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = settings.master or "local[*]"
    on_this_machine = master.startswith("local")
    config: dict[str, object] = {
        **DELTA_CONFIG,
        **(_local(settings, scratch) if on_this_machine else _cluster(settings)),
    }
    try:
        with _quiet_launch():
            session = _configured(builder.master(master), {**config, **settings.config}).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise MachineError(
            f"Spark did not start: {str(error).splitlines()[0]}; check spark.memory and spark.config"
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session


def _local(settings: SparkSettings, scratch: Path) -> dict[str, object]:
    cores = min(os.cpu_count() or 1, 4)
    return {
        **LOCAL_CONFIG,
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars(settings.packages)),
        "spark.driver.memory": settings.memory,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
        "spark.local.dir": str(scratch / "spark-local"),
    }


def _cluster(settings: SparkSettings) -> dict[str, object]:
    return {"spark.jars": ",".join(str(jar) for jar in jars(settings.packages))}


def _configured(builder: SparkSession.Builder, config: Mapping[str, object]) -> SparkSession.Builder:
    for key, value in config.items():
        builder = builder.config(key, str(value).lower() if isinstance(value, bool) else str(value))
    return builder


@contextlib.contextmanager
def _quiet_launch() -> Iterator[None]:
    """The JVM greets on our standard error before any log setting is read, and Delta prints on our output: not wanted.

    What it inherits here it keeps: standard output is for our data alone.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    with Path(os.devnull).open("w") as nowhere:
        try:
            for stream in kept:
                os.dup2(nowhere.fileno(), stream)
            yield
        finally:
            for stream, own in kept.items():
                os.dup2(own, stream)
                os.close(own)
