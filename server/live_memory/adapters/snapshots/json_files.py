"""A snapshot and a journal a workspace, in `<data>/workspaces/<key>/`."""

import contextlib
import functools
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

from live_memory.adapters.snapshots.folder import APART, MemoryFolder
from live_memory.adapters.snapshots.journal_file import JOURNAL, LARGEST_JOURNAL
from live_memory.adapters.snapshots.loading import LARGEST_SNAPSHOT, PREVIOUS, SNAPSHOT
from live_memory.adapters.snapshots.own_files import read_file, sync_folder
from live_memory.adapters.snapshots.writing import WritingThread
from live_memory.core.errors import (
    Corrupt,
    LiveMemoryError,
    StoreUnavailable,
    refuse_exhausted,
)
from live_memory.core.saving.journal import Told, begun_in
from live_memory.core.saving.sealing import unsealed
from live_memory.core.saving.snapshot import Memory, Restored, root_of
from live_memory.core.values import WorkspaceKey

__all__ = ["JsonFiles"]

# A folder that is being removed: whatever happens then, nothing in it comes back.
_FORGOTTEN = ".forgotten"


class JsonFiles:
    """A `SnapshotStore`; folders are 0700 and files 0600 whatever the umask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[WorkspaceKey, MemoryFolder] = {}
        # Memories of which the system gave no bytes: what is there must not be written over.
        self._unread: dict[WorkspaceKey, str] = {}
        # Each is there as long as somebody has it or waits for it.
        self._turns: WeakValueDictionary[WorkspaceKey, anyio.Lock] = WeakValueDictionary()
        self._writer = WritingThread()

    async def load(self, key: WorkspaceKey) -> Restored:
        """Read the snapshot and its journals; what cannot be read is set aside and told.

        Where the system gives no bytes, nothing is kept either until it was loaded again.
        """
        async with self._turn(key):
            self._close(key)
            folder = self._folder / key.text
            try:
                opened = await to_thread.run_sync(MemoryFolder.opened, folder)
            except OSError as problem:
                refuse_exhausted(problem)
                self._unread[key] = (
                    f"{folder} cannot be read: {problem.strerror} (nothing is written there until "
                    "it can be)"
                )
                return Restored(problems=(self._unread[key],), is_unread=True)
            self._open[key], restored = opened
            return restored

    async def is_readable(self, key: WorkspaceKey) -> bool:
        """Open the folder and let go of it."""
        async with self._turn(key):
            try:
                kept, _ = await to_thread.run_sync(MemoryFolder.opened, self._folder / key.text)
            except OSError as problem:
                refuse_exhausted(problem)
                return False
            kept.close()
            return True

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[Told]) -> None:
        """Add lines to the journal and sync them."""
        async with self._turn(key):
            work = functools.partial(self._opened(key).append, root, told)
            try:
                await self._writer.run(work)
            except OSError as problem:
                where = f"the journal in {self._folder / key.text} cannot be written"
                raise StoreUnavailable(f"{where}: {problem.strerror}") from problem

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        """Begin a new journal, then write beside, sync, rename, sync the folder."""
        with _failures_told(f"{self._folder / key.text} cannot be written"):
            async with self._turn(key):
                kept = self._opened(key)
                generation = await to_thread.run_sync(kept.turn_page, root)
            memory = taken()
            await to_thread.run_sync(lambda: kept.save(root, memory, generation=generation))

    async def release(self, key: WorkspaceKey) -> None:
        """Close the journal, and keep nothing of the memory here."""
        async with self._turn(key):
            self._close(key)

    async def forget(self, key: WorkspaceKey) -> None:
        """Remove the workspace's folder, in one step for whoever looks."""
        async with self._turn(key):
            self._close(key)
            with _failures_told(f"{self._folder / key.text} cannot be removed"):
                await to_thread.run_sync(self._remove, key)

    async def exchange(self, key: WorkspaceKey, *, kept: str, wanted: str) -> str:
        """Give the workspace's folder another name, and its own to what was set aside before."""
        async with self._turn(key):
            self._close(key)
            with _failures_told(f"{self._folder / key.text} cannot be set aside"):
                return await to_thread.run_sync(self._exchange, key, kept, wanted)

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """Read every root; unreadable ones are left out."""
        return await to_thread.run_sync(self._roots)

    def _turn(self, key: WorkspaceKey) -> anyio.Lock:
        return self._turns.setdefault(key, anyio.Lock(fast_acquire=True))

    def _opened(self, key: WorkspaceKey) -> MemoryFolder:
        try:
            return self._open[key]
        except KeyError:
            why = "this memory was not loaded, or was forgotten since"
            raise StoreUnavailable(self._unread.get(key, why)) from None

    def _close(self, key: WorkspaceKey) -> None:
        self._unread.pop(key, None)
        kept = self._open.pop(key, None)
        if kept is not None:
            kept.close()

    def _exchange(self, key: WorkspaceKey, kept: str, wanted: str) -> str:
        folder = self._folder / key.text
        aside, back = (folder.with_name(f"{key.text}.{name}") for name in (kept, wanted))
        numbered = (aside.with_name(f"{aside.name}.{n}") for n in itertools.count(1))
        free = next(p for p in itertools.chain([aside], numbered) if not os.path.lexists(p))
        folder.rename(free)
        with contextlib.suppress(FileNotFoundError):
            back.rename(folder)
        sync_folder(self._folder)
        return str(free)

    def _remove(self, key: WorkspaceKey) -> None:
        folder = self._folder / key.text
        for aside in self._folder.glob(f"{key.text}.*"):
            shutil.rmtree(aside)
        gone = folder.with_name(f"{key.text}{_FORGOTTEN}")
        if os.path.lexists(folder):
            folder.rename(gone)
            sync_folder(self._folder)
            shutil.rmtree(gone)

    def _roots(self) -> dict[WorkspaceKey, str]:
        found: dict[WorkspaceKey, str] = {}
        for folder in sorted(self._folder.glob("*")):
            if folder.suffix == _FORGOTTEN:
                continue
            root = _root(folder) or _root(folder / APART)
            with contextlib.suppress(LiveMemoryError):
                if root is not None:
                    # What was set aside is to be forgotten with the rest.
                    found[WorkspaceKey(folder.name.partition(".")[0])] = root
        return found


@contextmanager
def _failures_told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise StoreUnavailable(f"{what}: {problem.strerror}") from problem


def _root(folder: Path) -> str | None:
    """The root that a folder's files name."""
    for name in (SNAPSHOT, PREVIOUS):
        with contextlib.suppress(Corrupt, OSError):
            return root_of(unsealed(read_file(folder / name, most=LARGEST_SNAPSHOT)))
    with contextlib.suppress(Corrupt, OSError):
        return begun_in(read_file(folder / JOURNAL, most=LARGEST_JOURNAL)).root
    return None
