"""One application with one lifespan: the guard, our routes, MCP, and the hub's tasks."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from live_memory.flow.hub import Hub
from live_memory.flow.ingesting.reception import Reception
from live_memory.ports import Clock
from live_memory.web.drain import Drain, Drained, StopRoute
from live_memory.web.guard import Guard
from live_memory.web.identity import Identity
from live_memory.web.mount import McpLimits, McpMount
from live_memory.web.routes import Reload, Routes

__all__ = ["App"]


_LIMITS = McpLimits()


def _nothing() -> None:
    """Do nothing."""


class App:
    """What a server serves; `drain` is how it stops."""

    def __init__(
        self,
        hub: Hub,
        *,
        identity: Identity,
        clock: Clock,
        reload: Reload,
        reception: Reception,
        limits: McpLimits = _LIMITS,
        has_async_tools: bool = False,
        all_imported: Callable[[], None] = _nothing,
    ) -> None:
        self.drain = Drain(hub)
        self._hub = hub
        self._reception = reception
        self._mcp = McpMount(
            self.drain,
            clock=clock,
            jobs=hub.jobs if has_async_tools else None,
            port=identity.port,
            limits=limits,
            imported=all_imported,
        )
        ours = Routes(
            hub,
            drain=self.drain,
            identity=identity,
            clock=clock,
            reload=reload,
            reception=reception,
        )
        self.routes = [
            *ours.table(),
            Route("/v1/stop", StopRoute(self.drain), methods=["POST"]),
            Route("/mcp", self._mcp),
        ]
        self._starlette = Starlette(routes=self.routes, lifespan=self._lifespan)
        # `/stats/` is no other name of `/stats`, and a redirect would name the host back.
        self._starlette.router.redirect_slashes = False
        drained = Drained(self._starlette, drain=self.drain)
        self.asgi: ASGIApp = Guard(drained, token=identity.token, port=identity.port)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._hub.run)
            tasks.start_soon(self._mcp.run)
            tasks.start_soon(self._reception.run)
            yield
            tasks.cancel_scope.cancel()
