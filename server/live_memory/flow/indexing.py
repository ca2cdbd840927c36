"""Keeps the evidence index equal to the files on disk: one pass at a time, asked for by questions.

A pass lists the workspace, compares signatures with what the index knows, and reads, redacts and
indexes only what differs. A pass that fails or is cancelled keeps the batches that are in. A
question that cannot wait for a long pass takes in what it is about itself, and the pass gives way.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from live_memory.core.errors import Busy, LiveMemoryError, StoreUnavailable
from live_memory.core.evidence.text_matches import (
    Mentions,
    best_first,
    leading,
    likely_first,
    nearly_as_good,
    portions,
    telling,
    texts_of,
)
from live_memory.core.evidence.words import unique
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import ListedFile, Observation, Skipped
from live_memory.core.reading.redaction import Comparison, KnownSignatures, compare
from live_memory.core.signals import IndexRefreshed
from live_memory.core.values import RelPath, StatSignature, WorkspaceKey
from live_memory.flow.reader import FileCache, Reader
from live_memory.ports import EvidenceIndex, Sandbox, SignalSink

__all__ = ["FirstLook", "GivingWay", "IndexState", "Indexer", "TurnQueue", "Turns", "first_look"]


class Turns:
    """Owner of one workspace's queue: `at_once` questions run, `queue` wait, more are refused."""

    def __init__(self, *, at_once: int, queue: int) -> None:
        self._room = anyio.Semaphore(at_once)
        self._queue = queue
        self.waiting = 0

    @asynccontextmanager
    async def turn(self, *, give_up_at: float) -> AsyncIterator[bool]:
        """Wait for a turn until then; whoever got none is told so and may do what is cheap.

        Raises:
            Busy: too many wait already.
        """
        if self.waiting >= self._queue and self._room.value == 0:
            raise Busy(f"{self.waiting} questions wait for this workspace", retry_after_s=5.0)
        if not await self._is_given(give_up_at):
            yield False
            return
        try:
            yield True
        finally:
            self._room.release()

    async def _is_given(self, give_up_at: float) -> bool:
        """Whether there is a turn until then; one that is free is taken however late it is."""
        try:
            self._room.acquire_nowait()
        except anyio.WouldBlock:
            pass
        else:
            return True
        self.waiting += 1
        try:
            with anyio.move_on_at(give_up_at) as waiting:
                await self._room.acquire()
        finally:
            self.waiting -= 1
        return not waiting.cancelled_caught


class TurnQueue:
    """What somebody waits for goes before what goes on behind."""

    def __init__(self) -> None:
        self._holders, self._is_free = 0, anyio.Event()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the others wait."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._is_free.set()
                self._is_free = anyio.Event()

    async def given(self, *, at_most_s: float) -> None:
        """Wait until nobody has it, or for so long."""
        with anyio.move_on_after(at_most_s):
            while self._holders:
                await self._is_free.wait()


class GivingWay:
    """Lets others go first for `a_while_s` at a time, and in all for no longer than that and what
    was worked meanwhile: so questions without end make the work twice as long, and no longer.
    """

    def __init__(self, right_of_way: TurnQueue, *, a_while_s: float) -> None:
        self._right_of_way, self._a_while_s = right_of_way, a_while_s
        self._began, self._waited_s = anyio.current_time(), 0.0

    async def give(self) -> None:
        """Wait while others go first, as far as they may still hold it up."""
        now = anyio.current_time()
        worked_s = now - self._began - self._waited_s
        left_s = self._a_while_s + worked_s - self._waited_s
        if left_s > 0:
            await self._right_of_way.given(at_most_s=min(self._a_while_s, left_s))
        self._waited_s += anyio.current_time() - now


