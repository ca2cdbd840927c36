"""An answer as lines of JSON, one when something happens and the last one with the answer."""

import json
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import anyio
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from live_memory.core.asking.answer import Answer
from live_memory.core.asking.reply import render
from live_memory.core.errors import LiveMemoryError
from live_memory.flow.progress import Progress
from live_memory.ports import WorkspaceIdentity
from live_memory.web.errors import Problem, problem_of
from live_memory.web.schemas import answer_form, why_form

__all__ = ["AnswerStream", "while_there"]

T = TypeVar("T")


class _Ask(Protocol):
    def __call__(self, *, progress: Progress) -> Awaitable[tuple[WorkspaceIdentity, Answer]]: ...


class AnswerStream:
    """A reply that runs the question; a client that goes away cancels it."""

    def __init__(self, ask: _Ask) -> None:
        self._ask = ask

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer on this connection."""
        lines = _Lines(send)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
            try:
                workspace, answer = await self._ask(progress=lines.progress)
            except LiveMemoryError as error:
                await lines.fail(problem_of(error))
            else:
                form = {**answer_form(workspace, answer), "why": why_form(answer)}
                await lines.end({"answer": form, "text": render(answer)})
            tasks.cancel_scope.cancel()


class _Lines:
    """The reply; it starts with its first line, so that a refusal can still have its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_started = False

    async def progress(self, message: str) -> None:
        """Say how far it is."""
        await self._line({"progress": message}, is_last=False)

    async def end(self, last: dict[str, object]) -> None:
        """Say the last thing."""
        await self._line(last, is_last=True)

    async def fail(self, problem: Problem) -> None:
        """Say that there is no answer, and why."""
        await self._line(problem.form(), is_last=True, status=problem.status)

    async def _line(self, value: dict[str, object], *, is_last: bool, status: int = 200) -> None:
        if not self._is_started:
            self._is_started = True
            headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store")]
            start = {"type": "http.response.start", "status": status, "headers": headers}
            await self._send(start)
        body = json.dumps(value, allow_nan=False).encode() + b"\n"
        await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})


async def while_there(request: object, work: Callable[[], Awaitable[T]]) -> T | None:
    """What `work` gives, or nothing where the connection of this request closes first.

    The older protocol lets a call go on without its connection, so that the reply can be had on
    another one; here it cannot, and a model would be asked for nobody.

    Raises:
        LiveMemoryError: the work fails so.
    """
    if not isinstance(request, Request):
        return await work()
    found: T | None = None
    problem: LiveMemoryError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_when_gone, request.receive, tasks.cancel_scope)
        try:
            found = await work()
        except LiveMemoryError as error:
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return found


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
