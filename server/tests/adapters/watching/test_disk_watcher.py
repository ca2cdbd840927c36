"""What only a disk's watcher can meet: limits, lost events, folders that come and go."""

import errno
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver, EventEmitter, ObservedWatch
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, Mask, WatchDescriptor

from live_memory.adapters.watch import (
    ChangeQueue,
    Connect,
    DiskWatcher,
    Folders,
    InotifyFolders,
    ObservedTree,
    inotify_folders,
)
from live_memory.core.values import NoticedChanges, WatchState

Gone = Callable[[str], None]


@asynccontextmanager
async def watching(
    root: Path, *folders: str, connect: Connect = inotify_folders, most: int = 100
) -> AsyncIterator[DiskWatcher]:
    watcher = DiskWatcher(str(root.resolve()), connect=connect, most=most)
    try:
        await watcher.follow(folders)
        yield watcher
    finally:
        await watcher.aclose()


async def noticed_until(watcher: DiskWatcher, name: str) -> NoticedChanges:
    names: frozenset[str] = frozenset()
    is_cut = False
    with anyio.fail_after(5):
        while name not in names:
            await watcher.wait()
            noticed = watcher.take()
            names, is_cut = names | noticed.names, is_cut or noticed.is_cut
    return NoticedChanges(names, is_cut)


class _Limited:
    """Folders of which the system allows only some."""

    def __init__(self, allowed: int, code: int = errno.ENOSPC) -> None:
        self.allowed, self.code, self.names = allowed, code, list[str]()

    def __call__(self, root: str, ear: ChangeQueue, gone: Gone) -> Folders:
        return self

    def add(self, name: str) -> None:
        if len(self.names) >= self.allowed:
            raise OSError(self.code, "inotify watch limit reached")
        self.names.append(name)

    def remove(self, name: str) -> None:
        self.names.remove(name)

    def close(self) -> None:
        self.names.clear()


class _Observer(BaseObserver):
    """An observer that the system refuses at one of its two steps."""

    def __init__(self, step: str, code: int) -> None:
        super().__init__(EventEmitter)
        self.step, self.code = step, code

    def schedule(
        self,
        event_handler: FileSystemEventHandler,
        path: str | Path,
        *,
        recursive: bool = False,
        event_filter: list[type[FileSystemEvent]] | None = None,
        follow_symlink: bool = False,
    ) -> ObservedWatch:
        self._fail("schedule")
        return ObservedWatch(path, recursive=recursive)

    def start(self) -> None:
        self._fail("start")

    def _fail(self, step: str) -> None:
        if step == self.step:
            raise OSError(self.code, "inotify watch limit reached")


@pytest.mark.parametrize("step", ["schedule", "start"])
@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "max_user_watches=524288"),
        (errno.EMFILE, "max_user_instances=512"),
        (errno.EIO, "does not allow it"),
    ],
)
async def test_a_system_that_refuses_an_observer_is_said_in_words(
    tmp_path: Path, step: str, code: int, says: str
) -> None:
    """C12: it looks like a full disk, and nothing may fail."""

    def connect(root: str, ear: ChangeQueue, gone: Gone) -> Folders:
        return ObservedTree(root, ear, make_observer=lambda: _Observer(step, code))

    async with watching(tmp_path, "", "a", connect=connect) as watcher:
        assert (watcher.state.name, watcher.state.watched) == ("off", 0)
        assert says in (watcher.state.problem or "")
        await watcher.follow(["", "b"])
        assert watcher.take() == NoticedChanges()


@pytest.mark.parametrize("refusal", [ImportError("no watchdog"), RuntimeError("no new thread")])
async def test_without_the_library_or_a_thread_watching_is_off(
    tmp_path: Path, refusal: Exception
) -> None:
    def connect(root: str, ear: ChangeQueue, gone: Gone) -> Folders:
        raise refusal

    async with watching(tmp_path, "", connect=connect) as watcher:
        assert watcher.state.name == "off"


async def test_at_the_systems_limit_the_first_folders_are_watched_and_it_is_tried_again(
    tmp_path: Path,
) -> None:
    """C12."""
    limited = _Limited(2)
    async with watching(tmp_path, "", "a", "b", connect=limited) as watcher:
        assert watcher.state.name == "partial"
        assert (watcher.state.watched, watcher.state.wanted) == (2, 3)
        assert "max_user_watches" in (watcher.state.problem or "")
        assert limited.names == ["", "a"]
        limited.allowed = 10
        await watcher.follow(["", "a", "b"])
        assert watcher.state == WatchState(3, 3)


async def test_our_own_bound_is_said_too(tmp_path: Path) -> None:
    limited = _Limited(10)
    async with watching(tmp_path, "", "a", "b", connect=limited, most=2) as watcher:
        assert limited.names == ["", "a"]
        assert watcher.state.problem == "no more than 2 folders of a workspace are watched"
        assert watcher.state.name == "partial"


