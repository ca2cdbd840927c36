"""Waits until a server has worked through the events it accepted."""

import time
from pathlib import Path

from bench.talk.server import Server

__all__ = ["settled"]

# No server tells that it is done, and one may let an edited file rest before it looks.
_QUIET_S, _EVERY_S, _LONGEST_S = 2.0, 0.1, 60.0


def settled(
    server: Server, tree: Path, *, quiet_s: float = _QUIET_S
) -> list[dict[str, object]] | None:
    """The timeline once it has not grown for so long; nothing where the server shows none."""
    until, quiet_since = time.monotonic() + _LONGEST_S, time.monotonic()
    last = server.timeline(tree)
    while time.monotonic() < until and time.monotonic() - quiet_since < quiet_s:
        time.sleep(_EVERY_S)
        now = server.timeline(tree)
        if _numbers(now) != _numbers(last):
            last, quiet_since = now, time.monotonic()
    return last


def _numbers(timeline: list[dict[str, object]] | None) -> list[object]:
    return [entry.get("number") for entry in timeline or ()]
