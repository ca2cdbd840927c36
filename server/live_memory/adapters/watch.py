"""A watcher on this machine's disk. Whatever fails here, answers stay true without it."""

import errno
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import CancelScope, RunFinishedError, from_thread, lowlevel, to_thread
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.utils import UnsupportedLibcError

from live_memory.core.values import NoticedChanges, WatchState

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import InotifyEvent, WatchDescriptor

__all__ = [
    "ChangeQueue",
    "DiskWatcher",
    "Folders",
    "InotifyFolders",
    "ObservedTree",
    "inotify_folders",
    "observed_tree",
]

# As many as may wait to be learned; of more, all that is in view is compared with the disk anyway.
_MOST_NAMES = 1_000


class ChangeQueue:
    """Gathers names; wakes its task once for any number of them. Made in the task's event loop."""

    def __init__(self, *, is_followed: Callable[[str], bool]) -> None:
        """Names outside of the folders for which `is_followed` are not heard."""
        self._is_followed = is_followed
        self._loop = lowlevel.current_token()
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._is_cut = False
        self._has_woken = False
        self._is_closed = False
        self._something = anyio.Event()

    def hear(self, name: str) -> None:
        """Note a change of a file or folder; from any thread but the loop's."""
        if not self._is_followed(name.rpartition("/")[0]):
            return
        self._note(name)

    def lose(self) -> None:
        """Note that changes were lost; from any thread but the loop's."""
        self._note(None)

    async def wait(self) -> None:
        """Wait until there is something to take."""
        await self._something.wait()

    def take(self) -> NoticedChanges:
        """What was heard since the last time."""
        with self._lock:
            taken = NoticedChanges(frozenset(self._names), self._is_cut)
            self._names, self._is_cut, self._has_woken = set(), False, False
            self._something = anyio.Event()
        return taken

    def close(self) -> None:
        """Hear nothing any more."""
        with self._lock:
            self._is_closed = True

    def _note(self, name: str | None) -> None:
        with self._lock:
            if self._is_closed:
                return
            if name is None or len(self._names) >= _MOST_NAMES:
                self._is_cut = True
            else:
                self._names.add(name)
            is_first, self._has_woken = not self._has_woken, True
        if is_first:
            with suppress(RunFinishedError):  # nobody is left to wake
                from_thread.run_sync(self._something.set, token=self._loop)


# What changes bytes or names. Opening and closing does not: our own reads are not heard.
_CHANGES = [
    "IN_MODIFY",
    "IN_CREATE",
    "IN_DELETE",
    "IN_MOVED_FROM",
    "IN_MOVED_TO",
    "IN_DELETE_SELF",
    "IN_ONLYDIR",
    "IN_DONT_FOLLOW",
]
_JOIN_S = 5.0


@dataclass(slots=True)
class _Folder:
    """What the reading thread calls for one folder."""

    name: str
    ear: ChangeQueue
    gone: Callable[[str], None]
    folder_mask: int
    watch: "WatchDescriptor | None" = None

    def on_event(self, event: "InotifyEvent") -> None:
        """Something in it changed, or it itself."""
        below = os.fsdecode(event.name)
        if not below:
            return  # the folder itself goes: `on_watch_deleted` follows
        name = f"{self.name}/{below}" if self.name else below
        if event.mask & self.folder_mask:
            self.gone(name)
        self.ear.hear(name)

    def on_watch_deleted(self, wd: "WatchDescriptor") -> None:
        """The folder is gone."""
        del wd
        self.gone(self.name)
        if not self.name:
            self.ear.lose()  # no folder above tells when it is back

    def on_queue_overflow(self) -> None:
        """The kernel dropped events."""
        self.ear.lose()


