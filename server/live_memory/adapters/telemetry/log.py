"""Signals as one JSON line each."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from live_memory.adapters.telemetry.levels import Level, level_of
from live_memory.core.signals import Signal
from live_memory.core.values import Instant, WorkspaceKey

__all__ = ["Lines", "LogSink"]


# A problem that goes on is told again after this; so many different ones are told apart.
_AGAIN_S, _MOST_SAID = 60.0, 256


class Lines(Protocol):
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
        self, lines: Lines, *, now: Callable[[], Instant], least: Level = Level.INFO
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
