"""Signals as one JSON line each."""

import io
import json
import os
import select
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from enum import IntEnum
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TextIO

from live_memory.core.errors import InvalidRequest
from live_memory.core.signals import (
    CompactionFailed,
    CompactionFinished,
    EventsSkipped,
    IndexRefreshed,
    QuestionFinished,
    SaveFailed,
    Signal,
    SnapshotQuarantined,
    WatchLimited,
    WorkspaceFailed,
    WorkspaceOpened,
)
from live_memory.core.values import Instant, WorkspaceKey

__all__ = ["LEVELS", "Level", "LogFile", "LogSink", "LogStream", "StandardError"]


class Level(IntEnum):
    """From what only a developer of this server reads to what a person must act on."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


LEVELS: Mapping[type[Signal], Level] = {
    # Inner workings; many a question.
    IndexRefreshed: Level.DEBUG,
    EventsSkipped: Level.DEBUG,
    # What somebody asked for, and what it cost.
    WorkspaceOpened: Level.INFO,
    QuestionFinished: Level.INFO,
    CompactionFinished: Level.INFO,
    # Less than there could be, and nothing is lost.
    CompactionFailed: Level.WARNING,
    WatchLimited: Level.WARNING,
    SnapshotQuarantined: Level.WARNING,
    # Something is not done that should have been.
    SaveFailed: Level.ERROR,
    WorkspaceFailed: Level.ERROR,
}


def level_of(signal: Signal) -> Level:
    """How severe it is; what the table does not know yet is said rather than not."""
    return LEVELS.get(type(signal), Level.WARNING)


# A problem that goes on is told again after this; so many different ones are told apart.
_AGAIN_S, _MOST_SAID = 60.0, 256


class LogStream(Protocol):
    """Where lines go: a stream, or a file of ours."""

    def write(self, text: str, /) -> object:
        """Write a whole line."""
        ...

    def flush(self) -> None:
        """Let others see it."""
        ...


class LogSink:
    """Writes `{"at", "event", "level", ...fields}`; JSON escapes what a terminal could act on."""

    def __init__(
        self, lines: LogStream, *, now: Callable[[], Instant], least: Level = Level.INFO
    ) -> None:
        """Signals below `least` are not written."""
        self._lines = lines
        self._now = now
        self._least = least
        self._said: dict[Signal, float] = {}

    def emit(self, signal: Signal) -> None:
        """Write one line; of a problem that goes on, one in a while."""
        level = level_of(signal)
        if level < self._least or (level >= Level.WARNING and self._was_said(signal)):
            return
        fields = {
            name: value["text"] if isinstance(getattr(signal, name), WorkspaceKey) else value
            for name, value in asdict(signal).items()
        }
        head = {"at": self._now(), "event": type(signal).__name__, "level": level.name.lower()}
        # A stream that is gone is no reason to stop.
        try:
            self._lines.write(json.dumps(head | fields).replace("\x7f", "\\u007f") + "\n")
            self._lines.flush()
        except (OSError, ValueError):
            pass

    def _was_said(self, signal: Signal) -> bool:
        """Whether this very problem was told a moment ago."""
        now = self._now()
        if now < self._said.get(signal, now) + _AGAIN_S and signal in self._said:
            return True
        if len(self._said) >= _MOST_SAID:
            self._said.clear()
        self._said[signal] = now
        return False


# A pipe that takes anything takes this much (PIPE_BUF).
_PIECE = 4_096


class StandardError(io.TextIOBase):
    """A text stream over a descriptor; neither a full pipe nor a closed one is an error.

    A pipe that nobody reads fills after 64 kB, and then a plain write waits for ever, with the
    event loop or a lock in hand. The flag that makes writes return at once would belong to whoever
    shares the descriptor too, so it is asked before each piece instead. What it does not take at
    once is dropped, and counted.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._lost = 0
        self._is_torn = False

    @classmethod
    def instead_of(cls, stream: TextIO | None) -> "StandardError":
        """The same place as `stream`; nowhere where a process is started without one."""
        try:
            return cls(stream.fileno() if stream is not None else os.open(os.devnull, os.O_WRONLY))
        except (OSError, ValueError):
            return cls(os.open(os.devnull, os.O_WRONLY))

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute there
        """What characters become."""
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]  # an attribute there
        """How characters are written that the encoding lacks."""
        return "backslashreplace"

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Whether a person sees it."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """Where it goes."""
        return self._descriptor

    def write(self, text: str, /) -> int:
        """Write, or drop and count."""
        data = text.encode(self.encoding, self.errors)
        with self._lock:
            note = b"\n" * self._is_torn + lines_lost(self._lost)
            if self._is_written(note + data):
                self._lost = 0
            else:
                self._lost += text.count("\n") or 1
        return len(text)

    def _is_written(self, data: bytes) -> bool:
        asked = select.poll()
        asked.register(self._descriptor, select.POLLOUT)
        at = 0
        try:
            while at < len(data):
                if not any(ready & select.POLLOUT for _, ready in asked.poll(0)):
                    break
                at += os.write(self._descriptor, data[at : at + _PIECE])
        except OSError:
            pass
        is_whole = at == len(data)
        self._is_torn = not is_whole and (at > 0 or self._is_torn)
        return is_whole


def lines_lost(count: int) -> bytes:
    """The line that says how many are missing, where any are."""
    fields = {"event": "LogLinesLost", "level": "warning", "lines": count}
    return json.dumps(fields).encode() + b"\n" if count else b""


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
        """Write all of it, or nothing: then an `OSError` says that there is no room."""
        size = os.fstat(self._descriptor).st_size
        written = os.write(self._descriptor, data)
        if written < len(data):
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise OSError("only a part of a line could be written")

    def _make_room(self, length: int) -> None:
        """Go on in a new file where this one is full or taken away; an `OSError` if none opens."""
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
