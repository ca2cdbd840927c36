"""Linux: one inotify instance a workspace, a watch for each folder, all read by one thread.

Of `watchdog` this takes the layer below its observers: those start a thread for each folder, and
keep it to themselves when the kernel's queue overflowed.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from live_memory.adapters.watching.ear import Ear

__all__ = ["InotifyFolders"]

# What changes bytes or names. Opening and closing does not: our own reads are not heard.
_CHANGES = Mask(
    InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
)
_JOIN_S = 5.0


@dataclass(slots=True)
class _Folder:
    """What the reading thread calls for one folder."""

    name: str
    ear: Ear
    gone: Callable[[str], None]
    watch: WatchDescriptor | None = None

    def on_event(self, event: InotifyEvent) -> None:
        """Something in it changed, or it itself."""
        below = os.fsdecode(event.name)
        if not below:
            return  # the folder itself goes: `on_watch_deleted` follows
        name = f"{self.name}/{below}" if self.name else below
        if event.mask & InotifyConstants.IN_ISDIR:
            self.gone(name)
        self.ear.hear(name)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """The folder is gone."""
        del wd
        self.gone(self.name)
        if not self.name:
            self.ear.lose()  # no folder above tells when it is back

    def on_queue_overflow(self) -> None:
        """The kernel dropped events."""
        self.ear.lose()


class InotifyFolders:
    """Watches folders below a root."""

    def __init__(self, root: str, ear: Ear, *, gone: Callable[[str], None]) -> None:
        """Open an instance; `gone` hears of folders that are no longer what was watched.

        Raises:
            OSError: the system has no more instances.
        """
        self._root, self._ear, self._gone = root, ear, gone
        self._folders: dict[str, _Folder] = {}
        self._inotify = InotifyFD()
        self._inotify.start()

    def add(self, name: str) -> None:
        """Watch a folder.

        Raises:
            OSError: it is not there, or the system allows no more watches.
        """
        folder = _Folder(name, self._ear, self._gone)
        path = f"{self._root}/{name}" if name else self._root
        wd = self._inotify.add_callback(os.fsencode(path), _CHANGES, folder, CallbackId(id(folder)))
        if wd == -1:  # how a folder that may not be read is told
            self._inotify.remove_callbacks([(wd, CallbackId(id(folder)))])
            raise PermissionError(errno.EACCES, "may not be read")
        folder.watch = wd
        self._folders[name] = folder

    def remove(self, name: str) -> None:
        """Watch a folder no more."""
        folder = self._folders.pop(name)
        if folder.watch is not None:
            self._inotify.remove_callbacks([(folder.watch, CallbackId(id(folder)))])

    def close(self) -> None:
        """End the thread and let go of the instance."""
        self._inotify.stop()
        self._inotify.join(_JOIN_S)
        self._folders.clear()
