"""An open journal: whole lines are added at its end, and are durable when `append` returns.

Room is written ahead, as empty lines: on ext4 a line into blocks that are there already is durable
in 0.3 ms, and one that makes the file longer in 2 ms, because the file's size has to be durable too
(medians on a virtual disk; DESIGN.md, "Durability").
"""

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

from live_memory.core.errors import SnapshotUnreadable

__all__ = [
    "JOURNAL",
    "LARGEST_JOURNAL",
    "JournalFile",
    "keep_beside",
    "make_folder",
    "read_file",
    "read_head",
    "set_aside",
    "sync_folder",
    "write_new",
]

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ASIDE = ".unreadable"
# What file systems without second names say, or those that have them for some files only.
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EACCES, errno.EXDEV, errno.EMLINK, errno.ENOSYS, errno.EOPNOTSUPP}
)
# What cannot be read is kept for a person to look at: so many files a workspace, the latest.
_MOST_ASIDE = 8


def read_file(path: Path, *, most: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        SnapshotUnreadable: it is a link, a folder or a pipe, or larger than anything of ours.
        OSError: the system gives no bytes.
    """
    with _regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise SnapshotUnreadable(f"it has more than {most} bytes")
        return file.read(most)


def read_head(path: Path, *, most: int) -> bytes:
    """The first bytes of a regular file; it fails as `read_file` does, but for no size."""
    with _regular(path) as file:
        return file.read(most)


@contextlib.contextmanager
def _regular(path: Path) -> Iterator[BinaryIO]:
    try:
        descriptor = os.open(path, _READ)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO):
            raise SnapshotUnreadable("it is no regular file") from problem
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SnapshotUnreadable("it is no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def write_new(path: Path, data: bytes) -> int:
    """A new file with these bytes, durable; its descriptor.

    Raises:
        OSError: it cannot be written; then it is not there.
    """
    path.unlink(missing_ok=True)
    descriptor = os.open(path, _WRITE, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # whatever the umask
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, memoryview(data)[written:], written)
        os.fsync(descriptor)
    except OSError:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return descriptor


def make_folder(folder: Path) -> None:
    """A folder that is ours alone, with those above it.

    Raises:
        OSError: it cannot be made.
    """
    if folder.is_dir():
        return
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    Raises:
        OSError: the disk does not take them.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_beside(path: Path, name: str) -> None:
    """A second name for the same bytes, where there is none yet.

    Raises:
        OSError: neither a link nor a copy can be made.
    """
    beside = path.with_name(name)
    try:
        os.link(path, beside, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        os.close(write_new(beside, path.read_bytes()))
    _prune(path.parent)


def set_aside(path: Path) -> Path:
    """Rename what cannot be read; what was set aside long ago makes room.

    Raises:
        OSError: it cannot be renamed.
    """
    wanted = path.with_name(path.name + _ASIDE)
    numbered = (wanted.with_name(f"{wanted.name}.{n}") for n in itertools.count(1))
    aside = next(name for name in itertools.chain([wanted], numbered) if not os.path.lexists(name))
    path.rename(aside)
    _prune(path.parent)
    return aside


def _prune(folder: Path) -> None:
    by_age = sorted(folder.glob(f"*{_ASIDE}*"), key=lambda name: name.lstat().st_ctime_ns)
    for old in by_age[:-_MOST_ASIDE]:
        with contextlib.suppress(OSError):  # a folder stays
            old.unlink()


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
