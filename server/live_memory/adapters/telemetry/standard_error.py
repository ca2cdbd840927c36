"""Standard error that never holds up who writes: what it does not take at once is dropped, counted.

A pipe that nobody reads fills after 64 kB, and then a plain write waits for ever, with the event
loop or a lock in hand. The flag that makes writes return at once would belong to whoever shares
the descriptor too, so it is asked before each piece instead.
"""

import io
import json
import os
import select
import threading
from typing import TextIO

__all__ = ["StandardError", "lines_lost"]

# A pipe that takes anything takes this much (PIPE_BUF).
_PIECE = 4_096


class StandardError(io.TextIOBase):
    """A text stream over a descriptor; neither a full pipe nor a closed one is an error."""

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
