"""Hands on what a watcher notices, so that a changed file is learned before the next question.

A hint and no more: whether what is in view is current is found out when a question comes in.
Watched are the folders of the files in view and those above them; so nothing that ignore rules
leave out is ever watched, and what memory does not hold costs nothing.
"""

from collections.abc import Callable, Collection, Sequence

import anyio

from live_memory.core.hosts.notices import AnythingChanged, Notice, Subject
from live_memory.core.memory.window import Window
from live_memory.core.signals import WatchLimited
from live_memory.core.values import RelPath
from live_memory.core.watching import WatchState
from live_memory.flow.ingesting.viewing import View
from live_memory.ports import SignalSink, Watcher, WorkspaceIdentity

__all__ = ["Watching"]

# Tools write a file in several steps and git many files at once: one look for all of them.
_SETTLE_S = 0.3
_NOT_WANTED = WatchState(problem="setting 'watch' is off")


class Watching:
    """Keeps one workspace's watcher on what is in view; `offer` gets what may have changed.

    Without a watcher it does nothing.
    """

    def __init__(
        self,
        identity: WorkspaceIdentity,
        *,
        watcher: Watcher | None,
        offer: Callable[[Sequence[Subject]], None],
        signals: SignalSink,
    ) -> None:
        self._identity = identity
        self._watcher = watcher
        self._offer = offer
        self._signals = signals
        self._view = View()
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

    async def run(self, window: Callable[[], Window]) -> None:
        """Follow and listen until cancelled."""
        if self._watcher is not None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_following, self._watcher, window)
                await self._listen(self._watcher, window)

    async def aclose(self) -> None:
        """Watch nothing any more."""
        if self._watcher is not None:
            await self._watcher.aclose()

    async def _keep_following(self, watcher: Watcher, window: Callable[[], Window]) -> None:
        while True:
            self._changed = anyio.Event()
            await watcher.follow(_folders_of(self._view.of(window())))
            self._say(watcher.state)
            await self._changed.wait()
            await anyio.sleep(_SETTLE_S)

    async def _listen(self, watcher: Watcher, window: Callable[[], Window]) -> None:
        while True:
            await watcher.wait()
            await anyio.sleep(_SETTLE_S)
            noticed = watcher.take()
            # A folder may be another one now.
            self._changed.set()
            if noticed.is_cut:
                self._offer([AnythingChanged()])
            else:
                paths = _touched(self._view.of(window()), noticed.names)
                if paths:
                    self._offer([Notice(f"{self._identity.root}/{path}") for path in paths])

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
