"""Git is not asked again while it would say the same, and always where it might not."""

import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from live_memory.adapters.workspace.git_history import Git
from live_memory.adapters.workspace.git_ignore import UserExcludes
from live_memory.adapters.workspace.git_state import GitState
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.adapters.workspace.safe_open import Opening, SafeRoot
from tests.contracts.sandbox_worlds import git, make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.real("git")]

FILES = {
    ".gitignore": b"*.o\nbuild/\n",
    "a.py": b"one\n",
    "pkg/deep/b.py": b"two\n",
    "pkg/.gitignore": b"*.log\n",
}
_LATER_NS = 60_000_000_000


class Asked:
    """Git over one repository, and how often it was asked for its names."""

    def __init__(self, root: Path, home: str = "") -> None:
        programs = find_programs(os.environ["PATH"])
        self.safe = SafeRoot(str(root), Opening.best())
        self.git = Git(self.safe, Runner(), programs.git, UserExcludes(home))
        self.standing = GitState(self.git, str(root))

    async def names(self) -> bytes:
        return (await self.git.names()).said

    async def found_same(self, said: bytes, *, after_ns: int = _LATER_NS) -> None:
        """As if git had been asked so much later, when all that is there had long been there."""
        asked_ns = time.time_ns() + after_ns
        await to_thread.run_sync(self.standing.found_same, said, asked_ns)

    async def stands(self, said: bytes) -> bool:
        return await to_thread.run_sync(self.standing.is_of, said, None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = (tmp_path / "ws").resolve()
    make_repository(folder, [("all", FILES)])
    for name in ("empty/below", "build/x", "out", "nested", ":(glob)odd*", "a*"):
        (folder / name).mkdir(parents=True)
    (folder / "out" / "c.o").write_bytes(b"\0")
    git(folder / "nested", "init", "-q")
    return folder


@pytest.fixture
async def asked(root: Path) -> AsyncIterator[Asked]:
    found = Asked(root, str(root.parent / "home"))
    yield found
    await found.git.aclose()
    found.safe.close()


async def _tick(folder: Path) -> None:
    """Let the file system's clock move on, so that the next change has another time."""
    probe = folder / "probe"
    probe.write_bytes(b"")
    then = probe.stat().st_ctime_ns
    with anyio.fail_after(5):
        while probe.stat().st_ctime_ns == then:
            await anyio.lowlevel.checkpoint()
            probe.write_bytes(b"")
    probe.unlink()


def _touch(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_bytes(b"x\n")


def _made(name: str) -> Callable[[Path], object]:
    def make(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x\n")

    return make


def _excluded(root: Path) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("a*\nnever\n")


def _no_longer_apart(root: Path) -> None:
    (root / "nested/.git/HEAD").unlink()


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file beside others": _touch("new.py"),
    "a file in a folder that holds none": _touch("empty/new.py"),
    "a file below a folder that holds none": _touch("empty/below/new.py"),
    "a file beside ignored ones": _touch("out/new.py"),
    "a file in a folder of an odd name": _touch(":(glob)odd*/new.py"),
    "a file in a new folder": _made("fresh/er/new.py"),
    "a rule in place": _touch(".gitignore"),
    "a rule in place further down": _touch("pkg/.gitignore"),
    "a new file of rules": _touch("empty/.gitignore"),
    "the repository's own rules": _excluded,
    "the user's own rules": _made("../home/.config/git/ignore"),
    "what git tracks": lambda root: git(root, "rm", "-q", "--cached", "a.py"),
    "an ignored file that is tracked": lambda root: git(root, "add", "-f", "out/c.o"),
    "a name": lambda root: (root / "a.py").rename(root / "z.py"),
    "a folder's name": lambda root: (root / "pkg/deep").rename(root / "pkg/deeper"),
    "what is a repository of its own": _no_longer_apart,
    "an ignored folder by another name": lambda root: (root / "build").rename(root / "built"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_nothing_stands_once_git_might_say_something_else(
    asked: Asked, root: Path, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    said = await asked.names()
    await asked.found_same(said)
    assert await asked.stands(said)
    await _tick(tmp_path)
    change(root)
    assert not await asked.stands(said)


UNCHANGED: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a file's bytes": _touch("a.py"),
    "a file in an ignored folder": _touch("build/x/y.py"),
    "a lock of git's": _touch(".git/index.lock"),
}


@pytest.mark.parametrize("change", UNCHANGED.values(), ids=UNCHANGED)
async def test_what_git_says_stands_whatever_else_changes(
    asked: Asked, root: Path, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    said = await asked.names()
    await asked.found_same(said)
    await _tick(tmp_path)
    change(root)
    assert await asked.stands(said)
    assert said == await asked.names()


async def test_nothing_stands_before_git_said_it_twice(asked: Asked) -> None:
    assert not await asked.stands(await asked.names())


async def test_nothing_stands_that_other_words_of_git_rest_on(asked: Asked) -> None:
    said = await asked.names()
    await asked.found_same(said)
    assert not await asked.stands(said + b"more\0")


async def test_what_changed_just_before_git_was_asked_may_have_changed_since(asked: Asked) -> None:
    """Two changes in a tick of the clock leave equal times."""
    said = await asked.names()
    await asked.found_same(said, after_ns=0)
    assert not await asked.stands(said)
    await asked.found_same(said)
    assert await asked.stands(said)


async def test_git_data_that_are_refused_stand_for_nothing(asked: Asked, root: Path) -> None:
    said = await asked.names()
    await asked.found_same(said)
    (root / ".git/HEAD").write_bytes(b"nonsense\n")
    assert not await asked.stands(said)


async def test_more_folders_than_are_worth_looking_at_leave_git_to_be_asked(
    asked: Asked, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("live_memory.adapters.workspace.git_state._MOST_FOLDERS", 3)
    said = await asked.names()
    await asked.found_same(said)
    assert not await asked.stands(said)
