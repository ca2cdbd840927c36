"""Saves are coalesced, retried, and made once more at the end."""

from collections.abc import Mapping

import anyio
import pytest
import trio.testing

from live_memory.adapters.snapshots.in_memory import InMemory
from live_memory.core.errors import StoreUnavailable
from live_memory.core.memory.events import NoteWritten
from live_memory.core.memory.window import Window, apply
from live_memory.core.signals import SaveFailed, Signal
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.persist import Persister
from tests.support.memory import identity

HERE = identity("/app")


class Counting(InMemory):
    """Counts saves, and fails the first so many."""

    def __init__(self, *, failures: int = 0) -> None:
        super().__init__()
        self.saves = 0
        self._failures = failures

    async def save(self, key: WorkspaceKey, root: str, window: Window) -> None:
        self.saves += 1
        if self.saves <= self._failures:
            raise StoreUnavailable("no space left")
        await super().save(key, root, window)

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        return await super().roots()


class Desk:
    """A window that a test changes, its persister, and what it signalled."""

    def __init__(self, store: Counting) -> None:
        self.window = Window()
        self.signals: list[Signal] = []
        self.store = store
        self.persister = Persister(HERE, store=store, window=lambda: self.window, signals=self)

    def emit(self, signal: Signal) -> None:
        self.signals.append(signal)

    def note(self, text: str) -> None:
        self.window = apply(self.window, NoteWritten(text, Instant(1.0)))
        self.persister.window_changed()


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def test_a_burst_of_changes_is_saved_once() -> None:
    desk = Desk(Counting())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        for n in range(500):
            desk.note(str(n))
        await anyio.sleep(10)
        assert desk.store.saves == 1
        assert await desk.store.load(HERE.key) == desk.window
        tasks.cancel_scope.cancel()


@pytest.mark.promise("nothing-lost")
async def test_a_save_that_fails_is_reported_and_made_up_for() -> None:
    desk = Desk(Counting(failures=2))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(desk.persister.run)
        desk.note("one")
        await anyio.sleep(1)
        problems = [desk.persister.problem]
        await anyio.sleep(20)
        problems.append(desk.persister.problem)
        assert problems == ["no space left", None]
        assert await desk.store.load(HERE.key) == desk.window
        tasks.cancel_scope.cancel()
    assert [type(signal) for signal in desk.signals] == [SaveFailed, SaveFailed]


@pytest.mark.promise("nothing-lost")
async def test_a_cancelled_owner_still_saves_what_it_has() -> None:
    desk = Desk(Counting())
    desk.note("one")
    with anyio.CancelScope() as stopping:
        stopping.cancel()
        await desk.persister.flush()
    assert await desk.store.load(HERE.key) == desk.window
    await desk.persister.flush()
    assert desk.store.saves == 1
