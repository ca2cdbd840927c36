"""Signals as one JSON line each, on a text stream."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TextIO

from live_memory.core.signals import Signal
from live_memory.core.values import Instant, WorkspaceKey

__all__ = ["LogSink"]


class LogSink:
    """Writes `{"at", "event", ...fields}`; JSON escapes whatever a terminal could act on."""

    def __init__(self, stream: TextIO, *, now: Callable[[], Instant]) -> None:
        self._stream = stream
        self._now = now

    def emit(self, signal: Signal) -> None:
        """Write one line; a stream that is gone is no reason to stop."""
        fields = {
            name: value["text"] if isinstance(getattr(signal, name), WorkspaceKey) else value
            for name, value in asdict(signal).items()
        }
        line = json.dumps({"at": self._now(), "event": type(signal).__name__, **fields})
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            pass
