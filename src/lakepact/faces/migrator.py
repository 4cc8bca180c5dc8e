"""SafeMigrator: a table is made what its contract says, without losing a row; what cannot be done is told first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lakepact import api
from lakepact.errors import PlanError
from lakepact.faces.home import Given, Home, contract_of, home_of, tables_at
from lakepact.migrations import migrate, migration_of
from lakepact.plan.migration import Migration
from lakepact.site import Watch, open_site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class MigrationPlan(Migration):
    """A migration that can be shown."""

    def print(self) -> None:
        sys.stdout.write(f"{self}\n")


class SafeMigrator:
    """`plan` looks, `apply` does; a dry run shows the plan and does nothing."""

    def __init__(
        self,
        contract: Given,
        *,
        dry_run: bool = False,
        project: Home = None,
        environment: str | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        self.project = home_of(contract, project, environment)
        self.contract = contract_of(contract, self.project)
        self.dry_run, self.spark = dry_run, spark

    def plan(self) -> MigrationPlan:
        """The contract against the table as it is now."""
        found = migration_of(self.contract, self.project, tables_at(self.project, self.spark).state)
        return MigrationPlan(found.table, found.operations, found.refused, found.notes)

    def apply(self) -> MigrationPlan:
        """All of the plan, or an error with every reason against it before anything is done."""
        plan = self.plan()
        if plan.refused:
            raise PlanError(plan.refused)
        if self.dry_run:
            plan.print()
        elif plan.operations:
            self._do(plan)
        return plan

    def _do(self, plan: MigrationPlan) -> None:
        with open_site(self.project, [self.contract], self.spark, Watch()) as site:
            record = migrate(self.contract, plan, site)
        if not record.ok:
            raise api.failure(record)
