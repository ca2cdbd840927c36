"""An open journal: whole lines are added at its end, and are durable when `append` returns.

Room is written ahead, as empty lines: on ext4 a line into blocks that are there already is durable
in 0.3 ms, and one that makes the file longer in 2 ms, because the file's size has to be durable too
(medians on a virtual disk; DESIGN.md, "Durability").
"""

import contextlib
import os
from pathlib import Path
from typing import Self

from live_memory.adapters.snapshots.own_files import write_new

__all__ = ["JOURNAL", "LARGEST_JOURNAL", "JournalFile"]

JOURNAL = "journal.jsonl"
# A snapshot is due long before; a journal as large as this is not read any more.
LARGEST_JOURNAL = 64 * 1024 * 1024
_ROOM = 64 * 1024


class JournalFile:
    """The only writer of one journal."""

    def __init__(self, path: Path, descriptor: int, *, size: int) -> None:
        self._name = os.fspath(path)
        self._descriptor = descriptor
        self._end = self._room = size

    @classmethod
    def begun(cls, folder: Path, first: bytes, *, old: str) -> Self:
        """A new journal with its first line; the one before is called `old` from now on.

        Raises:
            OSError: it cannot be made; then the one before is as it was, or has its new name.
        """
        path, new = folder / JOURNAL, folder / f"{JOURNAL}.new"
        descriptor = write_new(new, first)
        try:
            with contextlib.suppress(FileNotFoundError):
                path.rename(folder / old)
            new.rename(path)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                new.unlink()
            raise
        return cls(path, descriptor, size=len(first))

    def append(self, data: bytes) -> None:
        """Add lines.

        Raises:
            OSError: they are not durable; nothing more may be added to this journal then.
        """
        if self._end + len(data) > LARGEST_JOURNAL:
            raise OSError(0, "the journal is full, because no snapshot can be made")
        try:
            if self._end + len(data) > self._room:
                self._lengthen(data)
            else:
                _write(self._descriptor, data, self._end)
            os.fdatasync(self._descriptor)
            self._check()
        except OSError:
            with contextlib.suppress(OSError):  # half a line would look like damage
                os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(data)

    def close(self) -> None:
        """Let go of the file; what was to be durable is."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def _lengthen(self, data: bytes) -> None:
        room = self._end + len(data) + _ROOM
        try:
            _write(self._descriptor, data + b"\n" * _ROOM, self._end)
        except OSError:  # there may be space for these lines alone
            os.ftruncate(self._descriptor, self._end)
            _write(self._descriptor, data, self._end)
            room = self._end + len(data)
        self._room = room

    def _check(self) -> None:
        """Find out whether the name still leads to this file: a folder may be taken away."""
        here, there = os.fstat(self._descriptor), os.lstat(self._name)
        if (here.st_ino, here.st_dev) != (there.st_ino, there.st_dev):
            raise OSError(0, "its file was taken away")


def _write(descriptor: int, data: bytes, at: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(descriptor, memoryview(data)[written:], at + written)
