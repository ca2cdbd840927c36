"""Lets the port open before the MCP library is there: its import takes longer than all the rest.

While it is imported every other thread gets a share of the interpreter at best, so who waits for a
reply at that moment comes first, unless it is a reply by that very protocol.
"""

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, cast

import anyio
import anyio.to_thread
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.core.errors import InvalidRequest
from live_memory.flow.jobs import Ask, Jobs
from live_memory.ports import Clock
from live_memory.web.drain import Drain
from live_memory.web.errors import problem_of
from live_memory.web.requests import check_shape

__all__ = ["McpLimits", "McpMount"]

_MODULE = "live_memory.web.mcp"
# A first question takes a fifth of a second where there is an index, and seconds where a small
# repository is looked at for the first time. No garbage is collected until then, so not for long.
_OTHERS_FIRST_S = 5.0


@dataclass(frozen=True, slots=True)
class McpLimits:
    """With the library's own 10,000 sessions one client could take 0.5 GB."""

    sessions: int = 256
    idle_s: float = 600.0
    body_bytes: int = 4 * 1024 * 1024


class _McpModule(Protocol):
    def serving(
        self, ask: Ask, *, clock: Clock, jobs: Jobs | None, port: int, limits: McpLimits
    ) -> AbstractAsyncContextManager[ASGIApp]: ...


class McpMount:
    """The route `/mcp`; a request that comes too early waits."""

    def __init__(
        self,
        ask: Ask,
        *,
        drain: Drain,
        clock: Clock,
        jobs: Jobs | None,
        port: int,
        limits: McpLimits,
        imported: Callable[[], None],
    ) -> None:
        self._ask = ask
        self._drain = drain
        self._clock = clock
        self._jobs = jobs
        self._port = port
        self._limits = limits
        self._imported = imported
        self._app: ASGIApp | None = None
        self._wanted = anyio.Event()
        self._ready = anyio.Event()

    async def run(self) -> None:
        """Import in a thread, then hold the sessions until cancelled."""
        await self._due()
        found = await anyio.to_thread.run_sync(
            importlib.import_module, _MODULE, abandon_on_cancel=True
        )
        # The module's type cannot be had without the import that this is about.
        module = cast("_McpModule", found)
        serving = module.serving(
            self._ask,
            clock=self._clock,
            jobs=self._jobs,
            port=self._port,
            limits=self._limits,
        )
        async with serving as self._app:
            self._imported()
            self._ready.set()
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of the protocol."""
        self._wanted.set()
        await self._ready.wait()
        if scope["method"] == "POST":
            # The door gives a body in one piece.
            first = await receive()
            try:
                check_shape(first.get("body", b""))
            except InvalidRequest as problem:
                refused = problem_of(problem)
                reply = Response(refused.body(), refused.status, media_type="application/json")
                await reply(scope, receive, send)
                return
            receive = _with(first, receive)
        if self._app is not None:
            await self._app(scope, receive, send)

    async def _due(self) -> None:
        """Wait until it is asked for, or nobody waits for anything else; not for long."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._want_when_quiet)
            await self._wanted.wait()
            tasks.cancel_scope.cancel()

    async def _want_when_quiet(self) -> None:
        with anyio.move_on_after(_OTHERS_FIRST_S):
            await self._drain.quiet(0)
        self._wanted.set()


def _with(first: Message, receive: Receive) -> Receive:
    """What comes, with a message in front that was taken."""
    taken = [first]

    async def again() -> Message:
        return taken.pop() if taken else await receive()

    return again
