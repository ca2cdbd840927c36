"""The evidence index without a file, for tests, demos and workspaces that must leave no trace."""

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.adapters.index.syntax.reader import SyntaxWorker

__all__ = ["in_memory_index"]


def in_memory_index(parsing: SyntaxWorker | None = None) -> SqliteIndex:
    """An empty index in this process's memory: the same rules, the same tables, no file."""
    return SqliteIndex.in_memory(parsing=parsing)
