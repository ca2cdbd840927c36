"""A file that one process at a time holds; the kernel lets go of it however the process ends."""

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from live_memory.core.errors import InvalidRequest

__all__ = ["FileLock", "Holder", "holder"]

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOOK_EVERY_S = 0.05
# More than two numbers ever take.
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a data folder, and the port that it listens on or soon will."""

    pid: int
    port: int


def holder(file: Path) -> Holder | None:
    """Who holds a server's lock now; nobody, or nobody who said so, is nothing."""
    try:
        descriptor = os.open(file, _READ)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(ValueError):
            pid, port = map(int, os.read(descriptor, _LONGEST).split())
            return Holder(pid, port)
    finally:
        os.close(descriptor)
    return None


class FileLock:
    """Held from `take` until the `with` block ends.

    What the file says is for a person who looks: a number in it locks nobody out.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor = -1

    def __enter__(self) -> "FileLock":
        """Open the file.

        Raises:
            InvalidRequest: it cannot be opened.
        """
        try:
            self._descriptor = os.open(self._file, _FLAGS, 0o600)
        except OSError as problem:
            raise InvalidRequest(
                f"lock file '{self._file}' cannot be opened ({problem.strerror}): make its folder "
                "writable, or set another with `data_dir`"
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go."""
        os.close(self._descriptor)

    def take(self, *, within_s: float = 0.0) -> bool:
        """Hold it, waiting for whoever does; false where that takes too long."""
        until = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(_LOOK_EVERY_S)
            else:
                return True

    def note(self, text: str) -> None:
        """Say in the file who holds it."""
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode("ascii"), 0)
