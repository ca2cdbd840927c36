"""No call looks at the disk on the event loop: a mount that hangs holds up nobody else."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import watched_loop
from tests.support.server import RunningServer, running_server

_MCP = {"Accept": "application/json, text/event-stream"}


def _used_in_every_way(server: RunningServer, root: Path) -> None:
    """Each route once, each kind of event, with what a client names beside it."""
    project = {"X-Live-Memory-Project": str(root)}

    def event(tool: str, **given: object) -> Mapping[str, object]:
        return {
            "hook_event_name": "PostToolUse",
            "session_id": "s",
            "cwd": str(root),
            "tool_name": tool,
            "tool_input": given,
        }

    events = [
        event("Read", file_path=str(root / "a.py")),
        event("Edit", file_path=str(root / "below/b.py")),
        event("Bash", command="cat a.py; git log -1"),
        event("Grep", pattern="LIMIT", path=str(root)),
        event("Read", file_path=str(root.parent / "elsewhere.py")),
    ]
    assert server.request("POST", "/notify", {"events": events}).status == 202
    narrowed = {"question": "Where is PATIENCE set?", "cwd": str(root / "below")}
    assert server.request("POST", "/v1/ask", narrowed, headers=project).status == 200
    for route in ("stats", "v1/facts", "v1/answers", "v1/timeline"):
        assert server.request("GET", f"/{route}?cwd={root}").status == 200
    (root / "a.py").write_text("LIMIT = 5\n")
    assert "LIMIT = 5" in str(server.ask("Where is LIMIT set? When was it changed?", root))
    assert server.request("POST", "/reload", {}).status == 200
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    opened = server.request("POST", "/mcp", hello, headers=_MCP)
    session = {"mcp-session-id": opened.headers["mcp-session-id"]}
    arguments = {"question": "Where is PATIENCE set?", "cwd": str(root / "below")}
    call = {"name": "ask_live_memory", "arguments": arguments}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    reply = server.request("POST", "/mcp", asked, headers={**_MCP, **session, **project})
    assert b"PATIENCE = 4" in reply.body
    assert server.request("POST", "/clear", {"cwd": str(root)}).status == 200


@pytest.mark.parametrize("is_git", [True, False], ids=["git", "a folder"])
def test_nothing_looks_at_the_disk_on_the_event_loop(tmp_path: Path, is_git: bool) -> None:
    root, calls = tmp_path / "project", tmp_path / "calls"
    (root / "below").mkdir(parents=True)
    (root / "a.py").write_text("LIMIT = 3\n")
    (root / "below/b.py").write_text("PATIENCE = 4\n")
    if is_git:
        for name in ("refs/heads", "objects"):
            (root / ".git" / name).mkdir(parents=True)
        (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    watched = (sys.executable, str(watched_loop.__file__), str(calls))
    with running_server(tmp_path / "server", within=watched) as server:
        _used_in_every_way(server, root)
    assert calls.read_text().splitlines() == []
