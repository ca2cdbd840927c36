"""The owner of all workspaces: each is opened once, runs on its own, and never meets another."""

from collections.abc import Sequence

import anyio
from anyio.abc import TaskStatus

from live_memory.core.asking.answer import Answer, Question
from live_memory.core.companion.spend import Spend
from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.events import FactPinned, Forgotten, QuestionAnswered
from live_memory.core.memory.ledger import Fact, FactId, Ledger
from live_memory.core.memory.window import Entry, questions
from live_memory.core.signals import QuestionFinished
from live_memory.flow.ask import ask
from live_memory.flow.companion.keep_warm import WarmKeeping, keep_warm
from live_memory.flow.companion.probe import Verdict, probe
from live_memory.flow.jobs import Jobs
from live_memory.flow.models.lending import Companion, ModelDesk
from live_memory.flow.opening.open_workspaces import Open, OpenWorkspaces
from live_memory.flow.progress import Progress
from live_memory.flow.sharing import Sharing
from live_memory.flow.statistics import WorkspaceStats, statistics
from live_memory.flow.workspace import Workspace
from live_memory.ports import SignalSink, SnapshotStore, WorkspaceIdentity, Workspaces, Worktrees

__all__ = ["Hub", "Open"]

# As many as a person works in at a time; more are opened again when they are asked for.
_MOST_OPEN, _MOST_IN_USE = 16, 256
# How often a disk that takes nothing is tried again; memory is whole again within 10 s.
_KEEP_AGAIN_S = 5.0
# How long what is no question waits for room for one more.
_WAIT_S = 15.0


