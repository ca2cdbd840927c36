"""A watcher on this machine's disk. Whatever fails here, answers stay true without it."""

import errno
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from anyio import CancelScope, to_thread

from live_memory.adapters.watching.ear import Ear
from live_memory.core.watching import Noticed, WatchState

__all__ = ["MOST_FOLDERS", "DiskWatcher", "Folders", "inotify_folders", "observed_tree"]

# Older kernels allow a user 8,192 watches, and editors live on the same; a window of the default
# size shows files of some dozen folders.
MOST_FOLDERS = 1_024
_NONE_LEFT = frozenset({errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Folders(Protocol):
    """What a system has for watching the folders below a root."""

    def add(self, name: str) -> None:
        """Watch a folder.

        Raises:
            OSError: it is not there, or the system allows no more.
        """
        ...

    def remove(self, name: str) -> None:
        """Watch a folder no more."""
        ...

    def close(self) -> None:
        """Watch nothing any more."""
        ...


Gone = Callable[[str], None]
Connect = Callable[[str, Ear, Gone], Folders]


def inotify_folders(root: str, ear: Ear, gone: Gone) -> Folders:
    """Linux' own; imported only once there is something to watch.

    Raises:
        ImportError: the library is not there, or does not know this system's.
        OSError: the system has no more of them.
    """
    from watchdog.utils import UnsupportedLibcError  # noqa: PLC0415

    try:
        from live_memory.adapters.watching.inotify import InotifyFolders  # noqa: PLC0415
    except UnsupportedLibcError as problem:
        raise ImportError("no inotify in this C library") from problem
    return InotifyFolders(root, ear, gone=gone)


def observed_tree(root: str, ear: Ear, gone: Gone) -> Folders:
    """What the library takes on other systems."""
    from live_memory.adapters.watching.observer import ObservedTree  # noqa: PLC0415

    del gone
    return ObservedTree(root, ear)


_HERE = inotify_folders if sys.platform == "linux" else observed_tree


class DiskWatcher:
    """Watches folders of one workspace; nothing is opened before the first is followed.

    Only names come out of here: who uses one opens it through the sandbox.
    """

    def __init__(self, root: str, *, connect: Connect = _HERE, most: int = MOST_FOLDERS) -> None:
        """Take the real path `root`; made in the event loop that waits for it."""
        self._root, self._connect, self._most = root, connect, most
        self._lock = threading.Lock()
        self._wanted: Sequence[str] = ()
        self._followed: frozenset[str] = frozenset()
        self._watched: set[str] = set()
        self._gone: set[str] = set()
        self._away: set[str] = set()
        self._ear = Ear(is_followed=lambda folder: folder in self._followed)
        self._folders: Folders | None = None
        self._unusable: str | None = None
        self._problem: str | None = None

    @property
    def state(self) -> WatchState:
        """How much is watched now."""
        return WatchState(len(self._watched), len(self._wanted), self._unusable or self._problem)

    async def follow(self, folders: Sequence[str]) -> None:
        """Watch these folders alone, each without what is below it; `""` is the root.

        A folder comes after the one that holds it, so that neither being made is missed.
        """
        with self._lock:
            is_settled = not self._gone and self._problem is None
        if self._unusable or (is_settled and tuple(folders) == self._wanted):
            return
        self._wanted = tuple(folders)
        self._followed = frozenset(folders[: self._most])
        if folders or self._folders is not None:
            await to_thread.run_sync(self._bring_in_line, folders[: self._most])

    async def wait(self) -> None:
        """Wait until there is something to take."""
        await self._ear.wait()

    def take(self) -> Noticed:
        """What changed since the last time."""
        return self._ear.take()

    async def aclose(self) -> None:
        """Watch nothing any more; no thread and no descriptor is left."""
        self._ear.close()
        folders, self._folders = self._folders, None
        self._watched.clear()
        if folders is not None:
            with CancelScope(shield=True):
                await to_thread.run_sync(folders.close)

    def _note_gone(self, folder: str) -> None:
        with self._lock:
            self._gone.add(folder)

    def _bring_in_line(self, folders: Sequence[str]) -> None:
        """Let go of what is not wanted or is another folder now, then add; runs in a thread."""
        connected = self._connected()
        if connected is None:
            return
        with self._lock:
            gone, self._gone = self._gone, set()
        for name in [*self._watched]:
            is_gone = not gone.isdisjoint((name, *_above(name)))
            if is_gone or name not in self._followed:
                connected.remove(name)
                self._watched.discard(name)
                if is_gone:
                    self._away.add(name)
        self._problem = None
        if len(self._wanted) > len(folders):
            self._problem = f"no more than {self._most} folders of a workspace are watched"
        for name in [name for name in folders if name not in self._watched]:
            try:
                connected.add(name)
            except OSError as problem:
                if problem.errno in _NONE_LEFT:
                    self._problem = _in_words(problem)
                    return
                self._away.add(name)  # it comes back by an event of the folder above
                continue
            self._watched.add(name)
            if name in self._away:
                self._away.discard(name)
                self._ear.hear(name)

    def _connected(self) -> Folders | None:
        if self._folders is None:
            try:
                self._folders = self._connect(self._root, self._ear, self._note_gone)
            except ImportError:
                self._unusable = "the library 'watchdog' is not usable here: install it again"
            except (OSError, RuntimeError) as problem:  # the latter where no thread can start
                # One may be free later.
                if isinstance(problem, OSError) and problem.errno in _NONE_LEFT:
                    self._problem = _in_words(problem)
                else:
                    self._unusable = _in_words(problem)
        return self._folders


def _above(name: str) -> list[str]:
    """The folders that hold a folder, up to the one below the root."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _in_words(problem: OSError | RuntimeError) -> str:
    code = problem.errno if isinstance(problem, OSError) else None
    if code == errno.ENOSPC:
        return (
            "the system allows no more watches: raise fs.inotify.max_user_watches "
            "(sudo sysctl fs.inotify.max_user_watches=524288)"
        )
    if code == errno.EMFILE:
        return (
            "the system allows no more watchers: raise fs.inotify.max_user_instances "
            "(sudo sysctl fs.inotify.max_user_instances=512)"
        )
    return f"the system does not allow it: {problem}"
