"""Which folder becomes a workspace (S15)."""

import os
from pathlib import Path

import pytest

from live_memory.adapters.workspace.disk import DiskWorkspaces
from live_memory.adapters.workspace.ripgrep import Runner, find_programs
from live_memory.core.errors import InvalidRequest
from live_memory.core.values import WorkspaceKey
from live_memory.ports import WorkspaceIdentity
from tests.contracts.sandbox_worlds import git, make_repository

pytestmark = [pytest.mark.real("git")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path.resolve() / "home"


@pytest.fixture
def workspaces(home: Path) -> DiskWorkspaces:
    programs = find_programs(os.environ["PATH"])
    return DiskWorkspaces(home=str(home), runner=Runner(), programs=programs)


@pytest.fixture
def ws(home: Path) -> Path:
    make_repository(home / "ws", [("start", {"a.py": b"1\n", "d/e/b.py": b"1\n"})])
    return home / "ws"


@pytest.mark.promise("workspaces-never-mix")
async def test_every_spelling_of_a_folder_below_a_work_tree_is_its_one_workspace(
    workspaces: DiskWorkspaces, ws: Path
) -> None:
    (ws.parent / "link").symlink_to("ws/d")
    spellings = [
        ws, f"{ws}/", f"{ws}/d", f"{ws}/d/e", f"{ws}/d/../d//e/.", f"{ws}/../ws",
        f"{ws.parent}/link",
        f"//{str(ws).lstrip('/')}",
    ]  # fmt: skip
    for spelling in spellings:
        found = await workspaces.resolve(str(spelling))
        assert found == WorkspaceIdentity(str(ws), WorkspaceKey.of_root(str(ws)))


@pytest.mark.promise("inside-the-workspace")
async def test_what_is_no_projects_folder_is_refused(
    workspaces: DiskWorkspaces, ws: Path, home: Path, tmp_path: Path
) -> None:
    make_repository(home, [("dotfiles", {})])
    (tmp_path / "to_proc").symlink_to("/proc/self/cwd")
    (tmp_path / "to_home").symlink_to(home)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to_etc").symlink_to("/etc")
    bad = [
        "", " ", "/", "//", "/.", "relative", "./x", "~", "~root", "$HOME", str(home), f"{home}/.",
        f"{home}/",
        "/etc", "/etc/ssl", "/proc/self/cwd", "/proc/self/root", "//proc/self/cwd", "/dev/fd/0",
        "/dev/shm", "/sys",
        "/tmp/../proc/self/cwd", "/tmp", "/usr", "/home", f"{ws}/missing", f"{ws}/a.py",
        f"{ws}/a.py/", f"{ws}\0",
        f"{ws}/.git", f"{ws}/.git/objects", f"{tmp_path}/to_home", f"{tmp_path}/to_etc",
        f"{tmp_path}/loop",
        "/" + "x" * 10_000, "/" + "x/" * 2000, "/\ud800",
    ]  # fmt: skip
    for cwd in bad:
        with pytest.raises(InvalidRequest, match="'cwd'"):
            await workspaces.resolve(cwd)


async def test_a_repository_in_the_home_folder_does_not_swallow_what_lies_below(
    workspaces: DiskWorkspaces, home: Path
) -> None:
    make_repository(home, [("dotfiles", {"notes/a.md": b"1\n"})])
    assert (await workspaces.resolve(f"{home}/notes")).root == f"{home}/notes"


async def test_without_git_a_folder_is_its_own_workspace(
    workspaces: DiskWorkspaces, tmp_path: Path
) -> None:
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    (tmp_path / "plain" / ".git").mkdir()  # holds no HEAD, so it is no repository
    root = str(tmp_path.resolve() / "plain" / "sub")
    assert (await workspaces.resolve(root)).root == root


async def test_submodules_and_linked_worktrees_are_workspaces_of_their_own(
    workspaces: DiskWorkspaces, ws: Path, home: Path
) -> None:
    """Cases C24: the nearest root wins."""
    make_repository(home / "inner", [("start", {"x/a.py": b"1\n"})])
    git(ws, "-c", "protocol.file.allow=always", "submodule", "add", "-q", f"{home}/inner", "sub")
    git(ws, "worktree", "add", "-q", "-b", "other", f"{home}/linked")
    assert (await workspaces.resolve(f"{ws}/sub/x")).root == f"{ws}/sub"
    assert (await workspaces.resolve(f"{home}/linked/d")).root == f"{home}/linked"


async def test_an_opened_workspace_reads_its_files(workspaces: DiskWorkspaces, ws: Path) -> None:
    identity = await workspaces.resolve(f"{ws}/d")
    sandbox = await workspaces.open(identity)
    try:
        assert [each.path.text for each in (await sandbox.list()).files] == ["a.py", "d/e/b.py"]
    finally:
        await sandbox.aclose()
    ws.rename(ws.parent / "moved")
    with pytest.raises(InvalidRequest):
        await workspaces.open(identity)


_PRIVATE = """
.ssh .aws .kube .kube/cache .docker .gnupg .config/gh .config/gcloud .config/rclone .config .local
.local/share .cache .claude .mozilla/firefox .password-store .vscode/extensions .SSH
.local/share/keyrings
"""


@pytest.mark.promise("inside-the-workspace")
@pytest.mark.parametrize("name", _PRIVATE.split())
async def test_what_programs_keep_in_a_home_is_no_workspace(
    workspaces: DiskWorkspaces, home: Path, tmp_path: Path, name: str
) -> None:
    """F5: `cwd` is chosen by a model; links, spellings and names below lead to the same."""
    (home / name / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home / name)
    for cwd in (home / name, home / name / "below", tmp_path / "link", f"{home}/ws/../{name}"):
        (home / "ws").mkdir(exist_ok=True)
        with pytest.raises(InvalidRequest, match="'cwd' is a"):
            await workspaces.resolve(str(cwd))


@pytest.mark.parametrize("name", [".dotfiles", ".config/nvim", ".emacs.d", ".local/share/chezmoi"])
async def test_a_repository_among_hidden_folders_is_a_workspace(
    workspaces: DiskWorkspaces, home: Path, name: str
) -> None:
    (home / name).mkdir(parents=True)
    make_repository(home / name, [("start", {"lua/a.lua": b"1\n"})])
    assert (await workspaces.resolve(f"{home}/{name}/lua")).root == f"{home}/{name}"


@pytest.mark.parametrize("name", [".config", ".ssh", ".password-store", ".config/gh", ".local"])
async def test_a_repository_makes_no_workspace_of_a_folder_of_credentials(
    workspaces: DiskWorkspaces, home: Path, name: str
) -> None:
    (home / name).mkdir(parents=True)
    make_repository(home / name, [("start", {"a/b": b"1\n"})])
    for cwd in (home / name, home / name / "a"):
        with pytest.raises(InvalidRequest, match="'cwd' is a"):
            await workspaces.resolve(str(cwd))


async def test_a_copy_of_credentials_is_none_either(
    workspaces: DiskWorkspaces, tmp_path: Path
) -> None:
    (tmp_path / "backup/bob/.ssh").mkdir(parents=True)
    with pytest.raises(InvalidRequest, match="credentials"):
        await workspaces.resolve(f"{tmp_path}/backup/bob/.ssh")


@pytest.mark.parametrize(
    "cwd", ["/var/log", "/usr/lib", "/usr/share/doc", "/var/spool", "/usr/lib/python3", "/etc/ssl"]
)
async def test_a_system_tree_is_no_workspace(workspaces: DiskWorkspaces, cwd: str) -> None:
    if Path(cwd).is_dir():
        with pytest.raises(InvalidRequest, match="'cwd' is a system"):
            await workspaces.resolve(cwd)
