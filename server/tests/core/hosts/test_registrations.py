# ruff: noqa: E501
"""What hosts are given to run for us: a change here makes every user review our hooks again."""

import json

import pytest
from inline_snapshot import snapshot

from live_memory.core.hosts.registrations import REGISTERED, hook_command, hook_entries


def test_the_entries_stay_as_they_are() -> None:
    made = [
        f"{host} {event} {json.dumps(entry)}"
        for host in REGISTERED
        for event, entry in hook_entries(host).items()
    ]
    assert made == snapshot(
        [
            'codex SessionStart {"hooks": [{"type": "command", "command": "live-memory hook codex", "timeout": 5, "async": true}]}',
            'codex UserPromptSubmit {"hooks": [{"type": "command", "command": "live-memory hook codex", "timeout": 5, "async": true}]}',
            'codex PostToolUse {"matcher": "^(Bash|apply_patch)$", "hooks": [{"type": "command", "command": "live-memory hook codex", "timeout": 5, "async": true}]}',
            'codex Stop {"hooks": [{"type": "command", "command": "live-memory hook codex", "timeout": 5}]}',
            'codex SubagentStop {"hooks": [{"type": "command", "command": "live-memory hook codex", "timeout": 5}]}',
            'codex SessionEnd {"hooks": [{"type": "command", "command": "live-memory hook codex", "timeout": 3}]}',
            'cursor sessionStart {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor beforeSubmitPrompt {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor beforeReadFile {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor afterFileEdit {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor afterShellExecution {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor afterAgentResponse {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor subagentStop {"command": "live-memory hook cursor", "timeout": 5}',
            'cursor sessionEnd {"command": "live-memory hook cursor", "timeout": 5}',
            'gemini SessionStart {"hooks": [{"type": "command", "command": "live-memory hook gemini", "timeout": 5000}]}',
            'gemini BeforeAgent {"hooks": [{"type": "command", "command": "live-memory hook gemini", "timeout": 5000}]}',
            'gemini AfterTool {"matcher": "^(read_file|replace|write_file|run_shell_command|invoke_agent)$", "hooks": [{"type": "command", "command": "live-memory hook gemini", "timeout": 5000}]}',
            'gemini AfterAgent {"hooks": [{"type": "command", "command": "live-memory hook gemini", "timeout": 5000}]}',
            'gemini SessionEnd {"hooks": [{"type": "command", "command": "live-memory hook gemini", "timeout": 5000}]}',
            'vscode SessionStart {"type": "command", "command": "live-memory hook vscode", "timeout": 5}',
            'vscode PostToolUse {"type": "command", "command": "live-memory hook vscode", "timeout": 5}',
        ]
    )


@pytest.mark.parametrize("host", REGISTERED)
def test_every_entry_runs_the_hook_of_its_host_and_has_a_time_limit(host: str) -> None:
    program = ("/home/dev/my tools/live-memory",)
    command = hook_command(host, program)
    assert command == f"'/home/dev/my tools/live-memory' hook {host}"
    for entry in hook_entries(host, program).values():
        hooks = entry.get("hooks", [entry])
        assert isinstance(hooks, list)
        (hook,) = hooks
        assert hook["command"] == command
        # Gemini's are milliseconds.
        assert hook["timeout"] in ((5000,) if host == "gemini" else (3, 5))
        assert json.loads(json.dumps(entry)) == entry


def test_a_host_without_a_file_of_hooks_has_none() -> None:
    with pytest.raises(KeyError):
        hook_entries("opencode")
