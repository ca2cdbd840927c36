"""Lets the port open before the MCP library is there: its import takes longer than all the rest."""

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, cast

import anyio
import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from live_memory.flow.jobs import Ask, Jobs
from live_memory.ports import Clock

__all__ = ["McpLimits", "McpMount"]

_MODULE = "live_memory.web.mcp"


@dataclass(frozen=True, slots=True)
class McpLimits:
    """security.md D17: with the library's own 10,000 sessions one client could take 0.5 GB."""

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
        clock: Clock,
        jobs: Jobs | None,
        port: int,
        limits: McpLimits,
        imported: Callable[[], None],
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._jobs = jobs
        self._port = port
        self._limits = limits
        self._imported = imported
        self._app: ASGIApp | None = None
        self._ready = anyio.Event()

    async def run(self) -> None:
        """Import in a thread, then hold the sessions until cancelled."""
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
        await self._ready.wait()
        if self._app is not None:
            await self._app(scope, receive, send)
