"""S3, with a real server: landing files in a bucket, and a lakehouse whose tables lie there too."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from lakepact.contract.project import Project
from servers import S3

pytestmark = pytest.mark.spark

COLUMNS = [{"name": "id", "type": "int", "nullable": False}, {"name": "v", "type": "int"}]
UPSERT = {"mode": "scd1_upsert", "keys": "id"}


@pytest.fixture
def folder(s3: S3) -> str:
    return f"{uuid.uuid4().hex[:8]}/in"


def _contract(s3: S3, path: str, **source: Any) -> dict[str, Any]:
    said = {"path": f"{s3.root}/{path}", "format": "csv", **source}
    return {"table": "s.t", "source": said, "columns": COLUMNS, "write": UPSERT}


def _values(project: Project) -> dict[int, int]:
    return {row["id"]: row["v"] for row in api.rows(project, "s.t")}


def test_a_glob_of_objects_is_read(make_project: MakeProject, spark: Any, s3: S3, folder: str) -> None:
    for name in ("a.csv", "b.csv", "c.txt"):
        s3.put(spark, f"{folder}/{name}", f"id,v\n{ord(name[0])},1\n")
    project = make_project([_contract(s3, f"{folder}/*.csv")])
    (record,) = api.run(project, spark=spark)
    assert (record.rows.read, record.sources) == (2, (f"{s3.root}/{folder}/*.csv",))
    assert _values(project) == {97: 1, 98: 1}


def test_each_object_is_loaded_once(make_project: MakeProject, spark: Any, s3: S3, folder: str) -> None:
    project = make_project([_contract(s3, folder, load_type="incremental", changed_files="reload")])
    (nothing,) = api.run(project, spark=spark)
    assert (nothing.status, nothing.rows.read) == ("success", 0)
    s3.put(spark, f"{folder}/a b.csv", "id,v\n1,1\n")
    s3.put(spark, f"{folder}/deep/b[1].csv", "id,v\n2,1\n")
    s3.put(spark, f"{folder}/_not/c.csv", "id,v\n3,1\n")
    assert api.run(project, spark=spark)[0].rows.read == 2
    (again,) = api.run(project, spark=spark)
    assert (again.status, again.skip_reason) == ("skipped", f"no new files in {s3.root}/{folder}")
    s3.put(spark, f"{folder}/d.csv", "id,v\n4,1\n")
    s3.put(spark, f"{folder}/a b.csv", "id,v\n1,22\n")
    assert api.run(project, spark=spark)[0].rows.read == 2
    assert _values(project) == {1: 22, 2: 1, 4: 1}
    kept = {row["file"] for row in api.rows(project, "s.t_loaded_files")}
    assert kept == {"a b.csv", "deep/b[1].csv", "d.csv"}


def test_an_object_that_changed_is_noticed(make_project: MakeProject, spark: Any, s3: S3, folder: str) -> None:
    project = make_project([_contract(s3, folder, load_type="incremental")])
    s3.put(spark, f"{folder}/a.csv", "id,v\n1,1\n")
    api.run(project, spark=spark)
    s3.put(spark, f"{folder}/a.csv", "id,v\n1,22\n")
    (record,) = api.run(project, spark=spark, raise_on_failure=False)
    assert (record.status, record.error_class) == ("failed", "QualityError")
    assert "a.csv (loaded by run" in (record.error or "")


def test_a_lakehouse_in_a_bucket(
    make_project: MakeProject, s3: S3, folder: str, spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process of its own: nobody told its Spark of S3 but the project, which knows the keys as secrets."""
    monkeypatch.setenv("LAKEPACT_SECRET_S3_ACCESS", s3.access)
    monkeypatch.setenv("LAKEPACT_SECRET_S3_SECRET", s3.secret)
    config = {
        **s3.config,
        "spark.hadoop.fs.s3a.access.key": "{{ secret:s3/access }}",
        "spark.hadoop.fs.s3a.secret.key": "{{ secret:s3/secret }}",
    }
    base = folder.partition("/")[0]
    here = {"warehouse": f"{s3.root}/{base}/warehouse", "spark": {"config": config, "master": "local[2]"}}
    first = _contract(s3, folder, load_type="incremental")
    second = {"table": "gold.sums", "source": {"sql": "SELECT count(*) AS n, sum(v) AS v FROM s.t"},
              "write": {"mode": "scd0_overwrite"}}  # fmt: skip
    project = make_project([first, second], environments={"local": here})
    s3.put(spark, f"{folder}/a.csv", "id,v\n1,1\n2,2\n,3\n")
    for turn in ("first", "again"):
        command = [str(Path(sys.executable).with_name("lakepact")), "run", "--project", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (turn, done.stdout + done.stderr)
    assert _values(project) == {1: 1, 2: 2}
    assert api.rows(project, "gold.sums") == [{"n": 2, "v": 3}]
    assert [row["_reasons"] for row in api.rows(project, "s.t_quarantine")] == [["missing_id"]]
    assert {run.status for run in api.runs(project, "s.t")} == {"quarantined", "skipped"}
    plan = api.plans(project, ["s.t"])[0]
    assert plan.world.target is not None
    shown = "".join(file.read_text() for file in (tmp_path / ".lakepact").rglob("*.json"))
    assert s3.secret not in shown + done.stdout + done.stderr
    assert not (tmp_path / "s3a:").exists()