async def test_a_folder_that_is_made_again_is_watched_again(tmp_path: Path) -> None:
    """As `git checkout` of another branch and back does it."""
    (tmp_path / "a/b").mkdir(parents=True)
    folders = ["", "a", "a/b"]
    async with watching(tmp_path, *folders) as watcher:
        shutil.rmtree(tmp_path / "a")
        await noticed_until(watcher, "a")
        await watcher.follow(folders)
        assert watcher.state.watched == 1
        (tmp_path / "a/b").mkdir(parents=True)
        await noticed_until(watcher, "a")
        await watcher.follow(folders)
        assert watcher.state == WatchState(3, 3)
        assert {"a", "a/b"} <= (await noticed_until(watcher, "a/b")).names
        (tmp_path / "a/b/c.py").touch()
        await noticed_until(watcher, "a/b/c.py")


async def test_another_folder_in_the_place_of_one_is_the_one_that_is_watched(
    tmp_path: Path,
) -> None:
    for folder in ("a", "new"):
        (tmp_path / folder).mkdir()
    async with watching(tmp_path, "", "a") as watcher:
        (tmp_path / "a").rename(tmp_path / "old")
        (tmp_path / "new").rename(tmp_path / "a")
        await noticed_until(watcher, "a")
        await watcher.follow(["", "a"])
        (tmp_path / "old/wrong.py").touch()
        (tmp_path / "a/right.py").touch()
        noticed = await noticed_until(watcher, "a/right.py")
        assert "a/wrong.py" not in noticed.names


async def test_reading_and_listing_is_no_change(tmp_path: Path) -> None:
    """Else our own looking at a changed file would be the next change."""
    (tmp_path / "a.py").write_text("x = 1\n")
    async with watching(tmp_path, "") as watcher:
        for _ in range(3):
            (tmp_path / "a.py").read_bytes()
            [*tmp_path.iterdir()]
            (tmp_path / "a.py").stat()
        (tmp_path / "b.py").touch()
        assert (await noticed_until(watcher, "b.py")).names == {"b.py"}


async def test_of_a_burst_so_much_is_kept_and_that_there_was_more() -> None:
    ear = ChangeQueue(is_followed=lambda folder: folder == "d")

    def hear_all() -> None:
        for number in range(1_001):
            ear.hear(f"d/f{number}.py")
            ear.hear(f"elsewhere/f{number}.py")

    await anyio.to_thread.run_sync(hear_all)
    noticed = ear.take()
    assert (len(noticed.names), noticed.is_cut) == (1_000, True)
    assert ear.take() == NoticedChanges()


async def test_what_the_kernel_dropped_is_told(tmp_path: Path) -> None:
    """The queue is full: watchdog tells each folder, and nobody else."""
    ears: list[InotifyFolders] = []

    def connect(root: str, ear: ChangeQueue, gone: Gone) -> Folders:
        ears.append(InotifyFolders(root, ear, gone=gone))
        return ears[0]

    async with watching(tmp_path, "", connect=connect) as watcher:
        overflow = InotifyEvent(WatchDescriptor(-1), Mask(InotifyConstants.IN_Q_OVERFLOW), 0, b"")
        inotify = ears[0]._inotify
        await anyio.to_thread.run_sync(inotify.handle_event, overflow)
        with anyio.fail_after(5):
            await watcher.wait()
        assert watcher.take().is_cut


async def test_the_root_being_gone_is_told(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    async with watching(root, "") as watcher:
        root.rmdir()
        with anyio.fail_after(5):
            await watcher.wait()
        assert watcher.take().is_cut


async def test_a_folder_that_may_not_be_read_is_left_out(tmp_path: Path) -> None:
    def refuse(path: bytes, *rest: object) -> WatchDescriptor:
        """As the library tells it to everybody but root."""
        return WatchDescriptor(-1)

    def connect(root: str, ear: ChangeQueue, gone: Gone) -> Folders:
        folders = InotifyFolders(root, ear, gone=gone)
        real = folders._inotify
        folders._inotify = SimpleNamespace(  # type: ignore[assignment]  # only what is called
            add_callback=refuse, remove_callbacks=real.remove_callbacks, stop=real.stop,
            join=real.join,
        )  # fmt: skip
        return folders

    async with watching(tmp_path, "", connect=connect) as watcher:
        assert watcher.state == WatchState(0, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is none anyway")
def test_where_the_c_library_has_no_inotify_the_server_starts_and_the_watcher_says_so() -> None:
    """As on macOS: the library refuses to be imported there."""
    program = """
import ctypes
whole = ctypes.CDLL
class Without:
    def __init__(self, library): self.library = library
    def __getattr__(self, name):
        if name.startswith("inotify"): raise AttributeError(name)
        return getattr(self.library, name)
ctypes.CDLL = lambda name=None, *more, **named: Without(whole(name, *more, **named))
import live_memory.wiring.building
from live_memory.adapters.watch import inotify_folders
try:
    inotify_folders("/", None, None)
except ImportError as problem:
    print(problem)
"""
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout == "no inotify in this C library\n", done.stderr
