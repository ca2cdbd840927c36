"""A system that has nothing left to look with says nothing about what is there."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from live_memory.adapters.store.snapshot_files import JsonFiles
from live_memory.adapters.workspace.disk import DiskSandbox, DiskWorkspaces
from live_memory.adapters.workspace.ripgrep import Invocation, Runner, find_programs
from live_memory.adapters.workspace.safe_open import Opening
from live_memory.core.errors import Exhausted, refuse_exhausted
from live_memory.core.values import WorkspaceKey


@contextmanager
def _no_descriptors() -> Iterator[None]:
    """Let this process open nothing more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _sandbox(root: Path) -> DiskSandbox:
    programs = find_programs(os.environ["PATH"])
    return DiskSandbox(str(root), runner=Runner(), programs=programs, opening=Opening.best())


async def test_a_listing_is_refused_rather_than_empty(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    sandbox = _sandbox(tmp_path)
    assert [file.path.text for file in (await sandbox.list()).files] == ["a.py"]
    with _no_descriptors(), pytest.raises(Exhausted, match="could not look"):
        await sandbox.list()
    assert [file.path.text for file in (await sandbox.list()).files] == ["a.py"]
    await sandbox.aclose()


@pytest.mark.parametrize("name", ["a.py", "below/b.py", "missing.py"])
async def test_a_file_is_not_said_to_be_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "below").mkdir()
    for there in ("a.py", "below/b.py"):
        (tmp_path / there).write_text("A = 1\n")
    sandbox = _sandbox(tmp_path)
    with _no_descriptors(), pytest.raises(Exhausted, match="could not look"):
        await sandbox.read([name], max_bytes=100)
    await sandbox.aclose()


async def test_a_root_is_not_said_to_be_no_folder(tmp_path: Path) -> None:
    programs = find_programs(os.environ["PATH"])
    workspaces = DiskWorkspaces(home="/nowhere", runner=Runner(), programs=programs)
    identity = await workspaces.resolve(str(tmp_path))
    with _no_descriptors(), pytest.raises(Exhausted):
        await workspaces.open(identity)


async def test_a_program_that_cannot_start_is_told_from_one_that_is_not_there() -> None:
    assert not (await Runner().run(Invocation(("/nowhere/program",), cwd="/nowhere"))).is_exhausted
    with _no_descriptors():
        ran = await Runner().run(Invocation(("/bin/true",), cwd="/"))
    assert ran.is_exhausted


async def test_a_memory_that_cannot_be_read_now_is_read_the_next_time(tmp_path: Path) -> None:
    key = WorkspaceKey.of_root("/app")
    (tmp_path / key.text).mkdir()
    (tmp_path / key.text / "snapshot.json").write_text("")
    store = JsonFiles(tmp_path)
    with _no_descriptors(), pytest.raises(Exhausted):
        await store.load(key)
    assert "snapshot.json" in str((await store.load(key)).problems)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN])
def test_each_way_to_have_nothing_left_is_known(code: int) -> None:
    with pytest.raises(Exhausted, match="close programs"):
        refuse_exhausted(OSError(code, os.strerror(code)))
    refuse_exhausted(OSError(errno.ENOENT, "no such file"))
    refuse_exhausted(ValueError("a NUL"))
