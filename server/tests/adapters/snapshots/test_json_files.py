"""What only a disk can do wrong: torn, damaged, foreign and newer files, a folder that is full."""

import errno
import json
import os
import random
import resource
import shutil
import stat
import time
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.store.snapshot_files import JsonFiles
from live_memory.core.errors import StoreUnavailable
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.memory.window import NoteWritten, Window, apply
from live_memory.core.saving.journal import EventApplied, HostNotice, begun_in
from live_memory.core.saving.snapshot import VERSION, Memory, Restored
from live_memory.core.values import Instant, WorkspaceKey

KEY = WorkspaceKey.of_root("/w")
V1 = Path(__file__).parents[2] / "core/saving/snapshot.v1.json"


def _window(count: int, text: str = "note") -> Window:
    window = Window()
    for n in range(count):
        window = apply(window, _note(n, text))
    return window


def _note(n: int, text: str = "note") -> NoteWritten:
    return NoteWritten(f"{text} {n}", Instant(float(n)))


HEARD = FileInterest("/w/a.py", views=((),))


async def _filled(folder: Path, *, text: str = "note") -> Path:
    """Two generations, the later with two records behind it: notes 0 to 3; the memory's folder."""
    store = JsonFiles(folder)
    await store.load(KEY)
    for count in (1, 2):
        await store.append(KEY, "/w", [EventApplied(count, _note(count - 1, text))])
        memory = Memory(_window(count, text))
        await store.save(KEY, "/w", lambda memory=memory: memory)  # type: ignore[misc]
    await store.append(KEY, "/w", [EventApplied(3, _note(2, text))])
    await store.append(KEY, "/w", [EventApplied(4, _note(3, text)), HostNotice((HEARD,))])
    return folder / KEY.text


FILES = {"snapshot.json", "snapshot.previous.json", "journal.jsonl", "journal.2.jsonl"}
WHOLE = Memory(_window(4), (HEARD,))


async def _loaded(folder: Path) -> Restored:
    """What a new process finds."""
    return await JsonFiles(folder).load(KEY)


async def test_what_is_written_anew_leaves_no_file_of_before(tmp_path: Path) -> None:
    folder = await _filled(tmp_path / "workspaces", text="canary")
    for name in ("snapshot.json.unreadable", "journal.1.unreadable", "snapshot.v3.json", "x.new"):
        (folder / name).write_text("canary")
    (folder / "version-3").mkdir()
    (folder / "version-3/journal.jsonl").write_text("canary")
    (folder / "index.sqlite-wal").write_text("the index")
    store = JsonFiles(folder.parent)
    await store.load(KEY)
    await store.append(KEY, "/w", [EventApplied(5, _note(4, "canary"))])
    await store.rewrite(KEY, "/w", lambda: Memory(_window(5, "kept")))
    kept = {"snapshot.json", "journal.jsonl", "index.sqlite-wal"}
    assert {file.name for file in folder.iterdir()} == kept
    assert not any(b"canary" in file.read_bytes() for file in folder.iterdir())
    assert (await _loaded(folder.parent)).memory == Memory(_window(5, "kept"))


async def test_what_is_written_anew_after_a_save_that_failed_is_whole(tmp_path: Path) -> None:
    """That save has left its journal open for the next one."""
    folder = await _filled(tmp_path / "workspaces", text="canary")
    store = JsonFiles(folder.parent)
    await store.load(KEY)
    (folder / "snapshot.json.new").mkdir()
    with pytest.raises(StoreUnavailable):
        await store.save(KEY, "/w", lambda: WHOLE)
    await store.append(KEY, "/w", [EventApplied(5, _note(4, "canary"))])
    (folder / "snapshot.json.new").rmdir()
    await store.rewrite(KEY, "/w", lambda: Memory(_window(5, "kept")))
    assert not any(b"canary" in file.read_bytes() for file in folder.iterdir())
    assert (await _loaded(folder.parent)).memory == Memory(_window(5, "kept"))


def _aside(folder: Path) -> list[Path]:
    return [file for file in folder.iterdir() if ".unreadable" in file.name]


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o022])
async def test_files_are_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        folder = await _filled(tmp_path / "workspaces")
    finally:
        os.umask(before)
    assert {file.name for file in folder.iterdir()} == FILES
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


