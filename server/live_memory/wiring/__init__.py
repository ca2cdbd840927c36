"""Puts the server together: the only place that knows which adapters there are."""

import hashlib
import hmac
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.adapters.sandbox.roots import DiskWorkspaces
from live_memory.adapters.sandbox.runner import Runner, find_programs
from live_memory.adapters.snapshots.json_files import JsonFiles
from live_memory.adapters.telemetry.log import LogSink
from live_memory.core.errors import StoreUnavailable
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import Instant
from live_memory.flow.hub import Hub
from live_memory.flow.workspace import Workspace
from live_memory.ports import SignalSink, SnapshotStore, WorkspaceIdentity, Workspaces
from live_memory.settings import Settings
from live_memory.web.app import App
from live_memory.web.identity import Identity

__all__ = ["build_app", "build_hub"]


class _SystemClock:
    """The machine's wall clock."""

    def now(self) -> Instant:
        """The current time."""
        return Instant(time.time())  # noqa: TID251  (the one Clock that reads it)


class _Opener:
    """Makes one workspace's memory."""

    def __init__(
        self,
        settings: Settings,
        *,
        workspaces: Workspaces,
        store: SnapshotStore,
        signals: SignalSink,
        redactor: Redactor,
    ) -> None:
        self._folder = _kept(settings)
        self._max_file_bytes = settings.max_file_bytes
        self._workspaces = workspaces
        self._store = store
        self._signals = signals
        self._redactor = redactor

    async def __call__(self, identity: WorkspaceIdentity) -> Workspace:
        """Open the root and its index.

        Raises:
            InvalidRequest: the root is gone.
            StoreUnavailable: the data folder cannot be written.
        """
        folder = self._folder / identity.key.text
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise StoreUnavailable(f"{folder} cannot be made: {problem.strerror}") from problem
        sandbox = await self._workspaces.open(identity)
        try:
            index = await SqliteIndex.open(folder)
        except StoreUnavailable:
            await sandbox.aclose()
            raise
        return Workspace(
            identity,
            sandbox=sandbox,
            index=index,
            store=self._store,
            signals=self._signals,
            clock=_SystemClock(),
            redactor=self._redactor,
            max_file_bytes=self._max_file_bytes,
        )


def build_hub(settings: Settings, *, token: str) -> Hub:
    """The hub over this machine's disk; it must be run to do anything."""
    # Derived from the token, so that equal secrets keep one placeholder across restarts.
    key = hmac.new(token.encode(), b"redaction", hashlib.sha256).digest()
    redactor = Redactor(key, exact=(token,))
    signals = LogSink(sys.stderr, now=_SystemClock().now)
    store = JsonFiles(_kept(settings))
    workspaces = DiskWorkspaces(
        home=str(Path.home()),
        runner=Runner(),
        programs=find_programs(os.environ.get("PATH", os.defpath)),
    )
    opener = _Opener(
        settings, workspaces=workspaces, store=store, signals=signals, redactor=redactor
    )
    return Hub(workspaces=workspaces, open_workspace=opener, store=store, signals=signals)


def build_app(settings: Settings, *, identity: Identity, all_imported: Callable[[], None]) -> App:
    """What the server serves."""
    hub = build_hub(settings, token=identity.token)
    return App(hub, identity=identity, clock=_SystemClock(), all_imported=all_imported)


def _kept(settings: Settings) -> Path:
    return settings.data_dir / "workspaces"
