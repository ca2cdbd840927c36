"""Hook payloads as Claude Code sends them; other servers that take its hooks take these too."""

from collections.abc import Mapping
from pathlib import Path

__all__ = [
    "bash_ran",
    "file_edited",
    "file_read",
    "file_written",
    "prompt_submitted",
    "turn_ended",
]

Payload = dict[str, object]
Fields = Mapping[str, object]

# What one Read shows without a limit.
_LINES = 2_000


def file_read(
    tree: Path,
    name: str,
    *,
    offset: int | None = None,
    limit: int | None = None,
    session: str = "s",
) -> Payload:
    """A Read of a file as it is now, in whole or in part."""
    given: dict[str, object] = {"file_path": str(tree / name)}
    given |= {} if offset is None else {"offset": offset}
    given |= {} if limit is None else {"limit": limit}
    lines = (tree / name).read_text(encoding="utf-8", errors="replace").splitlines()
    first = max(1, offset or 1)
    shown = lines[first - 1 : first - 1 + (limit or _LINES)]
    file = {
        "filePath": name,
        "content": "\n".join(shown),
        "numLines": len(shown),
        "startLine": first,
        "totalLines": len(lines),
    }
    return _payload(tree, session, "Read", given, {"type": "text", "file": file})


def file_edited(tree: Path, name: str, *, session: str = "s") -> Payload:
    """An Edit; the recordings do not say what it changed."""
    given = {"file_path": str(tree / name), "old_string": "", "new_string": ""}
    return _payload(tree, session, "Edit", given, {"filePath": name, "structuredPatch": []})


def file_written(tree: Path, name: str, *, session: str = "s") -> Payload:
    """A Write of a whole file."""
    given = {"file_path": str(tree / name), "content": ""}
    return _payload(tree, session, "Write", given, {"type": "create", "filePath": name})


def bash_ran(tree: Path, command: str, *, failed: bool, session: str = "s") -> Payload:
    """A shell command; of a failed one the client sends another event."""
    response = {"stdout": "", "stderr": "", "interrupted": False}
    payload = _payload(tree, session, "Bash", {"command": command}, response)
    if failed:
        del payload["tool_response"]
        payload |= {"hook_event_name": "PostToolUseFailure", "error": "Exit code 1"}
    return payload


def prompt_submitted(tree: Path, prompt: str, *, session: str = "s") -> Payload:
    """What a person asks of the agent."""
    return _event(tree, session, "UserPromptSubmit") | {"prompt": prompt}


def turn_ended(tree: Path, said: str, *, session: str = "s") -> Payload:
    """The agent's last message of a turn."""
    return _event(tree, session, "Stop") | {
        "stop_hook_active": False,
        "last_assistant_message": said,
        "background_tasks": [],
        "session_crons": [],
    }


def _payload(tree: Path, session: str, tool: str, given: Fields, response: Fields) -> Payload:
    return _event(tree, session, "PostToolUse") | {
        "tool_name": tool,
        "tool_input": given,
        "tool_response": response,
    }


def _event(tree: Path, session: str, name: str) -> Payload:
    return {
        "hook_event_name": name,
        "session_id": session,
        "cwd": str(tree),
        "permission_mode": "default",
    }