class Hub:
    """What the web layer talks to; its methods raise only `LiveMemoryError`s for what can fail."""

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        open_workspace: Open,
        store: SnapshotStore,
        signals: SignalSink,
        trees: Worktrees,
        companion: Companion | None = None,
        warm: WarmKeeping | None = None,
        most_open: int = _MOST_OPEN,
        most_in_use: int = _MOST_IN_USE,
    ) -> None:
        self.models = ModelDesk(companion)
        self.jobs = Jobs(self.ask)
        self._sharing = Sharing(trees, opened=self.opened)
        self._warm = warm
        self._workspaces = workspaces
        self._store = store
        self._signals = signals
        self._open = OpenWorkspaces(
            workspaces=workspaces,
            open_workspace=open_workspace,
            signals=signals,
            borrowed=self.models.borrowed,
            closed=self._sharing.closed,
            most=most_open,
            most_in_use=most_in_use,
        )

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the workspaces' tasks until cancelled; each then folds and saves what it has."""
        async with anyio.create_task_group() as tasks:
            self._open.tasks = tasks
            await tasks.start(lambda *, task_status: self.jobs.run(task_status=task_status))
            if self._warm is not None:
                tasks.start_soon(keep_warm, self._warm, self.models, self._open.now)
            tasks.start_soon(self._keep_spend)
            task_status.started()
            try:
                await anyio.sleep_forever()
            finally:
                await self.models.swap(None)

    async def _keep_spend(self) -> None:
        """Try again to write down what models cost, where the disk did not take it."""
        while True:
            await anyio.sleep(_KEEP_AGAIN_S)
            companion = self.models.companion
            if companion is not None and companion.purse.problem is not None:
                await companion.purse.keep()

    async def ask(
        self, cwd: str, question: Question, *, progress: Progress
    ) -> tuple[WorkspaceIdentity, Answer]:
        """Answer a question about the workspace that `cwd` belongs to.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Unavailable: the workspace cannot be opened.
        """
        asked_at = anyio.current_time()
        memory = await self.opened(cwd, wait_s=question.budget.timeout_s / 2)
        with memory.in_use():
            await self._sharing.share(memory)
            async with self.models.borrowed() as companion:
                answer = await ask(
                    memory, question, companion=companion, progress=progress, asked_at=asked_at
                )
        finished = QuestionFinished(
            memory.identity.key,
            answer.mode,
            answer.grounding,
            answer.stop,
            answer.elapsed_s,
            len(answer.citations),
        )
        self._signals.emit(finished)
        return memory.identity, answer

    @property
    def spend(self) -> Spend:
        """What models took since the server started."""
        companion = self.models.companion
        return companion.purse.spend if companion else Spend()

    async def probe(self) -> Verdict:
        """Find out what the model in use can carry."""
        async with self.models.borrowed() as companion:
            return await probe(companion)

    async def stats(self, cwd: str) -> WorkspaceStats:
        """Figures of the workspace that `cwd` belongs to.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
        """
        return statistics(await self.opened(cwd))

    async def answers(self, cwd: str) -> tuple[WorkspaceIdentity, Sequence[QuestionAnswered]]:
        """Past questions with their answers, newest first.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
        """
        memory = await self.opened(cwd)
        return memory.identity, tuple(reversed(questions(memory.window)))

    async def timeline(self, cwd: str) -> tuple[WorkspaceIdentity, Sequence[Entry]]:
        """What the window holds, newest first.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
        """
        memory = await self.opened(cwd)
        return memory.identity, tuple(reversed(memory.window.entries))

    async def ledger(self, cwd: str) -> tuple[WorkspaceIdentity, Ledger]:
        """All facts, each marked where its source is no longer what it was.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
        """
        memory = await self.opened(cwd)
        with memory.in_use():
            await memory.checked()
        return memory.identity, memory.window.ledger

    async def pin(self, cwd: str, fact_id: FactId) -> Fact:
        """Keep a fact in every prompt.

        Raises:
            InvalidRequest: `cwd` leads to no workspace, or there is no such fact.
        """
        memory, _ = await self._fact(cwd, fact_id)
        with memory.in_use():
            await memory.record(FactPinned(fact_id))
        return memory.window.ledger[fact_id]

    async def forget_fact(self, cwd: str, fact_id: FactId) -> Fact:
        """Drop a fact for good; what is learned again by itself does not bring it back.

        Raises:
            InvalidRequest: `cwd` leads to no workspace, or there is no such fact.
        """
        memory, fact = await self._fact(cwd, fact_id)
        with memory.in_use():
            await memory.record(Forgotten(frozenset(), frozenset({fact_id})))
        return fact

    async def _fact(self, cwd: str, fact_id: FactId) -> tuple[Workspace, Fact]:
        memory = await self.opened(cwd)
        try:
            return memory, memory.window.ledger[fact_id]
        except KeyError:
            raise InvalidRequest(
                f"no fact {fact_id!r} in this workspace: `live-memory facts list` names them"
            ) from None

    async def clear(self, cwd: str) -> WorkspaceIdentity:
        """Forget everything about one workspace, on disk too.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            StoreUnavailable: the data folder cannot be written.
        """
        identity = await self._workspaces.resolve(cwd)
        await self._open.forget(identity.key)
        await self._store.forget(identity.key)
        return identity

    async def clear_all(self) -> int:
        """Forget every workspace; returns how many there were."""
        keys = set(await self._store.roots()) | self._open.keys
        for key in keys:
            await self._open.forget(key)
            await self._store.forget(key)
        return len(keys)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the server is degraded, in words for a person; nothing when all is well."""
        companion = self.models.companion
        unkept = (companion.purse.problem,) if companion and companion.purse.problem else ()
        return (*unkept, *self._open.problems)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is less than it could be while every answer is as true as ever."""
        companion = self.models.companion
        resting = companion.rest.note if companion else None
        found = {memory.watching.note for memory in self._open.now()} | {resting}
        return tuple(sorted(note for note in found if note))

    async def opened(self, cwd: str, *, wait_s: float = _WAIT_S) -> Workspace:
        """The workspace that `cwd` belongs to, open; who needs it for more than a step uses it.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Busy: so many workspaces are in use that there is no room for it in time.
            Unavailable: the workspace cannot be opened.
        """
        return await self._open.opened(cwd, wait_s=wait_s)
