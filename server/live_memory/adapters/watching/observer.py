"""Elsewhere: the system's own recursive notification, which costs the same for any tree."""

import os
from collections.abc import Callable

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

from live_memory.adapters.watching.ear import Ear

__all__ = ["ObservedTree"]

_CHANGES: list[type[FileSystemEvent]] = [
    FileModifiedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_JOIN_S = 5.0


class ObservedTree:
    """Watches the whole tree below a root; the ear keeps what lies in folders that are followed."""

    def __init__(
        self, root: str, ear: Ear, *, make_observer: Callable[[], BaseObserver] = Observer
    ) -> None:
        """Start watching.

        Raises:
            OSError: the system does not allow it.
        """
        self._observer = make_observer()
        try:
            self._observer.schedule(
                _Handler(root, ear), root, recursive=True, event_filter=_CHANGES
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
        self._observer.join(_JOIN_S)


class _Handler(FileSystemEventHandler):
    def __init__(self, root: str, ear: Ear) -> None:
        self._root, self._ear = root, ear

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Hear of both names of what moved."""
        for path in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
            name = path.removeprefix(f"{self._root}/")
            if name != path:
                self._ear.hear(name)
