"""What of its starter's environment a server is given that outlives it.

Where a session starts the server of all projects, `config.toml` says which model answers and who
pays for it, and nothing else does.
"""

import ctypes
import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from types import TracebackType

import click

from live_memory.client.passing_on import KEPT, absolute_path, kept
from live_memory.core.errors import InvalidRequest

__all__ = [
    "ExitCode",
    "Failure",
    "FileLock",
    "StartMode",
    "absolute_path",
    "holder",
    "is_alive",
    "is_of_a_session",
    "lasting",
    "limit_malloc_arenas",
    "plugin_watch",
    "settings_in",
    "trouble_of",
    "write_whole",
]

# What a host sets for what it starts; a person's own shell has none of them.
_MARKS = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"),
    *("CLAUDE_PLUGIN_ROOT", "LIVE_MEMORY_PLUGIN_ROOT"),
)
_DATA_DIR = "LIVE_MEMORY_DATA_DIR"


def is_of_a_session(environ: Mapping[str, str]) -> bool:
    """Whether a host started this process, and not a person in a shell."""
    return any(name in environ for name in _MARKS)


def settings_in(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Where settings may be read from; a session names the data folder and nothing else.

    A shell names that folder as it names any, seen from its working folder.
    """
    found = dict(environ)
    if is_of_a_session(environ):
        found = {name: text for name, text in environ.items() if name == _DATA_DIR}
    named = found.get(_DATA_DIR, "")
    if named and not named.startswith("~"):
        with suppress(FileNotFoundError):  # the working folder is gone: refused as it stands
            found[_DATA_DIR] = str(Path(named).absolute())
    return found


def lasting(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server that stays: of a person's shell all but what is of a session."""
    if is_of_a_session(environ):
        return kept(environ)
    gone = ("CLAUDE", "PYTHON")
    found = {k: v for k, v in environ.items() if k in KEPT or not k.startswith(gone)}
    return found | {"PATH": absolute_path(environ)}


# glibc's name for the setting, and as many heaps as two cores use at once. By its own rule each
# thread gets one, up to eight a core, and what a worker thread freed stays in that: 35 MB more
# after five minutes of mixed load (benchmark/README, "soak").
_ARENA_MAX, _ARENAS = -8, 2


def limit_malloc_arenas() -> None:
    """Share few heaps among all threads; call it before there are any."""
    if sys.platform == "linux":
        # Another C library knows no such setting, and needs none.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


class StartMode(StrEnum):
    """Decides whether a server ends when it is not needed, and whether another may replace it."""

    FOREGROUND = "foreground"
    """Somebody runs it by hand: it stays as it is."""
    BACKGROUND = "background"
    """A session or `start` brought it up: nobody but us looks after it."""
    SERVICE = "service"
    """The machine's supervisor runs it: it stays, and takes the place of a background one."""


def plugin_watch(environ: Mapping[str, str]) -> Callable[[], bool] | None:
    """What tells whether the plugin that started this server is gone; nothing where none did.

    The host leaves the folder of a plugin that is uninstalled or replaced where it is. It marks its
    own copies with a file, and one that it read in place only leaves its list. So what held at the
    start has to hold on.
    """
    root = Path(environ.get("LIVE_MEMORY_PLUGIN_ROOT", ""))
    if not root.is_absolute():
        return None
    host = environ.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    signs: tuple[Callable[[], bool], ...] = (
        lambda: _is_there(root / ".claude-plugin/plugin.json"),
        lambda: not _is_there(root / ".orphaned_at"),
        lambda: _is_listed(Path(host, "plugins/installed_plugins.json")),
    )
    held = [sign for sign in signs if sign()]
    return lambda: not all(sign() for sign in held)


def _is_there(file: Path) -> bool:
    """Whether there is such a file; what cannot be looked at is there as before."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_listed(file: Path) -> bool:
    """Whether the host's list of plugins names ours, whatever form it has."""
    try:
        return b'"live-memory@' in file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


class ExitCode(IntEnum):
    """What the shell sees; 2 is also what click itself uses for a misspelt option."""

    FINE = 0
    FAILED = 1
    REFUSED = 2
    LOCKED = 3
    UNREACHABLE = 5


class Failure(click.ClickException):
    """One sentence that says what to do, a class for programs, and the exit code."""

    def __init__(self, message: str, *, code: ExitCode, kind: str, fix: str | None = None) -> None:
        """`fix` is told after the message, and by itself where there is a place for it."""
        super().__init__(f"{message}: {fix}" if fix else message)
        self.code = code
        self.kind = kind
        self.what = message
        self.fix = fix

    def __str__(self) -> str:
        return self.message


def trouble_of(data_dir: Path) -> str | None:
    """What is in the way of a server."""
    if data_dir.is_dir() and not os.access(data_dir, os.W_OK | os.X_OK):
        return (
            f"data folder '{data_dir}' cannot be written to: make it writable, or set another "
            "with `data_dir`"
        )
    return None


_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOOK_EVERY_S = 0.05
# More than two numbers ever take.
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds a data folder, and the port that it has; 0 while it has none."""

    pid: int
    port: int


def holder(file: Path) -> LockHolder | None:
    """Who holds a server's lock now; nobody, or nobody who said so, is nothing."""
    try:
        descriptor = os.open(file, _READ)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _noted(descriptor)
    finally:
        os.close(descriptor)
    return None


def _noted(descriptor: int) -> LockHolder | None:
    """What a lock file says, if that is what we write."""
    with suppress(ValueError):
        pid, port = map(int, os.pread(descriptor, _LONGEST, 0).split())
        if 0 <= port < 65_536:
            return LockHolder(pid, port)
    return None


def is_alive(pid: int) -> bool:
    """Whether the process still runs; one that only waits to be reaped has ended."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # no /proc here, or it went just now: the next look tells
    return not state.rpartition(")")[2].lstrip().startswith("Z")


def write_whole(file: Path, data: bytes) -> None:
    """Write a file that only its owner reads, in one step.

    Raises:
        OSError: the disk does not take it; what was there before is.
    """
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise


class FileLock:
    """Held from `take` until the `with` block ends, or the process does, however that is.

    What the file says is for who looks: a number in it locks nobody out.
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

    def last_port(self) -> int | None:
        """Where the last one that held it listened."""
        last = _noted(self._descriptor)
        return last.port or None if last else None

    def note(self, port: int) -> None:
        """Say in the file who holds it, and where that listens; 0 is nowhere yet."""
        text = f"{os.getpid()} {port}\n".encode("ascii")
        # In this order a full disk, which takes no new block, takes the second note too.
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))
