"""What a server serves: the guard, and behind it `/health` at once and the rest once it is there.

Most of what a start imports is needed for a question and not for a first reply. So this knows none
of it: it is imported and built in a thread, and requests that come too early wait.
"""

import json
from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from starlette.types import ASGIApp, Receive, Scope, Send

from live_memory.core.errors import InvalidRequest
from live_memory.web.guard import Drain, Drained, Guard, has_token, problem_of
from live_memory.web.identity import Identity, health_form
from live_memory.web.page_links import PageLinks

__all__ = ["App"]


class Inside(Protocol):
    """All that is served, `/health` too."""

    @property
    def asgi(self) -> ASGIApp:
        """Takes requests from the moment on that it runs."""
        ...

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Hold what it needs until cancelled."""
        ...


class App:
    """What a server serves; `drain` is how it stops, `refused` why it did so by itself."""

    def __init__(self, identity: Identity, *, build: Callable[[Drain, PageLinks], Inside]) -> None:
        """`build` is called in a thread; an `InvalidRequest` of it stops the server."""
        self.drain = Drain()
        self.refused: InvalidRequest | None = None
        self._identity = identity
        self._build = build
        self._links = PageLinks(anyio.current_time)
        self._inside: Inside | None = None
        self._is_open = anyio.Event()
        drained = Drained(self._serve, drain=self.drain)
        self.asgi: ASGIApp = Guard(drained, identity, self._links)

    async def opened(self) -> None:
        """Wait until everything is served."""
        await self._is_open.wait()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if self._inside is None:
            if (scope["method"], scope["path"]) == ("GET", "/health"):
                await self._first_health(scope, send)
                return
            await self.opened()
            assert self._inside is not None
        await self._inside.asgi(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """The server library's protocol for the time from the start to the end."""
        await receive()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._open)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            tasks.cancel_scope.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self) -> None:
        try:
            inside = await anyio.to_thread.run_sync(
                self._build, self.drain, self._links, abandon_on_cancel=True
            )
        except InvalidRequest as problem:
            self.refused = problem
            self.drain.ask_to_stop()
            return
        async with anyio.create_task_group() as tasks:
            await tasks.start(lambda *, task_status: inside.run(task_status=task_status))
            self._inside = inside
            self._is_open.set()

    async def _first_health(self, scope: Scope, send: Send) -> None:
        """Nothing is degraded yet, because nothing is open."""
        nonces = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        status, nonce = 200, nonces.get("nonce", [None])[-1]
        try:
            form = health_form(self._identity, nonce, is_known=has_token(scope))
            body = json.dumps(form).encode("ascii")
        except InvalidRequest as error:
            problem = problem_of(error)
            status, body = problem.status, problem.body()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode("ascii")),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})
