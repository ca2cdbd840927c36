"""How the server stops: questions in flight may finish, everything else ends at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.web.guard import has_token

__all__ = ["STOP_GRACE_S", "Drain", "Drained"]

# What a question may still take when the server is told to stop.
STOP_GRACE_S = 5.0
# An answer that is there has still to be sent; streams that wait for news would wait for ever.
_TO_SEND_S = 0.2


class Drain:
    """Counts questions in flight, holds each request's cancel scope, and knows when it is quiet."""

    def __init__(self) -> None:
        self._questions = 0
        self._requests: set[anyio.CancelScope] = set()
        self._clients = 0
        self._spoke_at = float("-inf")
        self._something_ended = anyio.Event()
        self._asked_to_stop = anyio.Event()

    @property
    def questions_in_flight(self) -> int:
        """How many callers wait for an answer."""
        return self._questions

    @contextmanager
    def question(self) -> Iterator[None]:
        """Let stopping wait for an answer."""
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            self._note_end()

    @contextmanager
    def request(self, *, is_known: bool) -> Iterator[anyio.CancelScope]:
        """Let a request be ended by `finish`; one that showed the token ends the quiet."""
        with anyio.CancelScope() as scope:
            self._requests.add(scope)
            self._clients += is_known
            try:
                yield scope
            finally:
                self._requests.discard(scope)
                self._clients -= is_known
                if is_known:
                    self._spoke_at = anyio.current_time()
                self._note_end()

    async def quiet(self, for_s: float) -> None:
        """Wait until no client has spoken for so long; an open stream is a client that may."""
        self._spoke_at = max(self._spoke_at, anyio.current_time())
        while True:
            left_s = self._spoke_at + for_s - anyio.current_time()
            if self._clients:
                await self._something_ended.wait()
            elif left_s > 0:
                await anyio.sleep(left_s)
            else:
                return

    def ask_to_stop(self) -> None:
        """Make whoever waits for it stop the server."""
        self._asked_to_stop.set()

    async def asked_to_stop(self) -> None:
        """Wait until someone who may do so asks the server to stop."""
        await self._asked_to_stop.wait()

    async def finish(self) -> None:
        """Wait for the questions in flight, then end every request that is left."""
        with anyio.move_on_after(STOP_GRACE_S):
            while self._questions:
                await self._something_ended.wait()
        with anyio.move_on_after(_TO_SEND_S):
            while self._requests:
                await self._something_ended.wait()
        for scope in tuple(self._requests):
            scope.cancel()

    def _note_end(self) -> None:
        if self._something_ended.statistics().tasks_waiting:
            self._something_ended.set()
            self._something_ended = anyio.Event()


class Drained:
    """Runs every request so that stopping can end it with a proper reply."""

    def __init__(self, app: ASGIApp, *, drain: Drain) -> None:
        self._app = app
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a request until it is done or the server stops."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        reply = _Reply(send)
        with self._drain.request(is_known=has_token(scope)) as request:
            await self._app(scope, receive, reply)
        if request.cancelled_caught:
            await reply.end()


class _Reply:
    """Knows how far a reply is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_started = self._is_complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_started = True
        elif not message.get("more_body", False):
            self._is_complete = True
        await self._send(message)

    async def end(self) -> None:
        """Complete a reply that was cut."""
        if not self._is_started:
            await self._send({"type": "http.response.start", "status": 503, "headers": []})
        if not self._is_complete:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
