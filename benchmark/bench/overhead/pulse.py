"""Asks a server for its health 50 times a second, from a process of its own, until told to end.

    python -m bench.overhead.pulse HOST PORT

It says what took longest, and how much longer than it wished it slept itself: a machine without a
free processor delays both.
"""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.talk.server import Server

__all__ = ["Pulse", "beating"]

_EVERY_S = 0.02


@dataclass(slots=True)
class Pulse:
    """Filled once the beating has ended."""

    longest_s: float | None = None
    overslept_s: float | None = None
    each_s: list[float] = field(default_factory=list)


@contextmanager
def beating(server: Server) -> Iterator[Pulse]:
    """Watch a server while the context lasts."""
    pulse = Pulse()
    command = [sys.executable, "-m", "bench.overhead.pulse", server.host, str(server.port)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield pulse
    finally:
        said, _ = process.communicate()
    found = json.loads(said)
    pulse.each_s = found["each_s"]
    pulse.longest_s, pulse.overslept_s = max(pulse.each_s, default=0.0), found["overslept_s"]


def main(host: str, port: int) -> None:
    """Beat until standard input ends."""
    is_over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        is_over.set()

    threading.Thread(target=wait, daemon=True).start()
    connection = http.client.HTTPConnection(host, port, timeout=60)
    each_s: list[float] = []
    overslept_s = 0.0
    print("ready", flush=True)
    while not is_over.is_set():
        began = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        done = time.perf_counter()
        each_s.append(done - began)
        pause_s = max(0.0, _EVERY_S - (done - began))
        time.sleep(pause_s)
        overslept_s = max(overslept_s, time.perf_counter() - done - pause_s)
    print(json.dumps({"each_s": each_s, "overslept_s": overslept_s}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
