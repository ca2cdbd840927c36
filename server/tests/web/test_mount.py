"""When the MCP library is imported, on a clock that costs no time; a module stands in for it."""

import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType

import anyio
import pytest
import trio.testing
from anyio.abc import TaskGroup
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from live_memory.core.answer import Answer, Question
from live_memory.flow.jobs import Progress
from live_memory.ports import WorkspaceIdentity
from live_memory.web.application import McpLimits, McpMount
from live_memory.web.guard import Drain
from tests.web.hubs import FixedClock, ScriptedHub

_LONG_S = 40_000.0


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    # So much real time for the thread that imports, before the clock jumps.
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0.05)}


class _Library(ModuleType):
    """Notes when it is taken up."""

    def __init__(self) -> None:
        super().__init__("live_memory.web.mcp")
        self.taken_up_at: float | None = None

    @asynccontextmanager
    async def serving(self, *_: object, **__: object) -> AsyncIterator[ASGIApp]:
        self.taken_up_at = anyio.current_time()
        yield self.app

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply with nothing."""


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> _Library:
    library = _Library()
    monkeypatch.setitem(sys.modules, library.__name__, library)
    return library


@pytest.mark.parametrize(("reply_after_s", "imported_after_s"), [(0.5, 0.5), (_LONG_S, 5.0)])
async def test_a_reply_that_somebody_waits_for_comes_before_the_import_but_not_for_long(
    library: _Library, reply_after_s: float, imported_after_s: float
) -> None:
    """A server that was restarted answers the question that waits, then learns to speak MCP."""
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        await _started(tasks, reply_after_s=reply_after_s)
        await anyio.sleep(_LONG_S)
        tasks.cancel_scope.cancel()

    assert library.taken_up_at is not None
    assert library.taken_up_at - began == pytest.approx(imported_after_s, abs=0.01)


async def test_a_client_that_speaks_mcp_waits_for_nobody_else(library: _Library) -> None:
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:
        mount = await _started(tasks, reply_after_s=_LONG_S)
        await mount({"type": "http", "method": "GET"}, _hear, _say)
        tasks.cancel_scope.cancel()

    assert library.taken_up_at == pytest.approx(began, abs=0.01)


async def test_once_all_is_imported_garbage_is_collected_again(library: _Library) -> None:
    gc.disable()
    try:
        async with anyio.create_task_group() as tasks:
            await _started(tasks, reply_after_s=0)
            await anyio.sleep(_LONG_S)
            assert library.taken_up_at is not None
            assert gc.isenabled()
            tasks.cancel_scope.cancel()
    finally:
        gc.enable()
        gc.unfreeze()


async def _started(tasks: TaskGroup, *, reply_after_s: float) -> McpMount:
    """A mount beside which a client waits so long for its reply."""
    drain = Drain()
    tasks.start_soon(_wait_for_a_reply, drain, reply_after_s)
    await anyio.lowlevel.checkpoint()
    mount = McpMount(
        lambda module: module.serving(
            _ask,
            clock=FixedClock(),
            jobs=None,
            notes=ScriptedHub().notebook,
            tools=(),
            port=1,
            limits=McpLimits(),
        ),
        drain=drain,
    )
    tasks.start_soon(mount.run)
    return mount


async def _wait_for_a_reply(drain: Drain, for_s: float) -> None:
    with drain.request(is_known=True):
        await anyio.sleep(for_s)


async def _ask(
    cwd: str, question: Question, *, progress: Progress
) -> tuple[WorkspaceIdentity, Answer]:
    raise AssertionError(f"nobody asks, but {question} about {cwd}, {progress}")


async def _hear() -> Message:
    return {"type": "http.request"}


async def _say(message: Message) -> None:
    """Reply to nobody."""
