"""Connections that wait for a request are few and short-lived, so that slow clients block nobody.

The server library has no limit of its own on how long a request may take to arrive;
this is its protocol with one.
"""

import asyncio
from contextlib import suppress
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from live_memory.web.hosting.sending import Joined

__all__ = ["HEAD_DEADLINE_S", "MAX_HEAD_BYTES", "MAX_WAITING_CONNECTIONS", "GuardedProtocol"]

# The head of a request comes in one packet; who needs longer is not a client of ours.
HEAD_DEADLINE_S = 5.0
MAX_HEAD_BYTES = 32 * 1024
# Sessions of a client keep one or two connections idle; beyond this the oldest gives way.
MAX_WAITING_CONNECTIONS = 128

# Of few descriptors so many are ours, and half of the rest: what is imported late, or a file of a
# workspace, must not fail because a crowd stands at the door.
_OURS, _LEAST_WAITING = 48, 8

_CREDENTIALS = b"authorization:"


class GuardedProtocol(HttpToolsProtocol):
    """Takes a request's head whole and in time, or closes the connection.

    One request is read at a time: what a client sends before the reply is there waits, and where
    that is much, or follows a body in chunks, the client is told by `Connection: close` to send it
    again (RFC 9112, 9.3.2).
    """

    # The signature is the library's; its state is an untyped dictionary there.
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # What has arrived and is not parsed, and how much of it has been searched for its end.
        self._data, self._searched = b"", 0
        # Bytes of a body that are still to come; a body in chunks does not say.
        self._body_left, self._is_in_body = 0, False
        self._head_deadline: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request; whoever has waited longest makes room."""
        self._joined = Joined(transport)
        super().connection_made(self._joined)
        self._expect_head()
        others = (c for c in self.connections if isinstance(c, GuardedProtocol))
        waiting = [(c._waiting_since, c) for c in others if c._waiting_since is not None]
        if len(waiting) > _most_waiting():
            min(waiting, key=lambda entry: entry[0])[1]._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what may be parsed now."""
        self._data = self._data + data if self._data else data
        self._go_on()

    def on_message_begin(self) -> None:
        """Stop where a request follows a body in chunks before the reply to that is there."""
        if self._is_answering():
            raise ValueError("another request")
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """What comes now is the body."""
        if not self.url.startswith(b"/"):
            raise ValueError("no path")
        sizes = [value for name, value in self.headers if name == b"content-length"]
        self._body_left, self._is_in_body = int(sizes[0]) if sizes else 0, True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body is complete."""
        self._body_left, self._is_in_body = 0, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The connection is idle again: it may be the one to make room."""
        self._joined.flush()
        super().on_response_complete()
        if not self._is_in_body and not self.transport.is_closing():
            self._waiting_since = self.loop.time()
            if self._data:
                self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        while self._data and not self.transport.is_closing():
            if self._is_in_body:
                end = self._body_left or len(self._data)
                part, self._data = self._data[:end], self._data[end:]
                self._body_left = max(0, self._body_left - len(part))
                self._parse(part)
            elif self._is_answering():
                if len(self._data) > MAX_HEAD_BYTES:
                    self._data, self.cycle.keep_alive = b"", False
                return
            elif not self._parse_head():
                return

    def _parse_head(self) -> bool:
        """Parse a head once it is here; whether there may be more to do."""
        # However much comes in one piece, no more of it than a head may have is looked at.
        end = _end_of_head(self._data, max(0, self._searched - 3))
        self._searched = 0 if end is not None else len(self._data)
        if end is not None:
            self._stop_waiting()
            head, self._data = self._data[:end], self._data[end:]
            self._parse(_with_blanks_seen(head))
        elif len(self._data) >= MAX_HEAD_BYTES:
            self._stop_waiting()
            self._data = b""
            self.send_400_response("The head of the request is too large.")
        elif self._head_deadline is None:
            self._stay_open()
            self._expect_head()
        return end is not None

    def _parse(self, data: bytes) -> None:
        self._stay_open()
        try:
            self.parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self._is_answering():
                self.cycle.keep_alive = False
            else:
                self.send_400_response("Invalid HTTP request received.")

    def _is_answering(self) -> bool:
        """Whether a request is complete and its reply is not."""
        return self.cycle is not None and not (self._is_in_body or self.cycle.response_complete)

    def _stay_open(self) -> None:
        """A request has begun: what would close an idle connection must not end it."""
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    def _expect_head(self) -> None:
        self._waiting_since = self.loop.time()
        self._head_deadline = self.loop.call_later(HEAD_DEADLINE_S, self._give_up)

    def _stop_waiting(self) -> None:
        self._waiting_since = None
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.abort()


def _most_waiting() -> int:
    """How many connections may wait for a request, by how many descriptors there are."""
    with suppress(ImportError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return min(MAX_WAITING_CONNECTIONS, max(_LEAST_WAITING, (soft - _OURS) // 2))
    return MAX_WAITING_CONNECTIONS


def _end_of_head(data: bytes, start: int) -> int | None:
    """Where a head ends, within what one may have: behind an empty line, CR LF or LF."""
    ends = ((data.find(mark, start, MAX_HEAD_BYTES), len(mark)) for mark in (b"\n\r\n", b"\n\n"))
    return min((at + size for at, size in ends if at >= 0), default=None)


def _with_blanks_seen(head: bytes) -> bytes:
    """The head with a mark for blanks after credentials.

    The parser drops them, and so would take a token with a blank after it for the right one.
    """
    lines = head.split(b"\n")
    for at, line in enumerate(lines):
        if line[: len(_CREDENTIALS)].lower() == _CREDENTIALS:
            value = line.removesuffix(b"\r")
            kept = value.rstrip(b" \t")
            lines[at] = line if kept == value else kept + b"%20" + line[len(value) :]
    return b"\n".join(lines)
