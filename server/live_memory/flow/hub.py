"""The owner of all workspaces: each is opened once, runs on its own, and never meets another."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup, TaskStatus

from live_memory.core.asking.answer import Answer, Question
from live_memory.core.companion.spend import Spend
from live_memory.core.errors import InvalidRequest, LiveMemoryError, Unavailable
from live_memory.core.memory.events import FactPinned, Forgotten, QuestionAnswered
from live_memory.core.memory.ledger import Fact, FactId, Ledger
from live_memory.core.memory.window import Entry, questions
from live_memory.core.signals import QuestionFinished, WorkspaceFailed
from live_memory.core.values import WorkspaceKey
from live_memory.flow.ask import ask
from live_memory.flow.companion.keep_warm import WarmKeeping, keep_warm
from live_memory.flow.companion.probe import Verdict, probe
from live_memory.flow.jobs import Jobs
from live_memory.flow.models.lending import Companion, ModelDesk
from live_memory.flow.progress import Progress
from live_memory.flow.sharing import MainTree, Sharing
from live_memory.flow.statistics import WorkspaceStats, statistics
from live_memory.flow.workspace import Workspace
from live_memory.ports import SignalSink, SnapshotStore, WorkspaceIdentity, Workspaces

__all__ = ["Hub", "Open"]

Open = Callable[[WorkspaceIdentity], Awaitable[Workspace]]


@dataclass(slots=True)
class _Slot:
    """A workspace that is being opened, is open, or failed to open."""

    identity: WorkspaceIdentity
    settled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)
    workspace: Workspace | None = None
    problem: LiveMemoryError | None = None

    def open(self, memory: Workspace) -> None:
        """Let those in who wait."""
        self.workspace = memory
        self.settled.set()


class Hub:
    """What the web layer talks to; its methods raise only `LiveMemoryError`s for what can fail."""

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        open_workspace: Open,
        store: SnapshotStore,
        signals: SignalSink,
        trees: MainTree,
        companion: Companion | None = None,
        warm: WarmKeeping | None = None,
    ) -> None:
        self.models = ModelDesk(companion)
        self.jobs = Jobs(self.ask)
        self._sharing = Sharing(trees, opened=self.opened)
        self._warm = warm
        self._workspaces = workspaces
        self._open_workspace = open_workspace
        self._store = store
        self._signals = signals
        self._slots: dict[WorkspaceKey, _Slot] = {}
        self._tasks: TaskGroup | None = None

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Hold the workspaces' tasks until cancelled; each then folds and saves what it has."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await tasks.start(lambda *, task_status: self.jobs.run(task_status=task_status))
            if self._warm is not None:
                tasks.start_soon(keep_warm, self._warm, self.models, self._open_now)
            task_status.started()
            try:
                await anyio.sleep_forever()
            finally:
                await self.models.swap(None)

    async def ask(
        self, cwd: str, question: Question, *, progress: Progress
    ) -> tuple[WorkspaceIdentity, Answer]:
        """Answer a question about the workspace that `cwd` belongs to.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Unavailable: the workspace cannot be opened.
        """
        memory = await self.opened(cwd)
        await self._sharing.share(memory)
        async with self.models.borrowed() as companion:
            answer = await ask(memory, question, companion=companion, progress=progress)
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
        await memory.checked()
        return memory.identity, memory.window.ledger

    async def pin(self, cwd: str, fact_id: FactId) -> Fact:
        """Keep a fact in every prompt.

        Raises:
            InvalidRequest: `cwd` leads to no workspace, or there is no such fact.
        """
        memory, _ = await self._fact(cwd, fact_id)
        await memory.record(FactPinned(fact_id))
        return memory.window.ledger[fact_id]

    async def forget_fact(self, cwd: str, fact_id: FactId) -> Fact:
        """Drop a fact for good; what is learned again by itself does not bring it back.

        Raises:
            InvalidRequest: `cwd` leads to no workspace, or there is no such fact.
        """
        memory, fact = await self._fact(cwd, fact_id)
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
        await self._forget(identity.key)
        return identity

    async def clear_all(self) -> int:
        """Forget every workspace; returns how many there were."""
        keys = set(await self._store.roots()) | set(self._slots)
        for key in keys:
            await self._forget(key)
        return len(keys)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the server is degraded, in words for a person; nothing when all is well."""
        companion = self.models.companion
        unkept = (companion.purse.problem,) if companion and companion.purse.problem else ()
        found = (problem for memory in self._open_now() for problem in memory.problems)
        return (*unkept, *found)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is less than it could be while every answer is as true as ever."""
        return tuple(sorted({m.watching.note for m in self._open_now() if m.watching.note}))

    def _open_now(self) -> Sequence[Workspace]:
        return [slot.workspace for slot in self._slots.values() if slot.workspace]

    async def opened(self, cwd: str) -> Workspace:
        """The workspace that `cwd` belongs to, open.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Unavailable: the workspace cannot be opened.
        """
        if self._tasks is None:
            raise Unavailable("the server is not running yet")
        identity = await self._workspaces.resolve(cwd)
        slot = await self._settled(identity, self._tasks)
        if slot.workspace is not None and not await slot.workspace.sandbox.is_same_root():
            # Another folder has this name now: what is open still reads the one that was there.
            await _close(slot)
            slot = await self._settled(identity, self._tasks)
        if slot.workspace is None:
            raise slot.problem or Unavailable("the workspace was closed while it was opened")
        return slot.workspace

    async def _settled(self, identity: WorkspaceIdentity, tasks: TaskGroup) -> _Slot:
        slot = self._slots.get(identity.key)
        if slot is None:
            slot = self._slots[identity.key] = _Slot(identity)
            tasks.start_soon(self._serve, slot)
        await slot.settled.wait()
        return slot

    async def _serve(self, slot: _Slot) -> None:
        """Run one workspace; its crash is its own, and the next use opens it anew."""
        key = slot.identity.key
        try:
            with slot.scope:
                memory = await self._open_workspace(slot.identity)
                await memory.run(opened=lambda: slot.open(memory), borrowed=self.models.borrowed)
        except LiveMemoryError as problem:
            slot.problem = problem
            self._signals.emit(WorkspaceFailed(key, str(problem)))
        # The per-workspace guard that style.md names: one workspace's bug must not end the others.
        except Exception as bug:  # noqa: BLE001
            slot.problem = Unavailable("the workspace failed; the next question opens it again")
            self._signals.emit(WorkspaceFailed(key, repr(bug)))
        finally:
            slot.workspace = None
            if self._slots.get(key) is slot:
                del self._slots[key]
            slot.settled.set()
            slot.closed.set()

    async def _forget(self, key: WorkspaceKey) -> None:
        slot = self._slots.get(key)
        if slot is not None:
            await _close(slot)
        await self._store.forget(key)


async def _close(slot: _Slot) -> None:
    slot.scope.cancel()
    await slot.closed.wait()
