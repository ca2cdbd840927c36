"""Learns passively: one worker a workspace looks at what its host read and changed, another at
what its agents concluded.

Nothing waits for them, and a burst costs bounded maps. What they cannot hold is counted; where it
was a file, everything in view is compared with the disk, so that nothing old is taken for current.
"""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar

import anyio
import anyio.to_thread

from live_memory.core.errors import Busy, Exhausted, LiveMemoryError, OutsideWorkspace
from live_memory.core.hosts.events import LineSlice, inside
from live_memory.core.hosts.notices import (
    AnythingChanged,
    Conclusion,
    FileInterest,
    Interest,
    Search,
)
from live_memory.core.memory.learning import (
    Coverage,
    InspectedFile,
    is_in_view,
    learned,
    merged,
    note,
)
from live_memory.core.memory.window import MemoryEvent, Window
from live_memory.core.reading.lookup import NamePattern, TextPattern
from live_memory.core.reading.observation import FileRead, Observation, Skipped, refusal_of_name
from live_memory.core.reading.redaction import Redactor
from live_memory.core.signals import EventsSkipped
from live_memory.core.values import ContentHash, Instant, RelPath, StatSignature
from live_memory.flow.freshness import Freshness, WindowViews
from live_memory.flow.indexing import Indexer
from live_memory.flow.reader import Reader
from live_memory.ports import Clock, Sandbox, SignalSink, WorkspaceIdentity

__all__ = ["MOST_CONCLUSIONS", "MOST_WAITING", "Conclude", "Ingestor", "Waiting"]

# Paths that may wait, some 0.5 kB each; a burst beyond it is counted and checked as a whole. Four
# of the largest requests may come before the first of them is learned.
MOST_WAITING = 4_000
# Conclusions that may wait: a megabyte of text, and more than any session says in a second. They
# wait beside the paths, so that neither pushes the other out.
MOST_CONCLUSIONS = 64
# A file that is being edited is looked at once it rests, and at the latest after the second time.
# So is a conclusion, as a sub-agent's is told twice: when it ends, and as the result of a tool.
_QUIET_S, _LONGEST_S = 1.0, 5.0


class _Heard(Protocol):
    """What may be heard again while it waits."""

    @property
    def key(self) -> object:
        """What is heard with an equal one is the same."""
        ...

    def with_later(self, later: Self) -> Self:
        """Both together."""
        ...


T = TypeVar("T", bound=_Heard)
Item = FileInterest | Search


@dataclass(frozen=True, slots=True)
class _Item(Generic[T]):
    subject: T
    first_at: float
    last_at: float

    def is_due(self, now: float) -> bool:
        rests = getattr(self.subject, "is_edited", isinstance(self.subject, Conclusion))
        return not rests or now >= self.last_at + _QUIET_S or now >= self.first_at + _LONGEST_S


class Waiting(Generic[T]):
    """A coalescing map in order of arrival, of at most so many; the oldest are dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: dict[object, _Item[T]] = {}

    def __len__(self) -> int:
        return len(self._items)

    @property
    def all(self) -> Sequence[T]:
        """Everything, in order."""
        return [item.subject for item in self._items.values()]

    def put(self, subject: T, *, now: float) -> int:
        """Add to what is known of the same; returns how many were dropped to make room."""
        old = self._items.get(subject.key)
        both = old.subject.with_later(subject) if old else subject
        self._items[subject.key] = _Item(both, old.first_at if old else now, now)
        dropped = 0
        while len(self._items) > self._most:
            del self._items[next(iter(self._items))]
            dropped += 1
        return dropped

    def take_due(self, *, now: float, most: int) -> Sequence[T]:
        """The oldest that need not wait longer; they wait no more."""
        keys = [*islice((k for k, item in self._items.items() if item.is_due(now)), most)]
        return [self._items.pop(key).subject for key in keys]

    def take_all(self) -> Sequence[T]:
        """Everything, in order; it waits no more."""
        taken = self.all
        self._items.clear()
        return taken


# Large files are looked at piece by piece: the last few stay at hand, redacted.
_LARGE_BYTES, _MOST_LARGE = 64 * 1024, 4


@dataclass(frozen=True, slots=True)
class JudgedFiles:
    """Events to record, why files gave none, and the readings that are in view now."""

    events: tuple[MemoryEvent, ...] = ()
    skipped: tuple[str, ...] = ()
    in_view: tuple[FileRead, ...] = ()


class Judge:
    """Redacts what was read and tells what of it is new."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._large: dict[tuple[RelPath, ContentHash], Observation | Skipped] = {}

    def judged(
        self,
        files: Mapping[RelPath, FileInterest],
        reads: Sequence[FileRead | Skipped],
        shown: dict[RelPath, Coverage],
        *,
        kept: frozenset[RelPath],
        now: Instant,
    ) -> JudgedFiles:
        """Go through files in order; `shown` follows."""
        events: list[MemoryEvent] = []
        skipped: list[str] = []
        current: list[FileRead] = []
        for (name, notice), read in zip(files.items(), reads, strict=True):
            if isinstance(read, FileRead) and read.path not in kept:
                skipped.append("ignored")
                continue
            known = None if isinstance(read, Skipped) else shown.get(read.path)
            if isinstance(read, FileRead) and known and is_in_view(notice, read.sha, known):
                current.append(read)
                continue
            seen = read if isinstance(read, Skipped) else self._observed(read)
            if isinstance(seen, Skipped):
                skipped.append(seen.reason.name.lower())
            look = InspectedFile(name, notice, read, seen)
            for event in learned(look, shown.get(look.path), now=now):
                events.append(event)
                note(shown, event)
            known = shown.get(look.path)
            if isinstance(read, FileRead) and known is not None and known.sha == read.sha:
                current.append(read)
        return JudgedFiles(tuple(events), tuple(skipped), tuple(current))

    def _observed(self, read: FileRead) -> Observation | Skipped:
        if len(read.data) < _LARGE_BYTES:
            return self._reader.observe(read)
        key = (read.path, read.sha)
        seen = self._large.pop(key, None) or self._reader.observe(read)
        self._large[key] = seen
        while len(self._large) > _MOST_LARGE:
            del self._large[next(iter(self._large))]
        return seen


