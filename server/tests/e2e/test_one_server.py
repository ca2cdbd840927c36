"""One server a data folder, whatever the lock file says, and whoever removes it (S49, C08)."""

import json
import subprocess
from pathlib import Path

import pytest

from live_memory.web.identity import published
from tests.support.server import running_server, started

_NOT_NEEDED = 0


def test_what_the_lock_file_says_locks_nobody_out(tmp_path: Path) -> None:
    """S49: the number of a process that is long gone, or of one that is somebody else."""
    data = tmp_path / "data"
    data.mkdir(0o700)
    (data / "lock").write_text("1 7711\n")
    with running_server(tmp_path) as server:
        assert (data / "lock").read_text() == f"{server.pid} {server.port}\n"
        assert server.request("GET", "/health").status == 200


@pytest.mark.promise("nothing-lost")
def test_a_lock_file_that_is_removed_lets_no_second_server_in(tmp_path: Path) -> None:
    """S49, C08: two of them would write over each other."""
    with running_server(tmp_path) as server:
        (server.data_dir / "lock").unlink()
        second = started(tmp_path)
        code, said = _end(second, tmp_path / "log")
        there = published(server.data_dir)

    assert code == _NOT_NEEDED
    assert f"already running on port {server.port}" in said
    assert said.count("\n") == 1
    assert there is not None
    assert there.pid == server.pid


def test_a_data_folder_that_is_reached_by_a_link_is_the_same_folder(tmp_path: Path) -> None:
    """S49."""
    with running_server(tmp_path) as server:
        (tmp_path / "link").symlink_to(server.data_dir)
        second = started(tmp_path, LIVE_MEMORY_DATA_DIR=str(tmp_path / "link"))
        code, said = _end(second, tmp_path / "log")

    assert code == _NOT_NEEDED
    assert said.count("\n") == 1


@pytest.mark.promise("workspaces-never-mix", "nothing-lost")
def test_while_others_try_to_start_every_workspace_is_kept_whole(tmp_path: Path) -> None:
    """C08: eight workspaces learn and answer while four more servers want the folder."""
    projects = []
    for number in range(8):
        folder = tmp_path / f"project_{number}"
        folder.mkdir()
        (folder / "limits.py").write_text(f"LIMIT_{number} = {number}\n")
        projects.append(folder)
    with running_server(tmp_path) as server:
        rivals = [started(tmp_path) for _ in range(4)]
        for _ in range(3):
            for number, project in enumerate(projects):
                server.ask(f"Where is LIMIT_{number}?", project)
        codes = [rival.wait(60) for rival in rivals]
    with running_server(tmp_path) as again:
        kept = [
            again.request("GET", f"/v1/answers?cwd={project}").json["answers"]
            for project in projects
        ]
        health = again.request("GET", "/health").json

    assert codes == [_NOT_NEEDED] * 4
    assert [len(answers) if isinstance(answers, list) else 0 for answers in kept] == [3] * 8
    assert (health["status"], health["reasons"]) == ("ok", [])
    for file in (tmp_path / "data").rglob("*.json"):
        json.loads(file.read_text())


def _end(process: "subprocess.Popen[bytes]", log: Path) -> tuple[int, str]:
    try:
        return process.wait(20), log.read_text()
    finally:
        process.kill()
        process.wait()
