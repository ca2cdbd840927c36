"""The owner of one workspace: its window, which nobody else replaces, its index, its snapshot."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from live_memory.core.companion.chat import ModelRequest
from live_memory.core.errors import Busy, InvalidRequest, LiveMemoryError, StoreUnavailable
from live_memory.core.hosts.events import HostReport
from live_memory.core.hosts.notices import Interest
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.notebook import AUTOMATIC_S
from live_memory.core.memory.window import (
    Brought,
    Concluded,
    FileChanged,
    FileGone,
    FileObserved,
    HandoffCancelled,
    HandoffClaimed,
    HandoffLeft,
    MemoryEvent,
    NoteTold,
    NoteWritten,
    Purged,
    QuestionAnswered,
    Window,
    apply,
    questions,
)
from live_memory.core.notes.recollection import NoteWords
from live_memory.core.reading.lookup import Listing
from live_memory.core.saving.journal import holds_secret
from live_memory.core.saving.snapshot import Beginning, Memory
from live_memory.core.savings import saving_of
from live_memory.core.signals import SnapshotQuarantined, WorkspaceOpened
from live_memory.core.values import Instant, RelPath, StatSignature, WatchState
from live_memory.flow.compact import Compactor, PastCompaction, Summariser
from live_memory.flow.conclude import Admission
from live_memory.flow.freshness import Freshness, Watching, WindowViews
from live_memory.flow.indexing import Indexer, Turns
from live_memory.flow.ingest import Ingestor
from live_memory.flow.model_slot import Borrowed
from live_memory.flow.persist import Persister, beginning_of, restored
from live_memory.flow.reader import Reader
from live_memory.flow.session_diary import SessionDiary
from live_memory.ports import (
    Clock,
    EvidenceIndex,
    SignalSink,
    SnapshotStore,
    Watcher,
    WorkspaceIdentity,
)

__all__ = [
    "SentPrompt",
    "Surroundings",
    "Workspace",
    "WorkspaceStats",
    "WorkspaceSummary",
    "known_signatures",
    "statistics",
]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world of one workspace; without a watcher, changes are found when a question comes in.

    With `leaves_handoffs` the end of a session leaves one, and a session that begins hears of them.
    """

    reader: Reader
    index: EvidenceIndex
    spare_index: Callable[[], EvidenceIndex]
    store: SnapshotStore
    signals: SignalSink
    clock: Clock
    max_context_tokens: int
    watcher: Watcher | None = None
    updates_at_once: int = 2
    leaves_handoffs: bool = True

    def freshness(self, *, index: Callable[[], EvidenceIndex]) -> Freshness:
        """What compares memory with the disk."""
        return Freshness(sandbox=self.reader.sandbox, index=index, clock=self.clock)

    def indexer(self, identity: WorkspaceIdentity) -> Indexer:
        """What keeps the index equal to the disk."""
        return Indexer(
            identity.key,
            reader=self.reader,
            index=self.index,
            spare=self.spare_index,
            signals=self.signals,
            at_once=self.updates_at_once,
        )

    def ingestor(
        self, identity: WorkspaceIdentity, indexer: Indexer, freshness: Freshness
    ) -> Ingestor:
        """What learns from the host's events."""
        return Ingestor(
            identity,
            reader=self.reader,
            indexer=indexer,
            freshness=freshness,
            clock=self.clock,
            signals=self.signals,
            conclude=Admission(indexer, clock=self.clock),
        )

    def diary(self, identity: WorkspaceIdentity, ingestor: Ingestor) -> SessionDiary:
        """What notes what sessions do, and leaves it at their end."""
        return SessionDiary(
            identity,
            ingestor=ingestor,
            reader=self.reader,
            store=self.store,
            clock=self.clock,
            is_on=self.leaves_handoffs,
        )

    def compactor(
        self, identity: WorkspaceIdentity, *, index: Callable[[], EvidenceIndex]
    ) -> Compactor:
        """What makes facts of entries."""
        summariser = Summariser(reader=self.reader, index=index, clock=self.clock)
        return Compactor(
            identity.key,
            summariser=summariser,
            clock=self.clock,
            signals=self.signals,
            max_context_tokens=self.max_context_tokens,
        )


