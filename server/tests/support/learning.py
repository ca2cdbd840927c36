"""What tests of passive learning in a real server share: payloads, and waiting for their effect."""

import subprocess
import time
from pathlib import Path

from tests.support.server import RunningServer

__all__ = ["entries", "figure", "make_project", "notify", "tool", "wait_for", "wait_until_known"]

# Longer than learning takes while the whole suite runs beside it.
_LEARN_S = 30.0


def make_project(root: Path, **files: str) -> Path:
    """A git work tree without a commit, and its files."""
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text)
    return root


def tool(project: Path, name: str, **given: object) -> dict[str, object]:
    """The payload of a tool's call, as the hook sends it."""
    return {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "cwd": str(project),
        "tool_name": name,
        "tool_input": given,
    }


def notify(server: RunningServer, project: Path | str, *payloads: dict[str, object]) -> None:
    """Send events as the hook does; they must be accepted."""
    reply = server.request(
        "POST",
        "/notify",
        {"events": [*payloads]},
        headers={"X-Live-Memory-Project": str(project)},
    )
    assert reply.status == 202, reply.body


def figure(server: RunningServer, project: Path | str, name: str) -> int:
    """One of the figures of a workspace."""
    value = server.request("GET", f"/stats?cwd={project}").json[name]
    assert isinstance(value, int)
    return value


def wait_for(server: RunningServer, project: Path | str, name: str, least: int) -> None:
    """Wait until a figure is at least so large."""
    until = time.monotonic() + _LEARN_S
    while (found := figure(server, project, name)) < least:
        assert time.monotonic() < until, f"{name} is {found} and never came to {least}"
        time.sleep(0.05)  # there is nothing to wait on in another process


def wait_until_known(server: RunningServer, project: Path | str, path: str) -> None:
    """Wait until the timeline names this file."""
    until = time.monotonic() + _LEARN_S
    while path not in (found := {entry.get("path") for entry in entries(server, project)}):
        assert time.monotonic() < until, f"{path} is not among {found}"
        time.sleep(0.05)  # there is nothing to wait on in another process


def entries(server: RunningServer, project: Path | str) -> list[dict[str, object]]:
    """The timeline, newest first."""
    found = server.request("GET", f"/v1/timeline?cwd={project}").json["entries"]
    assert isinstance(found, list)
    return found
