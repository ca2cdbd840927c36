"""Before a question is answered, everything that is known is made equal to the bytes on disk.

A signature that is unchanged proves the bytes, whether they were read here or by the index before
a restart; anything else is opened and hashed. What changed is appended as an event, so that the
window shows it and facts that rested on old bytes step back.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio

from live_memory.core.errors import StoreUnavailable
from live_memory.core.memory.coverage import Shown, in_view
from live_memory.core.memory.events import FileChanged, FileGone, FileObserved, MemoryEvent
from live_memory.core.memory.window import Window, current_hashes
from live_memory.core.reading.admission import observe
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.reading.redaction import Redactor
from live_memory.core.tokens import estimate
from live_memory.core.values import ContentHash, Origin, RelPath, StatSignature
from live_memory.ports import Clock, EvidenceIndex, Sandbox

__all__ = ["Freshness"]

# New bytes of a changed file are shown whole up to so many tokens; of a larger one only that it
# changed, and the companion reads what it needs of it.
_SHOWN_WHOLE = 3_000
# Files that are held at a time: after a restart all that are known are hashed once.
_BATCH = 64


class Freshness:
    """Knows with which signature each hash in view was read; one a workspace.

    `turn` is held from reading files to recording them, by whoever does so: an older look at a
    file never follows a newer one into the window.
    """

    def __init__(
        self,
        *,
        sandbox: Sandbox,
        index: Callable[[], EvidenceIndex],
        redactor: Redactor,
        clock: Clock,
        max_file_bytes: int,
    ) -> None:
        self._sandbox = sandbox
        self._index = index
        self._redactor = redactor
        self._clock = clock
        self._max_file_bytes = max_file_bytes
        self.turn = anyio.Lock()
        self._proved: dict[RelPath, tuple[StatSignature, ContentHash]] = {}
        self._hashes = _Hashes()
        # What may not be proved by these signatures; without them it is everything.
        self._signatures: Mapping[RelPath, StatSignature] | None = None
        self._unsure: set[RelPath] = set()

    async def restore(
        self,
        window: Callable[[], Window],
        signatures: Mapping[RelPath, StatSignature],
        *,
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        """Record what is not as the window shows it; returns those paths, in order.

        `signatures` are those of a listing that began after the question came in.
        """
        async with self.turn:
            return await self._restored(window(), signatures, record)

    def note_read(self, read: FileRead | Observation) -> None:
        """These bytes were read with this signature, and what they are was recorded."""
        self._proved[read.path] = (read.signature, read.sha)
        self._unsure.add(read.path)

    async def _restored(
        self,
        window: Window,
        signatures: Mapping[RelPath, StatSignature],
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        known, told = self._hashes.of(window)
        is_same = signatures is self._signatures
        unsure = self._unsure | told if is_same else known.keys()
        found = [p for p in unsure if p in known and not self._is_proved(p, known, signatures)]
        self._signatures, self._unsure = None, set()
        doubtful = await self._unproved(sorted(found), known, signatures)
        changed = await self._looked_at(doubtful, window, known, record)
        self._unsure |= {p for p in doubtful if not self._is_proved(p, known, signatures)}
        self._signatures = signatures
        return changed

    async def _unproved(
        self,
        doubtful: Sequence[RelPath],
        known: Mapping[RelPath, ContentHash | None],
        signatures: Mapping[RelPath, StatSignature],
    ) -> Sequence[RelPath]:
        """Leave out what the index read with the signature that the file has now."""
        given = {path: signatures[path] for path in doubtful if path in signatures}
        if not given:
            return doubtful
        try:
            hashes = await self._index().hashes(given)
        except StoreUnavailable:
            return doubtful
        for path, sha in hashes.items():
            if known[path] == sha:
                self._proved[path] = (given[path], sha)
        return [path for path in doubtful if not self._is_proved(path, known, signatures)]

    async def _looked_at(
        self,
        doubtful: Sequence[RelPath],
        window: Window,
        known: Mapping[RelPath, ContentHash | None],
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        """Record what other bytes are in these files; returns their paths, in order."""
        if not doubtful:
            return ()
        shown = in_view(window)
        changed = []
        for start in range(0, len(doubtful), _BATCH):
            batch = doubtful[start : start + _BATCH]
            names = [path.text for path in batch]
            reads = await self._sandbox.read(names, max_bytes=self._max_file_bytes)
            for path, read in zip(batch, reads, strict=True):
                event = self._judged(path, known[path], read, shown=shown.get(path))
                if event is not None:
                    changed.append(path)
                    await record(event)
        return changed

    def _is_proved(
        self,
        path: RelPath,
        known: Mapping[RelPath, ContentHash | None],
        signatures: Mapping[RelPath, StatSignature],
    ) -> bool:
        proof = self._proved.get(path)
        return proof is not None and proof == (signatures.get(path), known[path])

    def _judged(
        self,
        path: RelPath,
        known: ContentHash | None,
        read: FileRead | Skipped,
        *,
        shown: Shown | None,
    ) -> MemoryEvent | None:
        now = self._clock.now()
        if isinstance(read, Skipped):
            self._proved.pop(path, None)
            return None if known is None else FileGone(path, now)
        self._proved[path] = (read.signature, read.sha)
        if read.sha == known:
            return None
        if shown is None:
            return FileChanged(path, read.sha, now)
        seen = observe(read, redactor=self._redactor)
        if isinstance(seen, Observation) and estimate(seen.text.text) <= _SHOWN_WHOLE:
            total = len(seen.lines)
            return FileObserved(path, read.sha, 1, total, total, Origin.DISK, now)
        return FileChanged(path, read.sha, now)


class _Hashes:
    """The last known hash of every file of a window, brought up to date by its new entries."""

    def __init__(self) -> None:
        self._window = Window()
        self._known: dict[RelPath, ContentHash | None] = {}

    def of(self, window: Window) -> tuple[Mapping[RelPath, ContentHash | None], set[RelPath]]:
        """Every file's hash; and which files entries tell of that were not there the last time."""
        before, self._window = self._window, window
        count = len(before.entries)
        # The same entries are the very same values: this compares 2,000 of them in microseconds.
        has_grown = window.settled is before.settled and window.entries[:count] == before.entries
        if not has_grown:
            self._known = current_hashes(window)
            return self._known, set(self._known)
        told = current_hashes(Window(entries=window.entries[count:]))
        self._known.update(told)
        return self._known, set(told)
