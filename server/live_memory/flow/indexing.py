"""Keeps the evidence index equal to the files on disk: one pass at a time, asked for by questions.

A pass lists the workspace, compares signatures with what the index knows, and reads, redacts and
indexes only what differs. A pass that fails or is cancelled keeps the batches that are in. A
question that cannot wait for a long pass takes in what it is about itself, and the pass gives way.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from live_memory.core.errors import LiveMemoryError, StoreUnavailable
from live_memory.core.looking.portions import portions
from live_memory.core.reading.comparing import Comparison, Known, compare
from live_memory.core.reading.lookup import Listing
from live_memory.core.reading.observation import ListedFile, Observation, Skipped
from live_memory.core.signals import IndexRefreshed
from live_memory.core.values import RelPath, StatSignature, WorkspaceKey
from live_memory.flow.evidence.desk import Shelf
from live_memory.flow.reader import Reader
from live_memory.flow.turns import GivingWay, RightOfWay
from live_memory.ports import EvidenceIndex, SignalSink

__all__ = ["IndexState", "Indexer", "takes_long"]

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
        self.shelf = Shelf(reader)
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
        self.right_of_way = RightOfWay()

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

    async def _compared(self, listing: Listing, known: Known) -> Comparison:
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
