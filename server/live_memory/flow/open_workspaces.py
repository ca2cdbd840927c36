"""The owner of all workspaces: each is opened once, runs on its own, and never meets another."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import anyio
from anyio.abc import TaskGroup, TaskStatus

from live_memory.core.answer import Answer, Question
from live_memory.core.companion.chat import Caps, Spend
from live_memory.core.errors import Busy, InvalidRequest, LiveMemoryError, Unavailable
from live_memory.core.memory.ledger import Fact, FactId, Ledger
from live_memory.core.memory.window import (
    Compacted,
    Entry,
    FactPinned,
    Forgotten,
    QuestionAnswered,
    questions,
)
from live_memory.core.reading.observation import FileRead
from live_memory.core.signals import QuestionFinished, WorkspaceFailed
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.answer_question import ask, tell_how_far
from live_memory.flow.indexing import IndexState
from live_memory.flow.jobs import Jobs, Progress, keep_warm
from live_memory.flow.keep_notes import Keeping
from live_memory.flow.model_slot import Borrowed, Companion, ModelSlot, ProbeVerdict, probe
from live_memory.flow.notes import Notes
from live_memory.flow.workspace import Workspace, WorkspaceStats, WorkspaceSummary, statistics
from live_memory.ports import (
    SignalSink,
    SnapshotStore,
    WorkspaceIdentity,
    Workspaces,
    Worktrees,
)

__all__ = ["Hub", "WorkspaceRow"]

Open = Callable[[WorkspaceIdentity], Awaitable[Workspace]]

# How often it is looked for one that has come to rest, where all are in use.
_LOOK_S = 0.05


@dataclass(slots=True)
class _Slot:
    """A workspace that is being opened, is open, or failed to open."""

    identity: WorkspaceIdentity
    settled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)
    workspace: Workspace | None = None
    problem: LiveMemoryError | None = None
    is_rested: bool = False

    def open(self, memory: Workspace) -> None:
        """Let those in who wait."""
        self.workspace = memory
        self.settled.set()

    async def close(self) -> None:
        """End it; what it holds is saved then."""
        if self.workspace is not None:
            self.workspace.is_closing = True
        self.scope.cancel()
        await self.closed.wait()


class OpenWorkspaces:
    """Owner of the workspaces' tasks, which run in `tasks`.

    Where `most` are open, those at rest make room; `most_in_use` may be in use at a time. A
    workspace holds some nine descriptors and half a megabyte, so only so many are open at a time.
    The one that was used longest ago is saved and closed, and opened again by its next use.
    """

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        open_workspace: Open,
        signals: SignalSink,
        borrowed: Borrowed,
        closed: Callable[[WorkspaceKey], None],
        most: int,
        most_in_use: int,
    ) -> None:
        self.tasks: TaskGroup | None = None
        self._workspaces = workspaces
        self._open_workspace = open_workspace
        self._signals = signals
        self._borrowed = borrowed
        self._closed = closed
        self._most, self._most_in_use = min(most, most_in_use), most_in_use
        self._slots: dict[WorkspaceKey, _Slot] = {}
        self._carried: dict[WorkspaceKey, WorkspaceSummary] = {}
        self._turn = anyio.Lock()

    @property
    def keys(self) -> set[WorkspaceKey]:
        """Those that are open."""
        return set(self._slots)

    @property
    def problems(self) -> Sequence[str]:
        """What is wrong with any, also with one that rests."""
        here = (memory.problems for memory in self.now())
        resting = (c.set_aside for key, c in self._carried.items() if key not in self._slots)
        return tuple(dict.fromkeys(chain.from_iterable(chain(here, resting))))

    def now(self) -> Sequence[Workspace]:
        """The open ones."""
        return [slot.workspace for slot in self._slots.values() if slot.workspace]

    async def opened(self, cwd: str, *, wait_s: float) -> Workspace:
        """The workspace that `cwd` belongs to, open; waits at most so long for room.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Busy: there is no room.
            Unavailable: it cannot be opened.
        """
        if self.tasks is None:
            raise Unavailable("the server is not running yet")
        identity = await self._workspaces.resolve(cwd)
        was_replaced = False
        while True:
            slot = await self._settled(identity, self.tasks, wait_s)
            memory = slot.workspace
            if memory is None and slot.is_rested:
                continue
            if memory is None:
                raise slot.problem or Unavailable("the workspace was closed while it was opened")
            if memory.is_closing:
                await slot.closed.wait()
                continue
            with memory.in_use():
                was_replaced = not (was_replaced or await memory.sandbox.is_same_root())
            if was_replaced:
                # Another folder has this name now: what is open still reads the one that was there.
                await slot.close()
            elif not memory.is_closing:
                return memory

    async def forget(self, key: WorkspaceKey) -> None:
        """Close it if it is open, and carry nothing on."""
        slot = self._slots.get(key)
        if slot is not None:
            await slot.close()
        self._carried.pop(key, None)

    async def _settled(self, identity: WorkspaceIdentity, tasks: TaskGroup, wait_s: float) -> _Slot:
        slot = self._slots.get(identity.key)
        if slot is None:
            with anyio.move_on_after(wait_s):
                async with self._turn:
                    slot = self._slots.get(identity.key)
                    if slot is None:
                        await self._make_room()
                        slot = self._slots[identity.key] = _Slot(identity)
                        tasks.start_soon(self._serve, slot)
        if slot is None:
            raise Busy(
                f"{len(self._slots)} workspaces are in use, and there is room for no more",
                retry_after_s=5.0,
            )
        await slot.settled.wait()
        return slot

    async def _make_room(self) -> None:
        """Let the one that rests longest make room, or wait where as many as may be are in use.

        What the disk does not take stays open beyond any bound, as closing it would lose it.
        """
        while len(self._slots) >= self._most:
            if await self._rested_one():
                continue
            in_use = (s.workspace is None or not s.workspace.is_at_rest for s in self._in_order())
            if len(self._slots) < self._most_in_use or not any(in_use):
                return
            await anyio.sleep(_LOOK_S)

    async def _rested_one(self) -> bool:
        for slot in self._in_order():
            memory = slot.workspace
            if memory is None or not memory.is_at_rest or not await memory.kept():
                continue
            if memory.is_at_rest:
                slot.is_rested = True
                self._carried[slot.identity.key] = memory.carried
                await slot.close()
                return True
        return False

    def _in_order(self) -> Sequence[_Slot]:
        """Those first that were used longest ago."""
        return sorted(
            self._slots.values(), key=lambda s: s.workspace.used_at if s.workspace else 0.0
        )

    async def _serve(self, slot: _Slot) -> None:
        """Run one workspace; its crash is its own, and the next use opens it anew."""
        key = slot.identity.key
        try:
            with slot.scope:
                memory = await self._open_workspace(slot.identity)
                memory.take_up(self._carried.get(key, WorkspaceSummary()))
                await memory.run(opened=lambda: slot.open(memory), borrowed=self._borrowed)
        except LiveMemoryError as problem:
            slot.problem = problem
            self._signals.emit(WorkspaceFailed(key, str(problem)))
        # The guard around each workspace: one workspace's bug must not end the others.
        except Exception as bug:  # noqa: BLE001
            slot.problem = Unavailable("the workspace failed; the next question opens it again")
            self._signals.emit(WorkspaceFailed(key, repr(bug)))
        finally:
            slot.workspace = None
            if self._slots.get(key) is slot:
                del self._slots[key]
            self._closed(key)
            slot.settled.set()
            slot.closed.set()


# Who waits for room here keeps a workspace of its own from resting.
_ROOM_S = 1.0


class Sharing:
    """Owner of what was given from one work tree to another.

    Each fact goes only to where its bytes are too. What a linked work tree learns is kept by the
    main one as well, so it outlives the linked one.
    """

    def __init__(self, trees: Worktrees, *, opened: Callable[..., Awaitable[Workspace]]) -> None:
        self._trees = trees
        self._opened = opened
        self._given: dict[tuple[WorkspaceKey, WorkspaceKey], Ledger] = {}

    async def share(self, memory: Workspace) -> None:
        """Give a linked work tree what the main one knows, and the other way round.

        Memory is as good without: what fails is tried again for the next question.
        """
        try:
            root = await self._trees.main(memory.identity.root)
            if root is None:
                return
            main = await self._opened(root, wait_s=_ROOM_S)
            with main.in_use():
                await self._give(main, memory)
                await self._give(memory, main)
        except LiveMemoryError:
            return

    def closed(self, key: WorkspaceKey) -> None:
        """Keep no ledger of a workspace that is closed."""
        self._given = {pair: ledger for pair, ledger in self._given.items() if key not in pair}

    async def _give(self, one: Workspace, other: Workspace) -> None:
        pair, ledger = (one.identity.key, other.identity.key), one.window.ledger
        if self._given.get(pair) is ledger:
            return
        facts = await _standing(ledger, other)
        if facts:
            await other.record(Compacted(frozenset(), facts))
        self._given[pair] = ledger


async def _standing(ledger: Ledger, memory: Workspace) -> tuple[Fact, ...]:
    """The facts that are new to a work tree and whose sources have the same bytes there."""
    theirs = memory.window.ledger
    known = {fact.id for fact in theirs.facts if not fact.is_stale} | theirs.forgotten
    new = [fact for fact in ledger.facts if not fact.is_stale and fact.id not in known]
    paths = list(dict.fromkeys(source.path for fact in new for source in fact.sources))
    reads = await memory.sandbox.read([path.text for path in paths], max_bytes=0)
    shas = {
        path: read.sha
        for path, read in zip(paths, reads, strict=True)
        if isinstance(read, FileRead)
    }
    return tuple(f for f in new if all(shas.get(s.path) == s.sha for s in f.sources))


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """A workspace among all; it is `here` while it is open, and nothing is saved of a new one."""

    identity: WorkspaceIdentity
    saved_at: Instant | None
    here: Workspace | None


# As many as a person works in at a time; more are opened again when they are asked for.
_MOST_OPEN, _MOST_IN_USE = 16, 256
# How often a disk that takes nothing is tried again; memory is whole again within 10 s.
_KEEP_AGAIN_S = 5.0
# How long what is no question waits for room for one more.
_WAIT_S = 15.0


class Hub:
    """What the web layer talks to; its methods raise only `LiveMemoryError`s for what can fail.

    Where `cwd` leads to no workspace, or an id to no fact, that is an `InvalidRequest`.
    """

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        open_workspace: Open,
        store: SnapshotStore,
        signals: SignalSink,
        trees: Worktrees,
        notes: Callable[..., Notes],
        companion: Companion | None = None,
        warm_idle_s: float | None = None,
        most_open: int = _MOST_OPEN,
        most_in_use: int = _MOST_IN_USE,
    ) -> None:
        self.models = ModelSlot(companion)
        self.jobs = Jobs(self.ask)
        self.notebook = notes(opened=self.opened)
        self.keeping = Keeping(self.notebook)
        self._sharing = Sharing(trees, opened=self.opened)
        self._warm_idle_s = warm_idle_s
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
            if self._warm_idle_s is not None:
                tasks.start_soon(keep_warm, self._warm_idle_s, self.models, self._open.now)
            tasks.start_soon(self._keep_spend)
            tasks.start_soon(self.notebook.user.run)
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
                    memory,
                    question,
                    companion=companion,
                    progress=progress,
                    asked_at=asked_at,
                    noted=partial(self.notebook.beside, memory),
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

    async def learn(self, cwd: str, *, progress: Progress) -> tuple[WorkspaceIdentity, IndexState]:
        """Bring the index of the workspace that `cwd` belongs to up to date.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Unavailable: the workspace cannot be opened.
        """
        memory = await self.opened(cwd)
        with memory.in_use():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tell_how_far, memory, progress)
                state = await memory.indexer.caught_up()
                tasks.cancel_scope.cancel()
        return memory.identity, state

    @property
    def spend(self) -> Spend:
        """What models took since the server started."""
        companion = self.models.companion
        return companion.purse.spend if companion else Spend()

    async def spending(self) -> tuple[Spend, Caps | None]:
        """What models took, also before the start, and the most they may; without a model none."""
        if self.models.companion is None:
            return Spend(), None
        purse = self.models.companion.purse
        return await purse.known(), purse.caps

    async def probe(self) -> ProbeVerdict:
        """Find out what the model in use can carry."""
        async with self.models.borrowed() as companion:
            return await probe(companion)

    async def stats(self, cwd: str) -> WorkspaceStats:
        """Figures of the workspace that `cwd` belongs to."""
        memory = await self.opened(cwd)
        with memory.in_use():
            return await statistics(memory)

    async def open_stats(self) -> Sequence[WorkspaceStats]:
        """Figures of the workspaces that are open; none is opened for it."""
        found = []
        for memory in self._open.now():
            with memory.in_use():
                found.append(await statistics(memory))
        return found

    async def workspaces(self) -> Sequence[WorkspaceRow]:
        """All that are open or saved, the one that something was written down of last first."""
        here = {memory.identity.key: memory for memory in self._open.now()}
        saved = await self._store.saved()
        rows = (
            WorkspaceRow(WorkspaceIdentity(root, key), saved.get(key), here.get(key))
            for key, root in (await self.roots()).items()
        )
        return sorted(rows, key=lambda row: -(row.saved_at or math.inf))

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """The roots of all that are open or saved."""
        here = {memory.identity.key: memory.identity.root for memory in self._open.now()}
        return {**await self._store.roots(), **here}

    async def root_of(self, key: WorkspaceKey) -> str:
        """The root of a workspace that is open or saved."""
        try:
            return (await self.roots())[key]
        except KeyError:
            raise InvalidRequest("there is no such workspace: it was forgotten") from None

    async def workspace_of(self, cwd: str) -> WorkspaceIdentity:
        """The workspace that `cwd` belongs to; it is not opened for it.

        Raises:
            InvalidRequest: it leads to none.
        """
        return await self._workspaces.resolve(cwd)

    @property
    def pulse(self) -> Mapping[str, object]:
        """What differs from a moment ago where something happened in a workspace."""
        return {memory.identity.key.text: memory.pulse for memory in self._open.now()}

    async def answers(self, cwd: str) -> tuple[WorkspaceIdentity, Sequence[QuestionAnswered]]:
        """Past questions with their answers, newest first."""
        memory = await self.opened(cwd)
        return memory.identity, tuple(reversed(questions(memory.window)))

    async def timeline(self, cwd: str) -> tuple[WorkspaceIdentity, Sequence[Entry]]:
        """What the window holds, newest first."""
        memory = await self.opened(cwd)
        return memory.identity, tuple(reversed(memory.window.entries))

    async def ledger(
        self, cwd: str, *, is_checked: bool = True
    ) -> tuple[WorkspaceIdentity, Ledger]:
        """All facts, each marked where its source is no longer what it was.

        Without the check that is as of the last one.
        """
        memory = await self.opened(cwd)
        if is_checked:
            with memory.in_use():
                await memory.checked()
        return memory.identity, memory.window.ledger

    async def pin(self, cwd: str, fact_id: FactId) -> Fact:
        """Keep a fact in every prompt."""
        memory = await self.opened(cwd)
        _fact(memory, fact_id)
        with memory.in_use():
            await memory.record(FactPinned(fact_id))
        return memory.window.ledger[fact_id]

    async def forget_fact(self, cwd: str, fact_id: FactId) -> Fact:
        """Drop a fact for good; what is learned again by itself does not bring it back."""
        memory = await self.opened(cwd)
        fact = _fact(memory, fact_id)
        with memory.in_use():
            await memory.record(Forgotten(frozenset(), frozenset({fact_id})))
        return fact

    async def clear(self, cwd: str) -> WorkspaceIdentity:
        """Forget everything about one workspace, on disk too.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            StoreUnavailable: the data folder cannot be written.
        """
        identity = await self._workspaces.resolve(cwd)
        await self._forget(identity)
        return identity

    async def clear_all(self) -> int:
        """Forget every workspace; returns how many there were."""
        roots = await self.roots()
        for key, root in roots.items():
            await self._forget(WorkspaceIdentity(root, key))
        return len(roots)

    async def _forget(self, identity: WorkspaceIdentity) -> None:
        """Forget all of a workspace but that learning is paused in it."""
        key = identity.key
        await self._open.forget(key)
        found = await self._store.load(key)
        await self._store.forget(key)
        if found.memory is not None and found.memory.window.is_paused:
            # Where its folder is gone there is nothing to learn from.
            with suppress(LiveMemoryError):
                await self.keeping.pause(identity.root)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the server is degraded, in words for a person; nothing when all is well."""
        companion = self.models.companion
        unkept = (companion.purse.problem,) if companion and companion.purse.problem else ()
        return (*unkept, *self._open.problems, *self.notebook.user.problems)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is less than it could be while every answer is as true as ever."""
        companion = self.models.companion
        resting = companion.rest.note if companion else None
        found = {memory.watching.note for memory in self._open.now()} | {resting}
        found |= {
            f"learning is paused in {memory.identity.root}: `live-memory resume` lifts that"
            for memory in self._open.now()
            if memory.window.is_paused
        }
        return tuple(sorted(note for note in found if note))

    async def opened(self, cwd: str, *, wait_s: float = _WAIT_S) -> Workspace:
        """The workspace that `cwd` belongs to, open; who needs it for more than a step uses it.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Busy: so many workspaces are in use that there is no room for it in time.
            Unavailable: the workspace cannot be opened.
        """
        return await self._open.opened(cwd, wait_s=wait_s)


def _fact(memory: Workspace, fact_id: FactId) -> Fact:
    try:
        return memory.window.ledger[fact_id]
    except KeyError:
        raise InvalidRequest(
            f"no fact {fact_id!r} in this workspace: `live-memory facts list` names them"
        ) from None
