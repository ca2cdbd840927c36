"""Files of git data that are no files: links, pipes and devices cost no time and name nothing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from anyio import fail_after

from live_memory.core.reading.lookup import LogQuery
from tests.contracts.sandbox_worlds import git, make_repository, opened_on_disk

pytestmark = [pytest.mark.real("git")]


def _pipe(name: Path, _: Path) -> None:
    os.mkfifo(name)


def _link(name: Path, elsewhere: Path) -> None:
    name.symlink_to(elsewhere)


def _device_link(name: Path, _: Path) -> None:
    name.symlink_to("/dev/zero")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another repository, whose names nobody may see."""
    make_repository(tmp_path / "other", [("private", {"CANARY.txt": b"1\n"})])
    git(tmp_path / "other", "pack-refs", "--all")
    return tmp_path / "other"


@pytest.mark.promise("inside-the-workspace")
@pytest.mark.parametrize("make", [_pipe, _link, _device_link])
@pytest.mark.parametrize("name", ["index", "packed-refs", "shallow", "refs/heads/main", "HEAD"])
async def test_git_data_that_is_no_file_costs_nothing_and_names_nothing(
    tmp_path: Path, other: Path, name: str, make: Callable[[Path, Path], None]
) -> None:
    """F10, S11, S23."""
    root = tmp_path / "ws"
    make_repository(root, [("start", {"a.py": b"1\n"})])
    (root / ".git" / name).unlink(missing_ok=True)
    make(root / ".git" / name, other / ".git" / name)
    async with opened_on_disk(root) as sandbox:
        with fail_after(5):
            listing = await sandbox.list()
            history = await sandbox.history(LogQuery())
    assert [file.path.text for file in listing.files] == ["a.py"]
    assert history.problem
    assert not history.commits


async def test_a_ref_that_becomes_a_pipe_later_is_seen(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    make_repository(root, [("start", {"a.py": b"1\n"})])
    async with opened_on_disk(root) as sandbox:
        assert (await sandbox.history(LogQuery())).commits
        os.mkfifo(root / ".git/refs/heads/pipe")
        with fail_after(5):
            assert (await sandbox.history(LogQuery())).problem
