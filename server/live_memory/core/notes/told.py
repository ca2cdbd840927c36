"""What was told, as an agent reads it: each text of others behind a bar, as data."""

from live_memory.core.memory.ledger import Source

__all__ = ["place_of"]


def place_of(source: Source) -> str:
    """Lines of a file as they are written: `path:line` or `path:first-last`."""
    lines = f"{source.start}" if source.start == source.end else f"{source.start}-{source.end}"
    return f"{source.path.text}:{lines}"
