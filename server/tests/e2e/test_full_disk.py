"""A data folder that takes nothing more: answers go on, and the state says so (C10, S46)."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from live_memory.adapters.store.memory_folder import MemoryFolder
from live_memory.core.hosts.notices import FileInterest
from live_memory.core.memory.window import FileObserved
from live_memory.web.identity import is_ours
from tests.support.server import RunningServer, a_free_port, environment_for, running_server

_LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
sys.argv = ["live-memory", "serve"]
runpy.run_module("live_memory", run_name="__main__")
"""


def _project(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir(parents=True)
    for number in range(200):
        (project / f"m{number}.py").write_text(f"def only_{number}():\n    return {number}\n" * 9)
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    return project


@pytest.mark.promise("always-something-true")
def test_answers_go_on_where_nothing_can_be_written(tmp_path: Path) -> None:
    project = _project(tmp_path)
    port = a_free_port()
    environment = environment_for(tmp_path, port=port)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _LIMITED], env=environment, stdout=log, stderr=log, cwd=tmp_path
        )
    ask = [sys.executable, "-m", "live_memory", "ask", "Where is MAX_RETRIES set?"]
    try:
        wait = [sys.executable, "-m", "live_memory", "status"]
        for _ in range(50):
            if (
                subprocess.run(wait, env=environment, capture_output=True, check=False).returncode
                == 0
            ):
                break
        answers = [
            subprocess.run(
                [*ask, "--cwd", str(project)],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            ).stdout
            for _ in range(2)
        ]
        status = subprocess.run(wait, env=environment, capture_output=True, text=True, check=False)
    finally:
        process.terminate()
        process.wait(20)
    assert all("\n1|MAX_RETRIES = 7" in answer for answer in answers)
    assert "degraded" in status.stdout
    assert "the index is not kept" in status.stdout
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 8192


@pytest.mark.promise("always-something-true", "no-overwrite-of-unreadable")
def test_a_file_in_the_place_of_the_data_is_reported_and_answers_go_on(tmp_path: Path) -> None:
    project = _project(tmp_path)
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data/workspaces").write_text("a file")
    with running_server(tmp_path) as server:
        body = {"question": "Where is MAX_RETRIES set?", "cwd": str(project)}
        reply = server.request("POST", "/v1/ask", body)
    assert reply.status < 600
    assert (tmp_path / "data/workspaces").read_text() == "a file"
    last = reply.lines[-1]
    assert "answer" in last or "data" in str(last["error"])


# A server whose data folder is a file system of half a megabyte, which nobody else sees.
_SMALL = 'mkdir -p "$1" && mount -t tmpfs -o size=512k,mode=700 small "$1" && shift && exec "$@"'


@contextmanager
def _on_a_small_disk(folder: Path) -> Iterator[RunningServer]:
    port, data = a_free_port(), folder / "data"
    environment = environment_for(folder, port=port)
    serve = [sys.executable, "-m", "live_memory", "serve"]
    own = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*own, "sh", "-c", _SMALL, "sh", str(data), *serve],
            env=environment,
            cwd=folder,
            stdout=out,
            stderr=out,
        )
    try:
        # Its own view of the folder.
        seen = Path(f"/proc/{process.pid}/root{data}")
        token = _token_of(seen, process, port)
        yield RunningServer(port, token, seen, log, process, environment)
    finally:
        process.terminate()
        process.wait(20)


def _token_of(data: Path, process: subprocess.Popen[bytes], port: int) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError):
            token = (data / "token").read_text(encoding="ascii")
            if token and is_ours("127.0.0.1", port, token=token):
                return token
        time.sleep(0.05)  # there is nothing to wait on in another process's start
    raise AssertionError("no server came up")


def _fill(data: Path) -> None:
    with suppress(OSError), (data / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 1024)


def _notified(server: RunningServer, project: Path, name: str) -> int:
    (project / name).write_text(f"# {name}\nx = 1\n")
    event = {
        "hook_event_name": "PostToolUse",
        "cwd": str(project),
        "tool_name": "Read",
        "tool_input": {"file_path": str(project / name)},
    }
    return server.request("POST", "/notify", event).status


def _wait_for(server: RunningServer, status: str, *, within_s: float) -> list[str]:
    until = time.monotonic() + within_s * float(os.environ.get("LM_TEST_SLOW", "1"))
    while True:
        health = server.request("GET", "/health").json
        if health["status"] == status:
            reasons = health["reasons"]
            assert isinstance(reasons, list)
            return reasons
        assert time.monotonic() < until, health
        time.sleep(0.05)  # there is nothing to wait on in another process


def _in_snapshot(data: Path, copy: Path) -> set[str]:
    """The files that a server starting now would know, from a copy of what is on disk."""
    shutil.copytree(data / "workspaces", copy)
    (folder,) = copy.iterdir()
    assert not list(folder.glob("*.new"))
    _, found = MemoryFolder.opened(folder)
    assert found.memory is not None
    assert found.problems == ()
    seen = (entry.content for entry in found.memory.window.entries)
    names = {one.path.text for one in seen if isinstance(one, FileObserved)}
    return names | {
        Path(one.path).name for one in found.memory.heard if isinstance(one, FileInterest)
    }


@pytest.mark.real("unshare", "mount")
@pytest.mark.promise("nothing-lost", "always-something-true")
def test_a_full_disk_is_told_stops_no_answer_and_heals_by_itself(tmp_path: Path) -> None:
    """S46, C10."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    with _on_a_small_disk(tmp_path) as server:
        assert _notified(server, project, "first.py") == 202
        assert "limits.py" in str(server.ask("Where is MAX_RETRIES set?", project)["answer"])
        _fill(server.data_dir)
        statuses = [_notified(server, project, f"{'x' * 200}{n}.py") for n in range(10)]
        # What room was there ahead may take some; then a hook is told to keep its event.
        while statuses[-1] != 503:
            statuses.append(_notified(server, project, f"{'x' * 200}{len(statuses)}.py"))
            assert len(statuses) < 1_000
        assert set(statuses) <= {202, 503}
        reasons = _wait_for(server, "degraded", within_s=5)
        assert "No space left on device" in str(reasons)
        answer = server.ask("Where is MAX_RETRIES set, again?", project)
        assert "limits.py" in str(answer["answer"])
        kept = {f"{'x' * 200}{n}.py" for n, status in enumerate(statuses) if status == 202}
        assert _in_snapshot(server.data_dir, tmp_path / "full") >= kept | {"first.py"}

        (server.data_dir / "filler").unlink()
        _wait_for(server, "ok", within_s=10)
        everything = {f"{'x' * 200}{n}.py" for n in range(len(statuses))} | {"first.py"}
        assert _in_snapshot(server.data_dir, tmp_path / "healed") >= everything
        assert _notified(server, project, "last.py") == 202
    assert "Traceback" not in (tmp_path / "log").read_text()
