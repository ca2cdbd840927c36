"""The owner of one workspace: its window, which nobody else replaces, its index, its snapshot."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from live_memory.core.companion.chat import ModelRequest
from live_memory.core.companion.prompt import render_tree
from live_memory.core.errors import Busy, Corrupt
from live_memory.core.memory.events import MemoryEvent
from live_memory.core.memory.window import Window, apply
from live_memory.core.reading.redaction import Redactor
from live_memory.core.signals import SnapshotQuarantined, WorkspaceOpened
from live_memory.flow.freshness import Freshness
from live_memory.flow.indexing import Indexer
from live_memory.flow.ingesting.ingestor import Ingestor
from live_memory.flow.persist import Persister
from live_memory.flow.turns import Turns
from live_memory.ports import (
    Clock,
    EvidenceIndex,
    Sandbox,
    SignalSink,
    SnapshotStore,
    WorkspaceIdentity,
)

__all__ = ["LastOpening", "Workspace"]

# Events that may wait for the loop; beyond it callers hear `Busy` (design.md section 6).
_INBOX = 1_024
_DRAIN_S = 2.0


@dataclass(frozen=True, slots=True)
class LastOpening:
    """The first request of the last question, and when it was made on the loop's clock."""

    request: ModelRequest
    at: float


@dataclass(frozen=True, slots=True)
class _Letter:
    """An event on its way in; `applied` is set once the window holds it."""

    event: MemoryEvent
    applied: anyio.Event = field(default_factory=anyio.Event)


class Workspace:
    """One repository's memory. Readers take `window`, an immutable revision; writers `record`."""

    def __init__(
        self,
        identity: WorkspaceIdentity,
        *,
        sandbox: Sandbox,
        index: EvidenceIndex,
        spare_index: Callable[[], EvidenceIndex],
        store: SnapshotStore,
        signals: SignalSink,
        clock: Clock,
        redactor: Redactor,
        max_file_bytes: int,
        turns: Turns,
    ) -> None:
        self.identity = identity
        self.turns = turns
        self.redactor = redactor
        self.max_file_bytes = max_file_bytes
        self.freshness = Freshness(
            sandbox=sandbox, redactor=redactor, clock=clock, max_file_bytes=max_file_bytes
        )
        self.sandbox = sandbox
        self.window = Window()
        self.indexer = Indexer(
            identity.key,
            sandbox=sandbox,
            index=index,
            spare=spare_index,
            signals=signals,
            redactor=redactor,
            max_file_bytes=max_file_bytes,
        )
        self.ingestor = Ingestor(
            identity,
            sandbox=sandbox,
            indexer=self.indexer,
            freshness=self.freshness,
            redactor=redactor,
            clock=clock,
            signals=signals,
            max_file_bytes=max_file_bytes,
        )
        self._store = store
        self._signals = signals
        self.last_opening: LastOpening | None = None
        self._tree: str | None = None
        self._quarantined: str | None = None
        self._persister: Persister | None = None
        self._letters: MemoryObjectSendStream[_Letter]
        self._inbox: MemoryObjectReceiveStream[_Letter]
        self._letters, self._inbox = anyio.create_memory_object_stream[_Letter](_INBOX)

    @property
    def index(self) -> EvidenceIndex:
        """Where evidence is looked for."""
        return self.indexer.index

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps this workspace from being whole, in words for a person."""
        unsaved = self._persister.problem if self._persister else None
        index = (self.indexer.not_kept, self.indexer.state.problem)
        found = (self._quarantined, unsaved, *index)
        return tuple(problem for problem in found if problem)

    def tree(self, *, budget_tokens: int) -> str:
        """The files of this workspace, as they were when this was first asked for.

        It stands at the front of every prompt, so it is made anew only when a prompt may change
        there (DESIGN.md, "The window").
        """
        if self._tree is None:
            names = [path.text for path in self.indexer.signatures]
            self._tree = render_tree(names, budget_tokens=budget_tokens)
        return self._tree

    async def run(self, *, opened: Callable[[], None]) -> None:
        """Restore, say `opened`, fold events until cancelled; what was sent by then is saved."""
        await self._restore()
        self._persister = Persister(
            self.identity, store=self._store, window=lambda: self.window, signals=self._signals
        )
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.indexer.run)
                tasks.start_soon(self._persister.run)
                tasks.start_soon(self.ingestor.run, lambda: self.window, self.record)
                opened()
                async for letter in self._inbox:
                    self._fold(letter)
        finally:
            self._letters.close()
            with anyio.move_on_after(_DRAIN_S, shield=True):
                async for letter in self._inbox:
                    self._fold(letter)
                for event in await self.ingestor.rest(self.window):
                    self._fold(_Letter(event))
            self._inbox.close()
            await self._persister.flush()
            with anyio.CancelScope(shield=True):
                await self.index.aclose()
                await self.sandbox.aclose()

    async def record(self, event: MemoryEvent) -> None:
        """Put an event into the window; returns once it is there.

        Raises:
            Busy: too many events are waiting, or the workspace is closing.
        """
        letter = _Letter(event)
        try:
            self._letters.send_nowait(letter)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError) as why:
            raise Busy("this workspace takes no more events now", retry_after_s=1.0) from why
        await letter.applied.wait()

    def _fold(self, letter: _Letter) -> None:
        try:
            self.window = apply(self.window, letter.event)
        finally:
            letter.applied.set()
        if self._persister is not None:
            self._persister.window_changed()

    async def _restore(self) -> None:
        key = self.identity.key
        try:
            self.window = await self._store.load(key) or Window()
        except Corrupt as problem:
            self._quarantined = f"the saved memory was set aside: {problem}"
            self._signals.emit(SnapshotQuarantined(key, self.identity.root, str(problem)))
        self._signals.emit(WorkspaceOpened(key, len(self.window.entries)))
