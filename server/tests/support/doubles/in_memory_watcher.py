"""A watcher whose changes a test writes down."""

from collections.abc import Sequence

import anyio

from live_memory.core.values import NoticedChanges, WatchState

__all__ = ["InMemoryWatcher"]


class InMemoryWatcher:
    """Notices what it is told of the folders it follows, and only of those."""

    def __init__(self, *, problem: str | None = None) -> None:
        self.folders: tuple[str, ...] = ()
        self.is_closed = False
        self.problem = problem
        self._noticed = NoticedChanges()
        self._something = anyio.Event()

    @property
    def state(self) -> WatchState:
        """All of what was asked for, or none of it where there is a problem."""
        wanted = len(self.folders)
        return WatchState(0 if self.problem else wanted, wanted, self.problem)

    async def follow(self, folders: Sequence[str]) -> None:
        """Watch these folders alone."""
        self.folders = tuple(folders)

    def change(self, name: str) -> None:
        """Let a file or folder have changed."""
        if self.problem is None and name.rpartition("/")[0] in self.folders:
            self._noticed = NoticedChanges(self._noticed.names | {name}, self._noticed.is_cut)
            self._something.set()

    def lose(self) -> None:
        """Let changes have been lost."""
        self._noticed = NoticedChanges(self._noticed.names, is_cut=True)
        self._something.set()

    async def wait(self) -> None:
        """Wait until there is something to take."""
        await self._something.wait()

    def take(self) -> NoticedChanges:
        """What changed since the last time."""
        taken, self._noticed = self._noticed, NoticedChanges()
        self._something = anyio.Event()
        return taken

    async def aclose(self) -> None:
        """Watch nothing any more."""
        self.folders, self.is_closed = (), True