# Files that one glob or one search may bring in: more than that nobody has read.
_MOST_FILES = 20
_MOST_MATCHES = 200
_MOST_IGNORED = 1_000
# Names that were looked at for secrets: 0.1 ms each, and agents come back to their files.
_MOST_SCREENED = 4_096


class NamedFiles:
    """Knows the root's name and which files the listing leaves out."""

    def __init__(
        self,
        root: str,
        *,
        sandbox: Sandbox,
        listed: Callable[[], Mapping[RelPath, StatSignature]],
        redactor: Redactor,
    ) -> None:
        self._root = root
        self._sandbox = sandbox
        self._indexed = listed
        self._redactor = redactor
        self._listed: frozenset[RelPath] = frozenset()
        self._ignored: set[RelPath] = set()
        self._is_secret: dict[str, bool] = {}

    async def files(self, notices: Sequence[FileInterest]) -> dict[RelPath, FileInterest]:
        """The names that notices are about, each once; what lies elsewhere is left out."""
        found: dict[RelPath, FileInterest] = {}
        names = await self._names([n.path for n in notices])
        await self._screen(names)
        for notice, name in zip(notices, names, strict=True):
            for one in await self._expanded(name) if notice.is_glob else (name,):
                path = self._admitted(one)
                if path is not None:
                    one_notice = replace(notice, path=path.text, is_glob=False)
                    known = found.get(path)
                    found[path] = known.with_later(one_notice) if known else one_notice
        return found

    async def searched(self, searches: Sequence[Search]) -> dict[RelPath, FileInterest]:
        """The lines that searches showed, found again."""
        found: dict[RelPath, FileInterest] = {}
        for search, name in zip(
            searches, await self._names([s.path for s in searches]), strict=True
        ):
            for path, notice in (await self._matches(search, name)).items():
                found[path] = found[path].with_later(notice) if path in found else notice
        return found

    async def kept(self, paths: Iterable[RelPath]) -> frozenset[RelPath]:
        """Those that git's ignore rules keep: a file that is ignored is not remembered."""
        wanted = frozenset(paths)
        if any(path.name == ".gitignore" for path in wanted):
            self._ignored.clear()
        unknown = wanted - self._ignored - self._indexed().keys() - self._listed
        if unknown:
            listing = await self._sandbox.list()
            self._listed = frozenset(file.path for file in listing.files)
            if len(self._ignored) > _MOST_IGNORED:
                self._ignored.clear()
            self._ignored |= unknown - self._listed
        return wanted - self._ignored

    async def _names(self, paths: Sequence[str]) -> list[str | None]:
        """Names below the root, "" for the root itself."""
        names = [_below(self._root, path) for path in paths]
        elsewhere = [path for path, name in zip(paths, names, strict=True) if name is None]
        if elsewhere:
            # The host may spell the root by a link.
            located = dict(zip(elsewhere, await self._sandbox.locate(elsewhere), strict=True))
            for n, path in enumerate(paths):
                there = located.get(path)
                if names[n] is None and there is not None:
                    names[n] = there.text
        return names

    def _admitted(self, name: str | None) -> RelPath | None:
        try:
            path = RelPath.parse(name or "")
        except OutsideWorkspace:
            return None
        if path in self._ignored or refusal_of_name(path) is not None:
            return None
        # A name can be a secret too, and names are kept on disk.
        is_secret = self._is_secret.get(path.text)
        if is_secret is None:
            is_secret = self._holds_secret(path.text)
        return None if is_secret else path

    async def _screen(self, names: Sequence[str | None]) -> None:
        """Look at new names in a thread: a batch of them would hold up the loop for 3 ms."""
        new = [name for name in names if name and name not in self._is_secret]
        if new:
            found = await anyio.to_thread.run_sync(lambda: [*map(self._holds_secret, new)])
            if len(self._is_secret) + len(new) > _MOST_SCREENED:
                self._is_secret.clear()
            self._is_secret.update(zip(new, found, strict=True))

    def _holds_secret(self, name: str) -> bool:
        return self._redactor.redact(name).count > 0

    async def _expanded(self, glob: str | None) -> Sequence[str]:
        if not glob:
            return ()
        try:
            paths = await self._sandbox.find(NamePattern(glob, limit=_MOST_FILES * 10))
        except LiveMemoryError:
            return ()
        return [path.text for path in paths if _is_as_deep(path, glob)][:_MOST_FILES]

    async def _matches(self, search: Search, name: str | None) -> dict[RelPath, FileInterest]:
        if name is None:
            return {}
        grep = search.grep
        limit = min(grep.limit or _MOST_MATCHES, _MOST_MATCHES)
        under, glob = (".", name) if search.is_glob else (name or ".", grep.glob)
        pattern = TextPattern(grep.regex, under, glob, grep.ignore_case, limit)
        try:
            result = await self._sandbox.search(pattern)
        except LiveMemoryError:
            return {}
        lines: dict[RelPath, list[tuple[int, int]]] = {}
        for match in result.matches:
            around = (max(1, match.line - grep.before), match.line + grep.after)
            lines.setdefault(match.path, []).append(around)
        if result.is_cut and len(lines) > 1:
            return {}  # programs search folders in another order: these may be other lines
        found = {}
        for path, spans in list(lines.items())[:_MOST_FILES]:
            if search.is_glob and not _is_as_deep(path, name):
                continue
            if self._admitted(path.text) is not None:
                views = tuple((LineSlice(start - 1, end),) for start, end in merged(spans))
                found[path] = FileInterest(path.text, views=views)
        return found


