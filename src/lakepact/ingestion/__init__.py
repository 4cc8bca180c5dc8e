"""Landing → Bronze → Silver under the names that document 002 gives them."""

from lakepact.faces.engine import IngestionEngine

__all__ = ["IngestionEngine"]
