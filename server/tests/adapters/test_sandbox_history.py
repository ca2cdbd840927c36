"""Git data that is hostile, borrowed or odd: nothing of the repository's runs or is written."""

import os
import shutil
import socket
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.lookup import (
    ChangedFiles,
    CommitSearch,
    History,
    LogQuery,
    TextPattern,
)
from tests.contracts.sandbox_worlds import git, make_repository, opened_on_disk

pytestmark = [pytest.mark.real("git", "rg")]

QUERIES = (
    LogQuery(),
    LogQuery("f.dat"),
    CommitSearch("one"),
    CommitSearch("two", path="f.dat"),
    ChangedFiles(),
    ChangedFiles("HEAD~1"),
)
HOOKS = (
    "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc",
    "post-checkout",
)  # fmt: skip
SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"


def fingerprint(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


async def answers(root: Path) -> list[History]:
    async with opened_on_disk(root) as sandbox:
        await sandbox.list()
        await sandbox.search(TextPattern("one"))
        return [await sandbox.history(query) for query in QUERIES]


def two_commits(root: Path) -> None:
    make_repository(
        root,
        [
            ("one", {"f.dat": b"one\n", "a.py": b"1\n"}),
            (
                "two",
                {"f.dat": b"two\n", "a.py": b"1\n", ".gitattributes": b"*.dat filter=f diff=d\n"},
            ),
        ],
    )


def sign_newest(root: Path) -> None:
    """Give the newest commit a signature header, so that showing it would run gpg."""
    raw = git(root, "cat-file", "commit", "HEAD")
    headers, _, message = raw.partition("\n\n")
    (root / "raw").write_text(f"{headers}\n{SIGNATURE}\n{message}")
    id_ = git(root, "hash-object", "-t", "commit", "-w", "raw").strip()
    (root / "raw").unlink()
    git(root, "update-ref", "refs/heads/main", id_)


def plant(root: Path, marks: Path) -> None:
    """Put a program behind everything that git's configuration can run (S17)."""
    marks.mkdir()
    programs = marks.parent / "programs"
    programs.mkdir()

    def program(name: str) -> str:
        path = programs / name
        path.write_text(f"#!/bin/sh\ntouch '{marks}/{name}'\ncat\n")
        path.chmod(0o755)
        return str(path)

    for hook in HOOKS:
        shutil.copy(program(f"hook-{hook}"), root / ".git" / "hooks" / hook)
    for key in (
        "core.fsmonitor", "core.pager", "pager.log", "pager.diff", "core.editor", "core.askPass",
        "core.sshCommand",
        "credential.helper", "diff.external", "diff.d.textconv", "diff.d.command", "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process", "merge.m.driver", "gpg.program", "interactive.diffFilter",
    ):  # fmt: skip
        git(root, "config", key, program(key))
    for key, value in {
        "filter.f.required": "true", "log.showSignature": "true",
        "core.hooksPath": str(root / ".git" / "hooks"),
        "diff.ignoreSubmodules": "none", "submodule.recurse": "true",
    }.items():  # fmt: skip
        git(root, "config", key, value)
    for alias in ("log", "diff", "status", "ls-files", "diff-index", "rev-parse"):
        git(root, "config", f"alias.{alias}", f"!touch {marks}/alias-{alias}")
    for path in root.glob("*.*"):
        os.utime(path)


@pytest.mark.promise("read-only")
async def test_nothing_that_a_repository_configures_runs_and_git_data_stays_as_it_was(
    tmp_path: Path,
) -> None:
    """S17: and the answers are those of the same repository without the traps."""
    root, plain, marks = tmp_path / "ws", tmp_path / "plain", tmp_path / "marks"
    two_commits(root)
    sign_newest(root)
    (root / "a.py").write_bytes(b"changed\n")
    shutil.copytree(root, plain)
    plant(root, marks)
    before = fingerprint(root / ".git")
    got = await answers(root)
    assert not list(marks.iterdir())
    assert fingerprint(root / ".git") == before
    assert got == await answers(plain)
    assert [commit.subject for commit in got[0].commits] == ["two", "one"]
    assert got[4].changed == (("M", "a.py"),)


async def test_the_traps_do_spring_for_plain_git(tmp_path: Path) -> None:
    """Without this, the test above could pass because its traps are broken."""
    root, marks = tmp_path / "ws", tmp_path / "marks"
    two_commits(root)
    sign_newest(root)
    (root / "f.dat").write_bytes(b"changed\n")
    plant(root, marks)
    git(root, "log", "-1", must_work=False)
    git(root, "status", must_work=False)
    git(root, "log", "-p", must_work=False)
    sprung = {path.name for path in marks.iterdir()}
    assert {"core.fsmonitor", "gpg.program"} <= sprung
    assert len(sprung) >= 4


async def test_a_submodule_brings_neither_its_programs_nor_its_files(tmp_path: Path) -> None:
    root, inner, marks = tmp_path / "ws", tmp_path / "inner", tmp_path / "marks"
    two_commits(inner)
    two_commits(root)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(root, "commit", "-q", "-m", "add sub")
    (root / ".gitmodules").write_text((root / ".gitmodules").read_text() + "\tignore = none\n")
    marks.mkdir()
    git(root / "sub", "config", "filter.f.clean", f"touch {marks}/clean; cat")
    (root / "sub" / "f.dat").write_bytes(b"changed\n")
    async with opened_on_disk(root) as sandbox:
        names = [each.path.text for each in (await sandbox.list()).files]
        assert names == [".gitattributes", ".gitmodules", "a.py", "f.dat"]
        assert (await sandbox.history(ChangedFiles())).changed == (("M", ".gitmodules"),)
    async with opened_on_disk(root / "sub") as sandbox:
        subjects = [commit.subject for commit in (await sandbox.history(LogQuery())).commits]
        assert subjects == ["two", "one"]
    assert not list(marks.iterdir())


@pytest.mark.parametrize("url", ["path", "ssh://host/x", "ext::sh -c 'touch {marks}/ext'", "http"])
async def test_missing_objects_are_never_fetched(tmp_path: Path, url: str) -> None:
    """S19: a partial clone, whatever its promisor is."""
    origin, root, marks = tmp_path / "origin", tmp_path / "ws", tmp_path / "marks"
    two_commits(origin)
    marks.mkdir()
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", "ws")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        given = {"path": str(origin), "http": address}.get(url, url.format(marks=marks))
        git(root, "config", "remote.origin.url", given)
        git(
            root, "config", "remote.origin.uploadpack", f"touch {marks}/uploadpack; git-upload-pack"
        )
        git(root, "config", "core.sshCommand", f"touch {marks}/ssh")
        git(root, "config", "protocol.ext.allow", "always")
        git(root, "config", "protocol.file.allow", "always")
        async with opened_on_disk(root) as sandbox:
            searched = await sandbox.history(CommitSearch("one"))
            assert searched.problem is not None
            assert "missing" in searched.problem
            assert len((await sandbox.history(LogQuery())).commits) == 2
            assert len((await sandbox.list()).files) == 3
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not list(marks.iterdir())


def lead_by_worktree(root: Path, private: Path) -> None:
    git(root, "config", "core.worktree", str(private))


def lead_by_file(root: Path, private: Path) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").write_text(f"gitdir: {private}/.git\n")


def lead_by_commondir(root: Path, private: Path) -> None:
    (root / ".git" / "commondir").write_text(f"{private}/.git\n")


def lead_by_inner_pointer(root: Path, private: Path) -> None:
    """A `.git` file to data in the workspace that point back, and on to the private repository."""
    fake = root / "fake"
    (root / ".git").rename(fake)
    (root / ".git").write_text("gitdir: fake\n")
    (fake / "gitdir").write_text(f"{root}/.git\n")
    (fake / "commondir").write_text(f"{private}/.git\n")


def lead_by_link(root: Path, private: Path) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").symlink_to(private / ".git")


def lead_by_alternates(root: Path, private: Path) -> None:
    (root / ".git/objects/info/alternates").write_text(f"{private}/.git/objects\n")
    (root / ".git/refs/heads/main").write_text(git(private, "rev-parse", "HEAD"))


def lead_by_pack_link(root: Path, private: Path) -> None:
    git(private, "gc", "-q")
    shutil.rmtree(root / ".git/objects/pack")
    (root / ".git/objects/pack").symlink_to(private / ".git/objects/pack")
    (root / ".git/refs/heads/main").write_text(git(private, "rev-parse", "HEAD"))


@pytest.mark.promise("inside-the-workspace")
@pytest.mark.parametrize(
    "lead",
    [
        lead_by_file, lead_by_commondir, lead_by_inner_pointer, lead_by_link, lead_by_alternates,
        lead_by_pack_link,
    ],
)  # fmt: skip
async def test_git_data_that_lead_to_another_repository_are_refused(
    tmp_path: Path, lead: Callable[[Path, Path], None]
) -> None:
    """S22: with a reason, and the files can still be listed and searched."""
    root, private = tmp_path / "ws", tmp_path / "private"
    two_commits(root)
    make_repository(private, [("SECRET subject", {"secret.txt": b"SECRET\n"})])
    lead(root, private)
    async with opened_on_disk(root) as sandbox:
        for query in (*QUERIES, CommitSearch("SECRET")):
            history = await sandbox.history(query)
            assert history.problem is not None
            assert "refused" in history.problem
            assert "SECRET" not in repr(history)
        names = {each.path.text for each in (await sandbox.list()).files}
        assert {"a.py", "f.dat"} <= names
        assert "secret.txt" not in names
        assert (await sandbox.search(TextPattern("two"))).matches


async def test_a_configured_work_tree_elsewhere_is_not_looked_at(tmp_path: Path) -> None:
    root, private = tmp_path / "ws", tmp_path / "private"
    two_commits(root)
    make_repository(
        private, [("SECRET subject", {"f.dat": b"SECRET\n", "secret.txt": b"SECRET\n"})]
    )
    lead_by_worktree(root, private)
    assert (await answers(root))[4] == History()
    assert "SECRET" not in repr(await answers(root))


async def test_linked_worktrees_have_their_own_head_and_one_history(tmp_path: Path) -> None:
    """Cases C23: each worktree answers from its own bytes."""
    root, linked = tmp_path / "ws", tmp_path / "linked"
    two_commits(root)
    git(root, "worktree", "add", "-q", "-b", "other", str(linked))
    (linked / "f.dat").write_bytes(b"three\n")
    git(linked, "commit", "-q", "-a", "-m", "three")
    (linked / "f.dat").write_bytes(b"four\n")
    there, here = await answers(linked), await answers(root)
    assert [commit.subject for commit in there[0].commits] == ["three", "two", "one"]
    assert there[4].changed == (("M", "f.dat"),)
    assert [commit.subject for commit in here[0].commits] == ["two", "one"]
    assert here[4] == History()


@pytest.mark.parametrize("odd", ["packed refs", "shallow", "split index", "sha256", "detached"])
async def test_ordinary_oddities_are_read_as_git_reads_them(tmp_path: Path, odd: str) -> None:
    root = tmp_path / "ws"
    options = ["--object-format=sha256"] if odd == "sha256" else []
    commits = [("one", {"f.dat": b"one\n"}), ("two", {"f.dat": b"two\n"})]
    make_repository(root, commits, options=options)
    expected = ["two", "one"]
    if odd == "packed refs":
        git(root, "gc", "-q")
    elif odd == "split index":
        git(root, "update-index", "--split-index")
    elif odd == "detached":
        git(root, "checkout", "-q", "--detach", "HEAD~1")
        expected = ["one"]
    elif odd == "shallow":
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
        root, expected = tmp_path / "shallow", ["two"]
    async with opened_on_disk(root) as sandbox:
        log = await sandbox.history(LogQuery())
        assert [commit.subject for commit in log.commits] == expected
        assert [commit.files for commit in log.commits] == [("f.dat",)] * len(expected)
        assert [each.path.text for each in (await sandbox.list()).files] == ["f.dat"]
        assert (await sandbox.history(ChangedFiles())) == History()
        if odd != "split index":
            (root / "f.dat").write_bytes(b"other\n")
            assert (await sandbox.history(ChangedFiles())).changed == (("M", "f.dat"),)


async def test_time_stamps_links_and_line_ends_alone_are_no_change(tmp_path: Path) -> None:
    """A copied work tree has new time stamps; git would refresh its index, we only look."""
    root, copy = tmp_path / "ws", tmp_path / "copy"
    make_repository(root, [("one", {"a.py": b"1\n", "b.py": b"1\n2\n", "c.py": b"x\n"})])
    (root / "link").symlink_to("a.py")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "link")
    shutil.copytree(root, copy, symlinks=True)
    (copy / "b.py").write_bytes(b"1\r\n2\r\n")
    (copy / "c.py").chmod(0o755)
    before = fingerprint(copy / ".git")
    async with opened_on_disk(copy) as sandbox:
        assert (await sandbox.history(ChangedFiles())).changed == (("M", "c.py"),)
        (copy / "link").unlink()
        (copy / "link").symlink_to("b.py")
        assert (await sandbox.history(ChangedFiles())).changed == (("M", "c.py"), ("M", "link"))
    assert fingerprint(copy / ".git") == before


async def test_special_files_in_git_data_do_not_hold_us(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    two_commits(root)
    (root / ".git" / "HEAD").unlink()
    os.mkfifo(root / ".git" / "HEAD")
    async with opened_on_disk(root) as sandbox:
        history = await sandbox.history(LogQuery())
        assert history.problem is not None
        assert len((await sandbox.list()).files) == 3


async def test_the_private_git_dir_is_ours_alone_and_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    root = tmp_path / "ws"
    two_commits(root)
    async with opened_on_disk(root) as sandbox:
        await sandbox.history(LogQuery())
        (folder,) = scratch.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        with pytest.raises(InvalidRequest):
            await sandbox.history(ChangedFiles("nosuch"))
    assert not list(scratch.iterdir())
