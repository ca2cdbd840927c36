"""Cases C24: submodules, monorepos and odd roots, in each way to choose the root."""

import os
from pathlib import Path

import pytest

from live_memory.adapters.workspace.disk import DiskWorkspaces, RootMode, is_submodule
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.core.errors import InvalidRequest
from live_memory.core.reading.lookup import NamePattern, TextPattern
from live_memory.core.reading.observation import FileRead
from tests.contracts.sandbox_worlds import git, make_repository

pytestmark = [pytest.mark.real("git")]

FILE_PROTOCOL = ("-c", "protocol.file.allow=always")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path.resolve() / "home"


@pytest.fixture
def ws(home: Path) -> Path:
    """A monorepo whose submodule `sub` has the submodule `deep`, with a linked worktree inside."""
    make_repository(home / "deepest", [("start", {"z.py": b"DEEP = 1\n"})])
    make_repository(home / "inner", [("start", {"x/a.py": b"INNER = 1\n", ".gitignore": b"*.o\n"})])
    git(home / "inner", *FILE_PROTOCOL, "submodule", "add", "-q", f"{home}/deepest", "deep")
    git(home / "inner", "commit", "-qm", "deep")
    files = {"packages/a/src/m.py": b"OUTER = 1\n", "packages/b/n.py": b"B = 1\n"}
    make_repository(home / "ws", [("start", files)])
    git(home / "ws", *FILE_PROTOCOL, "submodule", "add", "-q", f"{home}/inner", "sub")
    git(home / "ws", *FILE_PROTOCOL, "submodule", "update", "-q", "--init", "--recursive")
    git(home / "ws", "commit", "-qm", "sub")
    git(home / "ws", "worktree", "add", "-q", "-b", "other", "trees/other")
    return home / "ws"


def workspaces(home: Path, mode: RootMode = RootMode.NEAREST) -> DiskWorkspaces:
    programs = find_programs(os.environ["PATH"])
    return DiskWorkspaces(home=str(home), runner=Runner(), programs=programs, root_mode=mode)


@pytest.mark.promise("workspaces-never-mix")
async def test_every_folder_of_a_monorepo_has_its_root_s_one_memory(home: Path, ws: Path) -> None:
    found = workspaces(home)
    keys = {
        (await found.resolve(f"{ws}{below}")).key for below in ("", "/packages/a/src", "/packages")
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("mode", "below", "root"),
    [
        (RootMode.NEAREST, "sub/x", "sub"),
        (RootMode.NEAREST, "sub/deep", "sub/deep"),
        (RootMode.NEAREST, "trees/other/packages", "trees/other"),
        (RootMode.OUTERMOST, "packages/a/src", ""),
        (RootMode.OUTERMOST, "sub/x", ""),
        (RootMode.OUTERMOST, "sub/deep", ""),
        (RootMode.OUTERMOST, "trees/other/packages", "trees/other"),
        (RootMode.NONE, "packages/a/src", "packages/a/src"),
        (RootMode.NONE, "sub", "sub"),
    ],
)
async def test_the_root_is_the_one_that_the_settings_mean(
    home: Path, ws: Path, mode: RootMode, below: str, root: str
) -> None:
    found = await workspaces(home, mode).resolve(f"{ws}/{below}")
    assert found.root == str(ws / root)


async def test_a_foreign_repository_inside_is_no_submodule(home: Path, ws: Path) -> None:
    make_repository(ws / "vendor", [("start", {"v.py": b"V = 1\n"})])
    found = await workspaces(home, RootMode.OUTERMOST).resolve(f"{ws}/vendor")
    assert found.root == str(ws / "vendor")


async def test_worktrees_and_modules_are_told_apart_by_where_their_data_lie(ws: Path) -> None:
    assert is_submodule(f"{ws}/sub", of=str(ws))
    assert is_submodule(f"{ws}/sub/deep", of=f"{ws}/sub")
    assert not is_submodule(f"{ws}/trees/other", of=str(ws))
    assert not is_submodule(f"{ws}/packages", of=str(ws))


@pytest.mark.parametrize("is_folder", [True, False])
@pytest.mark.parametrize("mode", [*RootMode])
async def test_git_data_in_the_home_folder_make_it_no_workspace(
    home: Path, mode: RootMode, *, is_folder: bool
) -> None:
    """Dotfiles are kept like that, by a folder or by a pointer to a bare repository elsewhere."""
    if is_folder:
        make_repository(home, [("dotfiles", {".bashrc": b"x\n"})])
    else:
        git(home, "init", "-q", "--bare", f"{home}/.dotfiles")
        (home / ".git").write_text("gitdir: .dotfiles\n")
    (home / "notes/deep").mkdir(parents=True)
    found = workspaces(home, mode)
    with pytest.raises(InvalidRequest, match="home"):
        await found.resolve(str(home))
    assert (await found.resolve(f"{home}/notes/deep")).root == f"{home}/notes/deep"


