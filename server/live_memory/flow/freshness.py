"""Before a question is answered, everything that is known is made equal to the bytes on disk.

A signature that is unchanged proves the bytes, whether they were read here or by the index before
a restart; anything else is opened and hashed. What changed is appended as an event, so that the
window shows it and facts that rested on old bytes step back.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio

from live_memory.core.errors import StoreUnavailable
from live_memory.core.memory.events import FileChanged, FileGone, MemoryEvent
from live_memory.core.memory.following import Following
from live_memory.core.memory.window import Entry, Window, told_by
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.values import ContentHash, RelPath, StatSignature
from live_memory.ports import Clock, EvidenceIndex, Sandbox

__all__ = ["Freshness"]

# Files that are hashed in one go: after a restart that the index did not outlive, all are.
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
        clock: Clock,
    ) -> None:
        self._sandbox = sandbox
        self._index = index
        self._clock = clock
        self.turn = anyio.Lock()
        self._proved: dict[RelPath, tuple[StatSignature, ContentHash]] = {}
        self._known = Following(_Known, _Known.take)
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
        now = self._known.of(window)
        known, told, now.told = now.hashes, now.told, set()
        is_same = signatures is self._signatures
        unsure = self._unsure | told if is_same else known.keys()
        found = [p for p in unsure if p in known and not self._is_proved(p, known, signatures)]
        self._signatures, self._unsure = None, set()
        doubtful = await self._unproved(sorted(found), known, signatures)
        changed = await self._looked_at(doubtful, known, record)
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
        known: Mapping[RelPath, ContentHash | None],
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        """Record what other bytes are in these files; returns their paths, in order."""
        changed = []
        for start in range(0, len(doubtful), _BATCH):
            batch = doubtful[start : start + _BATCH]
            reads = await self._sandbox.read([path.text for path in batch], max_bytes=0)
            for path, read in zip(batch, reads, strict=True):
                event = self._judged(path, known[path], read)
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
        self, path: RelPath, known: ContentHash | None, read: FileRead | Skipped
    ) -> MemoryEvent | None:
        now = self._clock.now()
        if isinstance(read, Skipped):
            self._proved.pop(path, None)
            return None if known is None else FileGone(path, now)
        self._proved[path] = (read.signature, read.sha)
        return None if read.sha == known else FileChanged(path, read.sha, now)


class _Known:
    """The last known hash of every file, and which files entries told of since the last look."""

    def __init__(self, window: Window) -> None:
        self.hashes: dict[RelPath, ContentHash | None] = {**window.settled}
        self.told = set(self.hashes)

    def take(self, entry: Entry) -> None:
        """Add what the next entry tells."""
        for path, sha in told_by(entry.content):
            self.hashes[path] = sha
            self.told.add(path)
