"""A repository that takes another one's path gets none of its answers; the same one gets all."""

import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from live_memory.adapters.store.snapshot_files import JsonFiles
from live_memory.core.memory.window import NoteWritten, Window, apply
from live_memory.core.reading.lookup import History, HistoryQuery
from live_memory.core.saving.snapshot import Beginning, Memory
from live_memory.core.values import Instant
from live_memory.flow.persist import beginning_of, restored
from live_memory.ports import SnapshotStore
from tests.contracts.sandbox_worlds import git, make_repository, opened_on_disk
from tests.support.doubles.in_memory_sandbox import InMemorySandbox
from tests.support.doubles.in_memory_store import InMemory
from tests.support.memory import APP, House, identity

pytestmark = [pytest.mark.real("git")]

HERE = identity("/app")
KNOWN = apply(Window(), NoteWritten("one", Instant(1.0)))
LATER = {"GIT_AUTHOR_DATE": "1800000000 +0000"}
PAST = [("one", {"a.py": b"A = 1\n"}), ("two", {"a.py": b"A = 2\n"})]


async def _begun(root: Path) -> Beginning | None:
    async with opened_on_disk(root) as sandbox:
        return await beginning_of(sandbox)


async def _kept(store: SnapshotStore, root: Path) -> tuple[bool, tuple[str, ...]]:
    """Whether the note is known when this repository is opened, and what is said."""
    async with opened_on_disk(root) as sandbox:
        found = await restored(store, HERE, sandbox)
    return found.memory is not None and found.memory.window == KNOWN, found.problems


async def _remembered(store: SnapshotStore, beginning: Beginning | None) -> None:
    await store.load(HERE.key)
    await store.save(HERE.key, HERE.root, lambda: Memory(KNOWN, beginning=beginning))


def _another(root: Path, _: Path) -> None:
    shutil.rmtree(root)
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "other", env=LATER)


def _begun_anew(root: Path, _: Path) -> None:
    shutil.rmtree(root / ".git")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "squashed", env=LATER)


def _cloned_from_another(root: Path, spare: Path) -> None:
    _another(spare, spare)
    git(spare, "commit", "-q", "--allow-empty", "-m", "more", env=LATER)
    shutil.rmtree(root)
    git(root.parent, "clone", "-q", f"file://{spare}", root.name)


def _cloned_again(root: Path, spare: Path) -> None:
    shutil.rmtree(spare)
    root.rename(spare)
    git(spare, "commit", "-q", "--allow-empty", "-m", "more", env=LATER)
    git(root.parent, "clone", "-q", f"file://{spare}", root.name)


def _cloned_shallow(root: Path, spare: Path) -> None:
    shutil.rmtree(spare)
    root.rename(spare)
    git(root.parent, "clone", "-q", "--depth=1", f"file://{spare}", root.name)


def _rewritten(root: Path, spare: Path) -> None:
    """Every id is another one, and nothing of the old history is left."""
    git(root, "-c", "core.editor=true", "rebase", "-q", "--root", "-x", "git commit -q --amend -sn")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")


def _on_a_branch_of_its_own(root: Path, _: Path) -> None:
    git(root, "checkout", "-q", "--orphan", "pages")
    git(root, "commit", "-q", "--allow-empty", "-m", "pages", env=LATER)


def _without_git(root: Path, _: Path) -> None:
    shutil.rmtree(root / ".git")


def _without_commits(root: Path, _: Path) -> None:
    shutil.rmtree(root / ".git")
    git(root, "init", "-q")


def _damaged(root: Path, _: Path) -> None:
    shutil.rmtree(root / ".git" / "objects")
    (root / ".git" / "objects").mkdir()


Change = Callable[[Path, Path], None]


@pytest.mark.promise("workspaces-never-mix")
@pytest.mark.parametrize("change", [_another, _begun_anew, _cloned_from_another])
async def test_another_repository_begins_without_memory(tmp_path: Path, change: Change) -> None:
    """Acceptance S31: the old memory is set aside and said, and it comes back with its own."""
    root, first, store = tmp_path / "ws", tmp_path / "first", JsonFiles(tmp_path / "kept")
    make_repository(root, PAST)
    begun = await _begun(root)
    assert begun is not None
    await _remembered(store, begun)
    shutil.copytree(root, first)
    (tmp_path / "spare").mkdir()
    change(root, tmp_path / "spare")

    is_known, said = await _kept(store, root)
    assert not is_known
    assert len(said) == 1
    assert f"is kept in {tmp_path / 'kept'}" in said[0]
    # Opened once more it is no news, and the first one finds its own.
    assert await _kept(store, root) == (False, ())
    assert (await _kept(store, first))[0]
    assert not (await _kept(store, root))[0]


@pytest.mark.promise("nothing-lost")
@pytest.mark.parametrize(
    "change",
    [
        _cloned_again,
        _cloned_shallow,
        _rewritten,
        _on_a_branch_of_its_own,
        _without_git,
        _without_commits,
        _damaged,
    ],
)
async def test_the_same_repository_keeps_its_memory(tmp_path: Path, change: Change) -> None:
    root, store = tmp_path / "ws", InMemory()
    make_repository(root, PAST)
    begun = await _begun(root)
    assert begun is not None
    await _remembered(store, begun)
    (tmp_path / "spare").mkdir()
    change(root, tmp_path / "spare")
    assert await _kept(store, root) == (True, ())
    if change is _rewritten:
        now = await _begun(root)
        assert now is not None
        assert (now.id != begun.id, now.at) == (True, begun.at)


@pytest.mark.promise("nothing-lost")
async def test_a_folder_that_becomes_a_repository_keeps_its_memory(tmp_path: Path) -> None:
    """Nothing was known of its beginning, as in what earlier versions saved."""
    root, store = tmp_path / "ws", InMemory()
    root.mkdir()
    assert await _begun(root) is None
    await _remembered(store, None)
    make_repository(root, PAST)
    assert await _kept(store, root) == (True, ())


async def test_a_shallow_clone_does_not_say_where_it_began(tmp_path: Path) -> None:
    make_repository(tmp_path / "ws", PAST)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{tmp_path / 'ws'}", "clone")
    assert await _begun(tmp_path / "clone") is None


async def test_a_workspace_that_is_ended_while_it_opens_lets_go_of_its_folder() -> None:
    class Hanging(InMemorySandbox):
        async def history(self, query: HistoryQuery) -> History:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

    asked, sandbox = anyio.Event(), Hanging(APP)
    house = House({"/app": sandbox})
    await _remembered(house.store, Beginning("ab" * 20, 1.0))
    async with house.hub() as hub, anyio.create_task_group() as tasks:
        tasks.start_soon(hub.opened, "/app")
        await asked.wait()
        tasks.cancel_scope.cancel()
    assert sandbox.is_closed


async def test_forgetting_takes_what_was_set_aside_too(tmp_path: Path) -> None:
    store = JsonFiles(tmp_path)
    await _remembered(store, None)
    await store.exchange(HERE.key, kept="a" * 12, wanted="b" * 12)
    assert await store.roots() == {HERE.key: HERE.root}
    await store.forget(HERE.key)
    assert await store.roots() == {}
    assert list(tmp_path.iterdir()) == []
