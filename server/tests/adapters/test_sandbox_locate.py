"""Where a host's absolute path leads in a workspace, however it spells the way."""

from pathlib import Path

import pytest

from live_memory.adapters.workspace.disk import DiskWorkspaces
from live_memory.adapters.workspace.ripgrep import Programs, Runner


@pytest.mark.promise("inside-the-workspace")
async def test_a_path_is_found_by_every_spelling_of_its_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "deep").symlink_to(root / "src")
    (root / "out").symlink_to(tmp_path)
    workspaces = DiskWorkspaces(
        home="/nowhere", runner=Runner(), programs=Programs(git=None, rg=None)
    )
    sandbox = await workspaces.open(await workspaces.resolve(str(root)))
    paths = {
        f"{root}/a.py": "a.py",
        f"{tmp_path}/link/src/new.py": "src/new.py",
        f"{tmp_path}/deep/a.py": "src/a.py",
        f"{root}/src/../a.py": "a.py",
        f"{root}/out/secret": None,
        f"{tmp_path}/rootling/a.py": None,
        "/etc/passwd": None,
        str(root): None,
        "": None,
        "a.py": None,
        f"{root}/a\0b": None,
        f"{root}/{'x' * 5_000}": None,
    }
    found = await sandbox.locate([*paths])
    await sandbox.aclose()
    assert [name and name.text for name in found] == [*paths.values()]
