"""No command shows anything secret to whoever takes the port after the server was found (S06)."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from live_memory.cli.connection import ProvenServer, get, post, stream, tell
from live_memory.cli.environment import Failure

_TOKEN, _KEY = "t" * 43, "k" * 64
_OK = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s"
_SAYS: dict[str, bytes | None] = {
    "an object": _OK % (2, b"{}"),
    "that it is well": _OK % (15, b'{"status":"ok"}'),
    "no": b"HTTP/1.1 401 No\r\ncontent-length: 2\r\n\r\n{}",
    "another protocol": b"220 mail\r\n",
    "nothing": b"",
    "nothing, for ever": None,
}
_USES: dict[str, Callable[[ProvenServer], object]] = {
    "get": lambda server: get(server, "/stats", cwd="CANARY"),
    "post": lambda server: post(server, "/clear", {"cwd": "CANARY"}),
    "tell": lambda server: tell(server, "/v1/remember", {"text": "CANARY"}),
    "stream": lambda server: list(stream(server, "/v1/ask", {"question": "CANARY"}, timeout_s=1)),
}


@contextmanager
def _stranger(says: bytes | None) -> Iterator[tuple[int, list[bytes]]]:
    """A program on a port that answers every request so; what it was told."""
    heard: list[bytes] = []
    open_ones: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
                open_ones.append(connection)
                while request := connection.recv(65_536):
                    heard.append(request)
                    if says is None:
                        continue
                    connection.sendall(says)
                    if not says:
                        connection.close()
                        break
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)
        for one in open_ones:
            one.close()


@pytest.mark.parametrize("use", _USES)
@pytest.mark.parametrize("says", _SAYS)
def test_a_stranger_that_took_the_port_since_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, use: str, says: str
) -> None:
    monkeypatch.setattr("live_memory.cli.connection._QUICK_S", 0.5)
    with _stranger(_SAYS[says]) as (port, heard), pytest.raises(Failure):
        _USES[use](ProvenServer("127.0.0.1", port, 7, _TOKEN, _KEY))
    told = b"".join(heard)
    assert told.startswith(b"GET /health?nonce=")
    for secret in (_TOKEN.encode(), _KEY.encode(), b"CANARY", b"uthorization"):
        assert secret not in told
