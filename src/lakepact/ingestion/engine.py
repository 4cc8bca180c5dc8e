"""The engine under the name that document 002 gives it."""

from lakepact.faces.engine import IngestionEngine, TableStatus

__all__ = ["IngestionEngine", "TableStatus"]
