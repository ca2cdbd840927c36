"""Puts what is behind the door together: the adapters, the hub, the routes.

Importing this takes half of a start, so it is done once the port is open.
"""

import functools
import hashlib
import hmac
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from live_memory.adapters.hooks.every_host import EveryHost
from live_memory.adapters.hooks.spool import DiskSpool, IgnoreEvents
from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.adapters.index.worker_pool import SyntaxWorkers, spare_processors
from live_memory.adapters.store.snapshot_files import DiskSpendLog, JsonFiles
from live_memory.adapters.telemetry import Level, LogSink, LogStream
from live_memory.adapters.watch import DiskWatcher
from live_memory.adapters.workspace.disk import DiskWorkspaces, RootMode
from live_memory.adapters.workspace.git_ignore import UserExcludes
from live_memory.adapters.workspace.git_state import GitWorktrees
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.core.companion.chat import Caps
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.events import AgentConcluded, TaskGiven
from live_memory.core.reading.redaction import DEFAULT, Redactor
from live_memory.core.values import Instant
from live_memory.flow.indexing import Turns
from live_memory.flow.model_slot import Companion, ModelRest, SpendLimiter
from live_memory.flow.notes import Notes
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.reader import Reader
from live_memory.flow.receive_events import Reception
from live_memory.flow.user_space import UserSpace
from live_memory.flow.workspace import Surroundings, Workspace
from live_memory.ports import HostDialect, SignalSink, SnapshotStore, WorkspaceIdentity, Workspaces
from live_memory.settings import Configuration, Settings
from live_memory.web.application import Application
from live_memory.web.guard import Drain
from live_memory.web.identity import Identity
from live_memory.web.page_links import PageLinks
from live_memory.wiring.choose_model import choose, secrets_of
from live_memory.wiring.descriptors import room_for_workspaces

__all__ = ["build", "workspaces_of"]

if TYPE_CHECKING:
    from live_memory.wiring.models import Models


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
        self._settings = settings
        self._workspaces = workspaces
        self._store = store
        self._signals = signals
        self._redactor = redactor
        self._parsing = SyntaxWorkers(spare_processors())

    async def __call__(self, identity: WorkspaceIdentity) -> Workspace:
        """Open the root and its index; an `InvalidRequest` where the root is gone."""
        folder = self._folder / identity.key.text
        sandbox = await self._workspaces.open(identity)
        problem: str | None = None
        try:
            index = await _index_in(folder, self._parsing)
        except StoreUnavailable as why:
            # Answers go on from what fits in memory.
            index = SqliteIndex.in_memory(parsing=self._parsing)
            problem = f"the index is not kept: {why}"
        given = Surroundings(
            reader=Reader(sandbox, self._redactor, self._settings.max_file_bytes),
            index=index,
            spare_index=functools.partial(SqliteIndex.in_memory, parsing=self._parsing),
            store=self._store,
            signals=self._signals,
            clock=_SystemClock(),
            max_context_tokens=self._settings.max_context_tokens,
            watcher=DiskWatcher(identity.root) if self._settings.watch else None,
            updates_at_once=1 + spare_processors(),
            leaves_handoffs=self._settings.handoffs,
        )
        limits = self._settings.max_parallel_questions, self._settings.max_queue
        memory = Workspace(identity, given, turns=Turns(at_once=limits[0], queue=limits[1]))
        memory.indexer.not_kept = problem
        memory.indexer.reopen = functools.partial(_index_in, folder, self._parsing)
        return memory


