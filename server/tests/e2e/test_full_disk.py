"""A data folder that takes nothing more: answers go on, and the state says so (C10, S46)."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server import a_free_port, environment_for, running_server

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
    assert all("limits.py:1 (verified)" in answer for answer in answers)
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
