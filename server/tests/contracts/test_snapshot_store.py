"""The contract of `SnapshotStore`, over every implementation."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from live_memory.adapters.store.snapshot_files import JsonFiles
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.memory.window import NoteWritten, Window, apply
from live_memory.core.notes.session_work import EditedFile, SessionRecord, SessionWork
from live_memory.core.saving.journal import EventApplied, HostNotice
from live_memory.core.saving.snapshot import Memory, Restored
from live_memory.core.values import Instant, RelPath, WorkspaceKey
from live_memory.ports import SnapshotStore
from tests.support.doubles.in_memory_store import InMemory

KEY, OTHER = WorkspaceKey.of_root("/w"), WorkspaceKey.of_root("/other")
FIRST, SECOND = NoteWritten("one", Instant(1.0)), NoteWritten("two", Instant(2.0))
ONE = apply(Window(), FIRST)
TWO = apply(ONE, SECOND)
HEARD = (FileInterest("/w/a.py", views=((),)), FileInterest("/w/b.py", is_edited=True))

Make = Callable[[Path], SnapshotStore]
STORES: dict[str, Make] = {"json_files": JsonFiles, "in_memory": lambda _folder: InMemory()}


@pytest.fixture(params=list(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SnapshotStore:
    return STORES[request.param](tmp_path / "workspaces")


async def test_nothing_saved_is_nothing_loaded(store: SnapshotStore) -> None:
    assert await store.load(KEY) == Restored()
    assert await store.roots() == {}


@pytest.mark.promise("nothing-lost")
async def test_the_last_saved_memory_is_the_one_that_comes_back(store: SnapshotStore) -> None:
    await store.load(KEY)
    await store.save(KEY, "/w", lambda: Memory(ONE))
    await store.save(KEY, "/w", lambda: Memory(TWO, HEARD))
    assert await store.load(KEY) == Restored(Memory(TWO, HEARD))


@pytest.mark.promise("nothing-lost")
async def test_what_was_appended_comes_back_without_any_save(store: SnapshotStore) -> None:
    await store.load(KEY)
    await store.append(KEY, "/w", [EventApplied(1, FIRST), HostNotice(HEARD[:1])])
    await store.append(KEY, "/w", [HostNotice(HEARD[1:]), EventApplied(2, SECOND)])
    assert await store.load(KEY) == Restored(Memory(TWO, HEARD), is_saved=False)
    assert await store.roots() == {KEY: "/w"}


@pytest.mark.promise("nothing-lost")
async def test_what_was_appended_comes_back_over_the_snapshot(store: SnapshotStore) -> None:
    await store.load(KEY)
    await store.append(KEY, "/w", [EventApplied(1, FIRST), HostNotice(HEARD[:1])])
    await store.save(KEY, "/w", lambda: Memory(ONE))
    await store.append(KEY, "/w", [EventApplied(2, SECOND), HostNotice(HEARD[1:])])
    assert (await store.load(KEY)).memory == Memory(TWO, HEARD[1:])
    # After a restart the journal goes on where it was.
    third = NoteWritten("three", Instant(3.0))
    await store.append(KEY, "/w", [EventApplied(3, third)])
    assert (await store.load(KEY)).memory == Memory(apply(TWO, third), HEARD[1:])


@pytest.mark.promise("nothing-lost")
async def test_what_is_in_the_snapshot_already_is_not_folded_twice(store: SnapshotStore) -> None:
    """An event that is recorded while the snapshot is taken can be in both."""
    await store.load(KEY)
    await store.save(KEY, "/w", lambda: Memory(TWO))
    await store.append(KEY, "/w", [EventApplied(1, FIRST), EventApplied(2, SECOND)])
    assert (await store.load(KEY)).memory == Memory(TWO)


@pytest.mark.promise("workspaces-never-mix")
async def test_workspaces_are_kept_and_forgotten_apart(store: SnapshotStore) -> None:
    for key, root, window in ((KEY, "/w", ONE), (OTHER, "/other", TWO)):
        await store.load(key)
        await store.save(key, root, lambda window=window: Memory(window))  # type: ignore[misc]
        await store.append(key, root, [HostNotice(HEARD)])
    assert await store.roots() == {KEY: "/w", OTHER: "/other"}
    assert (await store.saved()).keys() == {KEY, OTHER}
    await store.forget(KEY)
    assert (await store.saved()).keys() == {OTHER}
    assert await store.roots() == {OTHER: "/other"}
    assert await store.load(KEY) == Restored()
    assert (await store.load(OTHER)).memory == Memory(TWO, HEARD)


async def test_forgetting_what_is_not_there_is_no_error(store: SnapshotStore) -> None:
    await store.forget(KEY)


async def test_a_late_record_brings_nothing_back_that_was_forgotten(store: SnapshotStore) -> None:
    await store.load(KEY)
    await store.append(KEY, "/w", [EventApplied(1, FIRST)])
    await store.save(KEY, "/w", lambda: Memory(ONE))
    await store.forget(KEY)
    with pytest.raises(StoreUnavailable, match="forgotten"):
        await store.append(KEY, "/w", [EventApplied(2, SECOND)])
    with pytest.raises(StoreUnavailable, match="forgotten"):
        await store.save(KEY, "/w", lambda: Memory(TWO))
    assert await store.load(KEY) == Restored()
    assert await store.roots() == {}


async def test_what_is_written_anew_is_the_memory_and_takes_records_as_before(
    store: SnapshotStore,
) -> None:
    await store.load(KEY)
    await store.append(KEY, "/w", [EventApplied(1, FIRST)])
    await store.save(KEY, "/w", lambda: Memory(ONE))
    await store.rewrite(KEY, "/w", lambda: Memory(TWO))
    third = NoteWritten("three", Instant(3.0))
    await store.append(KEY, "/w", [EventApplied(3, third)])
    assert (await store.load(KEY)).memory == Memory(apply(TWO, third))
    await store.save(KEY, "/w", lambda: Memory(TWO))
    assert (await store.load(KEY)).memory == Memory(TWO)


# What is kept beside a memory.

WORK = SessionWork(3, "Why é?", (EditedFile(RelPath("a.py"), ((1, 2), (5, 9))),), ("make",))
SESSIONS = (
    SessionRecord("codex", "s", Instant(1.0), WORK),
    SessionRecord("gemini", "t", Instant(2.0), before=WORK, left="h1", ended_at=Instant(3.0)),
)


@pytest.mark.promise("nothing-lost")
async def test_what_was_noted_of_sessions_comes_back_until_it_is_forgotten(
    store: SnapshotStore,
) -> None:
    await store.load(KEY)
    assert tuple(await store.sessions(KEY)) == ()
    await store.keep_sessions(KEY, SESSIONS)
    await store.tell_open(KEY, [Instant(1.0), Instant(2.5)])
    await store.load(KEY)
    assert tuple(await store.sessions(KEY)) == SESSIONS
    assert await store.load(KEY) == Restored()
    await store.keep_sessions(KEY, SESSIONS[1:])
    assert tuple(await store.sessions(KEY)) == SESSIONS[1:]
    await store.forget(KEY)
    await store.load(KEY)
    assert tuple(await store.sessions(KEY)) == ()
    with pytest.raises(StoreUnavailable):
        await store.keep_sessions(OTHER, SESSIONS)


async def test_what_is_kept_beside_is_a_user_s_own_and_goes_with_the_last(tmp_path: Path) -> None:
    store, folder = JsonFiles(tmp_path), tmp_path / KEY.text
    await store.load(KEY)
    await store.keep_sessions(KEY, SESSIONS)
    await store.tell_open(KEY, [Instant(1.0), Instant(2.5)])
    assert json.loads((folder / "handoffs.json").read_text()) == [1.0, 2.5]
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    await store.keep_sessions(KEY, ())
    await store.tell_open(KEY, [])
    assert list(folder.iterdir()) == []


@pytest.mark.promise("no-overwrite-of-unreadable")
@pytest.mark.parametrize("junk", ["{", "[]", '{"sessions": [{}]}', '{"sessions": 5}', "\udcff"])
async def test_sessions_that_cannot_be_read_are_set_aside(tmp_path: Path, junk: str) -> None:
    store, file = JsonFiles(tmp_path), tmp_path / KEY.text / "sessions.json"
    file.parent.mkdir()
    file.write_text(junk, errors="surrogateescape")
    await store.load(KEY)
    assert tuple(await store.sessions(KEY)) == ()
    await store.keep_sessions(KEY, SESSIONS)
    assert tuple(await store.sessions(KEY)) == SESSIONS
    (aside,) = [one for one in file.parent.iterdir() if one != file]
    assert aside.read_bytes() == junk.encode(errors="surrogateescape")
