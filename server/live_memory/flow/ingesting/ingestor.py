"""Learns passively: one worker a workspace looks at what its host read and changed.

Nothing waits for it, and a burst costs a bounded map. What it cannot hold is counted, and then
everything in view is compared with the disk, so that nothing old is taken for current.
"""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import anyio

from live_memory.core.errors import Busy, Exhausted, LiveMemoryError
from live_memory.core.hosts.notices import AnythingChanged, Notice, Subject
from live_memory.core.hosts.shell import Search
from live_memory.core.memory.events import MemoryEvent
from live_memory.core.memory.window import Window
from live_memory.core.reading.observation import FileRead
from live_memory.core.signals import EventsSkipped
from live_memory.core.values import Instant
from live_memory.flow.freshness import Freshness
from live_memory.flow.indexing import Indexer
from live_memory.flow.ingesting.finding import Finder
from live_memory.flow.ingesting.judging import Found, Judge
from live_memory.flow.ingesting.viewing import View
from live_memory.flow.ingesting.waiting import MOST_WAITING, Item, Waiting
from live_memory.flow.reader import Reader
from live_memory.ports import Clock, SignalSink, WorkspaceIdentity

__all__ = ["Ingestor"]

# Files a batch: a question that comes in waits for no more than this before it is looked after.
_BATCH = 32
# Agents look at a few lines deep in large files. Only these lines are kept, but the file has to be
# read and redacted up to there: a megabyte takes half a second in its thread.
_LEAST_LOOK_BYTES = 1024 * 1024
# How often due files are looked for while any wait; idle costs nothing. Where a batch was full
# and nothing was heard meanwhile, the next one follows at once.
_TICK_S = 0.1
# Learning shares the interpreter with replies: while so many offers come in a tick, it waits, for
# so many ticks at most, unless much waits already.
# Where the system has nothing left to look with, it is tried again after this.
_NEXT_TRY_S = 1.0
_BURST, _MOST_TICKS, _MUCH = 20, 20, MOST_WAITING // 2


