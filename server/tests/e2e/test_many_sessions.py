"""Sessions that are opened and left, and streams that nothing comes through (S59, D17)."""

import http.client
import json
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from live_memory.web.application import McpLimits
from tests.support.server import RunningServer, running_server

_OPENED, _STREAMS, _AT_ONCE = 5_000, 200, 4
# Longer than all the others take, on a machine that does other things too.
_LONG_S = 120
_MOST_MORE_KIB = 64 * 1024
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "crowd", "version": "1"},
}
LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")


@LINUX
def test_five_thousand_sessions_leave_as_many_as_are_published_and_a_call_in_flight(
    tmp_path: Path,
) -> None:
    """One of the first asks, and its model breaks off when all the others have come and gone."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    with (
        socket.create_server(("127.0.0.1", 0)) as model,
        running_server(
            tmp_path / "server",
            LIVE_MEMORY_PROVIDER="openai",
            LIVE_MEMORY_BASE_URL=f"http://127.0.0.1:{model.getsockname()[1]}/v1",
            LIVE_MEMORY_API_KEY="sk-test-not-a-real-key-0001",
            LIVE_MEMORY_MODEL="gpt-5-mini",
        ) as server,
        ThreadPoolExecutor(_AT_ONCE + 1) as pool,
        _client(server) as client,
    ):
        most = McpLimits().sessions
        warm = _many(server, most)
        before_kib = _resident_kib(server.pid)
        asked = pool.submit(client.ask, warm[-1], project)
        model.settimeout(30)
        thinking, _ = model.accept()
        share = _OPENED // _AT_ONCE
        parts = list(pool.map(lambda _: _many(server, share), range(_AT_ONCE)))
        was_done = asked.done()
        more_kib = _resident_kib(server.pid) - before_kib
        living = _living(server, [name for part in parts for name in part[-most:]])
        model.close()
        thinking.close()
        answer = asked.result(_LONG_S)

    assert len({name for part in parts for name in part}) == _OPENED
    assert not was_done
    assert "limits.py" in answer
    # The one that asks has a place of its own, and the last to come made room at the same time.
    assert most - _AT_ONCE <= living < most
    assert more_kib <= _MOST_MORE_KIB


@LINUX
def test_two_hundred_streams_that_nothing_comes_through_cost_little_and_keep_nobody_out(
    tmp_path: Path,
) -> None:
    with running_server(tmp_path) as server, _client(server) as client:
        client.open()
        before_kib = _resident_kib(server.pid)
        with _listening(server, client, _STREAMS) as streams:
            statuses = {server.request("GET", "/health", timeout_s=5).status for _ in range(20)}
            another = client.open()
            still = sum(_is_open(stream) for stream in streams)
            more_kib = _resident_kib(server.pid) - before_kib
            assert client.lives(another)

    assert statuses == {200}
    assert still == _STREAMS
    assert more_kib <= _MOST_MORE_KIB


@dataclass(frozen=True, slots=True)
class _Client:
    """One connection, over which sessions are opened and used."""

    server: RunningServer
    connection: http.client.HTTPConnection

    def open(self) -> str:
        """A new session's name."""
        status, name, body = self._post("initialize", _OPENING)
        assert status == 200, body
        assert name is not None
        return name

    def lives(self, session: str) -> bool:
        """Whether the server knew a session until now; a call would open it again."""
        headers = self.server.authorization | {"Mcp-Session-Id": session}
        self.connection.request("DELETE", "/mcp", headers=headers)
        reply = self.connection.getresponse()
        reply.read()
        return reply.status == 200

    def ask(self, session: str, project: Path) -> str:
        """The answer to a question that takes long."""
        given = {"question": "Where is MAX_RETRIES?", "cwd": str(project), "timeout": _LONG_S}
        call = {"name": "ask_live_memory", "arguments": given}
        return self._post("tools/call", call, session=session)[2].decode()

    def _post(
        self, method: str, params: object, *, session: str | None = None
    ) -> tuple[int, str | None, bytes]:
        named = {} if session is None else {"Mcp-Session-Id": session}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = self.server.authorization | _HEADERS | named
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        reply = self.connection.getresponse()
        return reply.status, reply.getheader("mcp-session-id"), reply.read()


@contextmanager
def _client(server: RunningServer) -> Iterator[_Client]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=2 * _LONG_S)
    with closing(connection):
        yield _Client(server, connection)


def _many(server: RunningServer, count: int) -> list[str]:
    """So many sessions, opened by a few clients at once, each in its order."""
    with _client(server) as client:
        return [client.open() for _ in range(count)]


def _living(server: RunningServer, sessions: Sequence[str]) -> int:
    with _client(server) as client:
        return sum(client.lives(session) for session in sessions)


@contextmanager
def _listening(server: RunningServer, client: _Client, count: int) -> Iterator[list[socket.socket]]:
    """Sessions whose streams are open."""
    with ExitStack() as stack:
        streams = []
        for _ in range(count):
            head = "".join(
                f"{name}: {text}\r\n"
                for name, text in {
                    "Host": f"127.0.0.1:{server.port}",
                    "Accept": "text/event-stream",
                    "Mcp-Session-Id": client.open(),
                    **server.authorization,
                }.items()
            )
            stream = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            stack.enter_context(stream)
            stream.sendall(f"GET /mcp HTTP/1.1\r\n{head}\r\n".encode())
            assert b"200 OK" in stream.recv(65_536)
            streams.append(stream)
        yield streams


def _is_open(stream: socket.socket) -> bool:
    stream.setblocking(False)
    try:
        return bool(stream.recv(65_536))
    except BlockingIOError:
        return True
    finally:
        stream.setblocking(True)


def _resident_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("no such line")
