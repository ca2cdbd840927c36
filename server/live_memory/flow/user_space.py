"""The space that all projects of a user share: preferences, told to be kept there and no others."""

import anyio

from live_memory.core.errors import StoreUnavailable, Unavailable
from live_memory.core.memory.window import Telling, Window, apply
from live_memory.core.notes.recollection import NoteWords
from live_memory.core.saving.snapshot import Memory
from live_memory.core.signals import SnapshotQuarantined
from live_memory.core.values import WorkspaceKey
from live_memory.flow.persist import Persister
from live_memory.ports import SignalSink, SnapshotStore, WorkspaceIdentity

__all__ = ["UserSpace"]

# Its journal and snapshot are kept as a workspace's are, in a folder of their own.
_IDENTITY = WorkspaceIdentity("user", WorkspaceKey.of_root("user"))


class UserSpace:
    """Owner of what a user keeps across projects; nothing is harvested into it."""

    def __init__(self, *, store: SnapshotStore, signals: SignalSink) -> None:
        self.window, self.note_words = Window(), NoteWords()
        self.problems: tuple[str, ...] = ()
        self._store = store
        self._signals = signals
        self._persister: Persister | None = None
        self._settled = anyio.Event()

    async def run(self) -> None:
        """Take up what was kept, and keep what comes, until cancelled."""
        try:
            found = await self._store.load(_IDENTITY.key)
            for problem in found.problems:
                self._signals.emit(SnapshotQuarantined(_IDENTITY.key, _IDENTITY.root, problem))
            self.problems = found.problems
            if found.memory is not None:
                self.window = found.memory.window
            persister = Persister(
                _IDENTITY,
                store=self._store,
                memory=lambda: Memory(self.window),
                signals=self._signals,
                is_saved=found.is_saved,
            )
            if not found.is_unread:
                self._persister = persister
        finally:
            self._settled.set()
        if found.is_unread:
            # What is there must not be written over.
            await anyio.sleep_forever()
        try:
            await persister.run()
        finally:
            self._persister = None
            await persister.flush()
            with anyio.CancelScope(shield=True):
                await self._store.release(_IDENTITY.key)

    async def opened(self) -> Window:
        """What is kept."""
        await self._settled.wait()
        return self.window

    async def settled(self) -> None:
        """Wait until everything that is kept survives a crash.

        Raises:
            StoreUnavailable: it does not.
        """
        if self._persister is not None:
            await self._persister.settled()

    async def record(self, event: Telling) -> None:
        """Take something in; returns once it survives a crash.

        Raises:
            StoreUnavailable: it does not; it is known all the same.
            Unavailable: what was kept cannot be read, so nothing is added.
        """
        await self._settled.wait()
        if self._persister is None:
            raise Unavailable("what is kept across projects cannot be read now")
        self.window = apply(self.window, event)
        self._persister.happened(self.window.revision, event)
        await self._persister.promised(event)

    async def rewrite(self) -> None:
        """Write down what there is now, and remove every file of before.

        Raises:
            StoreUnavailable: the disk does not let it.
        """
        if self._persister is None:
            raise StoreUnavailable("what is kept cannot be read now, so it is not written anew")
        await self._persister.rewrite()
