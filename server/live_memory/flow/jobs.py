"""Questions asked now and collected later, for hosts whose tool calls may not take long."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup, TaskStatus

from live_memory.core.asking.answer import Answer, Question
from live_memory.core.errors import Busy, InvalidRequest, LiveMemoryError, Unavailable
from live_memory.flow.progress import Progress
from live_memory.ports import WorkspaceIdentity

__all__ = ["Ask", "Jobs"]

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
        async def progress(message: str) -> None:
            job.said = message

        told: Progress = progress
        try:
            _, job.answer = await self._ask(cwd, question, progress=told)
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
