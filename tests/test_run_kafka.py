"""Kafka, with a real broker: messages as rows, by batch and by stream, each exactly once whoever dies."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from servers import Kafka

pytestmark = pytest.mark.spark

CHILD = Path(__file__).with_name("child.py")
COLUMNS = [{"name": "id", "type": "int", "nullable": False}, {"name": "v", "type": "decimal(8,2)"}]


def _contract(kafka: Kafka, topic: str, write: dict[str, Any], **options: Any) -> dict[str, Any]:
    source = {"connector": "kafka", "options": {"servers": kafka.servers, "topic": topic, **options}}
    return {"table": "s.t", "source": source, "columns": COLUMNS, "write": write}


def test_messages_are_rows(make_project: MakeProject, spark: Any, kafka: Kafka) -> None:
    """Types are the contract's; what is not JSON goes to quarantine as it came; where each came from can be kept."""
    kafka.send(spark, "batch", [("a", '{"id": 1, "v": 1.5, "more": {}}'), ("b", '{"id": 2'), ("c", '{"id": "x"}')])
    contract = _contract(kafka, "batch", {"mode": "scd0_append"})
    contract["columns"] = [*COLUMNS, {"name": "_key"}, {"name": "_topic"}, {"name": "_offset", "type": "bigint"}]
    project = make_project([contract])
    (record,) = api.run(project, spark=spark)
    assert (record.rows.read, record.rows.inserted, record.rows.quarantined) == (3, 1, 2)
    (row,) = api.rows(project, "s.t")
    assert (row["id"], str(row["v"]), row["_key"], row["_topic"]) == (1, "1.50", "a", "batch")
    rejected = {tuple(row["_reasons"]): row["_row"] for row in api.rows(project, "s.t_quarantine")}
    assert '{"id": 2' in json.loads(rejected["malformed_record",])["_corrupt_record"]
    assert ("malformed_id",) in rejected


def test_a_stream_begins_where_it_ended(make_project: MakeProject, spark: Any, kafka: Kafka) -> None:
    project = make_project([_contract(kafka, "stream", {"mode": "scd1_upsert", "keys": "id"})])
    for version in (1, 2):
        kafka.send(spark, "stream", [(None, json.dumps({"id": n, "v": version})) for n in range(20)])
        records = api.stream(project, spark=spark)
        assert sum(r.rows.read or 0 for r in records) == 20
    assert sorted((row["id"], int(row["v"])) for row in api.rows(project, "s.t")) == [(n, 2) for n in range(20)]
    assert api.stream(project, spark=spark) == []


@pytest.mark.parametrize("times", [2, pytest.param(10, marks=pytest.mark.torture)])
def test_killed_and_resumed_each_message_lands_once(
    times: int, make_project: MakeProject, spark: Any, kafka: Kafka
) -> None:
    topic, many = f"killed-{times}", 50 * times
    kafka.send(spark, topic, [(None, json.dumps({"id": n, "v": 1})) for n in range(many)])
    contract = _contract(kafka, topic, {"mode": "scd0_append"}, max_offsets_per_trigger=10)
    project = make_project([contract])
    chance = random.Random(times)  # noqa: S311 - no secret hangs on it
    for _ in range(times):
        _stream_and_kill(project.root, chance.uniform(2, 8))
    api.stream(project, spark=spark)
    assert sorted(row["id"] for row in api.rows(project, "s.t")) == list(range(many))


def _stream_and_kill(folder: Path, after: float) -> None:
    """kill -9, so many seconds after Spark has started."""
    environment = {**os.environ, "PYTHONPATH": str(CHILD.parent)}
    command = [sys.executable, str(CHILD), "stream", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "ready"
        time.sleep(after)
        os.killpg(child.pid, signal.SIGKILL)
