"""All routes with the hub behind them; importing this is what a start takes long for."""

import gc
import importlib
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.client.offer import TOOLS
from live_memory.core.answer import Answer, Question
from live_memory.core.errors import InvalidRequest
from live_memory.flow import ingest
from live_memory.flow.jobs import Ask, Jobs, Progress
from live_memory.flow.notes import Notes
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from live_memory.ports import Clock, WorkspaceIdentity
from live_memory.web import guard, routes, serving
from live_memory.web.guard import Drain, problem_of
from live_memory.web.identity import Identity
from live_memory.web.keeping_routes import KeepingRoutes
from live_memory.web.note_routes import NoteRoutes
from live_memory.web.page.page_routes import PageRoutes
from live_memory.web.page_links import PageLinks
from live_memory.web.routes import InForce, Reload, Routes, check_shape

__all__ = ["Application", "McpLimits", "McpModule", "McpMount", "published_limits"]

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


class McpModule(Protocol):
    """What is imported late."""

    def serving(
        self,
        ask: Ask,
        *,
        clock: Clock,
        jobs: Jobs | None,
        notes: Notes,
        tools: Collection[str],
        port: int,
        limits: McpLimits,
    ) -> AbstractAsyncContextManager[ASGIApp]:
        """The protocol's endpoint, while its sessions may live."""
        ...


class McpMount:
    """The route `/mcp`; a request that comes too early waits.

    The port opens before the MCP library is there, whose import takes longer than all the rest.
    While it is imported every other thread gets a share of the interpreter at best, so who waits
    for a reply at that moment comes first, unless it is a reply by that very protocol.
    """

    def __init__(
        self, serving: Callable[[McpModule], AbstractAsyncContextManager[ASGIApp]], *, drain: Drain
    ) -> None:
        """`serving` opens the endpoint, once the module is there."""
        self._serving = serving
        self._drain = drain
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
        async with self._serving(cast("McpModule", found)) as self._app:
            if not gc.isenabled():
                # What was imported is no garbage, and nothing more is imported at once.
                gc.freeze()
                gc.enable()
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


_LIMITS = McpLimits()


class Application:
    """Our routes, MCP, and the hub's tasks."""

    def __init__(
        self,
        hub: Hub,
        *,
        drain: Drain,
        links: PageLinks,
        identity: Identity,
        clock: Clock,
        reload: Reload,
        in_force: InForce,
        reception: Reception,
        limits: McpLimits = _LIMITS,
        tools: Collection[str] = TOOLS,
        has_async_tools: bool = False,
    ) -> None:
        self._hub = hub
        self._drain = drain
        self._reception = reception
        jobs = hub.jobs if has_async_tools else None
        self._mcp = McpMount(
            lambda module: module.serving(
                self.ask,
                clock=clock,
                jobs=jobs,
                notes=hub.notebook,
                tools=tools,
                port=identity.port,
                limits=limits,
            ),
            drain=drain,
        )
        ours = Routes(
            hub,
            ask=self.ask,
            drain=drain,
            identity=identity,
            clock=clock,
            reload=reload,
            in_force=in_force,
            reception=reception,
        )
        keeping = KeepingRoutes(hub, reception=reception)
        page = PageRoutes(hub, drain=drain, links=links, identity=identity, clock=clock)
        # Clients of MCP are configured by hand, with and without the slash.
        self.routes = [
            *ours.table(),
            *NoteRoutes(hub, clock=clock).table(),
            *keeping.table(),
            *page.table(),
            Route("/mcp", self._mcp),
            Route("/mcp/", self._mcp),
        ]
        # `/stats/` is no other name of `/stats`, and a redirect would name the host back.
        self.asgi: ASGIApp = Router(self.routes, redirect_slashes=False)

    async def ask(
        self, cwd: str, question: Question, *, progress: Progress
    ) -> tuple[WorkspaceIdentity, Answer]:
        """Ask the hub; stopping waits for the answer."""
        with self._drain.question():
            return await self._hub.ask(cwd, question, progress=progress)

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the hub's tasks and the sessions of MCP until cancelled."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(lambda *, task_status: self._hub.run(task_status=task_status))
            tasks.start_soon(self._mcp.run)
            tasks.start_soon(self._reception.run)
            task_status.started()


def published_limits() -> dict[str, float]:
    """Limits by name; a unit is part of the name."""
    mcp = McpLimits()
    return {
        "body_bytes": guard.MAX_BODY_BYTES,
        "body_deadline_s": guard.BODY_DEADLINE_S,
        "json_depth": routes.MAX_DEPTH,
        "json_values": routes.MAX_VALUES,
        "head_bytes": serving.MAX_HEAD_BYTES,
        "head_deadline_s": serving.HEAD_DEADLINE_S,
        "waiting_connections": serving.MAX_WAITING_CONNECTIONS,
        "mcp_body_bytes": mcp.body_bytes,
        "mcp_sessions": mcp.sessions,
        "mcp_session_idle_s": mcp.idle_s,
        "stop_grace_s": guard.STOP_GRACE_S,
        "answers_a_reply": routes.MOST_ANSWERS,
        "entries_a_timeline": routes.MOST_ENTRIES,
        "events_a_request": routes.MOST_EVENTS,
        "files_waiting_to_be_learned": ingest.MOST_WAITING,
    }
