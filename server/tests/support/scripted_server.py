"""A server that proves itself, or fails to, and then does to a call what a test says."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from live_memory.web.identity import Identity, RunningServer, ensure_token, publish

__all__ = ["ScriptedServer", "scripted_server", "stream"]

Reply = Callable[[BaseHTTPRequestHandler], None]


class ScriptedServer:
    """What it heard, and when a call's connection was closed by the other side."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.heard: list[tuple[dict[str, str], dict[str, object]]] = []
        self.all_bytes: list[str] = []
        self.was_left = threading.Event()
        self.was_called = threading.Semaphore(0)


def stream(*messages: dict[str, object], is_whole: bool = True) -> Reply:
    """A reply of events; one that is not whole ends after them, as when the server is killed."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        body = b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in messages)
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("content-length", str(len(body) + (0 if is_whole else 100)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


@contextmanager
def scripted_server(
    data_dir: Path, *replies: Reply, is_ours: bool = True
) -> Iterator[ScriptedServer]:
    """One that the data folder names, at a free port."""
    script = ScriptedServer(*replies)
    token = ensure_token(data_dir)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            (nonce,) = parse_qs(urlsplit(self.path).query)["nonce"]
            known = Identity(token if is_ours else "x" * 43, server.server_port, 1)
            form = {"pid": 1, "start": known.start, "proof": known.proof(nonce)}
            script.all_bytes.append(str(self.headers))
            self._send(json.dumps(form).encode())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            script.all_bytes.append(str(self.headers))
            script.heard.append((dict(self.headers.items()), json.loads(body)))
            script.was_called.release()
            if script.replies:
                script.replies.pop(0)(self)
            elif not self.connection.recv(1):
                script.was_left.set()
            self.close_connection = True

        def _send(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Keep the test's output clean."""

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """A client that goes away is no news."""

        def shutdown_request(self, request: object) -> None:
            assert isinstance(request, socket.socket)
            super().shutdown_request(request)

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        publish(data_dir, RunningServer("127.0.0.1", server.server_port, 1, "0.1.0"))
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
