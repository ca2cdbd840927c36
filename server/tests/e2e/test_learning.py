"""Passive learning in a real server: no secret is kept anywhere."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server import RunningServer, running_server

_HOOKS = Path(__file__).parents[3] / "hooks"
# Made up, and of shapes that are known.
_SECRETS = (
    "sk-ant-api03-" + "Xy9" * 24,
    "ghp_" + "Zq7w" * 9,
    "AKIA" + "Q7Z4M2N8B6V3C1X9",
    "hunter2-hunter2-Hunter2",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server", LIVE_MEMORY_LOG_LEVEL="debug") as running:
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a.py").write_text("RETRY_LIMIT = 3\n")
    return root


def tool(project: Path, name: str, **given: object) -> dict[str, object]:
    return {
        "hook_event_name": "PostToolUse",
        "cwd": str(project),
        "tool_name": name,
        "tool_input": given,
    }


def count(server: RunningServer, project: Path, figure: str) -> int:
    value = server.request("GET", f"/stats?cwd={project}").json[figure]
    assert isinstance(value, int)
    return value


def wait_for(server: RunningServer, project: Path, figure: str, least: int) -> None:
    until = time.monotonic() + 20
    while count(server, project, figure) < least:
        assert time.monotonic() < until, f"{figure} never came to {least}"
        time.sleep(0.05)  # there is nothing to wait on in another process


@pytest.mark.promise("no-secrets")
def test_a_secret_that_came_in_by_any_door_is_kept_nowhere(
    server: RunningServer, project: Path, tmp_path: Path
) -> None:
    """C20, S25: a file, a command, a path, a question, what a tool said, and the spool."""
    key, token, aws, word = _SECRETS
    text = f'KEY = "{key}"\nTOKEN = "{token}"\nAWS = "{aws}"\npassword = "{word}"\nx = 1\n'
    (project / "b.py").write_text(text)
    (project / ".env").write_text(f"API_KEY={key}\n")
    command = f"curl -H 'Authorization: Bearer {key}' x; cat b.py; cat .env; grep -n {token} b.py"
    said = {"tool_response": {"file": {"content": key, "startLine": 1, "numLines": 5}}}
    events = [
        {**tool(project, "Read", file_path=str(project / "b.py")), **said},
        tool(project, "Edit", file_path=str(project / "b.py"), new_string=key, old_string=token),
        tool(project, "Write", file_path=str(project / ".env"), content=key),
        tool(project, "Read", file_path=str(project / f"{token}.py")),
        tool(project, "Bash", command=command),
    ]
    assert server.request("POST", "/notify", {"events": events}).status == 202
    for event in events:  # and by the hook, with the server away
        subprocess.run(
            ["sh", str(_HOOKS / "run"), "hook.py"],
            input=json.dumps({**event, "session_id": "s"}).encode(),
            env={
                "PATH": os.environ["PATH"],
                "LIVE_MEMORY_DATA_DIR": str(server.data_dir),
                "CLAUDE_PROJECT_DIR": str(project),
            },
            check=True,
        )
    wait_for(server, project, "known_files", 1)
    answer = server.ask(f"Is {key} or password={word} used in b.py?", project)
    assert server.stop() == 0

    data = [file for file in server.data_dir.rglob("*") if file.is_file()]
    assert {"snapshot.json", "index.sqlite"} <= {file.name for file in data}
    for file in (*data, server.log):
        raw = file.read_bytes()
        for secret in (key, token, aws, word):
            assert secret.encode() not in raw, file
    assert not any(secret in json.dumps(answer) for secret in (key, token, aws))
