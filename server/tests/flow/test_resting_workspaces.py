"""Workspaces at rest make room for others, and nobody who asks them again can tell."""

import gc
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import anyio
import pytest

from live_memory.core.errors import Busy, StoreUnavailable
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.saving.journal import JournalRecord
from live_memory.core.saving.snapshot import Memory, Restored
from live_memory.core.values import WorkspaceKey
from live_memory.flow import workspace
from live_memory.flow.jobs import silent
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import House, a_question

ROOTS = [f"/r{number}" for number in range(6)]


def _house(*, most_open: int = 2) -> House:
    files = {root: {"a.py": f"LIMIT_{root[2:]} = 3\n".encode()} for root in ROOTS}
    house = House({root: InMemorySandbox(named) for root, named in files.items()})
    house.most_open = most_open
    return house


@pytest.mark.promise("nothing-lost")
async def test_the_one_that_rests_longest_is_closed_and_is_as_it_was_when_asked_again() -> None:
    house = _house()
    async with house.hub() as hub:
        ingestor = (await hub.opened("/r0")).ingestor
        ingestor.lost(3)
        ingestor.not_understood += 2
        for root in ROOTS:
            await hub.ask(root, a_question(f"Where is LIMIT_{root[2:]}?"), progress=silent)
        assert house.opened == len(ROOTS)
        stats = await hub.stats("/r0")
        assert (stats.questions, stats.dropped_events) == (1, 3)
        assert stats.hook_events_not_understood == 2
        assert house.opened == len(ROOTS) + 1
        await hub.stats("/r5")
        assert house.opened == len(ROOTS) + 1


async def test_what_a_closed_one_held_is_free_whatever_the_collector_was_told_to_leave() -> None:
    """A large index sets all that lives apart from looks for garbage: each was kept whole then."""
    house, half = _house(most_open=3), 3
    parts = []
    async with house.hub() as hub:
        for root in ROOTS:
            await hub.ask(root, a_question(f"Where is LIMIT_{root[2:]}?"), progress=silent)
            memory = await hub.opened(root)
            await memory.hear([FileInterest(f"{root}/a.py")], events=1)
            parts += [weakref.ref(one) for one in (memory, memory.indexer, memory.ingestor)]
            del memory
            if len(parts) == 3 * half:
                gc.collect()
                gc.freeze()
        gc.collect()
        gc.unfreeze()
        assert [one() for one in parts[: 3 * half]] == [None] * 3 * half


async def test_one_in_use_is_never_closed_and_who_needs_room_waits_for_it() -> None:
    house = _house(most_open=1)
    house.most_in_use = 1
    async with house.hub() as hub, anyio.create_task_group() as tasks:
        memory = await hub.opened("/r0")
        with memory.in_use():
            with pytest.raises(Busy, match="in use"):
                await hub.opened("/r1", wait_s=0.1)
            tasks.start_soon(hub.stats, "/r1")
            await anyio.wait_all_tasks_blocked()
            assert not memory.is_closing
        assert (await hub.stats("/r1")).workspace.root == "/r1"
        assert memory.is_closing


async def test_more_than_may_rest_are_in_use_where_there_is_room() -> None:
    house = _house()
    async with house.hub() as hub:
        with ExitStack() as held:
            for root in ROOTS:
                held.enter_context((await hub.opened(root, wait_s=0.1)).in_use())
            assert house.opened == len(ROOTS)
        await hub.clear("/r5")
        await hub.stats("/r5")
        assert sum(not one.is_closing for one in hub._open.now()) == house.most_open


class _Full(InMemory):
    """A disk that takes nothing while it is full."""

    is_full = False

    async def append(self, key: WorkspaceKey, root: str, told: Sequence[JournalRecord]) -> None:
        self._refuse()
        await super().append(key, root, told)

    async def save(self, key: WorkspaceKey, root: str, taken: Callable[[], Memory]) -> None:
        self._refuse()
        await super().save(key, root, taken)

    def _refuse(self) -> None:
        if self.is_full:
            raise StoreUnavailable("no space left")


@pytest.mark.promise("nothing-lost", "always-something-true")
async def test_what_the_disk_does_not_take_stays_open_and_others_are_answered() -> None:
    house, store = _house(most_open=1), _Full()
    house.store = store
    async with house.hub() as hub:
        memory = await hub.opened("/r0")
        store.is_full = True
        with pytest.raises(StoreUnavailable):
            await memory.hear([FileInterest("/r0/a.py")], events=1)
        for root in ROOTS[1:4]:
            await hub.ask(root, a_question(f"Where is LIMIT_{root[2:]}?"), progress=silent)
        assert not memory.is_closing
        assert "no space left" in str(hub.problems)
        store.is_full = False
    async with house.hub() as hub:
        assert (await hub.stats("/r1")).questions == 1


class _Away(InMemory):
    """A disk that gives nothing while it is away, and takes nothing for what it did not give."""

    is_away = False

    async def load(self, key: WorkspaceKey) -> Restored:
        if self.is_away:
            return Restored(problems=("the disk is away",), is_unread=True)
        return await super().load(key)

    async def is_readable(self, key: WorkspaceKey) -> bool:
        return not self.is_away


@pytest.mark.promise("nothing-lost", "no-overwrite-of-unreadable")
async def test_a_memory_that_was_not_given_is_told_until_it_is_and_is_whole_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was told until a restart, and stayed away as long."""
    monkeypatch.setattr(workspace, "_READ_AGAIN_S", 0.01)
    house, store = _house(most_open=1), _Away()
    house.store = store
    async with house.hub() as hub:
        await hub.ask("/r0", a_question("Where is LIMIT_0?"), progress=silent)
    store.is_away = True
    async with house.hub() as hub:
        _, answer = await hub.ask("/r0", a_question("Where is LIMIT_0?"), progress=silent)
        assert "LIMIT_0 = 3" in answer.text
        await hub.stats("/r1")
        assert "the disk is away" in hub.problems
        with (await hub.opened("/r0")).in_use():
            store.is_away = False
            await anyio.sleep(0.1)
            assert "the disk is away" in hub.problems
        with anyio.fail_after(5):
            while hub.problems:
                await anyio.sleep(0.01)
        assert (await hub.stats("/r0")).questions == 1
