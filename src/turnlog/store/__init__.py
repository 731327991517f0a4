"""The DuckDB store: who may open the file and when, how journals get into it, and the questions it answers."""

from turnlog.store.store import Store

__all__ = ["Store"]