def _is_as_deep(path: RelPath, glob: str) -> bool:
    """A shell's `*` stays in one folder; ours without a `/` is looked for in every folder."""
    return "**" in glob or path.text.count("/") == glob.count("/")


def _below(root: str, path: str) -> str | None:
    return "" if path.rstrip("/") == root.rstrip("/") else inside(root, path)


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
# To check a conclusion opens a few files, which takes milliseconds.
_TO_CONCLUDE_S = 10.0
# Somebody wrote it, and it is heard again after a crash: no text may cost the whole workspace.
_TEXT_CAN_RAISE = (LiveMemoryError, ArithmeticError, LookupError, RuntimeError, ValueError)

Views = Callable[[], WindowViews]
Record = Callable[[MemoryEvent], Awaitable[None]]
# What makes an event of a conclusion; nothing where nothing of it holds.
Conclude = Callable[[Conclusion, Window], Awaitable[MemoryEvent | None]]


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
        conclude: Conclude | None = None,
    ) -> None:
        """What `conclude` makes of a conclusion is recorded; without it they are passed over."""
        self._key = identity.key
        sandbox, redactor = reader.sandbox, reader.redactor
        self._reader, self._sandbox = reader, sandbox
        self._freshness = freshness
        self._judge = Judge(reader)
        self._clock = clock
        self._signals = signals
        self._max_bytes = max(reader.max_bytes, _LEAST_LOOK_BYTES)
        self._waiting = Waiting[Item](MOST_WAITING)
        self._in_hand: Sequence[Item] = ()
        self._conclude = conclude
        self._said = Waiting[Conclusion](MOST_CONCLUSIONS)
        self._considered: Sequence[Conclusion] = ()
        self._something = anyio.Event()
        self._nothing_waits = anyio.Event()
        self._hurry = anyio.Event()
        self._something_said = anyio.Event()
        self._all_concluded = anyio.Event()
        self._offers = 0
        self._is_doubtful = self._is_learning = self._is_asked = False
        self._finder = NamedFiles(
            identity.root, sandbox=sandbox, listed=lambda: indexer.signatures, redactor=redactor
        )
        self.is_closed = False
        self.dropped = self.heard = self.not_understood = 0
        self.last_event_at: Instant | None = None

    def offer(self, subjects: Sequence[Interest], *, events: int = 1) -> None:
        """Take notice of what so many events of a host are about; never waits."""
        if events:
            self.last_event_at = self._clock.now()
        self.heard += events
        self._offers += 1
        now = anyio.current_time()
        for subject in subjects:
            if isinstance(subject, AnythingChanged):
                self._is_doubtful = True
            elif isinstance(subject, Conclusion):
                self.dropped += self._said.put(subject, now=now)
                self._something_said.set()
            else:
                self._note_lost(self._waiting.put(subject, now=now))
        self._something.set()

    @property
    def unlearned(self) -> tuple[Interest, ...]:
        """Everything that was offered and is in no event yet."""
        doubt = (AnythingChanged(),) if self._is_doubtful else ()
        return (*self._in_hand, *self._waiting.all, *doubt, *self._considered, *self._said.all)

    def lost(self, count: int) -> None:
        """Events were lost before they came here."""
        self._note_lost(count)
        self._something.set()

    async def run(self, views: Views, record: Record) -> None:
        """Learn what is offered, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run_conclusions, views, record)
            await self._run_files(views, record)

    async def _run_files(self, views: Views, record: Record) -> None:
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
                    await self._learn(subjects, views, record)
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

    async def _run_conclusions(self, views: Views, record: Record) -> None:
        """Beside the files, as what checks a conclusion may take long or fail."""
        while True:
            await self._something_said.wait()
            self._something_said = anyio.Event()
            while self._said:
                await anyio.sleep(_TICK_S)
                now = math.inf if self._is_asked else anyio.current_time()
                self._considered = self._said.take_due(now=now, most=MOST_CONCLUSIONS)
                while self._considered:
                    with anyio.move_on_after(_TO_CONCLUDE_S) as in_time:
                        await self._consider(self._considered[0], views, record)
                    self.dropped += in_time.cancelled_caught
                    self._considered = self._considered[1:]
            self._is_asked = False
            self._all_concluded.set()
            self._all_concluded = anyio.Event()

    async def _consider(self, said: Conclusion, views: Views, record: Record) -> None:
        while self._conclude is not None:
            try:
                event = await self._conclude(said, views().window)
                if event is not None:
                    await record(event)
            except (Busy, Exhausted):
                await anyio.sleep(_NEXT_TRY_S)
                continue
            except _TEXT_CAN_RAISE as problem:
                self.dropped += 1
                self._signals.emit(EventsSkipped(self._key, type(problem).__name__, 1))
            return

    async def caught_up(self) -> None:
        """Wait until everything that was offered is learned, also files that still change."""
        if self._is_learning or self._waiting or self._is_doubtful:
            done = self._nothing_waits
            self._hurry.set()
            self._something.set()
            await done.wait()
        if self._said or self._considered:
            done = self._all_concluded
            self._is_asked = True
            await done.wait()

    async def rest(self, views: WindowViews) -> Sequence[MemoryEvent]:
        """What still waits, as events; for a workspace that closes.

        Conclusions stay `unlearned`: they are considered when it is opened again.
        """
        self.is_closed = True
        self._in_hand = (*self._in_hand, *self._waiting.take_all())
        try:
            found = await self._found(self._in_hand, views.in_view)
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

    async def _learn(self, subjects: Sequence[Item], views: Views, record: Record) -> None:
        if not subjects:
            if not self._waiting:
                self._is_doubtful = False
                listing = await self._sandbox.list()
                signatures = {file.path: file.signature for file in listing.files}
                await self._freshness.restore(views, signatures, record=record)
            return
        async with self._freshness.turn:
            found = await self._found(subjects, views().in_view)
            for event in found.events:
                await record(event)
        for read in found.in_view:
            self._freshness.note_read(read)
        for reason, count in Counter(found.skipped).items():
            self._signals.emit(EventsSkipped(self._key, reason, count))

    async def _found(
        self, subjects: Sequence[Item], shown: Mapping[RelPath, Coverage]
    ) -> JudgedFiles:
        notices = [s for s in subjects if isinstance(s, FileInterest)]
        files = await self._finder.files(notices)
        searches = [s for s in subjects if isinstance(s, Search)]
        for path, notice in (await self._finder.searched(searches)).items():
            files[path] = files[path].with_later(notice) if path in files else notice
        # What was only touched matters where it is in view.
        files = {
            path: notice
            for path, notice in files.items()
            if notice.is_edited or notice.views or path in shown
        }
        if not files:
            return JudgedFiles()
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
