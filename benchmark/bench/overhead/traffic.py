"""Hook payloads over kept connections: one after the other, and many at a time.

One thread with sockets of its own, so that what is measured is the server and not this client.
"""

import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Chart
from bench.overhead.found import Found, median, p50, p99
from bench.overhead.learning import until_known
from bench.overhead.process import processor_s
from bench.overhead.trees import file_name, question_of
from bench.report import Table, at_least, at_most
from bench.setup import Setup
from bench.talk.payloads import file_read
from bench.talk.server import Server, ServerFailed

__all__ = ["Flood", "killed", "measured", "requests_for", "sent"]

_AT_A_TIME = 16


@dataclass(frozen=True, slots=True)
class Flood:
    """Seconds each request took, and all of them together."""

    each_s: tuple[float, ...]
    whole_s: float
    refused: int
    processor_s: float | None

    @property
    def a_second(self) -> float:
        """Requests a second."""
        return len(self.each_s) / self.whole_s


def measured(server: Server, tree: Path, *, files: int, requests: int, rounds: int) -> Found:
    """Both ways in turn, each so many times; then whether all that was accepted is known."""
    ready = requests_for(server, tree, files)
    floods: dict[int, list[Flood]] = {1: [], _AT_A_TIME: []}
    sent(server, ready[:files], at_a_time=1)
    for _ in range(rounds):
        for at_a_time, found in floods.items():
            found.append(sent(server, (ready * (requests // files + 1))[:requests], at_a_time))
    known = until_known(server, tree, files)
    one, many = floods[1], floods[_AT_A_TIME]
    rows = tuple(
        (
            name,
            len(some) * requests,
            median([flood.a_second for flood in some]),
            median([p50(flood.each_s) or 0 for flood in some]),
            median([p99(flood.each_s) or 0 for flood in some]),
            median([1_000 * f.processor_s / requests for f in some if f.processor_s is not None]),
            sum(flood.refused for flood in some),
        )
        for name, some in (("one after the other", one), (f"{_AT_A_TIME} at a time", many))
    )
    columns = (
        "",
        "requests",
        "a second",
        "p50 ms",
        "p99 ms",
        "server's processor ms each",
        "refused",
    )
    share = None if known is None else known / files
    chart = Chart(
        "notify",
        "Hook events a second",
        ("requests a second",),
        tuple((r[0], (r[2],)) for r in rows),
    )
    return Found(
        tables=(Table("`/notify`, medians of the rounds", columns, rows),),
        bars=(
            at_least("/notify one after the other, a second", rows[0][2], 1_500),
            at_most("/notify one after the other, p99 ms", rows[0][4], 5),
            at_least(f"/notify {_AT_A_TIME} at a time, a second", rows[1][2], 3_000),
            at_least("files known of those accepted, share", share, 1),
        ),
        charts=(chart,),
    )


def killed(setup: Setup, tree: Path, *, files: int) -> Found:
    """Accepted events that are known after the server is killed at once, and started again."""
    if setup.existing is not None:
        return Found(skipped=("events after a kill: the server is not ours to kill",))
    with setup.server("killed") as server:
        setup.ask(server, question_of(files), tree)
        sent(server, requests_for(server, tree, files), at_a_time=1)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
    with setup.server("killed") as server:
        setup.ask(server, question_of(files), tree)
        known = until_known(server, tree, files)
    share = None if known is None else min(known, files) / files
    return Found(bars=(at_least("accepted events known after a kill, share", share, 1),))


def requests_for(server: Server, tree: Path, files: int) -> list[bytes]:
    """A whole request for a Read of each of the first modules."""
    head = (
        f"POST /notify HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
    )
    bodies = (json.dumps(file_read(tree, file_name(n))).encode() for n in range(files))
    return [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]


def sent(server: Server, requests: Sequence[bytes], at_a_time: int) -> Flood:
    """Send all of them over so many connections; each waits for its reply before it goes on."""
    waiting, each_s, refused = iter(requests), [], 0
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        lines = [_Line(stack.enter_context(_connected(server))) for _ in range(at_a_time)]
        busy_s, began = processor_s(server), time.perf_counter()
        for line in lines:
            if line.send(next(waiting, None)):
                selector.register(line.socket, selectors.EVENT_READ, line)
        while selector.get_map():
            for key, _ in selector.select():
                status = key.data.received()
                if status is None:
                    continue
                each_s.append(time.perf_counter() - key.data.sent_at)
                refused += status != 202
                if not key.data.send(next(waiting, None)):
                    selector.unregister(key.fileobj)
        whole_s = time.perf_counter() - began
        busy_s = None if busy_s is None else (processor_s(server) or 0) - busy_s
        return Flood(tuple(each_s), whole_s, refused, busy_s)


def _connected(server: Server) -> socket.socket:
    connection = socket.create_connection((server.host, server.port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class _Line:
    """One kept connection with at most one request on its way."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.sent_at = 0.0
        self._so_far = b""

    def send(self, request: bytes | None) -> bool:
        """Send a request, if there is one."""
        if request is None:
            return False
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)
        return True

    def received(self) -> int | None:
        """Read what is there; the status once the reply is whole.

        Raises:
            ServerFailed: the connection ended.
        """
        chunk = self.socket.recv(65_536)
        if not chunk:
            raise ServerFailed("the server closed a kept connection")
        self._so_far += chunk
        head, end, body = self._so_far.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return None
        self._so_far = b""
        return int(head.split(b" ", 2)[1])


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    found = [line.split(b":")[1] for line in lines if line.startswith(b"content-length:")]
    return int(found[0]) if found else 0
