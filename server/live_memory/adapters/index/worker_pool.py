"""The processes that take files apart: each is asked one thing at a time, and bounded in all.

Grammars run in processes of their own, because no text of a repository may end this one; and what
else is made of a file is made there too, so that the server's own process stays free to reply.
"""

import os
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import Condition, Lock

from live_memory.core.errors import refuse_exhausted

__all__ = ["SyntaxWorkers", "spare_processors"]

_WORKER = "live_memory.adapters.index.worker"
_MOST_WORKERS = 4
# The longest of 3,300 files takes 40 ms to parse; starting the worker takes 100, on a busy machine
# 1,000. A quarter of a megabyte takes 0.3 s in all.
_REPLY_S, _REPLY_S_PER_MB = 3.0, 5.0
_CHUNK = 65_536
# Seconds without a request after which a worker ends: one is there for the next edit, the others
# are for building an index, and each holds 40 to 90 MB.
_IDLE_S, _OTHERS_IDLE_S = 60.0, 2.0


def spare_processors() -> int:
    """How many may work beside this process, which needs one itself."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return max(1, min(_MOST_WORKERS, count - 1))


class SyntaxWorkers:
    """So many workers at most, for all workspaces; each is started when all others are busy."""

    def __init__(self, most: int = 1) -> None:
        # The first that is free is taken, so that the others rest when they are not needed.
        self.free = [
            (number, SyntaxWorker(idle_s=_OTHERS_IDLE_S if number else _IDLE_S))
            for number in range(most)
        ]
        self._changed = Condition()
        self._ahead = 0

    @contextmanager
    def first(self) -> Iterator[None]:
        """Go before who did not enter this: they leave a worker free meanwhile."""
        with self._changed:
            self._ahead += 1
        try:
            yield
        finally:
            with self._changed:
                self._ahead -= 1
                self._changed.notify_all()

    def exchange(self, request: bytes, *, is_first: bool = False) -> bytes:
        """Send a line to a worker and receive one, once there is a free one."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.free) > (0 if is_first else self._ahead))
            number, worker = heappop(self.free)
        try:
            return worker.exchange(request)
        finally:
            with self._changed:
                heappush(self.free, (number, worker))
                self._changed.notify_all()


class SyntaxWorker:
    """One process: started when a file needs it, ended when none does or nobody holds this."""

    def __init__(self, *, idle_s: float) -> None:
        self._idle_s = idle_s
        self._running: list[subprocess.Popen[bytes]] = []  # one at most
        self._turn = Lock()
        weakref.finalize(self, _end, self._running)

    def exchange(self, request: bytes) -> bytes:
        """Send a line and receive one."""
        with self._turn:
            was_running = bool(self._running)
            try:
                return self._reply(request)
            except TimeoutError:
                _end(self._running)
                raise
            except OSError:
                _end(self._running)
                if not was_running:
                    raise
            # One that ran before may have ended because nobody asked.
            try:
                return self._reply(request)
            except OSError:
                _end(self._running)
                raise

    def _reply(self, request: bytes) -> bytes:
        if not self._running:
            self._running.append(_start(self._idle_s))
        worker, give_up_at = self._running[0], time.monotonic() + _patience(request)
        assert worker.stdin is not None
        assert worker.stdout is not None
        source, sink = worker.stdout.fileno(), worker.stdin.fileno()
        reply, rest = bytearray(), memoryview(request)
        with DefaultSelector() as waiting:
            waiting.register(source, EVENT_READ)
            waiting.register(sink, EVENT_WRITE)
            while not reply.endswith(b"\n"):
                ready = waiting.select(max(0.0, give_up_at - time.monotonic()))
                if not ready:
                    raise TimeoutError
                if ready[0][0].fd == sink:
                    rest = rest[os.write(sink, rest[:_CHUNK]) :]
                    if not rest:
                        waiting.unregister(sink)
                    continue
                piece = os.read(source, _CHUNK)
                if not piece:
                    raise BrokenPipeError
                reply += piece
        return bytes(reply)


def _end(running: "list[subprocess.Popen[bytes]]") -> None:
    """Kill what runs and let go of it."""
    while running:
        worker = running.pop()
        with suppress(OSError):
            worker.kill()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        worker.wait()


def _start(idle_s: float) -> "subprocess.Popen[bytes]":
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    try:
        worker = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-I", "-m", _WORKER, str(idle_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=kept,
            bufsize=0,
        )
    except OSError as problem:
        # The file would be known by the look of its lines until it changes.
        refuse_exhausted(problem)
        raise
    assert worker.stdin is not None
    os.set_blocking(worker.stdin.fileno(), False)
    return worker


def _patience(request: bytes) -> float:
    """Seconds in which a worker that is well has replied."""
    return _REPLY_S + _REPLY_S_PER_MB * len(request) / 1_000_000
