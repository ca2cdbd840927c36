"""The table of open workspaces: each is opened once, and those at rest make room for others.

A workspace holds some nine descriptors and half a megabyte, so only so many are open at a time.
The one that was used longest ago is saved and closed, and opened again by its next use.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import anyio
from anyio.abc import TaskGroup

from live_memory.core.errors import Busy, LiveMemoryError, Unavailable
from live_memory.core.signals import WorkspaceFailed
from live_memory.core.values import WorkspaceKey
from live_memory.flow.models.lending import Borrowed
from live_memory.flow.workspace import Carried, Workspace
from live_memory.ports import SignalSink, WorkspaceIdentity, Workspaces

__all__ = ["Open", "OpenWorkspaces"]

Open = Callable[[WorkspaceIdentity], Awaitable[Workspace]]

# How often it is looked for one that has come to rest, where all are in use.
_LOOK_S = 0.05


@dataclass(slots=True)
class _Slot:
    """A workspace that is being opened, is open, or failed to open."""

    identity: WorkspaceIdentity
    settled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)
    workspace: Workspace | None = None
    problem: LiveMemoryError | None = None
    is_rested: bool = False

    def open(self, memory: Workspace) -> None:
        """Let those in who wait."""
        self.workspace = memory
        self.settled.set()

    async def close(self) -> None:
        """End it; what it holds is saved then."""
        if self.workspace is not None:
            self.workspace.is_closing = True
        self.scope.cancel()
        await self.closed.wait()


class OpenWorkspaces:
    """Owner of the workspaces' tasks, which run in `tasks`.

    Where `most` are open, those at rest make room; `most_in_use` may be in use at a time.
    """

    def __init__(
        self,
        *,
        workspaces: Workspaces,
        open_workspace: Open,
        signals: SignalSink,
        borrowed: Borrowed,
        closed: Callable[[WorkspaceKey], None],
        most: int,
        most_in_use: int,
    ) -> None:
        self.tasks: TaskGroup | None = None
        self._workspaces = workspaces
        self._open_workspace = open_workspace
        self._signals = signals
        self._borrowed = borrowed
        self._closed = closed
        self._most, self._most_in_use = min(most, most_in_use), most_in_use
        self._slots: dict[WorkspaceKey, _Slot] = {}
        self._carried: dict[WorkspaceKey, Carried] = {}
        self._turn = anyio.Lock()

    @property
    def keys(self) -> set[WorkspaceKey]:
        """Those that are open."""
        return set(self._slots)

    @property
    def problems(self) -> Sequence[str]:
        """What is wrong with any, also with one that rests."""
        here = (memory.problems for memory in self.now())
        resting = (c.set_aside for key, c in self._carried.items() if key not in self._slots)
        return tuple(dict.fromkeys(chain.from_iterable(chain(here, resting))))

    def now(self) -> Sequence[Workspace]:
        """The open ones."""
        return [slot.workspace for slot in self._slots.values() if slot.workspace]

    async def opened(self, cwd: str, *, wait_s: float) -> Workspace:
        """The workspace that `cwd` belongs to, open; waits at most so long for room.

        Raises:
            InvalidRequest: `cwd` leads to no workspace.
            Busy: there is no room.
            Unavailable: it cannot be opened.
        """
        if self.tasks is None:
            raise Unavailable("the server is not running yet")
        identity = await self._workspaces.resolve(cwd)
        was_replaced = False
        while True:
            slot = await self._settled(identity, self.tasks, wait_s)
            memory = slot.workspace
            if memory is None and slot.is_rested:
                continue
            if memory is None:
                raise slot.problem or Unavailable("the workspace was closed while it was opened")
            if memory.is_closing:
                await slot.closed.wait()
                continue
            with memory.in_use():
                was_replaced = not (was_replaced or await memory.sandbox.is_same_root())
            if was_replaced:
                # Another folder has this name now: what is open still reads the one that was there.
                await slot.close()
            elif not memory.is_closing:
                return memory

    async def forget(self, key: WorkspaceKey) -> None:
        """Close it if it is open, and carry nothing on."""
        slot = self._slots.get(key)
        if slot is not None:
            await slot.close()
        self._carried.pop(key, None)

    async def _settled(self, identity: WorkspaceIdentity, tasks: TaskGroup, wait_s: float) -> _Slot:
        slot = self._slots.get(identity.key)
        if slot is None:
            with anyio.move_on_after(wait_s):
                async with self._turn:
                    slot = self._slots.get(identity.key)
                    if slot is None:
                        await self._make_room()
                        slot = self._slots[identity.key] = _Slot(identity)
                        tasks.start_soon(self._serve, slot)
        if slot is None:
            raise Busy(
                f"{len(self._slots)} workspaces are in use, and there is room for no more",
                retry_after_s=5.0,
            )
        await slot.settled.wait()
        return slot

    async def _make_room(self) -> None:
        """Let the one that rests longest make room, or wait where as many as may be are in use.

        What the disk does not take stays open beyond any bound, as closing it would lose it.
        """
        while len(self._slots) >= self._most:
            if await self._rested_one():
                continue
            in_use = (s.workspace is None or not s.workspace.is_at_rest for s in self._in_order())
            if len(self._slots) < self._most_in_use or not any(in_use):
                return
            await anyio.sleep(_LOOK_S)

    async def _rested_one(self) -> bool:
        for slot in self._in_order():
            memory = slot.workspace
            if memory is None or not memory.is_at_rest or not await memory.kept():
                continue
            if memory.is_at_rest:
                slot.is_rested = True
                self._carried[slot.identity.key] = memory.carried
                await slot.close()
                return True
        return False

    def _in_order(self) -> Sequence[_Slot]:
        """Those first that were used longest ago."""
        return sorted(
            self._slots.values(), key=lambda s: s.workspace.used_at if s.workspace else 0.0
        )

    async def _serve(self, slot: _Slot) -> None:
        """Run one workspace; its crash is its own, and the next use opens it anew."""
        key = slot.identity.key
        try:
            with slot.scope:
                memory = await self._open_workspace(slot.identity)
                memory.take_up(self._carried.get(key, Carried()))
                await memory.run(opened=lambda: slot.open(memory), borrowed=self._borrowed)
        except LiveMemoryError as problem:
            slot.problem = problem
            self._signals.emit(WorkspaceFailed(key, str(problem)))
        # The guard around each workspace: one workspace's bug must not end the others.
        except Exception as bug:  # noqa: BLE001
            slot.problem = Unavailable("the workspace failed; the next question opens it again")
            self._signals.emit(WorkspaceFailed(key, repr(bug)))
        finally:
            slot.workspace = None
            if self._slots.get(key) is slot:
                del self._slots[key]
            self._closed(key)
            slot.settled.set()
            slot.closed.set()
