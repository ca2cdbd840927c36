"""What is kept out is kept out of every way to see a file: C29, and the setting `ignore`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from live_memory.adapters.workspace.disk import DiskWorkspaces
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.adapters.workspace.safe_open import Opening
from live_memory.core.errors import InvalidRequest, OutsideWorkspace
from live_memory.core.reading.lookup import (
    ChangedFiles,
    CommitSearch,
    LogQuery,
    NamePattern,
    TextPattern,
)
from live_memory.core.reading.observation import FileRead, Skipped
from live_memory.ports import Sandbox
from tests.contracts.sandbox_worlds import git, make_repository, write

_PAST = {"a.py": b"CANARY = 1\n", "kept/out/b.py": b"CANARY = 2\n"}


@asynccontextmanager
async def opened(
    root: Path, *, data_dir: Path | None = None, ignore: tuple[str, ...] = (), opening: Opening
) -> AsyncIterator[Sandbox]:
    workspaces = DiskWorkspaces(
        home="/nowhere",
        runner=Runner(),
        programs=find_programs(os.environ["PATH"]),
        opening=opening,
        data_dir=str(data_dir) if data_dir else None,
        ignore=ignore,
    )
    sandbox = await workspaces.open(await workspaces.resolve(str(root)))
    try:
        yield sandbox
    finally:
        await sandbox.aclose()


def make_root(folder: Path, *, is_repository: bool) -> Path:
    root = folder.resolve() / "ws"
    if is_repository:
        make_repository(root, [("start", _PAST)])
    else:
        root.mkdir()
        write(root, _PAST)
    write(root, {"kept/out/new.py": b"CANARY = 3\n", "kept/in.py": b"CANARY = 4\n"})
    (root / "kept/out/b.py").write_bytes(b"CANARY = 5\n")
    (root / "link.py").symlink_to("kept/out/b.py")
    (root / "folder").symlink_to("kept/out")
    (root / "deep").symlink_to("folder")
    return root


@pytest.mark.real("git")
@pytest.mark.promise("inside-the-workspace")
@pytest.mark.parametrize("opening", [*Opening])
@pytest.mark.parametrize("is_repository", [True, False], ids=["git", "walk"])
@pytest.mark.parametrize("rule", ["our own data", "ignore"])
async def test_what_is_kept_out_is_in_no_listing_no_search_no_history_and_is_never_read(
    tmp_path: Path, rule: str, is_repository: bool, opening: Opening
) -> None:
    root = make_root(tmp_path, is_repository=is_repository)
    data_dir = root / "folder" if rule == "our own data" else None  # spelled by a link
    ignore = () if data_dir else ("kept/out",)
    async with opened(root, data_dir=data_dir, ignore=ignore, opening=opening) as sandbox:
        assert [f.path.text for f in (await sandbox.list()).files] == ["a.py", "kept/in.py"]
        found = await sandbox.find(NamePattern("**/*.py"))
        assert [path.text for path in found] == ["a.py", "kept/in.py"]
        spellings = [
            "kept/out/b.py", "kept/out/new.py", "./kept//out/b.py", "x/../kept/out/b.py",
            "link.py", "folder/b.py", "deep/new.py", "kept/out",
        ]  # fmt: skip
        reads = await sandbox.read(spellings, max_bytes=100)
        assert all(isinstance(read, Skipped) for read in reads), reads
        matches = await sandbox.search(TextPattern("CANARY"))
        assert [match.path.text for match in matches.matches] == ["a.py", "kept/in.py"]
        for under in ("kept/out", "kept/out/b.py", "folder/b.py"):
            try:
                inside = await sandbox.search(TextPattern("CANARY", under))
            except (OutsideWorkspace, InvalidRequest):
                continue
            assert inside.matches == ()
        if is_repository:
            changed = await sandbox.history(ChangedFiles())
            assert [name for _, name in changed.changed if "out" in name] == []
            assert ("?", "kept/in.py") in changed.changed
            for query in (LogQuery(), CommitSearch("CANARY")):
                (commit,) = (await sandbox.history(query)).commits
                assert commit.files == ("a.py",)
        (read,) = await sandbox.read(["kept/in.py"], max_bytes=100)
        assert isinstance(read, FileRead)


@pytest.mark.real("git")
async def test_our_own_data_is_no_workspace_and_neither_is_a_folder_in_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "workspaces/x").mkdir(parents=True)
    (tmp_path / "link").symlink_to(data)
    git(tmp_path, "init", "-q")
    workspaces = DiskWorkspaces(
        home="/nowhere",
        runner=Runner(),
        programs=find_programs(os.environ["PATH"]),
        data_dir=str(tmp_path / "link"),
    )
    for cwd in (data, data / "workspaces/x", tmp_path / "link", f"{tmp_path}/data/../data"):
        with pytest.raises(InvalidRequest, match="own data folder"):
            await workspaces.resolve(str(cwd))
    assert (await workspaces.resolve(str(tmp_path))).root == str(tmp_path.resolve())


def test_a_bad_glob_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"'\['"):
        DiskWorkspaces(
            home=str(tmp_path), runner=Runner(), programs=find_programs(""), ignore=["["]
        )