# Events that may wait for the loop; beyond it callers hear `Busy`.
_INBOX = 1_024
_DRAIN_S, _FEW_NAMES = 2.0, 10
FileEvent = FileObserved | FileChanged | FileGone
_OF_HANDOFFS = (HandoffLeft, HandoffClaimed, HandoffCancelled, Brought, Purged)
_MOST_HEARD = 1_000
# What is not kept while learning is paused: what is asked, seen and concluded goes by, and who
# tells something hears so. That a file changed is no such thing: nothing old may be current.
_PASSED_BY = (QuestionAnswered, FileObserved, Concluded, NoteWritten)
_REFUSED = (NoteTold, HandoffLeft, Brought)
# How often a memory that the system does not give is tried again.
_READ_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """The first request of a question to the model, and when it was sent on the loop's clock."""

    request: ModelRequest
    at: float


@dataclass(frozen=True, slots=True)
class WorkspaceSummary:
    """What a workspace that rests is still asked for: its figures, and what was set aside."""

    heard: int = 0
    dropped: int = 0
    not_understood: int = 0
    last_event_at: Instant | None = None
    compactions: int = 0
    compacted_lately: tuple[PastCompaction, ...] = ()
    set_aside: tuple[str, ...] = ()


@dataclass(slots=True)
class _Letter:
    """An event on its way in, and the prompt it came of; `applied` is set once it is there."""

    event: MemoryEvent
    sent: SentPrompt | None = None
    applied: anyio.Event = field(default_factory=anyio.Event)
    is_refused: bool = False


