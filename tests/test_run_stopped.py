"""A run that stops at any step, and is run again, leaves what an undisturbed run leaves."""

from __future__ import annotations

import os
from typing import Any

import pytest

from conftest import MakeProject
from lakepact import api
from lakepact.site import Watch

pytestmark = pytest.mark.spark

COLUMNS = [{"name": "id"}, {"name": "v", "type": "int"}]
CONTRACTS = {
    "scd0_overwrite": {"write": {"mode": "scd0_overwrite", "skip_unchanged": True}},
    "scd1_upsert": {"write": {"mode": "scd1_upsert", "keys": "id"}},
    "scd2_historical": {"write": {"mode": "scd2_historical", "keys": "id"}},
}


UNBORN = ("t", "t_quarantine")


class StoppedError(Exception):
    pass


def _stop_at(wanted: str) -> Watch:
    def step(table: str, name: str, outcome: Any) -> None:
        if name == wanted:
            raise StoppedError(wanted)

    return Watch(step=step)


@pytest.mark.parametrize("mode", CONTRACTS)
def test_a_stopped_run_is_made_good_by_the_next(mode: str, make_project: MakeProject, spark: Any) -> None:
    contract = {"table": "s.t", "source": {"path": "{path.landing}/in.csv"}, "columns": COLUMNS, **CONTRACTS[mode]}
    project = make_project([contract], {"landing/in.csv": "id,v\na,1\nb,2\nc,x\n"})
    for step in ("prepare", "write", "balance"):
        (stopped,) = api.run(project, spark=spark, watch=_stop_at(step), raise_on_failure=False)
        assert (stopped.status, stopped.failed_step) == ("failed", step)
        (record,) = api.run(project, spark=spark)
        assert record.balanced
        assert [(row["id"], row["v"]) for row in api.rows(project, "s.t")] == [("a", 1), ("b", 2)]
        assert [row["id"] for row in api.rows(project, "s.t_quarantine")] == ["c"]


def test_what_died_while_its_tables_were_made_is_made_again(make_project: MakeProject, spark: Any) -> None:
    """Delta makes the folders of a log before its first commit, and takes them for a table."""
    contract = {"table": "s.t", "source": {"path": "{path.landing}/in.csv"}, "columns": COLUMNS}
    project = make_project([{**contract, "write": {"mode": "scd0_append"}}], {"landing/in.csv": "id,v\na,1\nc,x\n"})
    for name in UNBORN:
        log = project.root / "warehouse" / "s.db" / name / "_delta_log"
        (log / "_staged_commits").mkdir(parents=True)
        os.utime(log, (1_700_000_000, 1_700_000_000))
    (record,) = api.run(project, spark=spark)
    assert (record.rows.inserted, record.rows.quarantine_added) == (1, 1)
