"""To which work tree of a repository a path belongs, told by git's data alone."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from live_memory.adapters.workspace.git_state import GitWorktrees
from live_memory.ports import Worktrees
from tests.contracts.sandbox_worlds import git, make_repository
from tests.support.doubles.in_memory_sandbox import InMemoryWorktrees

pytestmark = [
    pytest.mark.real("git"),
    pytest.mark.promise("inside-the-workspace", "workspaces-never-mix"),
]


class Trees:
    """A repository with a linked work tree beside it, one in it, and another repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.main, self.linked = self.folder / "main", self.folder / "linked"
        self.nested, self.other = self.main / ".trees/nested", self.folder / "other"
        make_repository(self.main, [("start", {"a.py": b"TIMEOUT = 30\n", "d/b.py": b"1\n"})])
        make_repository(self.other, [("start", {"a.py": b"1\n"})])
        git(self.main, "worktree", "add", "-q", "-b", "one", str(self.linked))
        git(self.main, "worktree", "add", "-q", "-b", "two", str(self.nested))


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path)


async def held(
    worktrees: Worktrees, paths: Sequence[Path | str], *, beside: Path
) -> list[str | None]:
    return [*await worktrees.holding([str(path) for path in paths], beside=str(beside))]


@pytest.mark.parametrize("way", ["git", "in memory"])
async def test_a_linked_work_tree_knows_its_main_one(trees: Trees, way: str) -> None:
    roots = [str(trees.main), str(trees.linked), str(trees.nested)]
    worktrees = GitWorktrees() if way == "git" else InMemoryWorktrees(roots)
    assert await worktrees.main(str(trees.linked)) == str(trees.main)
    assert await worktrees.main(str(trees.nested)) == str(trees.main)
    for root in (trees.main, trees.other, trees.folder):
        assert await worktrees.main(str(root)) is None


@pytest.mark.parametrize("way", ["git", "in memory"])
async def test_a_path_belongs_to_the_nearest_work_tree(trees: Trees, way: str) -> None:
    main, linked, nested = trees.main, trees.linked, trees.nested
    roots = [str(main), str(linked), str(nested)]
    worktrees = GitWorktrees() if way == "git" else InMemoryWorktrees(roots)
    paths: list[Path | str] = [
        main / "a.py", linked / "d/b.py", linked / "new/x.py", nested / "a.py", linked,
        trees.other / "a.py", f"{linked}ling/a.py", "/etc/passwd", trees.folder,
    ]  # fmt: skip
    expected = [None, linked, linked, nested, linked, None, None, None, None]
    assert await held(worktrees, paths, beside=main) == [e and str(e) for e in expected]
    from_linked = [main / "a.py", linked / "a.py", nested / "a.py"]
    assert await held(worktrees, from_linked, beside=linked) == [str(main), None, str(nested)]
    assert await held(worktrees, from_linked, beside=trees.other) == [None, None, None]
    assert await held(worktrees, [], beside=main) == []


async def test_a_repository_in_a_work_tree_is_the_nearest(trees: Trees) -> None:
    """N03: cloned into it, ignored or not, two deep, and in a linked work tree."""
    pay, deep, loose = (
        trees.main / "libs/pay",
        trees.main / "libs/pay/vendor/x",
        trees.linked / "own",
    )
    for root in (pay, deep, loose):
        make_repository(root, [("start", {"a.py": b"1\n"})])
    worktrees = GitWorktrees()
    paths = [
        trees.main / "a.py", trees.main / "libs/b.py", pay / "a.py", pay / "new/x.py", pay,
        deep / "a.py", loose / "a.py", trees.other / "a.py",
    ]  # fmt: skip
    expected = [None, None, pay, pay, pay, deep, loose, None]
    for _ in range(2):  # what is known of folders from a moment ago changes nothing
        found = await held(worktrees, paths, beside=trees.main)
        assert found == [root and str(root) for root in expected]
    assert await held(worktrees, [pay / "a.py", deep / "a.py"], beside=pay) == [None, str(deep)]


async def test_links_on_the_way_are_followed(trees: Trees) -> None:
    (trees.folder / "spelled").symlink_to(trees.linked)
    (trees.linked / "out").symlink_to(trees.other)
    (trees.main / "out").symlink_to(trees.other)
    paths = [trees.folder / "spelled/a.py", trees.linked / "out/a.py", trees.main / "out/a.py"]
    found = await held(GitWorktrees(), paths, beside=trees.main)
    assert found == [str(trees.linked), None, None]


