"""Watching in a real server, with all the watches one could want and with too few (C12)."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.server import RunningServer, running_server

_FOLDERS = 80


def _project(folder: Path) -> Path:
    """Many folders with a file in each, so that 64 watches are too few."""
    project = folder / "project"
    for number in range(_FOLDERS):
        (project / f"d{number}").mkdir(parents=True)
        (project / f"d{number}/m.py").write_text(f"LIMIT_{number} = {number}\n")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


def _learn(server: RunningServer, project: Path, *names: str) -> None:
    events = [
        {
            "hook_event_name": "PostToolUse",
            "cwd": str(project),
            "tool_name": "Read",
            "tool_input": {"file_path": str(project / name)},
        }
        for name in names
    ]
    assert server.request("POST", "/notify", {"events": events}).status == 202
    _until(lambda: _stats(server, project)["known_files"] == len(names))


def _stats(server: RunningServer, project: Path) -> dict[str, object]:
    return server.request("GET", f"/stats?cwd={project}").json


def _watch(server: RunningServer, project: Path) -> dict[str, object]:
    watch = _stats(server, project)["watch"]
    assert isinstance(watch, dict)
    return watch


def _until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)  # there is nothing to wait on in another process


def _kinds(server: RunningServer, project: Path) -> list[str]:
    entries = server.request("GET", f"/v1/timeline?cwd={project}").json["entries"]
    assert isinstance(entries, list)
    return [entry["kind"] for entry in entries]


def _with_limit(name: str, value: int) -> list[str]:
    """A command that runs the next one with a limit of its own.

    `/proc/sys/user` is a user namespace's; `/proc/sys/fs` would be the whole machine's.
    """
    script = f'echo {value} > /proc/sys/user/{name} && exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", script, "sh"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("limits of inotify cannot be set here: no user namespaces")
    return command


@pytest.mark.promise("ingest-is-free")
def test_an_edit_that_no_hook_reports_is_learned_before_anybody_asks(tmp_path: Path) -> None:
    project = _project(tmp_path)
    with running_server(tmp_path / "server") as server:
        _learn(server, project, "d0/m.py", "d1/m.py")
        _until(lambda: _watch(server, project)["folders"] == 3)
        before = len(_kinds(server, project))
        (project / "d0/m.py").write_text("LIMIT_0 = 1000\n")
        _until(lambda: len(_kinds(server, project)) == before + 1)
        # Learning it was no change, so nothing more happens.
        (project / "d1/m.py").write_text("LIMIT_1 = 1000\n")
        _until(lambda: len(_kinds(server, project)) >= before + 2)
        assert len(_kinds(server, project)) == before + 2
        stats = _stats(server, project)
        assert (stats["model_calls"], stats["questions"], stats["known_files"]) == (0, 0, 2)


def test_with_the_setting_off_nothing_is_watched(tmp_path: Path) -> None:
    project = _project(tmp_path)
    with running_server(tmp_path / "server", LIVE_MEMORY_WATCH="off") as server:
        _learn(server, project, "d0/m.py")
        assert _watch(server, project) == {
            "state": "off", "folders": 0, "wanted": 0, "problem": "setting 'watch' is off"
        }  # fmt: skip
        (project / "d0/m.py").write_text("LIMIT_0 = 1000\n")
        assert "LIMIT_0 = 1000" in str(server.ask("Where is LIMIT_0 set?", project)["answer"])


@pytest.mark.real("unshare", "git")
@pytest.mark.promise("never-falsely-fresh", "always-something-true")
@pytest.mark.parametrize(
    ("name", "value", "state"),
    [("watches", 64, "partial"), ("instances", 0, "off")],
)
def test_beyond_a_limit_of_the_system_answers_are_as_fresh_and_it_is_said(
    tmp_path: Path, name: str, value: int, state: str
) -> None:
    project = _project(tmp_path)
    names = [f"d{number}/m.py" for number in range(_FOLDERS)]
    within = _with_limit(f"max_inotify_{name}", value)
    with running_server(tmp_path / "server", within=within) as server:
        _learn(server, project, *names)
        _until(lambda: _watch(server, project)["state"] == state)
        assert f"max_user_{name}" in str(_watch(server, project)["problem"])
        for number in (0, 79):
            (project / f"d{number}/m.py").write_text(f"LIMIT_{number} = 1000{number}\n")
            answer = server.ask(f"Where is LIMIT_{number} set?", project)["answer"]
            assert f"LIMIT_{number} = 1000{number}" in str(answer)
        health = server.request("GET", "/health").json
        assert (health["status"], health["reasons"]) == ("ok", [])
        doctor = subprocess.run(
            [sys.executable, "-m", "live_memory", "doctor"],
            env=server.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert f"warn  watching     watching is {state}" in doctor.stdout
        assert f"sysctl fs.inotify.max_user_{name}=" in doctor.stdout
        log = server.log.read_text()
        assert log.count('"event": "WatchLimited"') >= 1
        assert "Traceback" not in log
