"""The evidence index without a file, for tests, demos and workspaces that must leave no trace."""

from live_memory.adapters.index.digesting import Worker
from live_memory.adapters.index.sqlite import SqliteIndex

__all__ = ["in_memory_index"]


def in_memory_index(parsing: Worker | None = None) -> SqliteIndex:
    """An empty index in this process's memory: the same rules, the same tables, no file."""
    return SqliteIndex.in_memory(parsing=parsing)