class Ingestor:
    """Owner of what waits to be learned; `offer` is all that others call."""

    def __init__(
        self,
        identity: WorkspaceIdentity,
        *,
        reader: Reader,
        indexer: Indexer,
        freshness: Freshness,
        clock: Clock,
        signals: SignalSink,
    ) -> None:
        self._key = identity.key
        sandbox, redactor = reader.sandbox, reader.redactor
        self._reader, self._sandbox = reader, sandbox
        self._freshness = freshness
        self._judge = Judge(reader)
        self._view = View()
        self._clock = clock
        self._signals = signals
        self._max_bytes = max(reader.max_bytes, _LEAST_LOOK_BYTES)
        self._waiting = Waiting()
        self._in_hand: Sequence[Item] = ()
        self._something = anyio.Event()
        self._nothing_waits = anyio.Event()
        self._hurry = anyio.Event()
        self._offers = 0
        self._is_doubtful = self._is_learning = False
        self._finder = Finder(
            identity.root, sandbox=sandbox, listed=lambda: indexer.signatures, redactor=redactor
        )
        self.is_closed = False
        self.dropped = self.heard = self.not_understood = 0
        self.last_event_at: Instant | None = None

    def offer(self, subjects: Sequence[Subject], *, events: int = 1) -> None:
        """Take notice of what so many events of a host are about; never waits."""
        if events:
            self.last_event_at = self._clock.now()
        self.heard += events
        self._offers += 1
        now = anyio.current_time()
        for subject in subjects:
            if isinstance(subject, AnythingChanged):
                self._is_doubtful = True
            else:
                self._note_lost(self._waiting.put(subject, now=now))
        self._something.set()

    @property
    def unlearned(self) -> tuple[Subject, ...]:
        """Everything that was offered and is in no event yet."""
        doubt = (AnythingChanged(),) if self._is_doubtful else ()
        return (*self._in_hand, *self._waiting.all, *doubt)

    def lost(self, count: int) -> None:
        """Events were lost before they came here."""
        self._note_lost(count)
        self._something.set()

    async def run(
        self, window: Callable[[], Window], record: Callable[[MemoryEvent], Awaitable[None]]
    ) -> None:
        """Learn what is offered, until cancelled."""
        while True:
            await self._something.wait()
            self._something = anyio.Event()
            goes_on, self._is_learning = False, True
            while self._waiting or self._is_doubtful:
                await (anyio.sleep(0) if goes_on else self._a_good_moment())
                now, heard = anyio.current_time(), self._offers
                if self._hurry.is_set():
                    now = math.inf
                subjects = self._in_hand = self._waiting.take_due(now=now, most=_BATCH)
                try:
                    await self._learn(subjects, window, record)
                except Busy:  # the window's owner is behind, or closing
                    self._put_back(subjects)
                except Exhausted:
                    self._put_back(subjects)
                    await anyio.sleep(_NEXT_TRY_S)
                except LiveMemoryError:
                    # A comparison that fails is made again for the next question.
                    self._note_lost(len(subjects))
                self._in_hand = ()
                is_calm = self._offers == heard or len(self._waiting) > _MUCH
                goes_on = len(subjects) == _BATCH and is_calm
            self._hurry, self._is_learning = anyio.Event(), False
            self._nothing_waits.set()
            self._nothing_waits = anyio.Event()

    async def caught_up(self) -> None:
        """Wait until everything that was offered is learned, also files that still change."""
        if not self._is_learning and not self._waiting and not self._is_doubtful:
            return
        done = self._nothing_waits
        self._hurry.set()
        self._something.set()
        await done.wait()

    async def rest(self, window: Window) -> Sequence[MemoryEvent]:
        """What still waits, as events; for a workspace that closes."""
        self.is_closed = True
        self._in_hand = (*self._in_hand, *self._waiting.take_all())
        try:
            found = await self._found(self._in_hand, window)
        except LiveMemoryError:
            return ()
        self._in_hand = ()
        return found.events

    async def _a_good_moment(self) -> None:
        """Wait a tick, and on while so much is heard that learning would be in the way."""
        for _ in range(_MOST_TICKS):
            heard = self._offers
            with anyio.move_on_after(_TICK_S):
                await self._hurry.wait()
            is_burst = self._offers - heard >= _BURST and len(self._waiting) <= _MUCH
            if not is_burst or self._hurry.is_set():
                return

    async def _learn(
        self,
        subjects: Sequence[Item],
        window: Callable[[], Window],
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> None:
        if not subjects:
            if not self._waiting:
                self._is_doubtful = False
                listing = await self._sandbox.list()
                signatures = {file.path: file.signature for file in listing.files}
                await self._freshness.restore(window, signatures, record=record)
            return
        async with self._freshness.turn:
            found = await self._found(subjects, window())
            for event in found.events:
                await record(event)
        for read in found.in_view:
            self._freshness.note_read(read)
        for reason, count in Counter(found.skipped).items():
            self._signals.emit(EventsSkipped(self._key, reason, count))

    async def _found(self, subjects: Sequence[Item], window: Window) -> Found:
        notices = [s for s in subjects if isinstance(s, Notice)]
        files = await self._finder.files(notices)
        searches = [s for s in subjects if isinstance(s, Search)]
        for path, notice in (await self._finder.searched(searches)).items():
            files[path] = files[path].with_later(notice) if path in files else notice
        shown = self._view.of(window)
        # What was only touched matters where it is in view.
        files = {
            path: notice
            for path, notice in files.items()
            if notice.is_edited or notice.views or path in shown
        }
        if not files:
            return Found()
        names = [path.text for path in files]
        reads = await self._reader.bytes_of(names, max_bytes=self._max_bytes)
        real = [read.path for read in reads if isinstance(read, FileRead)]
        kept = await self._finder.kept(real)
        now = self._clock.now()
        # Links lead to other names.
        theirs = {path: shown[path] for path in {*files, *real} if path in shown}
        return await anyio.to_thread.run_sync(
            lambda: self._judge.judged(files, reads, theirs, kept=kept, now=now)
        )

    def _put_back(self, subjects: Sequence[Item]) -> None:
        self._is_doubtful |= not subjects
        for subject in subjects:
            self._note_lost(self._waiting.put(subject, now=anyio.current_time()))

    def _note_lost(self, count: int) -> None:
        if count:
            self.dropped += count
            self._is_doubtful = True
