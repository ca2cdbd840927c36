"""Workspaces for tests: the same files and commits on disk, opened in every way, and in memory."""

import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from hashlib import sha1
from pathlib import Path
from shutil import which

from live_memory.adapters.workspace.disk import DiskSandbox
from live_memory.adapters.workspace.ripgrep import Programs, Runner, find_programs
from live_memory.adapters.workspace.safe_open import Opening
from live_memory.core.reading.lookup import Commit
from live_memory.ports import Sandbox
from tests.support.doubles.in_memory_sandbox import InMemorySandbox, PastCommit

__all__ = ["DISK_WAYS", "Past", "Way", "git", "make_repository", "opened_on_disk", "opened_world"]

# A subject, and every file the commit holds.
Past = tuple[str, Mapping[str, bytes]]

_FIRST_COMMIT_AT = 1_700_000_000
_IDENTITY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Way(StrEnum):
    KERNEL = "openat2"
    WALK = "component walk"
    NO_RG = "without ripgrep"
    MEMORY = "in memory"


DISK_WAYS = (Way.KERNEL, Way.WALK, Way.NO_RG)


def programs_for(way: Way) -> Programs:
    found = find_programs(os.environ.get("PATH", ""))
    return Programs(git=found.git, rg=None if way is Way.NO_RG else found.rg)


@asynccontextmanager
async def opened_on_disk(root: Path, way: Way = Way.KERNEL) -> AsyncIterator[DiskSandbox]:
    """The real sandbox over a folder."""
    opening = Opening.WALK if way is Way.WALK else Opening.best()
    sandbox = DiskSandbox(
        str(root.resolve()), runner=Runner(), programs=programs_for(way), opening=opening
    )
    try:
        yield sandbox
    finally:
        await sandbox.aclose()


@asynccontextmanager
async def opened_world(
    way: Way, folder: Path, files: Mapping[str, bytes], commits: Sequence[Past] | None
) -> AsyncIterator[Sandbox]:
    """A sandbox over these files, behind which lie these commits (none: no git)."""
    if way is Way.MEMORY:
        yield InMemorySandbox(files, commits=None if commits is None else _past(commits))
        return
    root = folder / "ws"
    root.mkdir()
    if commits is not None:
        make_repository(root, commits)
    for path in [*root.iterdir()]:
        if path.name != ".git":
            subprocess.run(["rm", "-r", str(path)], check=True)
    write(root, files)
    async with opened_on_disk(root, way) as sandbox:
        yield sandbox


def write(root: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def make_repository(root: Path, commits: Sequence[Past], *, options: Sequence[str] = ()) -> None:
    """A git repository with these commits, a minute apart, and their last files on disk."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main", *options)
    for number, (subject, files) in enumerate(commits):
        for name in git(root, "ls-files", "-z").split("\0")[:-1]:
            (root / name).unlink(missing_ok=True)
        write(root, files)
        git(root, "add", "-A")
        at = f"{_FIRST_COMMIT_AT + 60 * number} +0000"
        dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        git(root, "commit", "-q", "--allow-empty", "-m", subject, env=dates)


def git(
    root: Path, *arguments: str, env: Mapping[str, str] | None = None, must_work: bool = True
) -> str:
    """Run plain git, as a developer does."""
    done = subprocess.run(
        [which("git") or "git", *arguments],
        cwd=root,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"} | _IDENTITY | dict(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=must_work,
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def _past(commits: Sequence[Past]) -> list[PastCommit]:
    past: list[PastCommit] = []
    before: Mapping[str, bytes] = {}
    for number, (subject, files) in enumerate(commits):
        touched = sorted(n for n in {*before, *files} if before.get(n) != files.get(n))
        id_ = sha1(f"{number} {subject}".encode()).hexdigest()
        at = float(_FIRST_COMMIT_AT + 60 * number)
        past.append(PastCommit(Commit(id_, at, "Ada", subject, tuple(touched)), dict(files)))
        before = files
    return past
