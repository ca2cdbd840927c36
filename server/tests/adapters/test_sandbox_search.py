"""What searching does about slow expressions, large files and a ripgrep that misbehaves."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import fail_after, move_on_after

from live_memory.adapters.workspace.disk import DiskSandbox
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.adapters.workspace.safe_open import Opening
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.lookup import TextPattern
from tests.contracts.sandbox_worlds import DISK_WAYS, Way, opened_on_disk

pytestmark = [pytest.mark.real("rg")]


@pytest.mark.promise("deadline-kept")
@pytest.mark.parametrize("way", DISK_WAYS)
async def test_an_expression_made_to_run_forever_is_ended(tmp_path: Path, way: Way) -> None:
    (tmp_path / "a.txt").write_bytes(b"a" * 5000 + b"\n")
    async with opened_on_disk(tmp_path, way) as sandbox:
        with fail_after(5), pytest.raises(InvalidRequest, match="too long"):
            await sandbox.search(TextPattern(r"(a|a)*$[b-c]|(a+)+b|(a*)*b"))


@pytest.mark.parametrize("way", DISK_WAYS)
async def test_many_matches_and_a_huge_line_stay_within_bounds(tmp_path: Path, way: Way) -> None:
    """S24: 50 MB on one line, and 2,000 files with 100 matching lines each."""
    (tmp_path / "huge.js").write_bytes(b"match " * 9_000_000)
    for number in range(2000):
        (tmp_path / f"{number:04}.txt").write_bytes(b"match\n" * 100)
    async with opened_on_disk(tmp_path, way) as sandbox:
        with fail_after(5):
            found = await sandbox.search(TextPattern("match", limit=10_000))
    assert (len(found.matches), found.is_cut) == (1000, True)
    assert found.matches[0].path.text == "0000.txt"


_KEY = "\n".join("".join(map(chr, range(65 + n, 91))) + "b7" * 15 for n in range(3))
_PEM = f"-----BEGIN PRIVATE KEY-----\n{_KEY}\n-----END PRIVATE KEY-----\n"
_TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize("way", DISK_WAYS)
async def test_no_search_shows_or_tells_a_secret(tmp_path: Path, way: Way) -> None:
    """F2: not by its lines, not by a cut excerpt, not by whether there is a match."""
    (tmp_path / "a.txt").write_text(f"before\n{_PEM}after\n")
    (tmp_path / "b.txt").write_text(f"{'x ' * 240}{_TOKEN} end\n")
    (tmp_path / "c.yml").write_text("password: >-\n  hunter2rabbit9\nother: 1\n")
    secrets = [
        _KEY.splitlines()[0],
        "b7b7b7",
        _TOKEN[4:12],
        _TOKEN[:8],
        "hunter2",
        "hunter2rabbit9",
    ]
    async with opened_on_disk(tmp_path, way) as sandbox:
        for asked in (*secrets, r"[A-Z]{20}", r"^  h.*9$", "gh.{3,}R8", "P6q7R8 end"):
            assert not (await sandbox.search(TextPattern(asked, limit=1))).matches, asked
            assert not (await sandbox.search(TextPattern(asked, limit=1))).is_cut, asked
        shown = "\n".join(m.text for m in (await sandbox.search(TextPattern("."))).matches)
        ends = [m.line for m in (await sandbox.search(TextPattern("after|other"))).matches]
    assert not [secret for secret in secrets if secret in shown]
    assert ends == [7, 3]


async def test_an_ignore_file_of_another_tool_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / ".ignore").write_text("*\n")
    (tmp_path / ".rgignore").write_text("*\n")
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "b.txt").write_text("needle\n")
    async with opened_on_disk(tmp_path) as sandbox:
        assert len((await sandbox.search(TextPattern("needle"))).matches) == 2


@pytest.mark.parametrize(
    "script", ["exit 2", "sleep 60 & sleep 60", "kill -9 $$", "yes", "printf './x\\0'; exit 2"]
)
async def test_a_ripgrep_that_fails_changes_no_result(tmp_path: Path, script: str) -> None:
    """S24: also one that sleeps and forks; only its time is lost."""
    root, programs = tmp_path / "ws", tmp_path / "programs"
    root.mkdir()
    programs.mkdir()
    (programs / "rg").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "rg").chmod(0o755)
    for name in ("a.txt", "b.txt"):
        (root / name).write_text("needle\n")
    found = replace(find_programs(os.environ["PATH"]), rg=str(programs / "rg"))
    sandbox = DiskSandbox(
        str(root.resolve()), runner=Runner(), programs=found, opening=Opening.best()
    )
    try:
        with fail_after(5):
            matches = (await sandbox.search(TextPattern("needle"))).matches
        assert [match.path.text for match in matches] == ["a.txt", "b.txt"]
    finally:
        await sandbox.aclose()


async def test_a_program_that_lies_in_the_workspace_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for name in ("git", "rg"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    programs = replace(
        find_programs(os.environ["PATH"]), git=str(tmp_path / "git"), rg=str(tmp_path / "rg")
    )
    sandbox = DiskSandbox(
        str(tmp_path.resolve()), runner=Runner(), programs=programs, opening=Opening.best()
    )
    try:
        names = [each.path.text for each in (await sandbox.list()).files]
        assert names == ["git", "rg"]
        assert len((await sandbox.search(TextPattern("touch"))).matches) == 2
        assert not mark.exists()
    finally:
        await sandbox.aclose()


async def test_a_cancelled_search_ends_soon(tmp_path: Path) -> None:
    """S24: within a second, and the sandbox can be used again."""
    (tmp_path / "a.txt").write_bytes(b"a" * 5000 + b"\n")
    async with opened_on_disk(tmp_path) as sandbox:
        with fail_after(1.5):
            with move_on_after(0.3) as patience:
                await sandbox.search(TextPattern(r"(a+)+b"))
            assert patience.cancelled_caught
        assert (await sandbox.search(TextPattern("^a{3}"))).matches
        assert re.fullmatch("a{500}", (await sandbox.search(TextPattern("a"))).matches[0].text)
