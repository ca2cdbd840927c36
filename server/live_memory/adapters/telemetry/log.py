"""Signals as one JSON line each."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from live_memory.adapters.telemetry.levels import Level, level_of
from live_memory.core.signals import Signal
from live_memory.core.values import Instant, WorkspaceKey

__all__ = ["Lines", "LogSink"]


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

    def emit(self, signal: Signal) -> None:
        """Write one line; a stream that is gone is no reason to stop."""
        level = level_of(signal)
        if level < self._least:
            return
        fields = {
            name: value["text"] if isinstance(getattr(signal, name), WorkspaceKey) else value
            for name, value in asdict(signal).items()
        }
        head = {"at": self._now(), "event": type(signal).__name__, "level": level.name.lower()}
        try:
            self._lines.write(json.dumps(head | fields) + "\n")
            self._lines.flush()
        except (OSError, ValueError):
            pass
