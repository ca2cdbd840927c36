"""What a watcher notices is learned before the next question, and no answer depends on it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from live_memory.core.hosts.notices import AnythingChanged, FileInterest, Interest
from live_memory.core.memory.window import FileGone, FileObserved, MemoryEvent, Window, apply
from live_memory.core.signals import Signal, WatchLimited
from live_memory.core.values import ContentHash, Instant, Origin, RelPath, WatchState
from live_memory.flow.freshness import Watching, WindowViews
from live_memory.flow.jobs import silent
from live_memory.flow.open_workspaces import Hub
from live_memory.flow.workspace import Workspace
from tests.support.doubles.in_memory_watcher import InMemoryWatcher
from tests.support.memory import House, a_question, app_house, identity

virtual_time = pytest.mark.parametrize("anyio_backend", ["virtual"], indirect=True)


def seen(name: str) -> MemoryEvent:
    return FileObserved(
        RelPath(name), ContentHash.of(b"x = 1\n"), 1, 1, 1, Origin.READ, Instant(1.0)
    )


@dataclass(slots=True)
class Scene:
    """A window that a test fills, and what is offered of it."""

    watcher: InMemoryWatcher
    window: Window = field(default_factory=Window)
    offered: list[Interest] = field(default_factory=list)
    offers: int = 0
    signals: list[Signal] = field(default_factory=list)

    def offer(self, subjects: Sequence[Interest]) -> None:
        self.offered += subjects
        self.offers += 1

    def emit(self, signal: Signal) -> None:
        self.signals.append(signal)

    def know(self, *names: str) -> None:
        for name in names:
            self.window = apply(self.window, seen(name))

    @property
    def paths(self) -> list[str]:
        return [one.path for one in self.offered if isinstance(one, FileInterest)]


@asynccontextmanager
async def scene(*names: str, problem: str | None = None) -> AsyncIterator[tuple[Scene, Watching]]:
    made = Scene(InMemoryWatcher(problem=problem))
    made.know(*names)
    watching = Watching(
        identity("/w"),
        watcher=made.watcher,
        offer=made.offer,
        signals=made,
    )
    async with anyio.create_task_group() as tasks:
        views = WindowViews()
        tasks.start_soon(watching.run, lambda: views.of(made.window))
        await anyio.sleep(1)
        yield made, watching
        tasks.cancel_scope.cancel()


@virtual_time
async def test_the_folders_of_what_is_in_view_are_watched_newest_first_and_parents_first() -> None:
    async with scene("old/deep/a.py", "b.py", "new/c.py") as (made, watching):
        assert [*made.watcher.folders] == ["", "new", "old", "old/deep"]
        made.know("later/d.py")
        watching.window_changed()
        await anyio.sleep(1)
        assert [*made.watcher.folders] == ["", "later", "new", "old", "old/deep"]


@virtual_time
async def test_nothing_in_view_is_nothing_watched() -> None:
    async with scene() as (made, _):
        assert [*made.watcher.folders] == []


@virtual_time
async def test_files_in_view_are_offered_and_nothing_else() -> None:
    async with scene("d/a.py", "d/b.py") as (made, _):
        made.watcher.change("d/a.py")
        made.watcher.change("d/other.py")
        await anyio.sleep(1)
        assert made.offered == [FileInterest("/w/d/a.py")]
        made.watcher.change("d/other.py")
        await anyio.sleep(1)
        assert made.offers == 1


@virtual_time
async def test_a_burst_is_one_look_at_each_file() -> None:
    async with scene("a.py", "b.py") as (made, _):
        for name in ("a.py", "b.py", "a.py", "a.py"):
            made.watcher.change(name)
            await anyio.sleep(0.05)
        await anyio.sleep(1)
        assert sorted(made.paths) == ["/w/a.py", "/w/b.py"]


@virtual_time
async def test_of_a_folder_that_changed_every_file_in_view_is_offered() -> None:
    async with scene("d/e/a.py", "d/b.py", "c.py") as (made, _):
        made.watcher.change("d")
        await anyio.sleep(1)
        assert sorted(made.paths) == ["/w/d/b.py", "/w/d/e/a.py"]


@virtual_time
async def test_lost_events_mean_that_anything_may_have_changed() -> None:
    async with scene("a.py") as (made, _):
        made.watcher.change("a.py")
        made.watcher.lose()
        await anyio.sleep(1)
        assert made.offered == [AnythingChanged()]


@virtual_time
async def test_a_limit_is_signalled_once() -> None:
    async with scene("a.py", problem="no more watches") as (made, watching):
        watching.window_changed()
        await anyio.sleep(1)
        assert made.signals == [WatchLimited(identity("/w").key, 0, 1, "no more watches")]
        notes = [watching.note]
        made.watcher.problem = None
        watching.window_changed()
        await anyio.sleep(1)
        assert watching.state.name == "on"
        assert [*notes, watching.note] == ["watching is off: no more watches", None]
        assert len(made.signals) == 1


async def _until_learned(memory: Workspace, kind: type) -> MemoryEvent:
    with anyio.fail_after(5):
        while not any(isinstance(e.content, kind) for e in memory.window.entries):
            await anyio.sleep(0.01)  # the next thing to wait on is another task's
    return next(e.content for e in memory.window.entries if isinstance(e.content, kind))


async def _ask(hub: Hub) -> str:
    _, answer = await hub.ask("/app", a_question(), progress=silent)
    return answer.text


@pytest.mark.promise("ingest-is-free")
async def test_a_changed_file_is_learned_though_nobody_asks() -> None:
    watcher = InMemoryWatcher()
    house = _watched(watcher)
    async with house.hub() as hub:
        memory = await hub.opened("/app")
        await memory.record(seen("app/config.py"))
        with anyio.fail_after(5):
            while "app" not in watcher.folders:
                await anyio.sleep(0.01)
        house.sandbox.remove("app/config.py")
        watcher.change("app/config.py")
        assert await _until_learned(memory, FileGone)
        stats = await hub.stats("/app")
        assert (stats.last_hook_at, stats.model_calls) == (None, 0)
        assert stats.watch == WatchState(2, 2)
    assert watcher.is_closed


@pytest.mark.promise("never-falsely-fresh")
async def test_an_answer_is_fresh_where_nothing_can_be_watched() -> None:
    """C12."""
    house = _watched(InMemoryWatcher(problem="no more watches"))
    async with house.hub() as hub:
        assert "RETRY_LIMIT = 3" in await _ask(hub)
        await (await hub.opened("/app")).record(seen("app/config.py"))
        house.sandbox.put("app/config.py", b"RETRY_LIMIT = 4\n")
        assert "RETRY_LIMIT = 4" in await _ask(hub)
        assert hub.problems == ()
        assert hub.notes == ("watching is off: no more watches",)
        assert (await hub.stats("/app")).watch.name == "off"


async def test_without_a_watcher_the_figures_say_why() -> None:
    house = app_house()
    async with house.hub() as hub:
        await hub.opened("/app")
        assert (await hub.stats("/app")).watch == WatchState(problem="setting 'watch' is off")
        assert hub.notes == ()


def _watched(watcher: InMemoryWatcher) -> House:
    house = app_house()
    house.watcher = watcher
    return house
