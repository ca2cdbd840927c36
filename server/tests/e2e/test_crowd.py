"""Clients that begin and never end a request get in nobody's way (S59)."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from live_memory.web.guard import BODY_DEADLINE_S
from live_memory.web.serving import HEAD_DEADLINE_S
from tests.support.server import RunningServer, running_server

# A machine that runs other tests beside this one.
_SLACK_S = 10.0
_MOST_MORE_KIB = 64 * 1024
LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


@LINUX
def test_a_crowd_that_never_ends_its_requests_is_sent_away_and_keeps_nobody_out(
    tmp_path: Path,
) -> None:
    with running_server(tmp_path) as server:
        server.request("GET", "/health")
        before_kib = _resident_kib(server.pid)
        head = f"POST /notify HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
        body = (
            head + b"Authorization: Bearer " + server.token.encode() + b"\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        began = time.monotonic()
        with _crowd(server, [head] * 200 + [body] * 50 + [b""] * 50) as crowd:
            # Each is answered, although every place for those who wait is taken.
            statuses = {
                server.request("GET", "/health", timeout_s=_SLACK_S).status for _ in range(20)
            }
            for one in crowd:
                one.settimeout(
                    max(0.1, HEAD_DEADLINE_S + BODY_DEADLINE_S + _SLACK_S - _since(began))
                )
                assert _is_closed(one)
        more_kib = _resident_kib(server.pid) - before_kib

    assert statuses == {200}
    assert more_kib <= _MOST_MORE_KIB


def _since(began: float) -> float:
    return time.monotonic() - began


@contextmanager
def _crowd(server: RunningServer, beginnings: list[bytes]) -> Iterator[list[socket.socket]]:
    """Connections that each said so much."""
    with ExitStack() as stack:
        crowd = []
        for beginning in beginnings:
            one = socket.create_connection(("127.0.0.1", server.port), timeout=_SLACK_S)
            stack.enter_context(one)
            if beginning:
                one.sendall(beginning)
            crowd.append(one)
        yield crowd


def _is_closed(one: socket.socket) -> bool:
    """Whether the server ended it, with a reply or without."""
    try:
        while one.recv(65_536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("no such line")
