"""The contract of `SnapshotStore`, over every implementation, and what only disk can do wrong."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from live_memory.adapters.snapshots.in_memory import InMemory
from live_memory.adapters.snapshots.json_files import JsonFiles
from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable, StoreUnavailable
from live_memory.core.memory.events import NoteWritten
from live_memory.core.memory.window import Window, apply
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.ports import SnapshotStore

KEY, OTHER = WorkspaceKey.of_root("/w"), WorkspaceKey.of_root("/other")
ONE = apply(Window(), NoteWritten("one", Instant(1.0)))
TWO = apply(ONE, NoteWritten("two", Instant(2.0)))

Make = Callable[[Path], SnapshotStore]
STORES: dict[str, Make] = {"json_files": JsonFiles, "in_memory": lambda _folder: InMemory()}


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SnapshotStore:
    return STORES[request.param](tmp_path / "workspaces")


async def test_nothing_saved_is_nothing_loaded(store: SnapshotStore) -> None:
    assert await store.load(KEY) is None
    assert await store.roots() == {}


@pytest.mark.promise("nothing-lost")
async def test_the_last_saved_window_is_the_one_that_comes_back(store: SnapshotStore) -> None:
    await store.save(KEY, "/w", ONE)
    await store.save(KEY, "/w", TWO)
    assert await store.load(KEY) == TWO


@pytest.mark.promise("workspaces-never-mix")
async def test_workspaces_are_kept_and_forgotten_apart(store: SnapshotStore) -> None:
    await store.save(KEY, "/w", ONE)
    await store.save(OTHER, "/other", TWO)
    assert await store.roots() == {KEY: "/w", OTHER: "/other"}
    await store.forget(KEY)
    assert await store.load(KEY) is None
    assert await store.load(OTHER) == TWO


async def test_forgetting_what_is_not_there_is_no_error(store: SnapshotStore) -> None:
    await store.forget(KEY)


def _file(folder: Path) -> Path:
    return folder / KEY.text / "snapshot.json"


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o022])
async def test_files_are_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        await JsonFiles(tmp_path / "workspaces").save(KEY, "/w", ONE)
    finally:
        os.umask(before)
    file = _file(tmp_path / "workspaces")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.parent.parent.stat().st_mode) == 0o700
    assert [f.name for f in file.parent.iterdir()] == ["snapshot.json"]


@pytest.mark.promise("no-overwrite-of-unreadable")
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\0" * 50, b"[]", b"[" * 200_000, b'{"version": 1}'],
    ids=["empty", "torn", "zeros", "a list", "deep", "half"],
)
async def test_an_unreadable_snapshot_is_set_aside_once_and_named(
    tmp_path: Path, data: bytes
) -> None:
    store = JsonFiles(tmp_path)
    file = _file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    with pytest.raises(SnapshotUnreadable, match="unreadable"):
        await store.load(KEY)
    assert await store.load(KEY) is None
    await store.save(KEY, "/w", ONE)
    assert file.with_name("snapshot.json.unreadable").read_bytes() == data


@pytest.mark.promise("no-overwrite-of-unreadable")
async def test_a_newer_snapshot_is_kept_beside_every_time(tmp_path: Path) -> None:
    store = JsonFiles(tmp_path)
    file = _file(tmp_path)
    file.parent.mkdir(parents=True)
    for number in range(3):
        file.write_text(f'{{"version": {99 + number}}}')
        with pytest.raises(SnapshotTooNew, match=str(99 + number)):
            await store.load(KEY)
    assert sorted(f.read_text() for f in file.parent.iterdir()) == [
        '{"version": 100}',
        '{"version": 101}',
        '{"version": 99}',
    ]


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("size", range(0, 600, 40))
async def test_a_save_cut_at_any_byte_leaves_the_last_snapshot(tmp_path: Path, size: int) -> None:
    store = JsonFiles(tmp_path)
    await store.save(KEY, "/w", ONE)
    _file(tmp_path).with_name("snapshot.json.new").write_bytes(_file(tmp_path).read_bytes()[:size])
    assert await store.load(KEY) == ONE
    await store.save(KEY, "/w", TWO)
    assert await store.load(KEY) == TWO


async def test_a_data_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "workspaces").write_text("a file where the folder belongs")
    store = JsonFiles(tmp_path / "workspaces")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await store.save(KEY, "/w", ONE)
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        await store.load(KEY)
    with pytest.raises(StoreUnavailable, match="cannot be removed"):
        await store.forget(KEY)
