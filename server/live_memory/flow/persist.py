"""Saves one workspace's window: coalesced, at most one save at a time, the latest revision wins."""

from collections.abc import Callable

import anyio

from live_memory.core.errors import StoreUnavailable
from live_memory.core.memory.window import Window
from live_memory.core.signals import SaveFailed
from live_memory.ports import SignalSink, SnapshotStore, WorkspaceIdentity

__all__ = ["Persister"]

# A burst of events becomes one save; half a second is below what a person notices as lost.
_QUIET_S = 0.5
_RETRY_S = 5.0
# The last save may take this long when the server stops (design.md section 6).
_FLUSH_S = 5.0


class Persister:
    """Owner of one workspace's snapshot."""

    def __init__(
        self,
        workspace: WorkspaceIdentity,
        *,
        store: SnapshotStore,
        window: Callable[[], Window],
        signals: SignalSink,
    ) -> None:
        self._workspace = workspace
        self._store = store
        self._window = window
        self._signals = signals
        self._changed = anyio.Event()
        self._saved_revision = window().revision
        self.problem: str | None = None

    def window_changed(self) -> None:
        """Note that there is something to save."""
        self._changed.set()

    async def run(self) -> None:
        """Save after each quiet period with changes, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            await anyio.sleep(_QUIET_S)
            await self._save()
            if self.problem is not None:
                await anyio.sleep(_RETRY_S)
                self._changed.set()

    async def flush(self) -> None:
        """Save what is not saved yet, also while being cancelled; bounded."""
        with anyio.move_on_after(_FLUSH_S, shield=True):
            await self._save()

    async def _save(self) -> None:
        window = self._window()
        if window.revision == self._saved_revision:
            return
        try:
            await self._store.save(self._workspace.key, self._workspace.root, window)
        except StoreUnavailable as problem:
            self.problem = str(problem)
            self._signals.emit(SaveFailed(self._workspace.key, self.problem))
        else:
            self.problem = None
            self._saved_revision = window.revision