# Files a batch: small enough to answer a question from a half-built index and to lose little when
# cancelled, large enough that a transaction a batch costs nothing.
_BATCH, _BATCH_BYTES = 100, 1_000_000
# What a pass takes in within a second; a question waits for no more.
_SOON, _SOON_BYTES = 150, 1_500_000
# Questions may hold the pass up for so long before each batch.
_GIVE_WAY_S = 5.0
# How often an index that is not kept is tried on disk again; it is whole again within 10 s.
_RETRY_S = 5.0
# So many signatures are compared in ten milliseconds, the first time; later in one.
_FEW = 2_000


@dataclass(frozen=True, slots=True)
class IndexState:
    """How far the index is: of `files` in the workspace, `waiting` are not in it yet."""

    files: int = 0
    waiting: int = 0
    is_cut: bool = False
    problem: str | None = None


class Indexer:
    """Owner of one workspace's index; everyone else waits for `caught_up`.

    `shelf` opens the files that the index names. `signatures` are those of the last listing;
    `not_kept` says why the index is in memory only; `reopen` opens the one on disk again.
    """

    def __init__(
        self,
        workspace: WorkspaceKey,
        *,
        reader: Reader,
        index: EvidenceIndex,
        spare: Callable[[], EvidenceIndex],
        signals: SignalSink,
        at_once: int = 2,
    ) -> None:
        """`at_once` batches are under way: while some are taken apart, one is read or written."""
        self._workspace = workspace
        self._at_once = at_once
        self._reader, self._sandbox = reader, reader.sandbox
        self.index = index
        self.shelf = FileCache(reader)
        self._spare = spare
        self._signals = signals
        self.not_kept: str | None = None
        self.reopen: Callable[[], Awaitable[EvidenceIndex]] | None = None
        self._wanted = anyio.Event()
        self._next_pass_done = anyio.Event()
        self.state = IndexState()
        self.signatures: Mapping[RelPath, StatSignature] = {}
        self._before = Comparison()
        # When the last listing of a pass began, and what was not known of it.
        self._compared_at, self._last = -math.inf, Comparison()
        self._takes_long, self._news = False, anyio.Event()
        # What questions took in while a pass runs.
        self._taken: dict[RelPath, StatSignature] = {}
        self.right_of_way = TurnQueue()

    async def run(self) -> None:
        """Make a pass whenever somebody waits for one, until cancelled."""
        while True:
            with anyio.move_on_after(math.inf if self.not_kept is None else _RETRY_S) as waiting:
                await self._wanted.wait()
            if waiting.cancelled_caught:
                await self._keep_again()
                continue
            self._wanted, done = anyio.Event(), self._next_pass_done
            self._next_pass_done = anyio.Event()
            try:
                await self._once_somewhere()
            except LiveMemoryError as problem:
                self.state = IndexState(self.state.files, self.state.waiting, problem=str(problem))
            finally:
                done.set()
                self._tell_news()

    async def caught_up(self) -> IndexState:
        """Wait for a pass that began after this call."""
        done = self._next_pass_done
        self._wanted.set()
        await done.wait()
        return self.state

    def begin(self) -> None:
        """Make the first pass before anybody asks."""
        if self._compared_at == -math.inf:
            self._wanted.set()

    async def caught_up_soon(self) -> bool:
        """Wait for a pass that began after this call, unless one turns out to take long."""
        done = self._next_pass_done
        self._wanted.set()
        while not self._takes_long and not done.is_set():
            await self._news.wait()
        return done.is_set()

    def _tell_news(self) -> None:
        """Let those look again who wait for a pass, or for how long one takes."""
        self._news.set()
        self._news = anyio.Event()

    async def compared_since(self, moment: float) -> Comparison:
        """What the index did not know of a listing that began at this moment or later.

        Raises:
            LiveMemoryError: the workspace cannot be listed.
        """
        if self._compared_at >= moment:
            return self._last
        listing = self.shelf.listed = await self._sandbox.list()
        return await self._compared(listing, await self.index.known())

    async def take_in(self, files: Sequence[ListedFile]) -> None:
        """Take in these files now, whatever a pass is at.

        Raises:
            StoreUnavailable: the index cannot be written.
        """
        known = await self.index.known()
        new = [file for file in files if known.get(file.path) != file.signature]
        await self._take_in(new, self.index)
        self._taken |= {file.path: file.signature for file in files}

    async def _once_somewhere(self) -> None:
        """Make a pass; an index that cannot be written is replaced by one that is not kept."""
        try:
            await self.once()
        except StoreUnavailable as problem:
            if self.not_kept is not None:
                raise
            self.not_kept = f"the index is not kept: {problem}"
            old, self.index = self.index, self._spare()
            await old.aclose()
            await self.once()

    async def _keep_again(self) -> None:
        """Go back to the index on disk, where it takes everything again."""
        if self.reopen is None:
            return
        before = self.state
        try:
            on_disk = await self.reopen()
        except StoreUnavailable:
            return
        try:
            await self._bring_up_to_date(on_disk)
        except LiveMemoryError:
            self.state = before
            await on_disk.aclose()
        else:
            in_memory, self.index, self.not_kept = self.index, on_disk, None
            await in_memory.aclose()

    async def once(self) -> None:
        """Make one pass now; only the owner may.

        Raises:
            LiveMemoryError: the workspace cannot be listed, or the index cannot be written.
        """
        await self._bring_up_to_date(self.index)

    async def _bring_up_to_date(self, index: EvidenceIndex) -> None:
        started = anyio.current_time()
        self._taken = {}
        listing = self.shelf.listed = await self._sandbox.list()
        found = await self._compared(listing, await index.known())
        self._compared_at, self._last = started, found
        self.signatures = found.signatures
        self.state = IndexState(found.files, len(found.changed), listing.is_cut)
        if found.is_settled:
            self._before = found
            return
        if found.gone:
            await index.update((), textless={}, gone=found.gone)
        self._takes_long = takes_long(found.changed)
        self._tell_news()
        try:
            updates = await self._take_in_all(found.changed, index) + bool(found.gone)
        finally:
            self._takes_long = False
        known = await index.known()
        self._before = await self._off_the_loop(
            len(found.changed), partial(found.settled, known, updates=updates)
        )
        elapsed_s = anyio.current_time() - started
        sizes = found.files, len(found.changed), len(found.gone)
        self._signals.emit(IndexRefreshed(self._workspace, *sizes, elapsed_s))

    async def _take_in_all(self, files: Sequence[ListedFile], index: EvidenceIndex) -> int:
        """Take in batches, some at a time; gives how many there were."""
        count = 0
        way = GivingWay(self.right_of_way, a_while_s=_GIVE_WAY_S if takes_long(files) else 0.0)
        batches = portions(files, most=_BATCH, most_bytes=_BATCH_BYTES)
        problems: list[LiveMemoryError] = []

        async def take() -> None:
            nonlocal count
            for batch in batches:
                await way.give()
                left = [f for f in batch if self._taken.get(f.path) != f.signature]
                try:
                    await self._take_in(left, index)
                    while await index.settle():
                        await way.give()
                except LiveMemoryError as problem:
                    problems.append(problem)
                    tasks.cancel_scope.cancel()
                count += 1
                self.state = replace(self.state, waiting=self.state.waiting - len(batch))

        async with anyio.create_task_group() as tasks:
            for _ in range(self._at_once):
                tasks.start_soon(take)
        if problems:
            raise problems[0]
        return count

    async def _compared(self, listing: Listing, known: KnownSignatures) -> Comparison:
        """Compare every signature."""
        is_same = listing is self._before.listing and known is self._before.known
        work = partial(compare, listing, known, before=self._before)
        return await self._off_the_loop(0 if is_same else len(listing.files), work)

    @staticmethod
    async def _off_the_loop(size: int, work: Callable[[], Comparison]) -> Comparison:
        """Compare so many files, in a thread where they are many."""
        return work() if size <= _FEW else await anyio.to_thread.run_sync(work)

    async def _take_in(self, files: Sequence[ListedFile], index: EvidenceIndex) -> None:
        reads = await self._reader.bytes_of([f.path.text for f in files])
        seen = await self._reader.observed(reads)
        observed = [each for each in seen if isinstance(each, Observation)]
        textless = {
            file.path: file.signature if isinstance(read, Skipped) else read.signature
            for file, read, each in zip(files, reads, seen, strict=True)
            if isinstance(each, Skipped)
        }
        await index.update(observed, textless=textless, gone=())


