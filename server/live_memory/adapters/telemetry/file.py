"""A log file for its owner alone, bounded in size and number; what it cannot take, it counts."""

import os
import stat
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from live_memory.adapters.telemetry.standard_error import lines_lost
from live_memory.core.errors import InvalidRequest

__all__ = ["LogFile"]

# A line has some 200 bytes, so that these hold the last 15,000 signals: weeks of a person's work.
_LARGEST_BYTES, _OLDER = 1024 * 1024, 2
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STDERR = 2


class LogFile:
    """Takes whole lines from any thread; neither a full disk nor a vanished file is an error.

    Where standard error goes into the same file, it goes on into each new one.
    """

    def __init__(
        self, path: Path, *, largest_bytes: int = _LARGEST_BYTES, older: int = _OLDER
    ) -> None:
        """Open `path`, made where it is missing.

        Raises:
            InvalidRequest: it cannot be opened, or is no file of ours.
        """
        self._path = path
        self._largest, self._older = largest_bytes, older
        self._lock = threading.Lock()
        self._lost = 0
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = _opened(path)
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else str(problem)
            raise InvalidRequest(
                f"setting 'log_file': '{path}' cannot be written: {why}; set another file"
            ) from None
        self._has_stderr = _is_same(self._descriptor, _STDERR)

    def write(self, text: str) -> None:
        """Append whole lines; they are dropped and counted where there is no room."""
        data = text.encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                self._make_room(len(data))
                self._append(lines_lost(self._lost) + data)
                self._lost = 0
            except OSError:
                self._lost += 1

    def flush(self) -> None:
        """Every line is written at once."""

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            os.close(self._descriptor)

    def _append(self, data: bytes) -> None:
        """Write all of it, or nothing.

        Raises:
            OSError: there is no room.
        """
        size = os.fstat(self._descriptor).st_size
        written = os.write(self._descriptor, data)
        if written < len(data):
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise OSError("only a part of a line could be written")

    def _make_room(self, length: int) -> None:
        """Go on in a new file where this one is full or was taken away.

        Raises:
            OSError: no file can be opened.
        """
        size = os.fstat(self._descriptor).st_size
        if size and size + length > self._largest:
            self._move_on()
        elif not _is_at(self._descriptor, self._path):
            self._go_on()

    def _move_on(self) -> None:
        """Shift the older files by one; the oldest is overwritten."""
        older = (f"{self._path.name}.{number + 1}" for number in range(self._older))
        names = [self._path, *map(self._path.with_name, older)]
        try:
            for newer, older_one in reversed([*pairwise(names)]):
                with suppress(FileNotFoundError):
                    newer.replace(older_one)
        except OSError:
            # Where nothing can be renamed, the bound is kept by beginning anew.
            os.ftruncate(self._descriptor, 0)
            return
        self._go_on()

    def _go_on(self) -> None:
        fresh = _opened(self._path)
        os.close(self._descriptor)
        self._descriptor = fresh
        if self._has_stderr:
            os.dup2(fresh, _STDERR)


def _opened(path: Path) -> int:
    """A descriptor of a regular file that only its owner can read.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is something else.
    """
    descriptor = os.open(path, _FLAGS, 0o600)
    try:
        mode = os.fstat(descriptor).st_mode
        if mode & 0o077 and stat.S_ISREG(mode):
            os.fchmod(descriptor, 0o600)
    except OSError:
        os.close(descriptor)
        raise
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise ValueError("it is no regular file")
    return descriptor


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False
