"""What files that were read come to, one batch after the other; runs in a thread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.hosts.notices import Notice
from live_memory.core.memory.coverage import Shown, note
from live_memory.core.memory.events import MemoryEvent
from live_memory.core.memory.learning import Look, is_in_view, learned
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.values import ContentHash, Instant, RelPath
from live_memory.flow.reader import Reader

__all__ = ["Found", "Judge"]

# Large files are looked at piece by piece: the last few stay at hand, redacted.
_LARGE_BYTES, _MOST_LARGE = 64 * 1024, 4


@dataclass(frozen=True, slots=True)
class Found:
    """Events to record, why files gave none, and the readings that are in view now."""

    events: tuple[MemoryEvent, ...] = ()
    skipped: tuple[str, ...] = ()
    in_view: tuple[FileRead, ...] = ()


class Judge:
    """Redacts what was read and tells what of it is new."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._large: dict[tuple[RelPath, ContentHash], Observation | Skipped] = {}

    def judged(
        self,
        files: Mapping[RelPath, Notice],
        reads: Sequence[FileRead | Skipped],
        shown: dict[RelPath, Shown],
        *,
        kept: frozenset[RelPath],
        now: Instant,
    ) -> Found:
        """Go through files in order; `shown` follows."""
        events: list[MemoryEvent] = []
        skipped: list[str] = []
        current: list[FileRead] = []
        for (name, notice), read in zip(files.items(), reads, strict=True):
            if isinstance(read, FileRead) and read.path not in kept:
                skipped.append("ignored")
                continue
            known = None if isinstance(read, Skipped) else shown.get(read.path)
            if isinstance(read, FileRead) and known and is_in_view(notice, read.sha, known):
                current.append(read)
                continue
            seen = read if isinstance(read, Skipped) else self._observed(read)
            if isinstance(seen, Skipped):
                skipped.append(seen.reason.name.lower())
            look = Look(name, notice, read, seen)
            for event in learned(look, shown.get(look.path), now=now):
                events.append(event)
                note(shown, event)
            known = shown.get(look.path)
            if isinstance(read, FileRead) and known is not None and known.sha == read.sha:
                current.append(read)
        return Found(tuple(events), tuple(skipped), tuple(current))

    def _observed(self, read: FileRead) -> Observation | Skipped:
        if len(read.data) < _LARGE_BYTES:
            return self._reader.observe(read)
        key = (read.path, read.sha)
        seen = self._large.pop(key, None) or self._reader.observe(read)
        self._large[key] = seen
        while len(self._large) > _MOST_LARGE:
            del self._large[next(iter(self._large))]
        return seen
