"""All routes with the hub behind them; importing this is what a start takes long for."""

from collections.abc import Callable

import anyio
from anyio.abc import TaskStatus
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from live_memory.core.asking.answer import Answer, Question
from live_memory.flow.hub import Hub
from live_memory.flow.ingesting.reception import Reception
from live_memory.flow.progress import Progress
from live_memory.ports import Clock, WorkspaceIdentity
from live_memory.web.drain import Drain
from live_memory.web.identity import Identity
from live_memory.web.mount import McpLimits, McpMount
from live_memory.web.routes import Reload, Routes

__all__ = ["Application"]

_LIMITS = McpLimits()


def _nothing() -> None:
    """Do nothing."""


class Application:
    """Our routes, MCP, and the hub's tasks."""

    def __init__(
        self,
        hub: Hub,
        *,
        drain: Drain,
        identity: Identity,
        clock: Clock,
        reload: Reload,
        reception: Reception,
        limits: McpLimits = _LIMITS,
        has_async_tools: bool = False,
        all_imported: Callable[[], None] = _nothing,
    ) -> None:
        self._hub = hub
        self._drain = drain
        self._reception = reception
        self._mcp = McpMount(
            self.ask,
            drain=drain,
            clock=clock,
            jobs=hub.jobs if has_async_tools else None,
            port=identity.port,
            limits=limits,
            imported=all_imported,
        )
        ours = Routes(
            hub,
            ask=self.ask,
            drain=drain,
            identity=identity,
            clock=clock,
            reload=reload,
            reception=reception,
        )
        # Clients of MCP are configured by hand, with and without the slash.
        self.routes = [*ours.table(), Route("/mcp", self._mcp), Route("/mcp/", self._mcp)]
        # `/stats/` is no other name of `/stats`, and a redirect would name the host back.
        self.asgi: ASGIApp = Router(self.routes, redirect_slashes=False)

    async def ask(
        self, cwd: str, question: Question, *, progress: Progress
    ) -> tuple[WorkspaceIdentity, Answer]:
        """Ask the hub; stopping waits for the answer.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Unavailable: the workspace cannot be opened.
        """
        with self._drain.question():
            return await self._hub.ask(cwd, question, progress=progress)

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the hub's tasks and the sessions of MCP until cancelled."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(lambda *, task_status: self._hub.run(task_status=task_status))
            tasks.start_soon(self._mcp.run)
            tasks.start_soon(self._reception.run)
            task_status.started()
