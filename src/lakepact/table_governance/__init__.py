"""Contracts, writers, readers and migrations of tables under the names that document 002 gives them."""

from lakepact.faces.contracts import ContractLoader, load_contract
from lakepact.faces.migrator import MigrationPlan, SafeMigrator
from lakepact.faces.reader import TableReader
from lakepact.faces.writer import TableWriter

__all__ = ["ContractLoader", "MigrationPlan", "SafeMigrator", "TableReader", "TableWriter", "load_contract"]
