"""What a window shows of each file, made from its entries at once and not one after the other."""

from live_memory.core.memory.learning import Coverage, note
from live_memory.core.memory.window import Window
from live_memory.core.values import RelPath

__all__ = ["in_view"]


def in_view(window: Window) -> dict[RelPath, Coverage]:
    """Every file in the entries, by its newest bytes; a file that is gone has no hash."""
    shown: dict[RelPath, Coverage] = {}
    for entry in window.entries:
        note(shown, entry.content)
    return shown