async def test_a_repository_without_files_is_refused_but_not_its_worktrees(home: Path) -> None:
    make_repository(home / "source", [("start", {"a.py": b"A = 1\n"})])
    git(home, "clone", "-q", "--bare", f"{home}/source", f"{home}/bare")
    git(home / "bare", "worktree", "add", "-q", f"{home}/bare/tree")
    found = workspaces(home)
    for below in ("", "/objects", "/refs/heads"):
        with pytest.raises(InvalidRequest, match="repository without files"):
            await found.resolve(f"{home}/bare{below}")
    assert (await found.resolve(f"{home}/bare/tree")).root == f"{home}/bare/tree"


async def test_without_git_each_folder_is_its_own(home: Path) -> None:
    (home / "plain/sub").mkdir(parents=True)
    for mode in RootMode:
        found = workspaces(home, mode)
        assert (await found.resolve(f"{home}/plain/sub")).root == f"{home}/plain/sub"


async def test_the_outermost_root_lists_reads_and_searches_its_submodules(
    home: Path, ws: Path
) -> None:
    (ws / "sub/ignored.o").write_text("INNER\n")
    (ws / "sub/new.py").write_text("INNER = 2\n")
    found = workspaces(home, RootMode.OUTERMOST)
    sandbox = await found.open(await found.resolve(f"{ws}/sub"))
    try:
        names = [file.path.text for file in (await sandbox.list()).files]
        assert names == sorted(names)
        assert {"packages/b/n.py", "sub/x/a.py", "sub/new.py", "sub/deep/z.py"} < {*names}
        assert "sub/ignored.o" not in names
        assert not any(name.startswith("trees/") for name in names)
        (read,) = await sandbox.read(["sub/deep/z.py"], max_bytes=1000)
        assert isinstance(read, FileRead)
        assert (await sandbox.list()).files[names.index("sub/deep/z.py")].signature == (
            read.signature
        )
        matches = await sandbox.search(TextPattern("INNER|DEEP", ".", None, False, 10))
        assert {m.path.text for m in matches.matches} == {
            "sub/x/a.py", "sub/new.py", "sub/deep/z.py"
        }  # fmt: skip
        assert [p.text for p in await sandbox.find(NamePattern("z.py", limit=5))] == [
            "sub/deep/z.py"
        ]
    finally:
        await sandbox.aclose()


@pytest.mark.promise("inside-the-workspace")
async def test_a_list_of_modules_leads_nowhere_else(home: Path, ws: Path) -> None:
    """A hostile `.gitmodules`: outside, by a link, not a module, too many dots."""
    (ws / "link").symlink_to("sub")
    (ws / "away").symlink_to(home / "inner")
    paths = [
        "../inner",
        str(home / "inner"),
        "link",
        "away",
        "packages",
        "",
        ".",
        "sub/../../inner",
    ]
    text = "".join(f'[submodule "m{n}"]\n\tpath = {path}\n' for n, path in enumerate(paths))
    (ws / ".gitmodules").write_text(text)
    found = workspaces(home, RootMode.OUTERMOST)
    sandbox = await found.open(await found.resolve(str(ws)))
    try:
        names = {file.path.text for file in (await sandbox.list()).files}
        assert {"packages/a/src/m.py", "packages/b/n.py"} <= names <= {
            "packages/a/src/m.py", "packages/b/n.py", ".gitmodules"
        }  # fmt: skip
    finally:
        await sandbox.aclose()


@pytest.mark.parametrize("mark", [".jj/repo", ".hg/store", ".sl", ".svn/wc.db", ".bzr"])
async def test_every_version_control_marks_its_root(home: Path, mark: str) -> None:
    """N14: else each folder below would have a memory of its own."""
    (home / "ws/src/deep").mkdir(parents=True)
    (home / "ws" / mark).parent.mkdir(exist_ok=True)
    (home / "ws" / mark).mkdir()
    (home / "ws/src/.svn").mkdir()
    (home / "ws" / mark.partition("/")[0] / "hgrc").write_text("secret\n")
    found = workspaces(home)
    for below in ("", "/src", "/src/deep"):
        assert (await found.resolve(f"{home}/ws{below}")).root == f"{home}/ws"
    with pytest.raises(InvalidRequest, match="its like"):
        await found.resolve(f"{home}/ws/{mark.partition('/')[0]}")
    (home / "ws/src/a.py").write_text("A = 1\n")
    sandbox = await found.open(await found.resolve(f"{home}/ws"))
    try:
        assert [file.path.text for file in (await sandbox.list()).files] == ["src/a.py"]
        (read,) = await sandbox.read([f"{mark.partition('/')[0]}/hgrc"], max_bytes=100)
        assert not isinstance(read, FileRead)
    finally:
        await sandbox.aclose()


@pytest.mark.parametrize("mark", [".jj", ".hg"])
async def test_a_repository_of_git_in_another_system_s_is_nearer(home: Path, mark: str) -> None:
    (home / "ws" / mark).mkdir(parents=True)
    make_repository(home / "ws/lib", [("start", {"x/a.py": b""})])
    found = workspaces(home)
    assert (await found.resolve(f"{home}/ws/lib/x")).root == f"{home}/ws/lib"
    assert (await found.resolve(f"{home}/ws")).root == f"{home}/ws"
