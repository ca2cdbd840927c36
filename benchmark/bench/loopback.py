"""Scripted endpoints on this machine: each in a thread, on a port of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Handler", "listening"]


class Handler(BaseHTTPRequestHandler):
    """One request, answered whole; connections stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def received(self) -> bytes:
        """The request's body."""
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def send(self, kind: str, body: bytes) -> None:
        """Reply with a body of this content type."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def listening(handler: type[Handler]) -> Iterator[int]:
    """Serve with this handler; gives the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
