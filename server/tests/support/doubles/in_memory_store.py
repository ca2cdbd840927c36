"""A `SnapshotStore` that keeps the saved bytes in dictionaries, for tests and dry runs."""

from collections.abc import Callable, Mapping, Sequence

from live_memory.core.errors import StoreUnavailable
from live_memory.core.notes.session_work import SessionRecord
from live_memory.core.saving.codec import read, written
from live_memory.core.saving.journal import (
    JournalHeader,
    JournalRecord,
    begun_in,
    line_of,
    records_in,
    replayed,
)
from live_memory.core.saving.snapshot import (
    Memory,
    Restored,
    Snapshot,
    from_form,
    sealed,
    to_form,
    unsealed,
)
from live_memory.core.values import Instant, WorkspaceKey

__all__ = ["InMemory"]


class InMemory:
    """Goes through the saved form, so that what does not survive a restart does not here either."""

    def __init__(self) -> None:
        self._snapshots: dict[WorkspaceKey, bytes] = {}
        self._journals: dict[WorkspaceKey, bytes] = {}
        self._loaded: set[WorkspaceKey] = set()
        self._aside: dict[tuple[WorkspaceKey, str], tuple[bytes | None, bytes | None]] = {}
        self._sessions: dict[WorkspaceKey, object] = {}
        # Until when each open handoff counts.
        self.told_open: dict[WorkspaceKey, Sequence[Instant]] = {}

    async def load(self, key: WorkspaceKey) -> Restored:
        """Rebuild the memory from its saved form."""
        self._loaded.add(key)
        data, journal = self._snapshots.get(key), self._journals.get(key)
        if data is None and journal is None:
            return Restored()
        memory = Memory() if data is None else from_form(unsealed(data)).memory
        return Restored(replayed(memory, records_in(journal or b"")), is_saved=journal is None)

    async def is_readable(self, key: WorkspaceKey) -> bool:
        """It always is."""
        del key
        return True

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        """Keep the lines."""
        self._check(key)
        before = self._journals.get(key) or line_of(JournalHeader(1, root))
        self._journals[key] = before + b"".join(map(line_of, told))

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Keep the saved form; the journal is needed no more."""
        self._check(key)
        self._journals.pop(key, None)
        self._snapshots[key] = sealed(to_form(Snapshot(root, 1, taken())))

    async def sessions(self, key: WorkspaceKey) -> Sequence[SessionRecord]:
        """Rebuild them from their saved form."""
        found: Sequence[SessionRecord] = read(
            tuple[SessionRecord, ...], self._sessions.get(key, [])
        )
        return found

    async def keep_sessions(self, key: WorkspaceKey, sessions: Sequence[SessionRecord]) -> None:
        """Keep the saved form."""
        self._check(key)
        self._sessions[key] = written(tuple(sessions))

    async def tell_open(self, key: WorkspaceKey, until: Sequence[Instant]) -> None:
        """Keep it."""
        self._check(key)
        self.told_open[key] = until

    async def rewrite(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Nothing older is kept anyway."""
        await self.save(key, root, taken)

    async def release(self, key: WorkspaceKey) -> None:
        """Take no more before it is loaded again."""
        self._loaded.discard(key)

    async def forget(self, key: WorkspaceKey) -> None:
        """Drop everything."""
        self._loaded.discard(key)
        self._aside = {whose: data for whose, data in self._aside.items() if whose[0] != key}
        self._snapshots.pop(key, None)
        self._journals.pop(key, None)
        self._sessions.pop(key, None)
        self.told_open.pop(key, None)

    async def exchange(self, key: WorkspaceKey, *, kept: str, wanted: str) -> str:
        """Set one aside, take up the other."""
        self._loaded.discard(key)
        self._sessions.pop(key, None)
        self.told_open.pop(key, None)
        self._aside[key, kept] = self._snapshots.pop(key, None), self._journals.pop(key, None)
        snapshot, journal = self._aside.pop((key, wanted), (None, None))
        self._snapshots |= {} if snapshot is None else {key: snapshot}
        self._journals |= {} if journal is None else {key: journal}
        return f"{key.text}.{kept}"

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """The root each was saved with."""
        begun = {key: begun_in(journal).root for key, journal in self._journals.items()}
        saved = {key: from_form(unsealed(data)).root for key, data in self._snapshots.items()}
        return begun | saved

    async def saved(self) -> Mapping[WorkspaceKey, Instant]:
        """All at once, long ago."""
        return dict.fromkeys((*self._journals, *self._snapshots), Instant(0.0))

    def _check(self, key: WorkspaceKey) -> None:
        if key not in self._loaded:
            raise StoreUnavailable("this memory was not loaded, or was forgotten since")