@pytest.mark.parametrize("fault", ["no pointer", "points elsewhere", "a real repository", "gone"])
async def test_a_folder_that_does_not_point_back_is_no_work_tree(trees: Trees, fault: str) -> None:
    """Git data in a workspace are a stranger's: they may name any folder of the machine."""
    private = trees.folder / "private"
    own = trees.main / ".git/worktrees/private"
    own.mkdir()
    (own / "gitdir").write_text(f"{private}/.git\n")
    (own / "commondir").write_text("../..\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    match fault:
        case "no pointer":
            private.mkdir()
        case "points elsewhere":
            private.mkdir()
            (private / ".git").write_text(f"gitdir: {trees.other}/.git\n")
        case "a real repository":
            make_repository(private, [("start", {"secret.py": b"1\n"})])
        case _:
            pass
    assert await held(GitWorktrees(), [private / "secret.py"], beside=trees.main) == [None]


@pytest.mark.parametrize("text", [b"", b"\0", b"relative", b"/\n", b"x" * 70_000, b"/nowhere/.git"])
async def test_git_data_of_any_form_name_nothing_wrong(trees: Trees, text: bytes) -> None:
    for number in range(3):
        own = trees.main / f".git/worktrees/odd{number}"
        own.mkdir()
        (own / "gitdir").write_bytes(text)
    (trees.main / ".git/worktrees/file").write_bytes(text)
    found = await held(GitWorktrees(), [trees.linked / "a.py", "/x"], beside=trees.main)
    assert found == [str(trees.linked), None]


async def test_a_work_tree_that_was_removed_is_none_and_the_others_stay(trees: Trees) -> None:
    git(trees.main, "worktree", "remove", str(trees.linked))
    paths = [trees.linked / "a.py", trees.nested / "a.py"]
    assert await held(GitWorktrees(), paths, beside=trees.main) == [None, str(trees.nested)]
    trees.nested.joinpath(".git").unlink()
    assert await held(GitWorktrees(), paths, beside=trees.main) == [None, None]


async def test_a_submodule_is_another_repository_and_has_work_trees_of_its_own(
    trees: Trees,
) -> None:
    """C24: `.git/modules` is not `.git/worktrees`."""
    allowed = ("-c", "protocol.file.allow=always")
    git(trees.main, *allowed, "submodule", "add", "-q", str(trees.other), "sub")
    sub, beside = trees.main / "sub", trees.folder / "sub-linked"
    git(sub, "worktree", "add", "-q", "-b", "three", str(beside))
    worktrees = GitWorktrees()
    found = await held(worktrees, [sub / "a.py", beside / "a.py"], beside=trees.main)
    assert found == [str(sub), None]
    assert await held(worktrees, [sub / "a.py"], beside=beside) == [str(sub)]
    assert await held(worktrees, [beside / "a.py", trees.main / "a.py"], beside=sub) == [
        str(beside),
        None,
    ]


async def test_work_trees_of_a_bare_repository_know_each_other(trees: Trees) -> None:
    bare, one, two = (trees.folder / name for name in ("bare.git", "b-one", "b-two"))
    git(trees.folder, "clone", "-q", "--bare", str(trees.main), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "x", str(one))
    git(bare, "worktree", "add", "-q", "-b", "y", str(two))
    assert await held(GitWorktrees(), [two / "a.py", bare / "HEAD"], beside=one) == [str(two), None]


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
async def test_a_work_tree_whose_data_belong_to_another_user_is_none(trees: Trees) -> None:
    os.chown(trees.main / ".git/worktrees/linked", 65534, 65534)
    assert await held(GitWorktrees(), [trees.linked / "a.py"], beside=trees.main) == [None]


async def test_without_git_there_is_none(tmp_path: Path) -> None:
    assert await held(GitWorktrees(), [tmp_path / "a.py"], beside=tmp_path) == [None]


async def test_a_work_tree_that_is_new_is_found_at_once(tmp_path: Path) -> None:
    """That a repository has only one is believed for a moment, and for paths in it alone."""
    main, linked = tmp_path.resolve() / "main", tmp_path.resolve() / "linked"
    make_repository(main, [("start", {"a.py": b"TIMEOUT = 30\n"})])
    worktrees = GitWorktrees()
    assert await held(worktrees, [main / "a.py", linked / "a.py"], beside=main) == [None, None]
    git(main, "worktree", "add", "-q", "-b", "one", str(linked))
    assert await held(worktrees, [main / "a.py"], beside=main) == [None]
    assert await held(worktrees, [linked / "a.py"], beside=main) == [str(linked)]