@pytest.mark.promise("nothing-lost")
async def test_everything_comes_back_and_only_what_is_needed_is_kept(tmp_path: Path) -> None:
    folder = await _filled(tmp_path)
    assert await _loaded(tmp_path) == Restored(WHOLE, is_saved=False)
    assert {file.name for file in folder.iterdir()} == FILES
    store = JsonFiles(tmp_path)
    for _ in range(3):
        await store.load(KEY)
        await store.save(KEY, "/w", lambda: WHOLE)
    assert len(list(folder.iterdir())) == len(FILES)
    assert await _loaded(tmp_path) == Restored(WHOLE)


@pytest.mark.promise("nothing-lost", "no-overwrite-of-unreadable")
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\0" * 50, b"[]", b"[" * 200_000, b'{"version":1}', b'{"version":"2"}', b"{}"],
    ids=["empty", "torn", "zeros", "a list", "deep", "half", "a text as version", "nothing"],
)
async def test_a_damaged_snapshot_gives_way_to_the_one_before_with_its_journals(
    tmp_path: Path, data: bytes
) -> None:
    """S47, S50."""
    folder = await _filled(tmp_path)
    (folder / "snapshot.json").write_bytes(data)
    found = await _loaded(tmp_path)
    assert found.memory == WHOLE
    (problem,) = found.problems
    assert "snapshot.json" in problem
    assert "unreadable" in problem
    assert (folder / "snapshot.json.unreadable").read_bytes() == data
    assert await _loaded(tmp_path) == Restored(WHOLE, is_saved=False)
    store = JsonFiles(tmp_path)
    await store.load(KEY)
    await store.save(KEY, "/w", lambda: WHOLE)
    assert (folder / "snapshot.json.unreadable").read_bytes() == data
    assert await _loaded(tmp_path) == Restored(WHOLE)


@pytest.mark.promise("no-overwrite-of-unreadable")
@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.previous.json", "journal.jsonl"])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large"])
async def test_what_is_no_file_of_ours_is_set_aside_and_never_followed(
    tmp_path: Path, name: str, kind: str
) -> None:
    """S47: started in no time, and what a link leads to is as it was."""
    folder = await _filled(tmp_path / "workspaces")
    # What it leads to could be read, and is another's.
    stranger = await _filled(tmp_path / "stranger", text="a stranger's note")
    target = stranger / name
    theirs = target.read_bytes()
    (folder / name).unlink()
    if kind == "link":
        (folder / name).symlink_to(target)
    elif kind == "folder":
        (folder / name / "inner").mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(folder / name)
    else:
        with (folder / name).open("wb") as file:
            file.truncate(100 * 1024 * 1024)
    began = time.monotonic()
    found = await _loaded(tmp_path / "workspaces")
    assert time.monotonic() - began < 5
    expected = Memory(_window(2)) if name == "journal.jsonl" else WHOLE
    assert found.memory == expected
    assert len(found.problems) == 1
    store = JsonFiles(tmp_path / "workspaces")
    await store.load(KEY)
    await store.save(KEY, "/w", lambda: WHOLE)
    assert (await _loaded(tmp_path / "workspaces")).memory == WHOLE
    assert target.read_bytes() == theirs
    assert os.path.lexists(folder / f"{name}.unreadable")


