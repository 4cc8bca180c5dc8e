"""A migration as a run of its own: its statements are committed in order, and it leaves a record."""

from __future__ import annotations

from dataclasses import replace

from lakepact.contract.model import Contract
from lakepact.contract.project import Project
from lakepact.errors import LakepactError
from lakepact.evidence.record import RunRecord, unplanned_record
from lakepact.jobs import new_run
from lakepact.plan.migration import Migration, make_migration
from lakepact.site import Look, Site, places_of


def migration_of(contract: Contract, project: Project, look: Look) -> Migration:
    """The contract against its table as it is."""
    target = places_of(project, [contract]).locate(contract.name)
    return make_migration(contract, target, look(target))


def migrate(contract: Contract, migration: Migration, site: Site) -> RunRecord:
    """Whatever happens on the way, the record tells which changes were to be made and between which versions."""
    from lakepact.spark.failures import engine_error
    from lakepact.spark.table import alter_table

    run, tables, error = new_run(), site.engine.tables, None
    before = tables.version(migration.table)
    statements = tuple(change.sql for change in migration.operations)
    try:
        if before < 0:
            tables.make_way(migration.table)
        alter_table(site.engine.spark, migration.table, statements, run.run_id)
    except LakepactError as known:
        error = known
    except Exception as unknown:  # noqa: BLE001 - whatever it was, it becomes the record of a failed run
        error = engine_error(unknown)
    status = "failed" if error else "success"
    record = unplanned_record(contract, run, error, status, new_run().now, site.project.environment_name)
    told = replace(
        record,
        mode="migrate",
        schema_changes=statements,
        version_before=_there(before),
        version_after=_there(tables.version(migration.table)),
    )
    for store in site.stores:
        store.write(told)
    return told


def _there(version: int) -> int | None:
    return version if version >= 0 else None
