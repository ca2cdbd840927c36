"""The view of a window, kept from one look to the next."""

from live_memory.core.memory.coverage import Shown, note
from live_memory.core.memory.following import Following
from live_memory.core.values import RelPath

__all__ = ["View"]


class View(Following[dict[RelPath, Shown]]):
    """What is in view: every file in the entries by its newest bytes."""

    def __init__(self) -> None:
        super().__init__(lambda _: {}, lambda shown, entry: note(shown, entry.content))
