"""Which files the agent worked on lately; questions are often about those."""

from live_memory.core.memory.events import FileObserved
from live_memory.core.memory.window import Window
from live_memory.core.values import Instant, Origin, RelPath

__all__ = ["edited_lately"]

# As it was measured where its weight is (`core/evidence/ranking`); the latest five files do nearly
# as well.
_LATELY_S, _MOST = 7 * 24 * 3600.0, 20


def edited_lately(window: Window, now: Instant) -> frozenset[RelPath]:
    """The last files that an edit of the agent brought into view."""
    found: set[RelPath] = set()
    for entry in reversed(window.entries):
        seen = entry.content
        if isinstance(seen, FileObserved) and seen.origin is Origin.EDIT:
            if now - seen.at > _LATELY_S or len(found) == _MOST:
                break
            found.add(seen.path)
    return frozenset(found)
