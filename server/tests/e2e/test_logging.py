"""What a real server logs, where, and how much."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.scripted_endpoint import Body, Text, serving
from tests.support.server import a_free_port, environment_for, running_server, started


def _project(folder: Path) -> Path:
    project = folder / "project"
    project.mkdir()
    (project / "limits.py").write_text("MAX_RETRIES = 7\n")
    return project


def _events(text: str) -> list[str]:
    return [json.loads(line)["event"] for line in text.splitlines()]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("debug", {"WorkspaceOpened", "IndexRefreshed", "QuestionFinished"}),
        ("info", {"WorkspaceOpened", "QuestionFinished"}),
        ("error", set[str]()),
    ],
)
def test_signals_go_to_the_file_that_is_set_from_the_level_that_is_set(
    tmp_path: Path, level: str, expected: set[str]
) -> None:
    project = _project(tmp_path)
    settings = {"LIVE_MEMORY_LOG_FILE": "lines.log", "LIVE_MEMORY_LOG_LEVEL": level}
    with running_server(tmp_path / "server", **settings) as server:
        assert "MAX_RETRIES = 7" in str(server.ask("Where is MAX_RETRIES set?", project)["answer"])
        file = server.data_dir / "lines.log"
        assert {*_events(file.read_text())} - {"log"} == expected
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "QuestionFinished" not in server.log.read_text()


@pytest.mark.promise("no-secrets")
@pytest.mark.parametrize(("provider", "suffix"), [("openai", "/v1"), ("anthropic", "")])
def test_no_library_logs_what_was_asked_or_read(tmp_path: Path, provider: str, suffix: str) -> None:
    """F10 of security-2: an SDK that is told to debug writes whole requests."""
    project = _project(tmp_path)
    with serving() as endpoint:
        channel = endpoint.open(Text("`MAX_RETRIES` is 7 (`limits.py:1`)."), Body("<no answer>"))
        settings = {
            "OPENAI_LOG": "debug",
            "ANTHROPIC_LOG": "debug",
            "PYTHONASYNCIODEBUG": "1",
            "LIVE_MEMORY_LOG_LEVEL": "debug",
            "LIVE_MEMORY_PROVIDER": provider,
            "LIVE_MEMORY_MODEL": "gpt-5-mini",
            "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
            "LIVE_MEMORY_BASE_URL": channel.base_url + suffix,
        }
        with running_server(tmp_path / "server", **settings) as server:
            server.ask("Where is MAX_RETRIES set for an aardvark?", project)
            server.ask("Where is MAX_RETRIES set for a wombat?", project)
            log = server.log.read_text()
        asked = "".join(request.raw.decode() for request in channel.requests)
    assert {"QuestionFinished", "IndexRefreshed"} <= {*_events(log)}
    for said in ("aardvark", "wombat", "MAX_RETRIES"):
        assert said in asked
        assert said not in log


def test_a_log_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "data/there").mkdir(parents=True, mode=0o700)
    (tmp_path / "data").chmod(0o700)
    process = started(tmp_path, "--log-file=there", LIVE_MEMORY_PORT=str(a_free_port()))
    assert process.wait(20) == 2
    said = (tmp_path / "log").read_text()
    assert "setting 'log_file'" in said
    assert "Traceback" not in said


def test_a_server_in_the_background_logs_to_the_file_it_was_started_with(tmp_path: Path) -> None:
    project = _project(tmp_path)
    environment = environment_for(tmp_path, port=a_free_port())

    def run(*arguments: str) -> None:
        command = [sys.executable, "-m", "live_memory", *arguments]
        subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)

    run("start")
    try:
        run("ask", "Where is MAX_RETRIES set?", "--cwd", str(project))
        file = tmp_path / "data/server.log"
        assert "QuestionFinished" in _events(file.read_text())
        # It may be moved away while the server runs.
        file.rename(tmp_path / "data/kept.log")
        run("ask", "Where is MAX_RETRIES defined?", "--cwd", str(project))
        assert _events(file.read_text()) == ["QuestionFinished"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        run("stop")
