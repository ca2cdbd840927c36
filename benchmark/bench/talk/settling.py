"""Waits until a server has worked through the events it accepted, or has its index."""

import time
from pathlib import Path
from urllib.parse import quote

from bench.talk.server import Server

__all__ = ["WARMING", "settled", "until_indexed", "until_learned"]

# No server tells that it is done, and one may let an edited file rest before it looks.
_QUIET_S, _EVERY_S, _LONGEST_S = 2.0, 0.1, 60.0
_LONGEST_INDEX_S = 1_800.0
# No answer to it is asked for; the first one waits for the index.
WARMING = "Where does the program start?"
# Figures that move by themselves while events are learned.
_BESIDE = frozenset({"indexed_files", "files_waiting", "listing", "watch"})


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


def until_indexed(server: Server, tree: Path) -> float:
    """Wait until no file waits for the index; the seconds. Not every server tells."""
    began = time.perf_counter()
    while _waiting(server, tree) and time.perf_counter() - began < _LONGEST_INDEX_S:
        time.sleep(_EVERY_S)
    return time.perf_counter() - began


def until_learned(server: Server, tree: Path, *, quiet_s: float = _QUIET_S) -> dict[str, object]:
    """The figures of a workspace once they have stood still for so long."""
    until, quiet_since = time.monotonic() + _LONGEST_S, time.monotonic()
    last = _stats(server, tree)
    while time.monotonic() < until and time.monotonic() - quiet_since < quiet_s:
        time.sleep(_EVERY_S)
        now = _stats(server, tree)
        if any(now.get(name) != last.get(name) for name in now.keys() - _BESIDE):
            quiet_since = time.monotonic()
        last = now
    return last


def _waiting(server: Server, tree: Path) -> bool:
    return bool(_stats(server, tree).get("files_waiting"))


def _stats(server: Server, tree: Path) -> dict[str, object]:
    return server.json("GET", f"/stats?cwd={quote(str(tree))}") or {}


def _numbers(timeline: list[dict[str, object]] | None) -> list[object]:
    return [entry.get("number") for entry in timeline or ()]