class Workspace:
    """One repository's memory. Readers take `window`, an immutable revision; writers `record`."""

    def __init__(self, identity: WorkspaceIdentity, given: Surroundings, *, turns: Turns) -> None:
        """Nothing runs and nothing is read before `run`."""
        self.identity = identity
        self.turns = turns
        self.reader = given.reader
        self.max_context_tokens = given.max_context_tokens
        self._clock = given.clock
        self.sandbox = given.reader.sandbox
        self.window, self.note_words = Window(), NoteWords()
        # No part refers back to the whole: so what a closed one held is free without a look
        # through all objects, which leaves out what a large index has set apart.
        indexer = self.indexer = given.indexer(identity)
        self.freshness = given.freshness(index=lambda: indexer.index)
        self.ingestor = given.ingestor(identity, indexer, self.freshness)
        self.diary = given.diary(identity, self.ingestor)
        self.compactor = given.compactor(identity, index=lambda: indexer.index)
        self._hint = partial(self.ingestor.offer, events=0)
        self.watching = Watching(
            identity, watcher=given.watcher, offer=self._hint, signals=given.signals
        )
        self._store = given.store
        self._tells_open, self._telling = given.leaves_handoffs, anyio.Lock()
        self._signals = given.signals
        self.last_sent: SentPrompt | None = None
        # What was told of files last, for a person to look at: it outlives the entries.
        self.heard: deque[FileEvent] = deque(maxlen=_MOST_HEARD)
        self._views = WindowViews()
        self._set_aside: tuple[str, ...] = ()
        self._unread: tuple[str, ...] = ()
        self._beginning: Beginning | None = None
        self._users = 0
        self.used_at = anyio.current_time()
        self.is_closing = False
        self._persister: Persister | None = None
        self._letters: MemoryObjectSendStream[_Letter]
        self._inbox: MemoryObjectReceiveStream[_Letter]
        self._letters, self._inbox = anyio.create_memory_object_stream[_Letter](_INBOX)

    @property
    def index(self) -> EvidenceIndex:
        """Where evidence is looked for."""
        return self.indexer.index

    @property
    def views(self) -> WindowViews:
        """What the window comes to now; one object, which grows as it does."""
        return self._views.of(self.window)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it open meanwhile; entered in the step that found it open."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self.used_at = anyio.current_time()

    @property
    def is_at_rest(self) -> bool:
        """Whether it may be closed and opened again without anybody's noticing."""
        return not self._users and not self.is_closing

    async def kept(self) -> bool:
        """Save what is not saved; whether nothing would be lost by closing it now."""
        persister = None if self._unread else self._persister
        return persister is not None and await persister.kept()

    @property
    def carried(self) -> WorkspaceSummary:
        """What is to be taken up when it is opened again."""
        ingestor, compactor = self.ingestor, self.compactor
        return WorkspaceSummary(
            ingestor.heard,
            ingestor.dropped,
            ingestor.not_understood,
            ingestor.last_event_at,
            compactor.count,
            compactor.lately,
            self._set_aside,
        )

    def take_up(self, carried: WorkspaceSummary) -> None:
        """Go on from what was carried; called before `run`."""
        ingestor, compactor = self.ingestor, self.compactor
        ingestor.heard, ingestor.dropped = carried.heard, carried.dropped
        ingestor.not_understood = carried.not_understood
        ingestor.last_event_at = carried.last_event_at
        compactor.count, compactor.lately = carried.compactions, carried.compacted_lately
        self._set_aside = carried.set_aside

    @property
    def told_now(self) -> tuple[int, int]:
        """How many notes count, and how many handoffs can be claimed, at this time."""
        now, notebook = self._clock.now(), self.window.notebook
        return sum(n.counts_at(now) for n in notebook.notes), len(notebook.open_handoffs(now))

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps this workspace from being whole, in words for a person."""
        unsaved = self._persister.problem if self._persister else None
        index = (self.indexer.not_kept, self.indexer.state.problem)
        found = (*self._set_aside, *self._unread, unsaved, *index)
        return tuple(dict.fromkeys(problem for problem in found if problem))

    @property
    def pulse(self) -> tuple[object, ...]:
        """What is another where anything happened; cheap, as it is looked at every second."""
        return self.window.revision, self.ingestor.heard, self.compactor.count, self.indexer.state

    async def run(self, *, opened: Callable[[], None], borrowed: Borrowed) -> None:
        """Restore, say `opened`, fold events until cancelled; what was sent by then is saved.

        `borrowed` lends the model that summarises, where there is one.
        """
        async with AsyncExitStack() as unless_restored:
            # To tell one repository from another opens the sandbox's private git folder.
            unless_restored.push_async_callback(self.sandbox.aclose)
            unless_restored.callback(self._inbox.close)
            unless_restored.callback(self._letters.close)
            persister = self._persister = await self._restored()
            unless_restored.pop_all()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.indexer.run)
                tasks.start_soon(persister.run)
                tasks.start_soon(self.ingestor.run, lambda: self.views, self.record)
                tasks.start_soon(self.compactor.run, lambda: self.window, self.record, borrowed)
                tasks.start_soon(self.diary.run, lambda: self.window, self.record)
                tasks.start_soon(self.watching.run, lambda: self.views)
                tasks.start_soon(self._begin)
                if self._unread:
                    tasks.start_soon(self._until_readable, tasks.cancel_scope)
                opened()
                async for letter in self._inbox:
                    self._fold(letter)
        finally:
            self._letters.close()
            with anyio.move_on_after(_DRAIN_S, shield=True):
                async for letter in self._inbox:
                    self._fold(letter)
                for event in await self.ingestor.rest(self.views):
                    self._fold(_Letter(event))
            for left in self.diary.rest(self.window):
                self._fold(_Letter(left))
            self._inbox.close()
            await persister.flush()
            with anyio.CancelScope(shield=True):
                await self._tell_open()
                await self.diary.close()
                await self.watching.aclose()
                await self.index.aclose()
                await self.sandbox.aclose()
                await self._store.release(self.identity.key)
            self._persister, self.is_closing = None, True

    async def checked(self) -> None:
        """Compare everything that is known with the disk; what changed is in the window then.

        Raises:
            LiveMemoryError: the workspace cannot be listed.
        """
        listing = await self.sandbox.list()
        signatures = {file.path: file.signature for file in listing.files}
        await self.freshness.restore(lambda: self.views, signatures, record=self.record)

    async def record(self, event: MemoryEvent, *, sent: SentPrompt | None = None) -> None:
        """Put an event into the window; returns once it is there.

        `sent` becomes `last_sent`, unless a later prompt was recorded before.

        Raises:
            Busy: too many events are waiting, or the workspace is closing.
            InvalidRequest: somebody tells something while learning is paused.
            StoreUnavailable: what somebody told is there, and would not survive a crash.
        """
        letter = _Letter(event, sent)
        try:
            self._letters.send_nowait(letter)
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError) as why:
            raise Busy("this workspace takes no more events now", retry_after_s=1.0) from why
        await letter.applied.wait()
        if letter.is_refused:
            raise self._paused
        try:
            if self._persister is not None:
                await self._persister.promised(event)
        finally:
            if isinstance(event, _OF_HANDOFFS):
                await self._tell_open()
        if isinstance(event, Purged):
            # What a handoff was put together from.
            await self.diary.forget()

    async def settled(self) -> None:
        """Wait until everything in the window survives a crash.

        Raises:
            StoreUnavailable: it does not.
        """
        if self._persister is not None:
            await self._persister.settled()

    def refuse_if_paused(self) -> None:
        """Refuse to keep what somebody tells while learning is paused, as an `InvalidRequest`."""
        if self.window.is_paused:
            raise self._paused

    @property
    def _paused(self) -> InvalidRequest:
        return InvalidRequest(
            f"learning is paused in {self.identity.root}, so nothing is kept: a person lifts that "
            "with `live-memory resume`"
        )

    async def rewrite(self) -> None:
        """Write down what there is now, and remove every file of before.

        What sessions that go on did until now is gone too: their prompts may say anything.

        Raises:
            StoreUnavailable: the disk does not let it.
        """
        if self._persister is None or self._unread:
            raise StoreUnavailable("what is kept cannot be read now, so it is not written anew")
        await self.diary.forget()
        await self._persister.rewrite()

    async def hear(self, subjects: Sequence[Interest], *, events: int) -> None:
        """Take notice of what so many events of a host are about; it survives a crash then.

        Raises:
            StoreUnavailable: it does not; it is known all the same.
        """
        if self.window.is_paused:
            return
        # A session begins: by its first question the index may be there.
        self.indexer.begin()
        self.ingestor.offer(subjects, events=events)
        # Looking at a new name takes 0.1 ms: a batch of them would hold up everyone else.
        if len(subjects) > _FEW_NAMES:
            clean = await anyio.to_thread.run_sync(self._clean, subjects)
        else:
            clean = self._clean(subjects)
        if self._persister is not None and clean:
            await self._persister.heard(clean)
        elif clean and self.is_closing:
            raise StoreUnavailable("this workspace is closing")

    async def note(self, reports: Sequence[HostReport]) -> None:
        """Take down what sessions do, unless learning is paused.

        Raises:
            StoreUnavailable: that one ended would not survive a crash.
        """
        if not self.window.is_paused and await self.diary.note(reports):
            # A session may begin before what this one comes to is left.
            await self._tell_open()

    async def _tell_open(self) -> None:
        """Let sessions that begin know of open handoffs; that is a hint, which may be missing."""
        with suppress(StoreUnavailable):
            async with self._telling:
                now = self._clock.now()
                until = [one.expires_at for one in self.window.notebook.open_handoffs(now)]
                until += [Instant(now + AUTOMATIC_S)] * self.diary.coming(self.window)
                until = until if self._tells_open else []
                await self._store.tell_open(self.identity.key, until)

    def _clean(self, subjects: Sequence[Interest]) -> list[Interest]:
        """Those that may be written down."""
        return [one for one in subjects if not holds_secret(one, self.reader.redactor)]

    def _fold(self, letter: _Letter) -> None:
        if self.window.is_paused and isinstance(letter.event, _PASSED_BY + _REFUSED):
            letter.is_refused = isinstance(letter.event, _REFUSED)
            letter.applied.set()
            return
        try:
            self.window = apply(self.window, letter.event)
        finally:
            letter.applied.set()
        self._note(letter.event)
        sent = (one for one in (self.last_sent, letter.sent) if one is not None)
        self.last_sent = max(sent, key=lambda one: one.at, default=None)
        self.compactor.window_changed()
        if self._persister is not None:
            self._persister.happened(self.window.revision, letter.event)
        self.watching.window_changed()

    def _note(self, event: MemoryEvent) -> None:
        if isinstance(event, FileEvent):
            self.heard.append(event)

    async def _until_readable(self, all_of_it: anyio.CancelScope) -> None:
        """End once there are bytes of the memory again and nobody is here; the next use has it."""
        is_readable = False
        while not (is_readable and self.is_at_rest):
            await anyio.sleep(_READ_AGAIN_S)
            with suppress(LiveMemoryError):
                is_readable = await self._store.is_readable(self.identity.key)
        self.is_closing = True
        all_of_it.cancel()

    async def _begin(self) -> None:
        """Learn which repository this is, as far as that can be told."""
        if self._beginning is None:
            self._beginning = await beginning_of(self.sandbox)

    async def _restored(self) -> Persister:
        """Take up what was kept."""
        key, root = self.identity.key, self.identity.root
        found = await restored(self._store, self.identity, self.sandbox)
        if found.is_unread:
            self._unread = found.problems
        else:
            self._set_aside = tuple(dict.fromkeys((*self._set_aside, *found.problems)))
        for problem in found.problems:
            self._signals.emit(SnapshotQuarantined(key, root, problem))
        if found.memory is not None:
            self.window, self._beginning = found.memory.window, found.memory.beginning
            self._hint(found.memory.heard)
            for entry in self.window.entries[-_MOST_HEARD:]:
                self._note(entry.content)
        with suppress(StoreUnavailable):
            await self.diary.take_up()
        await self._tell_open()
        self._signals.emit(WorkspaceOpened(key, len(self.window.entries)))
        return Persister(
            self.identity,
            store=self._store,
            memory=lambda: Memory(self.window, self.ingestor.unlearned, self._beginning),
            signals=self._signals,
            is_saved=found.is_saved,
        )


@dataclass(frozen=True, slots=True)
class WorkspaceStats:
    """`known_files` counts the files that are known by the bytes they have.

    `dropped_events` were lost to a bound, here or in a hook's spool. `listing` is the last one,
    and nothing before the first. While it `is_paused` nothing is learned.

    Of the `facts`, `findings` are what agents concluded, and the file of `stale_facts` has changed.
    `notes` are those that count, `open_handoffs` those that can be claimed.
    `window_parts` says what `window_tokens` are made of. `tokens_saved` is by `core/savings`.
    """

    workspace: WorkspaceIdentity
    known_files: int
    entries: int
    facts: int
    findings: int
    questions_answered_by_findings: int
    stale_facts: int
    rejected_facts: int
    notes: int
    open_handoffs: int
    compactions: int
    last_compaction: PastCompaction | None
    questions: int
    window_tokens: int
    window_parts: Mapping[str, int]
    window_limit: int
    model_calls: int
    cost_usd: float
    tokens_saved: int
    dropped_events: int
    hook_events: int
    hook_events_not_understood: int
    last_hook_at: Instant | None
    listing: Listing | None
    indexed_files: int
    files_waiting: int
    watch: WatchState
    is_paused: bool
    problems: tuple[str, ...]


# More are counted beside the loop.
_MANY_FACTS = 5_000
_PARTS = {
    FileObserved: "lines seen",
    FileChanged: "changes",
    FileGone: "changes",
    QuestionAnswered: "answers",
    NoteWritten: "notes",
}


async def known_signatures(memory: Workspace) -> Mapping[RelPath, StatSignature]:
    """Those of the last listing; before the first one those of the index, if it can be read."""
    if memory.indexer.signatures:
        return memory.indexer.signatures
    with suppress(StoreUnavailable):
        return await memory.index.known()
    return {}


async def statistics(memory: Workspace) -> WorkspaceStats:
    """Count what the workspace holds now."""
    sizes = await known_signatures(memory)
    window, state = memory.window, memory.indexer.state
    facts, shown = window.ledger.facts, memory.views.in_view
    is_much = len(facts) > _MANY_FACTS
    findings, stale = await anyio.to_thread.run_sync(_counts, facts) if is_much else _counts(facts)
    current = sum(file.sha is not None for file in shown.values())
    asked = questions(window)
    notes, open_handoffs = memory.told_now
    return WorkspaceStats(
        workspace=memory.identity,
        known_files=current + len(window.settled.keys() - shown.keys()),
        entries=len(window.entries),
        facts=len(facts),
        findings=findings,
        questions_answered_by_findings=sum(bool(q.answer.facts) for q in asked),
        stale_facts=stale,
        rejected_facts=window.ledger.rejected,
        notes=notes,
        open_handoffs=open_handoffs,
        compactions=memory.compactor.count,
        last_compaction=next(reversed(memory.compactor.lately), None),
        questions=len(asked),
        window_tokens=memory.views.tokens,
        window_parts=_parts(memory),
        window_limit=memory.max_context_tokens,
        model_calls=sum(q.answer.usage.model_calls for q in asked),
        cost_usd=sum(q.answer.cost_usd or 0.0 for q in asked),
        tokens_saved=sum(saving_of(q.answer, sizes).tokens for q in asked),
        dropped_events=memory.ingestor.dropped,
        hook_events=memory.ingestor.heard,
        hook_events_not_understood=memory.ingestor.not_understood,
        last_hook_at=memory.ingestor.last_event_at,
        listing=memory.indexer.shelf.listed,
        indexed_files=state.files - state.waiting,
        files_waiting=state.waiting,
        watch=memory.watching.state,
        is_paused=window.is_paused,
        problems=memory.problems,
    )


def _counts(facts: Sequence[Fact]) -> tuple[int, int]:
    """How many are findings, and how many are stale."""
    return sum(bool(f.conclusion) for f in facts), sum(f.is_stale for f in facts)


def _parts(memory: Workspace) -> Mapping[str, int]:
    parts = dict.fromkeys(_PARTS.values(), 0)
    for kind, tokens in memory.views.parts.items():
        parts[_PARTS[kind]] += tokens
    return parts
