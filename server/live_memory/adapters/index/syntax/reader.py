"""Definitions of a file by the best means at hand: its grammar, or the look of its lines.

Grammars run in a process of their own, because no text of a repository may end this one.
"""

import json
import os
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import Lock

from live_memory.adapters.index.syntax.grammars import BY_SUFFIX
from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.values import RelPath

__all__ = ["SyntaxReader", "SyntaxWorker"]

_WORKER = "live_memory.adapters.index.syntax.worker"
# Characters a line on average; more is written by a program, and takes seconds to parse.
_WIDEST = 200
# The longest of 3,300 files takes 40 ms; starting the worker takes 100, on a busy machine 1,000.
_REPLY_S = 3.0
# A repository made to be hard is read by the look of its lines after so many attempts.
_MOST_FAILURES = 8
_CHUNK = 65_536


class SyntaxWorker:
    """The process that parses, for all workspaces: started when a file needs it, ended when none
    does, and when nobody holds this any more.
    """

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []  # one at most
        self._turn = Lock()
        weakref.finalize(self, _end, self._running)

    def exchange(self, request: bytes) -> bytes:
        """Send a line and receive one.

        Raises:
            OSError: there is no reply: a worker cannot be started, ended, or takes too long.
        """
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
            self._running.append(_start())
        worker, give_up_at = self._running[0], time.monotonic() + _REPLY_S
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


class SyntaxReader:
    """Reads the files of one workspace, which may be made to be hard."""

    def __init__(self, worker: SyntaxWorker) -> None:
        self._worker = worker
        self._failures = 0

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        """Every definition of a file, in order."""
        wheel = BY_SUFFIX.get(path.suffix)
        is_written = sum(map(len, lines)) <= _WIDEST * len(lines)
        if wheel is None or not is_written or not _is_there(wheel.module):
            return outline(path, lines)
        return self._parsed(path, lines) or outline(path, lines)

    def _parsed(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...] | None:
        if self._failures >= _MOST_FAILURES:
            return None
        request = json.dumps([path.text, "\n".join(lines)]).encode() + b"\n"
        try:
            reply = json.loads(self._worker.exchange(request))
            return None if reply is None else tuple(_definition(path, row) for row in reply)
        except (OSError, ValueError, TypeError):
            self._failures += 1
            return None


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


def _start() -> "subprocess.Popen[bytes]":
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "SYSTEMROOT") if name in os.environ}
    worker = subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=kept,
        bufsize=0,
    )
    assert worker.stdin is not None
    os.set_blocking(worker.stdin.fileno(), False)
    return worker


@cache
def _is_there(module: str) -> bool:
    return find_spec("tree_sitter") is not None and find_spec(module) is not None


def _definition(path: RelPath, row: Sequence[object]) -> Definition:
    """What the worker told, which is data.

    Raises:
        TypeError, ValueError: it is no definition.
    """
    name, kind, start, end, signature = row
    if not (isinstance(start, int) and isinstance(end, int) and 1 <= start <= end):
        raise ValueError(row)
    return Definition(str(name), DefinitionKind(str(kind)), Place(path, start, end), str(signature))