def takes_long(files: Sequence[ListedFile]) -> bool:
    """Whether it is more than a second's work to take in these files."""
    return len(files) > _SOON or sum(file.signature.size for file in files) > _SOON_BYTES


# What is taken in at once, in files and bytes: 0.3 s of work on a free processor, and a second if
# they are large. An answer shows ten files, and what they use.
_MOST_FILES, _MOST_BYTES = 40, 1_200_000
# Where there are more files, words that stand everywhere are found by a sample first, and what
# is worked out of them takes 10 ms and more.
_MANY, _SAMPLE = 2_000, 200


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a question found for itself: of `files` so many are `known`.

    `unread` files hold what the question is about and are not known; where the look `is_cut`,
    nobody knows what else does.
    """

    signatures: Mapping[RelPath, StatSignature]
    files: int
    known: int
    unread: int
    is_cut: bool

    @property
    def notice(self) -> str | None:
        """What whoever asks must know."""
        if not self.unread and not self.is_cut:
            return None
        rest = (
            f"{self.unread} of the others may matter as much as those"
            if not self.is_cut
            else "not all of the others were looked at"
        )
        return f"The first look is not done: {self.known} of {self.files} files are known; {rest}."


async def first_look(
    question: str, *, indexer: Indexer, sandbox: Sandbox, asked_at: float
) -> FirstLook | None:
    """Wait for the index if that is soon; otherwise take in what holds the question's words.

    Gives nothing where the index is complete.

    Raises:
        LiveMemoryError: the workspace cannot be listed, or the index cannot be written.
    """
    if await indexer.caught_up_soon():
        return None
    rest = await indexer.compared_since(asked_at)
    if not takes_long(rest.changed):
        await indexer.take_in(rest.changed)
        return FirstLook(rest.signatures, rest.files, rest.files, 0, is_cut=False)
    spotted = await _spotted(question, rest.changed, sandbox)
    taken = next(portions(spotted.files, most=_MOST_FILES, most_bytes=_MOST_BYTES), ())
    await indexer.take_in(taken)
    known = rest.files - len(rest.changed) + len(taken)
    unread = len(spotted.good.difference(taken))
    return FirstLook(rest.signatures, rest.files, known, unread, is_cut=spotted.is_cut)


@dataclass(frozen=True, slots=True)
class _Spotted:
    """The files that hold what a question is about, best first, and those as good as the best."""

    files: Sequence[ListedFile]
    good: frozenset[ListedFile]
    is_cut: bool


async def _spotted(question: str, files: Sequence[ListedFile], sandbox: Sandbox) -> _Spotted:
    texts = texts_of(question)
    first: Sequence[ListedFile] = ()
    if len(files) > _MANY:
        sample = files[:: len(files) // _SAMPLE]
        found = await sandbox.mentions(texts, among=sample)
        rare = telling(texts, found, size=len(sample))
        small_first = sorted(sample, key=lambda file: file.signature.size)
        first = leading(small_first, [text for text in texts if text not in rare], found)
        texts = rare
        files = await anyio.to_thread.run_sync(likely_first, files, texts)
    found = await sandbox.mentions(texts, among=files)
    work = partial(_ranked, files, texts, found, first)
    return work() if len(files) <= _MANY else await anyio.to_thread.run_sync(work)


def _ranked(
    files: Sequence[ListedFile],
    texts: Sequence[str],
    found: Mentions,
    first: Sequence[ListedFile],
) -> _Spotted:
    scores = best_first(files, texts, found)
    ranked = unique([*first, *leading(scores, texts, found), *scores])
    return _Spotted(ranked, nearly_as_good(scores), found.is_cut)
