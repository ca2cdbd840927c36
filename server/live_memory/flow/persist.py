"""Keeps one workspace's memory on disk: a journal at once, a snapshot after a while.

Whoever is promised something waits for the journal; many who wait share one sync. Where the journal
takes nothing, a snapshot has to be made before it takes anything again, so that it has no gap.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import anyio

from live_memory.core.errors import LiveMemoryError, StoreUnavailable
from live_memory.core.hosts.notices import Interest
from live_memory.core.memory.window import (
    FactPinned,
    Forgotten,
    MemoryEvent,
    QuestionAnswered,
    Telling,
)
from live_memory.core.reading.lookup import FirstCommit
from live_memory.core.saving.journal import EventApplied, HostNotice, JournalRecord
from live_memory.core.saving.snapshot import Beginning, Memory, Restored
from live_memory.core.signals import SaveFailed
from live_memory.ports import Sandbox, SignalSink, SnapshotStore, WorkspaceIdentity

__all__ = ["Persister", "beginning_of", "restored"]

# The journal holds what came since, so a snapshot only keeps the next start short.
_QUIET_S = 5.0
# A server that crashes again and again would leave a journal each time.
_AFTER_A_CRASH_S = 0.5
# First soon, then at most so far apart that a disk with space again is noticed within 10 s.
_RETRIES_S = (0.5, 1.0, 2.0, 4.0)
# The last save may take this long when the server stops.
_FLUSH_S = 5.0
# A sync takes milliseconds; a disk that takes longer than this is as good as away.
_DISK_ANSWERS_S = 5.0
# What somebody waits to hear of, and how long that may hold up their reply.
_PROMISED = (QuestionAnswered, FactPinned, Forgotten)
_REPLY_WAITS_S = 0.8
# Records that may wait for a disk that is slow: some megabytes.
_MOST_WAITING = 10_000


async def beginning_of(sandbox: Sandbox, known: Beginning | None = None) -> Beginning | None:
    """The known commit where the repository has it, else its first; nothing where none is told."""
    try:
        found = await sandbox.history(FirstCommit(known.id if known else None))
    except LiveMemoryError:
        return None
    return next((Beginning(commit.id, commit.at) for commit in found.commits), None)


async def restored(
    store: SnapshotStore, workspace: WorkspaceIdentity, sandbox: Sandbox
) -> Restored:
    """What was kept of the repository that is at this path now.

    Only a first commit that is another tells another repository: a folder without git, a history
    without commits and a shallow clone tell nothing, and the memory stays.
    """
    key = workspace.key
    found = await store.load(key)
    known = found.memory.beginning if found.memory else None
    here = await beginning_of(sandbox, known) if known else None
    if found.memory is None or known is None or here is None or here == known:
        return found
    if here.is_of(known):
        return replace(found, memory=replace(found.memory, beginning=here))
    try:
        aside = await store.exchange(key, kept=known.id[:12], wanted=here.id[:12])
        now = await store.load(key)
        if now.memory is None:
            # That whose it is now is known from here on, also where nothing is ever learned.
            await store.save(key, workspace.root, lambda: Memory(beginning=here))
            now = await store.load(key)
    except StoreUnavailable as problem:
        return Restored(problems=(*found.problems, str(problem)))
    said = (
        f"{workspace.root} is another repository than before (its first commit is {here.id[:12]}, "
        f"and was {known.id[:12]}): what was remembered of that one is kept in {aside}"
    )
    return replace(now, problems=(*now.problems, said))


@dataclass(slots=True)
class _Batch:
    """Records that are written together; `done` is set when they are, or cannot be."""

    told: list[JournalRecord] = field(default_factory=list)
    done: anyio.Event = field(default_factory=anyio.Event)
    problem: str | None = None

    def end(self, problem: str | None = None) -> None:
        """Let those go on who wait; only the first end counts."""
        if not self.done.is_set():
            self.problem = problem
            self.done.set()


class Persister:
    """Owner of one workspace's journal and snapshot; `memory` gives what is to be saved."""

    def __init__(
        self,
        workspace: WorkspaceIdentity,
        *,
        store: SnapshotStore,
        memory: Callable[[], Memory],
        signals: SignalSink,
        is_saved: bool = True,
    ) -> None:
        """Where the memory is not `is_saved` as it stands, a snapshot is due soon."""
        self._workspace = workspace
        self._store = store
        self._memory = memory
        self._signals = signals
        # What is being written, and what comes meanwhile.
        self._writing = self._batch = _Batch()
        self._is_taking = True
        self._something = anyio.Event()
        self._unsaved = anyio.Event()
        self._saving = anyio.Lock()
        self._unjournalled: str | None = None
        self._unsnapped: str | None = None
        self._is_closed = False
        self._pause_s = _QUIET_S if is_saved else _AFTER_A_CRASH_S
        if not is_saved:
            self._unsaved.set()

    @property
    def problem(self) -> str | None:
        """Why something is not kept, if so."""
        return self._unjournalled or self._unsnapped

    def happened(self, revision: int, event: MemoryEvent) -> None:
        """Write down that an event brought the window to this revision; nobody waits."""
        self._add(EventApplied(revision, event))

    async def heard(self, subjects: Sequence[Interest]) -> None:
        """Write down what a host told; returns once it survives a crash.

        Raises:
            StoreUnavailable: it does not.
        """
        await self._kept(self._add(HostNotice(tuple(subjects))))

    async def promised(self, event: MemoryEvent) -> None:
        """Wait until an event that happened survives a crash, if somebody waits to hear of it.

        For an answer a disk that hangs or fails is not waited for: `problem` says so, and the reply
        is in time.

        Raises:
            StoreUnavailable: what somebody told does not survive it.
        """
        if isinstance(event, Telling):
            await self.settled()
        elif isinstance(event, _PROMISED):
            with anyio.move_on_after(_REPLY_WAITS_S), suppress(StoreUnavailable):
                await self.settled()

    async def settled(self) -> None:
        """Wait until everything that happened so far survives a crash.

        Raises:
            StoreUnavailable: it does not.
        """
        await self._kept(self._batch if self._batch.told else self._writing)

    async def run(self) -> None:
        """Write down and save, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_journal)
            tasks.start_soon(self._keep_snapshot)

    async def kept(self) -> bool:
        """Save what is not saved; whether the disk has everything now. Bounded."""
        if self.problem is not None:
            return False
        with anyio.move_on_after(_FLUSH_S):
            return not self._unsaved.is_set() or await self._save()
        return False

    async def rewrite(self) -> None:
        """Save, and remove all that was kept before; what happened until now has to be promised.

        Raises:
            StoreUnavailable: the disk does not let it.
        """
        here = self._workspace
        async with self._saving:
            await self._store.rewrite(here.key, here.root, self._taken)

    async def flush(self) -> None:
        """Save what is left, also while being cancelled; bounded. Nothing is taken after."""
        self._is_closed = True
        problem: str | None = "the disk does not answer"
        with anyio.move_on_after(_FLUSH_S, shield=True):
            is_kept = not self._unsaved.is_set() or await self._save()
            problem = None if is_kept else self.problem
        self._writing.end(problem)
        self._batch.end(problem)

    def _add(self, told: JournalRecord) -> _Batch:
        batch = self._batch
        self._unsaved.set()
        if self._is_taking and not self._is_closed:
            if len(batch.told) >= _MOST_WAITING:
                self._fail("the disk does not take what there is to keep")
            batch.told.append(told)
            self._something.set()
        return batch

    async def _kept(self, batch: _Batch) -> None:
        if self._is_closed:
            raise StoreUnavailable("this workspace is closing")
        if not self._is_taking:
            raise StoreUnavailable(self._unjournalled or "the disk takes nothing")
        if not batch.told:
            return
        with anyio.move_on_after(_DISK_ANSWERS_S):
            await batch.done.wait()
            if batch.problem is not None:
                raise StoreUnavailable(batch.problem)
            return
        raise StoreUnavailable("the disk does not answer")

    async def _keep_journal(self) -> None:
        here = self._workspace
        while True:
            await self._something.wait()
            self._something = anyio.Event()
            self._writing, self._batch = self._batch, _Batch()
            try:
                if self._is_taking:
                    await self._store.append(here.key, here.root, self._writing.told)
            except StoreUnavailable as problem:
                self._fail(str(problem))
            self._writing.end(self._unjournalled)
            if not self._is_taking:
                await self._heal()

    async def _heal(self) -> None:
        """Save until it works; only what comes while a save is tried is taken, as it comes after.

        Everything before is in that snapshot: so the journal has no gap.
        """
        self._batch.end(self._unjournalled)
        attempt = 0
        while not self._is_taking:
            await anyio.sleep(_RETRIES_S[min(attempt, len(_RETRIES_S) - 1)])
            attempt += 1
            self._batch, self._is_taking = _Batch(), True
            self._is_taking = await self._save()
            if not self._is_taking:
                self._batch.end(self._unsnapped)
        self._unjournalled = None
        self._writing = _Batch()

    async def _keep_snapshot(self) -> None:
        attempt = 0
        while True:
            await self._unsaved.wait()
            await anyio.sleep(self._pause_s)
            if self._unjournalled is not None or await self._save():
                self._pause_s, attempt = _QUIET_S, 0
            else:
                self._pause_s = _RETRIES_S[min(attempt, len(_RETRIES_S) - 1)]
                attempt += 1

    def _fail(self, problem: str) -> None:
        self._unjournalled, self._is_taking = problem, False
        self._signals.emit(SaveFailed(self._workspace.key, problem))

    def _taken(self) -> Memory:
        self._unsaved = anyio.Event()
        return self._memory()

    async def _save(self) -> bool:
        async with self._saving:
            here = self._workspace
            try:
                await self._store.save(here.key, here.root, self._taken)
            except StoreUnavailable as problem:
                if str(problem) != self._unsnapped:
                    self._signals.emit(SaveFailed(here.key, str(problem)))
                self._unsnapped = str(problem)
                self._unsaved.set()
                return False
            self._unsnapped = None
            return True