@pytest.mark.promise("nothing-lost", "no-overwrite-of-unreadable")
async def test_a_cut_anywhere_loses_at_most_what_is_cut_off(tmp_path: Path) -> None:
    """S47: both files, at each 5 %."""
    folder = await _filled(tmp_path / "whole")
    allowed = [Memory(_window(count)) for count in (2, 3, 4)] + [WHOLE]
    for name in ("snapshot.json", "journal.jsonl"):
        data = (folder / name).read_bytes().rstrip(b"\n")
        for share in range(0, 100, 5):
            cut = tmp_path / f"{name}.{share}"
            shutil.copytree(tmp_path / "whole", cut)
            (cut / KEY.text / name).write_bytes(data[: len(data) * share // 100])
            found = await _loaded(cut)
            assert found.memory in allowed
            assert found.memory == WHOLE or name == "journal.jsonl"
            assert bool(found.problems)
            assert len(_aside(cut / KEY.text)) == 1


@pytest.mark.promise("nothing-lost", "no-overwrite-of-unreadable")
async def test_flipped_bits_are_noticed_and_never_taken_for_true(tmp_path: Path) -> None:
    """S47: 200 of them, seeded, over all files."""
    folder = await _filled(tmp_path / "whole")
    allowed = [Memory(_window(count)) for count in (1, 2, 3, 4)] + [WHOLE]
    chance = random.Random(47)
    names = sorted(FILES)
    for number in range(200):
        here = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", here)
        file = here / KEY.text / chance.choice(names)
        data = bytearray(file.read_bytes())
        used = len(data.rstrip(b"\n"))
        data[chance.randrange(used)] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        found = await _loaded(here)
        assert found.memory in allowed
        if file.name != "journal.jsonl":
            assert found.memory == WHOLE
        shutil.rmtree(here)
    assert folder.exists()


@pytest.mark.promise("no-overwrite-of-unreadable")
async def test_a_torn_tail_is_kept_aside_and_what_comes_next_is_not_lost(tmp_path: Path) -> None:
    folder = await _filled(tmp_path)
    data = (folder / "journal.jsonl").read_bytes().rstrip(b"\n")
    (folder / "journal.jsonl").write_bytes(data[:-20])
    store = JsonFiles(tmp_path)
    found = await store.load(KEY)
    assert found.memory == Memory(_window(4))
    assert "to its end" in found.problems[0]
    await store.append(KEY, "/w", [EventApplied(5, _note(4))])
    assert (await _loaded(tmp_path)).memory == Memory(_window(5))
    await store.save(KEY, "/w", lambda: Memory(_window(5)))
    await store.save(KEY, "/w", lambda: Memory(_window(5)))
    (aside,) = _aside(folder)
    assert aside.read_bytes() == data[:-20]
    assert await _loaded(tmp_path) == Restored(Memory(_window(5)))


async def test_what_is_set_aside_does_not_pile_up(tmp_path: Path) -> None:
    folder = await _filled(tmp_path)
    for number in range(20):
        (folder / "snapshot.json").write_text(f"torn {number}")
        assert (await _loaded(tmp_path)).memory == WHOLE
    kept = {file.read_text() for file in _aside(folder)}
    assert kept == {f"torn {number}" for number in range(12, 20)}


@pytest.mark.promise("no-overwrite-of-unreadable")
@pytest.mark.parametrize("name", ["snapshot.json", "journal.jsonl"])
async def test_the_memory_of_a_newer_version_stays_untouched_and_ours_is_kept_apart(
    tmp_path: Path, name: str
) -> None:
    """S50: also after a restart, and the newer version finds its own again."""
    import zlib

    folder = tmp_path / KEY.text
    folder.mkdir()
    begun = b'{"kind":"begun","version":%d,"generation":9,"root":"/w"}' % (VERSION + 1)
    line = b'{"crc":"%08x","size":%d,"record":%b}\n' % (zlib.crc32(begun), len(begun), begun)
    newer = (
        line
        if name == "journal.jsonl"
        else json.dumps({"version": VERSION + 1, "root": "/w", "windows": []}).encode()
    )
    (folder / name).write_bytes(newer)
    for count in range(3):
        store = JsonFiles(tmp_path)
        found = await store.load(KEY)
        assert found.memory == (Memory(_window(count)) if count else None)
        assert f"version {VERSION + 1}" in found.problems[0]
        await store.append(KEY, "/w", [EventApplied(count + 1, _note(count))])
        if count == 1:
            await store.save(KEY, "/w", lambda: Memory(_window(2)))
        assert (folder / name).read_bytes() == newer
    assert sorted(file.name for file in folder.iterdir()) == [name, f"version-{VERSION}"]
    assert await JsonFiles(tmp_path).roots() == ({KEY: "/w"})
    await JsonFiles(tmp_path).forget(KEY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("nothing-lost")
async def test_an_older_snapshot_is_migrated_and_its_original_kept(tmp_path: Path) -> None:
    """S50, C07."""
    folder = tmp_path / KEY.text
    folder.mkdir()
    shutil.copy(V1, folder / "snapshot.json")
    store = JsonFiles(tmp_path)
    found = (await store.load(KEY)).memory
    assert found is not None
    assert (len(found.window.entries), len(found.window.ledger.facts)) == (5, 2)
    for _ in range(3):
        await store.save(KEY, "/app", lambda: found)
    assert (await _loaded(tmp_path)).memory == found
    assert (folder / "snapshot.v1.json").read_bytes() == V1.read_bytes()


@pytest.mark.promise("nothing-lost")
async def test_a_save_that_was_cut_short_leaves_the_last_one_and_no_rest(tmp_path: Path) -> None:
    folder = await _filled(tmp_path)
    (folder / "snapshot.json.new").write_text("half")
    (folder / "journal.jsonl.new").write_text("half")
    assert (await _loaded(tmp_path)).memory == WHOLE
    assert list(folder.glob("*.new")) == []


async def test_what_is_left_of_a_memory_that_was_being_forgotten_stays_forgotten(
    tmp_path: Path,
) -> None:
    folder = await _filled(tmp_path)
    folder.rename(folder.with_name(f"{KEY.text}.forgotten"))
    assert await JsonFiles(tmp_path).roots() == {}
    await _filled(tmp_path)
    await JsonFiles(tmp_path).forget(KEY)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("nothing-lost")
async def test_a_file_that_may_grow_no_more_is_reported_and_heals_with_a_save(
    tmp_path: Path,
) -> None:
    """S46, EFBIG: the memory on disk is as it was, and no half line is left."""
    folder = await _filled(tmp_path)
    store = JsonFiles(tmp_path)
    await store.load(KEY)
    large = HostNotice(tuple(FileInterest(f"/w/{n}" + "x" * 500) for n in range(20)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(StoreUnavailable, match="File too large"):
            await store.append(KEY, "/w", [large])
        with pytest.raises(StoreUnavailable, match="before the next snapshot"):
            await store.append(KEY, "/w", [EventApplied(5, _note(4))])
        with pytest.raises(StoreUnavailable, match="File too large"):
            await store.save(KEY, "/w", lambda: Memory(_window(100)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert await _loaded(tmp_path) == Restored(WHOLE, is_saved=False)
    assert list(folder.glob("*.new")) == []
    await store.save(KEY, "/w", lambda: Memory(_window(5)))
    await store.append(KEY, "/w", [EventApplied(6, _note(5)), large])
    assert await _loaded(tmp_path) == Restored(Memory(_window(6), large.subjects), is_saved=False)


@pytest.mark.promise("nothing-lost")
async def test_a_line_that_fits_is_kept_though_the_room_for_more_is_not_there(
    tmp_path: Path,
) -> None:
    store = JsonFiles(tmp_path)
    await store.load(KEY)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        for n in range(3):
            await store.append(KEY, "/w", [EventApplied(n + 1, _note(n))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (await _loaded(tmp_path)).memory == Memory(_window(3))


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize("how", ["removed", "moved away"])
async def test_a_data_folder_that_vanishes_is_noticed_and_made_again(
    tmp_path: Path, how: str
) -> None:
    folder = await _filled(tmp_path / "workspaces")
    store = JsonFiles(tmp_path / "workspaces")
    await store.load(KEY)
    await store.append(KEY, "/w", [EventApplied(5, _note(4))])
    if how == "removed":
        shutil.rmtree(folder.parent)
    else:
        folder.parent.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable):
        await store.append(KEY, "/w", [EventApplied(6, _note(5))])
    await store.save(KEY, "/w", lambda: Memory(_window(6)))
    await store.append(KEY, "/w", [EventApplied(7, _note(6))])
    assert (await _loaded(tmp_path / "workspaces")).memory == Memory(_window(7))


async def test_a_data_folder_that_is_none_is_reported(tmp_path: Path) -> None:
    (tmp_path / "workspaces").write_text("a file where the folder belongs")
    store = JsonFiles(tmp_path / "workspaces")
    assert await store.load(KEY) == Restored()
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await store.save(KEY, "/w", Memory)
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await store.append(KEY, "/w", [HostNotice(())])
    await store.forget(KEY)
    assert (tmp_path / "workspaces").read_text() == "a file where the folder belongs"


@pytest.mark.promise("no-overwrite-of-unreadable")
@pytest.mark.parametrize("name", ["snapshot.json", "snapshot.previous.json", "journal.2.jsonl"])
@pytest.mark.parametrize("failure", [errno.EACCES, errno.EIO])
async def test_what_the_system_does_not_give_is_told_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, failure: int
) -> None:
    """A memory without its latest part must not take the place of the whole one."""
    folder = await _filled(tmp_path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    opened = os.open

    def failing(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if Path(path).name == name:
            raise OSError(failure, os.strerror(failure))
        return opened(path, flags, mode)

    store = JsonFiles(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        found = await store.load(KEY)
    assert found.memory is None
    assert os.strerror(failure) in found.problems[0]
    with pytest.raises(StoreUnavailable, match=os.strerror(failure)):
        await store.append(KEY, "/w", [HostNotice(())])
    with pytest.raises(StoreUnavailable, match=os.strerror(failure)):
        await store.save(KEY, "/w", Memory)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert (await store.load(KEY)).memory == WHOLE
    await store.append(KEY, "/w", [EventApplied(5, _note(4))])


async def test_a_memory_larger_than_is_ever_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from live_memory.adapters.store import memory_folder

    folder = await _filled(tmp_path)
    monkeypatch.setattr(memory_folder, "LARGEST_SNAPSHOT", 1_000)
    store = JsonFiles(tmp_path)
    await store.load(KEY)
    with pytest.raises(StoreUnavailable, match="more than are ever read"):
        await store.save(KEY, "/w", lambda: Memory(_window(100)))
    assert (await _loaded(tmp_path)).memory == WHOLE
    assert list(folder.glob("*.new")) == []


@pytest.mark.promise("nothing-lost")
async def test_a_journal_cut_at_every_byte_keeps_every_whole_record(tmp_path: Path) -> None:
    """A crash at any byte: what was acknowledged before it is there."""
    folder = await _filled(tmp_path / "whole")
    data = (folder / "journal.jsonl").read_bytes().rstrip(b"\n") + b"\n"
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")][1:]
    file = folder / "journal.jsonl"
    for size in range(len(data) + 1):
        for aside in _aside(folder):
            aside.unlink()
        if not file.exists():
            file.touch()
        file.write_bytes(data[:size])
        whole = sum(end <= size for end in ends)
        found = (await _loaded(tmp_path / "whole")).memory
        assert found == (WHOLE if whole == 3 else Memory(_window(2 + whole)))


@pytest.mark.promise("workspaces-never-mix")
async def test_many_memories_saved_at_the_same_time_never_mix(tmp_path: Path) -> None:
    """C08: 8 workspaces, 25 saves each with records in between, all at once."""
    store = JsonFiles(tmp_path)
    keys = {WorkspaceKey.of_root(f"/w{n}"): f"/w{n}" for n in range(8)}

    async def keep(key: WorkspaceKey, root: str) -> None:
        window = Window()
        await store.load(key)
        for n in range(25):
            note = NoteWritten(f"{root} {n}", Instant(float(n)))
            window = apply(window, note)
            await store.append(key, root, [EventApplied(window.revision, note)])
            await store.save(key, root, lambda window=window: Memory(window))  # type: ignore[misc]

    async with anyio.create_task_group() as tasks:
        for key, root in keys.items():
            tasks.start_soon(keep, key, root)
    again = JsonFiles(tmp_path)
    assert await again.roots() == keys
    for key, root in keys.items():
        memory = (await again.load(key)).memory
        assert memory is not None
        texts = [
            e.content.text for e in memory.window.entries if isinstance(e.content, NoteWritten)
        ]
        assert texts == [f"{root} {n}" for n in range(25)]


@pytest.mark.promise("nothing-lost")
async def test_the_memory_is_taken_once_its_journal_has_begun(tmp_path: Path) -> None:
    """Else what is recorded in between would be in neither."""
    folder = await _filled(tmp_path)
    begun: list[int] = []

    def taken() -> Memory:
        begun.append(begun_in((folder / "journal.jsonl").read_bytes()).generation)
        return WHOLE

    store = JsonFiles(tmp_path)
    await store.load(KEY)
    await store.save(KEY, "/w", taken)
    assert [json.loads((folder / "snapshot.json").read_bytes())["generation"]] == begun
