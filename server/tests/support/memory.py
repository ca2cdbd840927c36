"""A hub over workspaces that a test writes down, with everything real but the disk."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio

from live_memory.adapters.index.sqlite import SqliteIndex
from live_memory.core.answer import Budget, Question
from live_memory.core.companion.chat import Caps
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.redaction import Redactor
from live_memory.core.signals import Signal
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.indexing import Turns
from live_memory.flow.model_slot import Companion, ModelRest, SpendLimiter
from live_memory.flow.notes import Notes
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.reader import Reader
from live_memory.flow.user_space import UserSpace
from live_memory.flow.workspace import Surroundings, Workspace
from live_memory.ports import (
    EvidenceIndex,
    LanguageModel,
    Sandbox,
    SnapshotStore,
    Watcher,
    WorkspaceIdentity,
)
from tests.support.doubles.in_memory_sandbox import InMemorySandbox, InMemoryWorktrees
from tests.support.doubles.in_memory_store import InMemory

__all__ = ["APP", "House", "a_question", "app_house", "identity"]

APP: Mapping[str, bytes] = {
    "app/config.py": b'"""Settings."""\n\nRETRY_LIMIT = 3\n',
    "app/client.py": (
        b"from app.config import RETRY_LIMIT\n\n\n"
        b"def fetch_page(url):\n"
        b'    """Fetch a page, trying again RETRY_LIMIT times."""\n'
        b"    for attempt in range(RETRY_LIMIT):\n"
        b"        send(url)\n"
    ),
    "README.md": b"# App\n\nFetches pages.\n",
}


def identity(root: str) -> WorkspaceIdentity:
    """The workspace at this root."""
    return WorkspaceIdentity(root, WorkspaceKey.of_root(root))


def a_question(text: str = "Where is RETRY_LIMIT set?", *, timeout_s: float = 60) -> Question:
    """A question asked at a fixed time."""
    return Question(text, Instant(1.0), Budget(timeout_s))


@dataclass(slots=True)
class House:
    """Workspaces by root, what they keep, and what was signalled; it outlives its hubs."""

    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    store: SnapshotStore = field(default_factory=InMemory)
    user_store: SnapshotStore = field(default_factory=InMemory)
    signals: list[Signal] = field(default_factory=list)
    opened: int = 0
    at_once: int = 4
    model: LanguageModel | None = None
    caps: Caps = field(default_factory=Caps)
    warm_idle_s: float | None = None
    trees: InMemoryWorktrees = field(default_factory=InMemoryWorktrees)
    watcher: Watcher | None = None
    max_context_tokens: int = 48_000
    most_open: int = 16
    most_in_use: int = 256
    leaves_handoffs: bool = True

    @property
    def sandbox(self) -> InMemorySandbox:
        """The one at /app."""
        found = self.sandboxes["/app"]
        assert isinstance(found, InMemorySandbox)
        return found

    async def resolve(self, cwd: str) -> WorkspaceIdentity:
        """A root or a folder below one."""
        for root in self.sandboxes:
            if cwd == root or cwd.startswith(f"{root}/"):
                return identity(root)
        raise InvalidRequest(f"{cwd} is no folder")

    async def open(self, workspace: WorkspaceIdentity) -> Sandbox:
        """The sandbox that the test wrote down."""
        return self.sandboxes[workspace.root]

    def now(self) -> Instant:
        """Always the same time."""
        return Instant(1_800_000_000.0)

    def emit(self, signal: Signal) -> None:
        """Keep what was signalled."""
        self.signals.append(signal)

    async def open_index(self) -> EvidenceIndex:
        """A new empty index."""
        return SqliteIndex.in_memory()

    async def open_workspace(self, workspace: WorkspaceIdentity) -> Workspace:
        """As wiring does it."""
        self.opened += 1
        given = Surroundings(
            reader=Reader(await self.open(workspace), Redactor(), 256 * 1024),
            index=await self.open_index(),
            spare_index=SqliteIndex.in_memory,
            store=self.store,
            signals=self,
            clock=self,
            max_context_tokens=self.max_context_tokens,
            watcher=self.watcher,
            leaves_handoffs=self.leaves_handoffs,
        )
        return Workspace(workspace, given, turns=Turns(at_once=self.at_once, queue=100))

    def _companion(self) -> Companion | None:
        if self.model is None:
            return None
        purse = SpendLimiter(self.caps, clock=self)
        return Companion(
            self.model,
            purse,
            self,
            max_context_tokens=self.max_context_tokens,
            rest=ModelRest(clock=self),
        )

    @property
    def notes(self) -> Callable[..., Notes]:
        """What makes the notes of a hub."""
        user = UserSpace(store=self.user_store, signals=self)
        return partial(Notes, user=user, redactor=Redactor(), clock=self)

    @asynccontextmanager
    async def hub(self) -> AsyncIterator[Hub]:
        """A running hub; leaving stops it as the server does."""
        hub = Hub(
            workspaces=self,
            open_workspace=self.open_workspace,
            store=self.store,
            signals=self,
            trees=self.trees,
            notes=self.notes,
            companion=self._companion(),
            warm_idle_s=self.warm_idle_s,
            most_open=self.most_open,
            most_in_use=self.most_in_use,
        )
        async with anyio.create_task_group() as tasks:
            await tasks.start(lambda *, task_status: hub.run(task_status=task_status))
            try:
                yield hub
            finally:
                tasks.cancel_scope.cancel()


def app_house() -> House:
    """A house with one small workspace at /app."""
    return House({"/app": InMemorySandbox(APP)})
