"""The contract of `Watcher`, over every implementation. It promises hints, so every test waits."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.watch import DiskWatcher, inotify_folders, observed_tree
from live_memory.core.values import NoticedChanges, WatchState
from live_memory.ports import Watcher
from tests.support.doubles.in_memory_watcher import InMemoryWatcher


@dataclass(frozen=True, slots=True)
class World:
    """A watcher, and how a file changes before its eyes."""

    watcher: Watcher
    write: Callable[[str], Awaitable[None]]
    # `watchdog`'s own observer keeps one reading thread for the whole process.
    kept_threads: int = 0


def _on_disk(root: Path, watcher: DiskWatcher, *, kept_threads: int = 0) -> World:
    async def write(name: str) -> None:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("changed\n")

    return World(watcher, write, kept_threads)


def _in_memory() -> World:
    watcher = InMemoryWatcher()

    async def write(name: str) -> None:
        watcher.change(name)

    return World(watcher, write)


@pytest.fixture(params=["inotify", "observer", "in memory"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    for folder in ("a/b", "c"):
        (tmp_path / folder).mkdir(parents=True)
    root = str(tmp_path.resolve())
    match request.param:
        case "inotify":
            made = _on_disk(tmp_path, DiskWatcher(root, connect=inotify_folders))
        case "observer":
            made = _on_disk(tmp_path, DiskWatcher(root, connect=observed_tree), kept_threads=1)
        case _:
            made = _in_memory()
    yield made
    await made.watcher.aclose()


async def _next(watcher: Watcher, *, holding: str) -> NoticedChanges:
    """Everything that is noticed until this name is among it."""
    names: frozenset[str] = frozenset()
    is_cut = False
    with anyio.fail_after(5):
        while holding not in names:
            await watcher.wait()
            noticed = watcher.take()
            names, is_cut = names | noticed.names, is_cut or noticed.is_cut
    return NoticedChanges(names, is_cut)


async def test_a_change_in_a_followed_folder_is_noticed_by_its_name(world: World) -> None:
    await world.watcher.follow(["", "a", "a/b"])
    for name in ("top.py", "a/one.py", "a/b/two.py"):
        await world.write(name)
        assert not (await _next(world.watcher, holding=name)).is_cut
    assert world.watcher.state == WatchState(3, 3)


async def test_what_is_not_followed_any_more_is_not_noticed(world: World) -> None:
    await world.watcher.follow(["", "a", "c"])
    await world.write("c/early.py")
    await _next(world.watcher, holding="c/early.py")
    await world.watcher.follow(["", "a"])
    await world.write("c/late.py")
    await world.write("a/b/never.py")
    await world.write("a/last.py")
    noticed = await _next(world.watcher, holding="a/last.py")
    assert noticed.names.isdisjoint({"c/late.py", "a/b/never.py"})


async def test_taking_takes_everything_once(world: World) -> None:
    assert world.watcher.take() == NoticedChanges()
    await world.watcher.follow([""])
    await world.write("a.py")
    await _next(world.watcher, holding="a.py")
    with anyio.move_on_after(0.2):  # an editor's last words
        await world.watcher.wait()
    world.watcher.take()
    assert world.watcher.take() == NoticedChanges()


async def test_following_nothing_is_no_work(world: World) -> None:
    threads = threading.active_count()
    await world.watcher.follow([])
    assert world.watcher.state == WatchState()
    assert threading.active_count() <= threads + 1  # a worker of the event loop's


async def test_folders_that_are_not_there_are_no_problem(world: World) -> None:
    await world.watcher.follow(["", "nowhere", "nowhere/below"])
    assert world.watcher.state.problem is None
    await world.write("a.py")
    await _next(world.watcher, holding="a.py")


async def test_after_closing_nothing_is_left(world: World) -> None:
    threads, descriptors = _threads(), _descriptors()
    await world.watcher.follow(["", "a", "a/b", "c"])
    await world.write("a/one.py")
    await _next(world.watcher, holding="a/one.py")
    await world.watcher.aclose()
    assert _threads() - threads <= world.kept_threads
    assert _descriptors() - descriptors <= 3 * world.kept_threads


def _threads() -> int:
    return sum("worker thread" not in thread.name for thread in threading.enumerate())


def _descriptors() -> int:
    return len([*Path("/dev/fd").iterdir()])