async def _index_in(folder: Path, parsing: SyntaxWorkers) -> SqliteIndex:
    try:
        make = functools.partial(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        await anyio.to_thread.run_sync(make)
    except OSError as problem:
        raise StoreUnavailable(str(problem)) from problem
    return await SqliteIndex.open(folder, parsing=parsing)


class _Companions:
    """Makes the companion that settings mean; one purse for all of them."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._environ = environ
        book = DiskSpendLog(settings.data_dir)
        self._purse = SpendLimiter(_caps(settings), clock=_SystemClock(), book=book)
        self._models: Models | None = None

    def build(self, settings: Settings) -> Companion | None:
        """The companion, if there is to be one; an `InvalidRequest` where that cannot be meant."""
        self._purse.caps = _caps(settings)
        choice = choose(settings, self._environ)
        if choice is None:
            return None
        if self._models is None:
            # Imported only when there is a model, so that a server without one starts fast.
            from live_memory.wiring.models import Models  # noqa: PLC0415

            self._models = Models(self._environ)
        return Companion(
            self._models.build(choice, settings),
            self._purse,
            _SystemClock(),
            max_context_tokens=settings.max_context_tokens,
            rest=ModelRest(clock=_SystemClock()),
        )


def build(
    configuration: Configuration,
    drain: Drain,
    links: PageLinks,
    *,
    identity: Identity,
    log: LogStream,
    reread: Callable[[], Configuration],
) -> Application:
    """All that is served, for `build_app`."""
    settings = configuration.settings
    companions = _Companions(settings, os.environ)
    hub = _hub(settings, identity, companion=companions.build(settings), log=log)

    held = configuration

    async def reload() -> str | None:
        nonlocal held
        # Where the configuration and a client's programs are is looked for on the disk.
        latest = await anyio.to_thread.run_sync(reread)
        companion = await anyio.to_thread.run_sync(companions.build, latest.settings)
        await hub.models.swap(companion)
        held = held.reread(latest)
        return companion.model.abilities.model if companion else None

    def in_force() -> Mapping[str, Mapping[str, object]]:
        return held.shown()

    reception = Reception(
        _dialect(settings),
        opened=hub.opened,
        spool=DiskSpool(settings.data_dir),
        worktrees=GitWorktrees(),
        private=[str(settings.data_dir), os.path.realpath(settings.data_dir)],
    )
    return Application(
        hub,
        drain=drain,
        links=links,
        identity=identity,
        clock=_SystemClock(),
        reload=reload,
        in_force=in_force,
        reception=reception,
        tools=settings.tools,
        has_async_tools=settings.async_tools,
    )


def _hub(
    settings: Settings, identity: Identity, *, companion: Companion | None, log: LogStream
) -> Hub:
    # Derived from the token, so that equal secrets keep one placeholder across restarts.
    key = hmac.new(identity.token.encode(), b"redaction", hashlib.sha256).digest()
    own = identity.token, identity.key
    redactor = Redactor(key, exact=(*own, *secrets_of(settings, os.environ)))
    least = Level[settings.log_level.upper()]
    signals = LogSink(log, now=_SystemClock().now, least=least)
    store = JsonFiles(_kept(settings))
    user = UserSpace(store=JsonFiles(settings.data_dir / "user"), signals=signals)
    workspaces = workspaces_of(settings, redactor)
    opener = _Opener(
        settings, workspaces=workspaces, store=store, signals=signals, redactor=redactor
    )
    return Hub(
        workspaces=workspaces,
        open_workspace=opener,
        store=store,
        signals=signals,
        trees=GitWorktrees(),
        notes=functools.partial(Notes, user=user, redactor=redactor, clock=_SystemClock()),
        companion=companion,
        warm_idle_s=settings.keep_warm_max_idle_s if settings.keep_warm else None,
        most_in_use=room_for_workspaces(),
    )


def workspaces_of(settings: Settings, redactor: Redactor = DEFAULT) -> DiskWorkspaces:
    """What finds the workspace of a folder, and opens it."""
    return DiskWorkspaces(
        home=str(Path.home()),
        runner=Runner(),
        programs=find_programs(os.environ.get("PATH", os.defpath)),
        data_dir=str(settings.data_dir),
        ignore=settings.ignore,
        root_mode=_root_mode(settings),
        excludes=UserExcludes(str(Path.home()), os.environ),
        redactor=redactor,
    )


def _dialect(settings: Settings) -> HostDialect:
    if not settings.passive:
        return IgnoreEvents(EveryHost())
    if not settings.remember_conclusions:
        return IgnoreEvents(EveryHost(), TaskGiven, AgentConcluded)
    return EveryHost()


def _root_mode(settings: Settings) -> RootMode:
    is_one = settings.canonicalize_workspace
    return RootMode(settings.repo_root_mode) if is_one else RootMode.NONE


def _caps(settings: Settings) -> Caps:
    return Caps(settings.spend_cap_tokens_hour, settings.spend_cap_usd_day)


def _kept(settings: Settings) -> Path:
    return settings.data_dir / "workspaces"