class InotifyFolders:
    """Watches folders below a root with one inotify instance, which one thread reads.

    Of `watchdog` this takes the layer below its observers: those start a thread for each folder,
    and keep it to themselves when the kernel's queue overflowed.
    """

    def __init__(self, root: str, ear: ChangeQueue, *, gone: Callable[[str], None]) -> None:
        """Open an instance; `gone` hears of folders that are no longer what was watched.

        Raises:
            ImportError: there is no inotify in this C library, as on other systems.
            OSError: the system has no more instances.
        """
        # Only here: the library looks for inotify when it is imported.
        try:
            from watchdog.observers import inotify_c  # noqa: PLC0415
        except UnsupportedLibcError as problem:
            raise ImportError("no inotify in this C library") from problem
        constants, self._library = inotify_c.InotifyConstants, inotify_c
        self._mask = inotify_c.Mask(reduce(or_, (getattr(constants, name) for name in _CHANGES)))
        self._root, self._ear, self._gone = root, ear, gone
        self._folders: dict[str, _Folder] = {}
        self._inotify = inotify_c.InotifyFD()
        self._inotify.start()

    def add(self, name: str) -> None:
        """Watch a folder."""
        constants = self._library.InotifyConstants
        folder = _Folder(name, self._ear, self._gone, constants.IN_ISDIR)
        path = f"{self._root}/{name}" if name else self._root
        number = self._library.CallbackId(id(folder))
        wd = self._inotify.add_callback(os.fsencode(path), self._mask, folder, number)
        if wd == -1:  # how a folder that may not be read is told
            self._inotify.remove_callbacks([(wd, number)])
            raise PermissionError(errno.EACCES, "may not be read")
        folder.watch = wd
        self._folders[name] = folder

    def remove(self, name: str) -> None:
        """Watch a folder no more."""
        folder = self._folders.pop(name)
        if folder.watch is not None:
            number = self._library.CallbackId(id(folder))
            self._inotify.remove_callbacks([(folder.watch, number)])

    def close(self) -> None:
        """End the thread and let go of the instance."""
        self._inotify.stop()
        self._inotify.join(_JOIN_S)
        self._folders.clear()


_OBSERVED: list[type[FileSystemEvent]] = [
    FileModifiedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_OBSERVER_JOIN_S = 5.0


class ObservedTree:
    """Watches the whole tree below a root; the ear keeps what lies in folders that are followed."""

    def __init__(
        self, root: str, ear: ChangeQueue, *, make_observer: Callable[[], BaseObserver] = Observer
    ) -> None:
        """Start watching.

        Raises:
            OSError: the system does not allow it.
        """
        self._observer = make_observer()
        try:
            self._observer.schedule(
                _Handler(root, ear), root, recursive=True, event_filter=_OBSERVED
            )
            self._observer.start()
        except OSError:
            self._observer.unschedule_all()
            raise

    def add(self, name: str) -> None:
        """Everything is watched already."""

    def remove(self, name: str) -> None:
        """The ear no longer hears of it."""

    def close(self) -> None:
        """End its threads."""
        self._observer.stop()
        self._observer.join(_OBSERVER_JOIN_S)


class _Handler(FileSystemEventHandler):
    def __init__(self, root: str, ear: ChangeQueue) -> None:
        self._root, self._ear = root, ear

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Hear of both names of what moved."""
        for path in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
            name = path.removeprefix(f"{self._root}/")
            if name != path:
                self._ear.hear(name)


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
Connect = Callable[[str, ChangeQueue, Gone], Folders]


def inotify_folders(root: str, ear: ChangeQueue, gone: Gone) -> Folders:
    """Linux' own; imported only once there is something to watch.

    Raises:
        ImportError: the library is not there, or does not know this system's.
        OSError: the system has no more of them.
    """
    return InotifyFolders(root, ear, gone=gone)


def observed_tree(root: str, ear: ChangeQueue, gone: Gone) -> Folders:
    """What the library takes on other systems."""
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
        self._ear = ChangeQueue(is_followed=lambda folder: folder in self._followed)
        self._folders: Folders | None = None
        self._unusable: str | None = None
        self._problem: str | None = None

    @property
    def state(self) -> WatchState:
        """How much is watched now."""
        return WatchState(len(self._watched), len(self._wanted), self._unusable or self._problem)

    async def follow(self, folders: Sequence[str]) -> None:
        """Watch these folders alone, each without what is below it; `""` is the root."""
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

    def take(self) -> NoticedChanges:
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
