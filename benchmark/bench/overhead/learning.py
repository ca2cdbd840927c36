"""Tells a server of Reads, and waits until they are known."""

import time
from pathlib import Path
from urllib.parse import quote

from bench.overhead.trees import file_name
from bench.talk.payloads import file_read
from bench.talk.server import Server
from bench.talk.settling import settled

__all__ = ["figures_of", "learn", "until_known"]

_A_BATCH = 500
_EVERY_S, _QUIET_S, _LONGEST_S = 0.05, 3.0, 120.0


def learn(server: Server, tree: Path, count: int) -> int | None:
    """Tell of a Read of each of the first modules, no faster than it learns; how many it knows."""
    known = None
    for start in range(0, count, _A_BATCH):
        numbers = range(start, min(count, start + _A_BATCH))
        server.notify([file_read(tree, file_name(number)) for number in numbers])
        known = until_known(server, tree, (known or 0) + len(numbers))
    return known


def until_known(server: Server, tree: Path, count: int) -> int | None:
    """Wait until so many files are known, or no more come; nothing where a server does not say."""
    until = quiet_at = time.monotonic()
    until += _LONGEST_S
    known = _known(server, tree)
    if known is None:
        settled(server, tree)
        return None
    while known < count and time.monotonic() < min(until, quiet_at + _QUIET_S):
        time.sleep(_EVERY_S)
        now = _known(server, tree) or 0
        if now != known:
            known, quiet_at = now, time.monotonic()
    return known


def figures_of(server: Server, tree: Path) -> dict[str, object]:
    """What the server says of this workspace; empty where it does not."""
    return server.json("GET", f"/stats?cwd={quote(str(tree))}") or {}


def _known(server: Server, tree: Path) -> int | None:
    known = figures_of(server, tree).get("known_files")
    return known if isinstance(known, int) else None
