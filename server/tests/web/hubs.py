"""A hub whose answers a test decides, and the application around it on a real port."""

import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio
from starlette.routing import Route

from live_memory.adapters.hooks.claude_code import ClaudeCode
from live_memory.core.answer import Answer, Grounding, Mode, Question
from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.core.memory.ledger import Ledger
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.reading.redaction import Redactor
from live_memory.core.signals import Signal
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.jobs import Progress
from live_memory.flow.notes import Notes
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.receive_events import Reception
from live_memory.flow.user_space import UserSpace
from live_memory.flow.workspace import Workspace, WorkspaceStats
from live_memory.ports import Sandbox, WorkspaceIdentity
from live_memory.web.app import App
from live_memory.web.application import Application, McpLimits
from live_memory.web.guard import Drain
from live_memory.web.identity import Identity
from live_memory.web.page_links import PageLinks
from live_memory.web.serving import Server, listen, server_for, stop
from tests.support.doubles.in_memory_sandbox import InMemoryWorktrees
from tests.support.doubles.in_memory_spool import InMemorySpool
from tests.support.doubles.in_memory_store import InMemory

__all__ = [
    "ANSWER",
    "TOKEN",
    "WORKSPACE",
    "FixedClock",
    "Live",
    "ScriptedHub",
    "an_app",
    "inside",
    "live",
    "routes",
]

TOKEN = "t" * 43
WORKSPACE = WorkspaceIdentity("/somewhere", WorkspaceKey.of_root("/somewhere"))
ANSWER = Answer("It is in `a.py`.", Mode.EVIDENCE, Grounding.VERIFIED, ())


class _Nothing:
    """A place where there are no workspaces and nobody listens to signals."""

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        raise InvalidRequest(f"no workspace at {cwd}")

    async def open(self, workspace: WorkspaceIdentity) -> Sandbox:
        raise InvalidRequest("no workspace")

    async def open_workspace(self, workspace: WorkspaceIdentity) -> Workspace:
        raise InvalidRequest("no workspace")

    def emit(self, signal: Signal) -> None:
        """Hear nothing."""


class FixedClock:
    """Always the same time."""

    def now(self) -> Instant:
        return Instant(1_800_000_000.0)


class ScriptedHub(Hub):
    """Answers at once, or fails, or waits until it is let go; counts what reached it."""

    def __init__(self) -> None:
        nothing = _Nothing()
        super().__init__(
            workspaces=nothing,
            open_workspace=nothing.open_workspace,
            store=InMemory(),
            signals=nothing,
            trees=InMemoryWorktrees(),
            notes=partial(
                Notes,
                user=UserSpace(store=InMemory(), signals=nothing),
                redactor=Redactor(),
                clock=FixedClock(),
            ),
        )
        self.asked: list[Question] = []
        self.folders: list[str] = []
        self.cleared: list[str] = []
        self.problem: LiveMemoryError | None = None
        self.fails_late: LiveMemoryError | None = None
        self.steps: Sequence[str] = ("looking",)
        self.waits = self.stats_wait = False
        self.is_waiting = anyio.Event()
        self.let_go = anyio.Event()
        self.was_cancelled = anyio.Event()
        self.troubles: tuple[str, ...] = ()
        self.learned = Ledger()

    @property
    def problems(self) -> tuple[str, ...]:
        return self.troubles

    async def ask(
        self, cwd: str, question: Question, *, progress: Progress
    ) -> tuple[WorkspaceIdentity, Answer]:
        self.asked.append(question)
        self.folders.append(cwd)
        if self.problem:
            raise self.problem
        for step in self.steps:
            await progress(step)
        if self.fails_late:
            raise self.fails_late
        if self.waits:
            self.is_waiting.set()
            try:
                await self.let_go.wait()
            except BaseException:
                self.was_cancelled.set()
                raise
        return WORKSPACE, ANSWER

    async def answers(self, cwd: str) -> tuple[WorkspaceIdentity, Sequence[QuestionAnswered]]:
        return WORKSPACE, [QuestionAnswered(asked, ANSWER, 0) for asked in self.asked]

    async def ledger(
        self, cwd: str, *, is_checked: bool = True
    ) -> tuple[WorkspaceIdentity, Ledger]:
        return WORKSPACE, self.learned

    async def stats(self, cwd: str) -> WorkspaceStats:
        if self.stats_wait:
            self.is_waiting.set()
            await anyio.sleep_forever()
        return await super().stats(cwd)

    async def clear(self, cwd: str) -> WorkspaceIdentity:
        self.cleared.append(cwd)
        return WORKSPACE

    async def clear_all(self) -> int:
        if self.problem:
            raise self.problem
        self.cleared.append("all")
        return 1


@dataclass(frozen=True, slots=True)
class Live:
    """An application on a real port of this process."""

    hub: ScriptedHub
    app: App
    server: Server
    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}"}


def an_app(hub: Hub | None = None, *, port: int = 7711, limits: McpLimits | None = None) -> App:
    """The application, not served by anything."""
    identity = Identity(TOKEN, port, os.getpid())
    return App(
        identity,
        build=lambda drain, links: inside(hub or ScriptedHub(), drain, links, identity, limits),
    )


def inside(
    hub: Hub, drain: Drain, links: PageLinks, identity: Identity, limits: McpLimits | None = None
) -> Application:
    """All that is behind the door."""
    reception = Reception(
        ClaudeCode(), opened=hub.opened, spool=InMemorySpool(), worktrees=InMemoryWorktrees()
    )
    return Application(
        hub,
        drain=drain,
        links=links,
        identity=identity,
        clock=FixedClock(),
        reload=_reload,
        in_force=dict,
        reception=reception,
        limits=limits or McpLimits(),
    )


def routes() -> Sequence[Route]:
    """Every route that there is."""
    return inside(
        ScriptedHub(), Drain(), PageLinks(lambda: 0.0), Identity(TOKEN, 7711, os.getpid())
    ).routes


async def _reload() -> str | None:
    """Find no model."""
    return None


@asynccontextmanager
async def live(limits: McpLimits | None = None) -> AsyncIterator[Live]:
    """Serve on a free port until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    listener = listen("127.0.0.1", port)
    assert isinstance(listener, socket.socket)
    hub = ScriptedHub()
    app = an_app(hub, port=port, limits=limits)
    server = server_for(app)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        try:
            with anyio.fail_after(5):
                await app.opened()
            yield Live(hub, app, server, port)
        finally:
            hub.let_go.set()
            with anyio.CancelScope(shield=True):
                await stop(app, server)
    listener.close()
