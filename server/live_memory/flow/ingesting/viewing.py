"""The view of a window, kept from one look to the next: a window only grows at its end mostly."""

from collections.abc import Mapping

from live_memory.core.memory.coverage import Shown, in_view, note
from live_memory.core.memory.window import Entry, Window
from live_memory.core.values import RelPath

__all__ = ["View"]


class View:
    """What is in view, brought up to date by the entries that are new.

    Going through a window of 2,000 entries takes 3 ms of the loop, which everyone else waits for.
    """

    def __init__(self) -> None:
        self._entries: tuple[Entry, ...] = ()
        self._shown: dict[RelPath, Shown] = {}

    def of(self, window: Window) -> Mapping[RelPath, Shown]:
        """Every file in the entries by its newest bytes, until the next call."""
        known, entries = len(self._entries), window.entries
        # Where an entry before it was taken away, another one is in the last one's place.
        if known <= len(entries) and self._entries[-1:] == entries[known - 1 : known]:
            for entry in entries[known:]:
                note(self._shown, entry.content)
        else:
            self._shown = in_view(window)
        self._entries = entries
        return self._shown
