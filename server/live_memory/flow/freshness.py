"""Before a question is answered, everything that is known is made equal to the bytes on disk.

A signature that is unchanged proves the bytes, whether they were read here or by the index before
a restart; anything else is opened and hashed. What changed is appended as an event, so that the
window shows it and facts that rested on old bytes step back.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Self

import anyio

from live_memory.core.companion.prompt import entry_tokens
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.notices import AnythingChanged, FileInterest, Interest
from live_memory.core.memory.learning import AgentView, Coverage, note, view
from live_memory.core.memory.window import (
    Entry,
    EntryContent,
    FileChanged,
    FileGone,
    MemoryEvent,
    Window,
    told_by,
)
from live_memory.core.reading.observation import FileRead, Observation, Skipped
from live_memory.core.signals import WatchLimited
from live_memory.core.values import ContentHash, RelPath, StatSignature, WatchState
from live_memory.ports import Clock, EvidenceIndex, Sandbox, SignalSink, Watcher, WorkspaceIdentity

__all__ = ["Freshness", "Watching", "WindowViews"]


class WindowViews:
    """What a window comes to, brought up to date with the entries that are new.

    Windows mostly grow, and going through 2,000 entries takes 3 ms of the loop, which everyone
    else waits for. All parts grow with the window, and are made anew where entries went.
    """

    def __init__(self) -> None:
        self.window = Window()
        self._begin(self.window)

    def of(self, window: Window) -> Self:
        """This, of that window."""
        known, entries = len(self.window.entries), window.entries
        # Where an entry before it was taken away, another one is in the last one's place.
        has_grown = (
            window.settled is self.window.settled
            and self.window.entries[-1:] == entries[known - 1 : known]
        )
        if not has_grown:
            known = 0
            self._begin(window)
        for entry in entries[known:]:
            self._take(entry)
        self.window = window
        return self

    @property
    def tokens(self) -> int:
        """About how many tokens the entries take."""
        return sum(self.parts.values())

    def _begin(self, window: Window) -> None:
        # Every file in the entries by its newest bytes, and what the agent itself looked at.
        self.in_view: dict[RelPath, Coverage] = {}
        self.viewed: dict[RelPath, AgentView] = {}
        # About how many tokens the entries take, by their kind.
        self.parts: dict[type[EntryContent], int] = {}
        # The last known hash of every file, and which files were told of since these were taken.
        self.hashes: dict[RelPath, ContentHash | None] = {**window.settled}
        self.told = set(self.hashes)

    def _take(self, entry: Entry) -> None:
        note(self.in_view, entry.content)
        view(self.viewed, entry)
        kind = type(entry.content)
        self.parts[kind] = self.parts.get(kind, 0) + entry_tokens(entry)
        for path, sha in told_by(entry.content):
            self.hashes[path] = sha
            self.told.add(path)


# Files that are hashed in one go: after a restart that the index did not outlive, all are.
_BATCH = 64


class Freshness:
    """Knows with which signature each hash in view was read; one a workspace.

    `turn` is held from reading files to recording them, by whoever does so: an older look at a
    file never follows a newer one into the window.
    """

    def __init__(
        self,
        *,
        sandbox: Sandbox,
        index: Callable[[], EvidenceIndex],
        clock: Clock,
    ) -> None:
        self._sandbox = sandbox
        self._index = index
        self._clock = clock
        self.turn = anyio.Lock()
        self._proved: dict[RelPath, tuple[StatSignature, ContentHash]] = {}
        # What may not be proved by these signatures; without them it is everything.
        self._signatures: Mapping[RelPath, StatSignature] | None = None
        self._unsure: set[RelPath] = set()

    async def restore(
        self,
        views: Callable[[], WindowViews],
        signatures: Mapping[RelPath, StatSignature],
        *,
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        """Record what is not as the window shows it; returns those paths, in order.

        `signatures` are those of a listing that began after the question came in.
        """
        async with self.turn:
            return await self._restored(views(), signatures, record)

    def note_read(self, read: FileRead | Observation) -> None:
        """These bytes were read with this signature, and what they are was recorded."""
        self._proved[read.path] = (read.signature, read.sha)
        self._unsure.add(read.path)

    async def _restored(
        self,
        views: WindowViews,
        signatures: Mapping[RelPath, StatSignature],
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        known, told, views.told = views.hashes, views.told, set()
        is_same = signatures is self._signatures
        unsure = self._unsure | told if is_same else known.keys()
        found = [p for p in unsure if p in known and not self._is_proved(p, known, signatures)]
        self._signatures, self._unsure = None, set()
        doubtful = await self._unproved(sorted(found), known, signatures)
        changed = await self._looked_at(doubtful, known, record)
        self._unsure |= {p for p in doubtful if not self._is_proved(p, known, signatures)}
        self._signatures = signatures
        return changed

    async def _unproved(
        self,
        doubtful: Sequence[RelPath],
        known: Mapping[RelPath, ContentHash | None],
        signatures: Mapping[RelPath, StatSignature],
    ) -> Sequence[RelPath]:
        """Leave out what the index read with the signature that the file has now."""
        given = {path: signatures[path] for path in doubtful if path in signatures}
        if not given:
            return doubtful
        try:
            hashes = await self._index().hashes(given)
        except StoreUnavailable:
            return doubtful
        for path, sha in hashes.items():
            if known[path] == sha:
                self._proved[path] = (given[path], sha)
        return [path for path in doubtful if not self._is_proved(path, known, signatures)]

    async def _looked_at(
        self,
        doubtful: Sequence[RelPath],
        known: Mapping[RelPath, ContentHash | None],
        record: Callable[[MemoryEvent], Awaitable[None]],
    ) -> Sequence[RelPath]:
        """Record what other bytes are in these files; returns their paths, in order."""
        changed = []
        for start in range(0, len(doubtful), _BATCH):
            batch = doubtful[start : start + _BATCH]
            reads = await self._sandbox.read([path.text for path in batch], max_bytes=0)
            for path, read in zip(batch, reads, strict=True):
                event = self._judged(path, known[path], read)
                if event is not None:
                    changed.append(path)
                    await record(event)
        return changed

    def _is_proved(
        self,
        path: RelPath,
        known: Mapping[RelPath, ContentHash | None],
        signatures: Mapping[RelPath, StatSignature],
    ) -> bool:
        proof = self._proved.get(path)
        return proof is not None and proof == (signatures.get(path), known[path])

    def _judged(
        self, path: RelPath, known: ContentHash | None, read: FileRead | Skipped
    ) -> MemoryEvent | None:
        now = self._clock.now()
        if isinstance(read, Skipped):
            self._proved.pop(path, None)
            return None if known is None else FileGone(path, now)
        self._proved[path] = (read.signature, read.sha)
        return None if read.sha == known else FileChanged(path, read.sha, now)


# Tools write a file in several steps and git many files at once: one look for all of them.
_SETTLE_S = 0.3
_NOT_WANTED = WatchState(problem="setting 'watch' is off")


class Watching:
    """Keeps one workspace's watcher on what is in view; `offer` gets what may have changed.

    Without a watcher it does nothing. What it says is a hint and no more: whether what is in view
    is current is found out when a question comes in. Watched are the folders of the files in view
    and those above them; so nothing that ignore rules leave out is ever watched, and what memory
    does not hold costs nothing.
    """

    def __init__(
        self,
        identity: WorkspaceIdentity,
        *,
        watcher: Watcher | None,
        offer: Callable[[Sequence[Interest]], None],
        signals: SignalSink,
    ) -> None:
        self._identity = identity
        self._watcher = watcher
        self._offer = offer
        self._signals = signals
        self._changed = anyio.Event()
        self._said: str | None = None

    @property
    def state(self) -> WatchState:
        """How much is watched now."""
        return self._watcher.state if self._watcher else _NOT_WANTED

    @property
    def note(self) -> str | None:
        """What keeps it from watching all that it should, in words for a person."""
        state = self.state
        is_limited = self._watcher is not None and state.problem is not None
        return f"watching is {state.name}: {state.problem}" if is_limited else None

    def window_changed(self) -> None:
        """Note that other files may be in view."""
        self._changed.set()

    async def run(self, views: Callable[[], WindowViews]) -> None:
        """Follow and listen until cancelled."""
        if self._watcher is not None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_following, self._watcher, views)
                await self._listen(self._watcher, views)

    async def aclose(self) -> None:
        """Watch nothing any more."""
        if self._watcher is not None:
            await self._watcher.aclose()

    async def _keep_following(self, watcher: Watcher, views: Callable[[], WindowViews]) -> None:
        while True:
            self._changed = anyio.Event()
            await watcher.follow(_folders_of(views().in_view))
            self._say(watcher.state)
            await self._changed.wait()
            await anyio.sleep(_SETTLE_S)

    async def _listen(self, watcher: Watcher, views: Callable[[], WindowViews]) -> None:
        while True:
            await watcher.wait()
            await anyio.sleep(_SETTLE_S)
            noticed = watcher.take()
            # A folder may be another one now.
            self._changed.set()
            if noticed.is_cut:
                self._offer([AnythingChanged()])
            else:
                paths = _touched(views().in_view, noticed.names)
                if paths:
                    self._offer([FileInterest(f"{self._identity.root}/{path}") for path in paths])

    def _say(self, state: WatchState) -> None:
        if state.problem != self._said:
            self._said = state.problem
            if state.problem is not None:
                key = self._identity.key
                self._signals.emit(WatchLimited(key, state.watched, state.wanted, state.problem))


def _folders_of(paths: Collection[RelPath]) -> Sequence[str]:
    """The folders of files, those seen last first, each after the one above it."""
    found: dict[str, None] = {}
    for folder in dict.fromkeys(path.text.rpartition("/")[0] for path in reversed([*paths])):
        parts = f"{folder}/".lstrip("/").split("/")
        found |= dict.fromkeys("/".join(parts[:depth]) for depth in range(len(parts)))
    return [*found]


def _touched(paths: Collection[RelPath], names: Collection[str]) -> Sequence[RelPath]:
    """Those that changed, or that lie in a folder that did."""
    found = []
    for path in paths:
        parts = path.text.split("/")
        if any("/".join(parts[: depth + 1]) in names for depth in range(len(parts))):
            found.append(path)
    return found
