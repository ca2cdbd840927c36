"""Our own files on disk: read without following anything, written whole or not at all."""

import contextlib
import errno
import itertools
import os
import stat
from pathlib import Path

from live_memory.core.errors import SnapshotUnreadable

__all__ = ["keep_beside", "make_folder", "read_file", "set_aside", "sync_folder", "write_new"]

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
    try:
        descriptor = os.open(path, _READ)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENXIO):
            raise SnapshotUnreadable("it is no regular file") from problem
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SnapshotUnreadable("it is no regular file")
        if status.st_size > most:
            raise SnapshotUnreadable(f"it has more than {most} bytes")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most)
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
    aside = next(name for name in itertools.chain([wanted], numbered) if not _is_there(name))
    path.rename(aside)
    _prune(path.parent)
    return aside


def _prune(folder: Path) -> None:
    for old in sorted(folder.glob(f"*{_ASIDE}*"), key=_renamed_at)[:-_MOST_ASIDE]:
        with contextlib.suppress(OSError):  # a folder stays
            old.unlink()


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _renamed_at(path: Path) -> int:
    return path.lstat().st_ctime_ns
