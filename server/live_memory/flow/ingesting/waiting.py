"""What waits to be looked at: at most so many files, one entry each, the oldest dropped first."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from live_memory.core.hosts.notices import Notice
from live_memory.core.hosts.shell import Search

__all__ = ["MOST_WAITING", "Item", "Waiting"]

# Paths that may wait, some 0.5 kB each; a burst beyond it is counted and checked as a whole. Four
# of the largest requests may come before the first of them is learned.
MOST_WAITING = 4_000
# A file that is being edited is looked at once it rests, and at the latest after the second time.
_QUIET_S, _LONGEST_S = 1.0, 5.0


Item = Notice | Search


@dataclass(frozen=True, slots=True)
class _Item:
    subject: Item
    first_at: float
    last_at: float

    def is_due(self, now: float) -> bool:
        edited = isinstance(self.subject, Notice) and self.subject.is_edited
        return not edited or now >= self.last_at + _QUIET_S or now >= self.first_at + _LONGEST_S


class Waiting:
    """A coalescing map in order of arrival."""

    def __init__(self) -> None:
        self._items: dict[object, _Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    @property
    def all(self) -> Sequence[Item]:
        """Everything, in order."""
        return [item.subject for item in self._items.values()]

    def put(self, subject: Item, *, now: float) -> int:
        """Add to what is known of the same file; returns how many were dropped to make room."""
        old = self._items.get(subject.key)
        if old is None:
            self._items[subject.key] = _Item(subject, now, now)
        elif isinstance(subject, Notice) and isinstance(old.subject, Notice):
            both = old.subject.with_later(subject)
            self._items[subject.key] = _Item(both, old.first_at, now)
        dropped = 0
        while len(self._items) > MOST_WAITING:
            del self._items[next(iter(self._items))]
            dropped += 1
        return dropped

    def take_due(self, *, now: float, most: int) -> Sequence[Item]:
        """The oldest that need not wait longer; they wait no more."""
        keys = [*islice((k for k, item in self._items.items() if item.is_due(now)), most)]
        return [self._items.pop(key).subject for key in keys]

    def take_all(self) -> Sequence[Item]:
        """Everything, in order; it waits no more."""
        taken = self.all
        self._items.clear()
        return taken
