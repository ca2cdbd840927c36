"""Questions asked now and collected later, for hosts whose tool calls may not take long."""

import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import anyio
from anyio.abc import TaskGroup, TaskStatus

from live_memory.core.answer import Answer, Question
from live_memory.core.companion.chat import Cause
from live_memory.core.errors import (
    Busy,
    InvalidRequest,
    LiveMemoryError,
    ModelUnavailable,
    Unavailable,
)
from live_memory.flow.model_slot import Meter, ModelSlot
from live_memory.flow.workspace import Workspace
from live_memory.ports import WorkspaceIdentity

__all__ = ["Ask", "Jobs", "Progress", "keep_warm", "silent"]


class Progress(Protocol):
    """Tells whoever waits how far it is: in words, and where that is known in numbers."""

    async def __call__(self, message: str, *, done: int = 0, total: int = 0) -> None:
        """Say it; a total of 0 is one that is not known."""
        ...


async def silent(message: str, *, done: int = 0, total: int = 0) -> None:
    """Say nothing."""


# For how long a job is kept that nobody collects.
_KEPT_S = 3_600.0
_MOST = 100

# A workspace's folder and a question, and how to say how far it is.
Ask = Callable[..., Awaitable[tuple[WorkspaceIdentity, Answer]]]


@dataclass(slots=True)
class _Job:
    """One question: `ended_at` is set once there is an answer or a failure."""

    said: str = "waiting"
    answer: Answer | None = None
    failure: LiveMemoryError | None = None
    ended_at: float | None = None


class Jobs:
    """Owner of all jobs; they end with the server."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._jobs: dict[str, _Job] = {}
        self._tasks: TaskGroup | None = None

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the questions' tasks until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await anyio.sleep_forever()

    def submit(self, cwd: str, question: Question) -> str:
        """Start a question; gives the id to collect it with.

        Raises:
            Busy: too many are kept already.
            Unavailable: the server is not running yet.
        """
        if self._tasks is None:
            raise Unavailable("the server is not running yet")
        self._drop_old()
        if len(self._jobs) >= _MOST:
            raise Busy(f"{_MOST} jobs are kept: collect some first", retry_after_s=10.0)
        job_id, job = secrets.token_urlsafe(16), _Job()
        self._jobs[job_id] = job
        self._tasks.start_soon(self._work, job, cwd, question)
        return job_id

    def result(self, job_id: str) -> Answer | str:
        """The answer, which is then forgotten here, or how far the question is.

        Raises:
            InvalidRequest: there is no such job, or it was collected.
            LiveMemoryError: the question failed so.
        """
        self._drop_old()
        job = self._jobs.get(job_id)
        if job is None:
            raise InvalidRequest(
                "there is no such job: it was collected, is older than an hour, or never was"
            )
        if job.ended_at is None:
            return job.said
        del self._jobs[job_id]
        if job.failure is not None:
            raise job.failure
        assert job.answer is not None
        return job.answer

    async def _work(self, job: _Job, cwd: str, question: Question) -> None:
        async def progress(message: str, *, done: int = 0, total: int = 0) -> None:
            job.said = message

        try:
            _, job.answer = await self._ask(cwd, question, progress=progress)
        except LiveMemoryError as failure:
            job.failure = failure
        finally:
            job.ended_at = anyio.current_time()
            if job.answer is None and job.failure is None:
                job.failure = Unavailable("the question was ended before it was answered")

    def _drop_old(self) -> None:
        now = anyio.current_time()
        old = [
            job_id
            for job_id, job in self._jobs.items()
            if job.ended_at is not None and now - job.ended_at > _KEPT_S
        ]
        for job_id in old:
            del self._jobs[job_id]


_INTERVAL_S = 240.0


async def keep_warm(
    max_idle_s: float, models: ModelSlot, open_now: Callable[[], Iterable[Workspace]]
) -> None:
    """Send every open workspace's last prompt again, until cancelled.

    For while a person thinks: a prompt is sent with one token of reply, until nobody has asked for
    `max_idle_s`. A provider keeps its cache for about five minutes after its last use.
    """
    while True:
        await anyio.sleep(_INTERVAL_S)
        for memory in open_now():
            last = memory.last_sent
            if last is None or anyio.current_time() - last.at > max_idle_s:
                continue
            async with models.borrowed() as companion:
                if companion is not None:
                    meter = Meter(companion.model, companion.purse, companion.rest)
                    request = replace(last.request, cause=Cause.KEEP_WARM, max_output_tokens=1)
                    # Nobody waits for this, and the next question says what is wrong.
                    with suppress(ModelUnavailable):
                        await meter.complete(request)
