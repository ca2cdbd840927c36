"""How the server stops: questions in flight may finish, everything else ends at once."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.core.asking.answer import Answer, Question
from live_memory.flow.hub import Hub
from live_memory.flow.progress import Progress
from live_memory.ports import WorkspaceIdentity

__all__ = ["STOP_GRACE_S", "Drain", "Drained"]

# What a question may still take when the server is told to stop.
STOP_GRACE_S = 5.0
# An answer that is there has still to be sent; streams that wait for news would wait for ever.
_TO_SEND_S = 0.2


class Drain:
    """Counts questions in flight and holds every request's cancel scope."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._questions = 0
        self._requests: set[anyio.CancelScope] = set()
        self._something_ended = anyio.Event()

    @property
    def questions_in_flight(self) -> int:
        """How many callers wait for an answer."""
        return self._questions

    async def ask(
        self, cwd: str, question: Question, *, progress: Progress
    ) -> tuple[WorkspaceIdentity, Answer]:
        """Ask the hub; stopping waits for the answer.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Unavailable: the workspace cannot be opened.
        """
        self._questions += 1
        try:
            return await self._hub.ask(cwd, question, progress=progress)
        finally:
            self._questions -= 1
            self._note_end()

    @contextmanager
    def request(self) -> Iterator[anyio.CancelScope]:
        """Let a request be ended by `finish`."""
        with anyio.CancelScope() as scope:
            self._requests.add(scope)
            try:
                yield scope
            finally:
                self._requests.discard(scope)
                self._note_end()

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
        with self._drain.request() as request:
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
