"""Tells the Live Memory server what the agent read, changed and ran; run by the host each time.

    hook.py [HOST]

Names, ranges and commands only: what a file or a program said never leaves this process. What the
agent said at the end of its work is sent where it cites a place, and how its task begins, unless
`remember_conclusions` is off. The server proves that it is ours before it hears anything. Whatever
goes wrong, this ends soon, says nothing and exits 0; an event that could not be sent is written
down for the server to find.

Hosts that run Claude Code's hooks run this too, so who called is told by what they send. All is
brought to one form here but names: of events, of tools and of what holds a path (the dialects of
the server in `adapters/hooks`).
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any

# Run by its path, it finds the rest of this package by its own folder; what was imported before it
# keeps its place.
if not __package__:
    sys.path.append(__file__.rpartition("/live_memory/")[0])

from live_memory.client.discovery import (
    configured,
    data_folder,
    left_s,
    proved,
    published,
    reply_of,
)

__all__ = ["LARGEST_PAYLOAD", "LONGEST_COMMAND", "conclusion", "main"]

Fields = dict[str, Any]

# All of it, from the first line to the last, on a machine that is not overloaded.
BUDGET_S = 0.2
# Even one that a program on the port only half answers must not be waited for.
UNTIL = time.monotonic() + BUDGET_S
LARGEST_PAYLOAD, LONGEST_COMMAND = 8 * 1024 * 1024, 16_000
# Bytes of a conclusion, characters of a task.
LONGEST_TEXT, LONGEST_TASK = 16_000, 300
HELPER_TOOLS = ("Agent", "Task", "invoke_agent")
# Tools that no other host has under these names, but Cursor.
CLAUDES = ("Read", "Write", "Edit", "MultiEdit", "NotebookEdit", *HELPER_TOOLS[:2])
# Events that tell what an agent was asked and what it said at the end, and where they have it.
ASKED = {
    **dict.fromkeys(("UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt"), "prompt"),
    "chat.message": "prompt",
    "subagentStop": "task",
}
SAID = {
    **dict.fromkeys(("Stop", "SubagentStop", "session.idle"), "last_assistant_message"),
    "AfterAgent": "prompt_response",
    "afterAgentResponse": "text",
    "subagentStop": "summary",
}
OFF = frozenset("0 off f false n no".split())
NOISY = frozenset([".git", "node_modules", ".venv", "__pycache__"])
PATHS = ("file_path", "filePath", "notebook_path", "path")
LINES = [dict.fromkeys(("newStart", "newLines"))]
KEPT = {
    **dict.fromkeys(
        "hook_event_name hookEventName session_id sessionId conversation_id agent_id agent_type "
        "cwd transcript_path tool_name tool_use_id event source reason is_interrupt "
        "command file_path".split()
    ),
    "workspace_roots": [None],
    "tool_input": {
        **dict.fromkeys(PATHS),
        **dict.fromkeys(
            "offset limit start_line end_line startLine endLine command dir_path workdir "
            "working_directory".split()
        ),
        "replacements": [dict.fromkeys(PATHS)],
        "files": [{"file_path": None, "change": None, "structuredPatch": LINES}],
    },
    "tool_response": {
        "file": dict.fromkeys(("startLine", "numLines", "totalLines")),
        "structuredPatch": LINES,
        "interrupted": None,
        "exit": None,
        "error": {"type": None},
    },
}


def kept(value: Any, wanted: Any) -> Any:
    """What of a payload is sent: the named fields, and of them only plain values."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return None
        found = {name: kept(value[name], wanted[name]) for name in wanted if name in value}
        return {name: one for name, one in found.items() if one is not None}
    if isinstance(wanted, list):
        return [kept(one, wanted[0]) for one in value[:64]] if isinstance(value, list) else None
    if isinstance(value, str):
        return value[: LONGEST_COMMAND + 1]  # one more, so that the server sees it was cut
    return value if isinstance(value, (int, float)) else None


def words_in(payload: Fields) -> Fields:
    """What an agent was asked or concluded, as fields of the event; nothing if that is nothing."""
    name, given = name_of(payload), payload.get("tool_input")
    if name in ASKED or name in SAID:
        prompt = beginning(payload.get(ASKED.get(name, "")), LONGEST_TASK)
        # Claude Code announces by a prompt of its own that a helper ended.
        prompt = "" if prompt.startswith("<task-notification>") else prompt
        # What the host does for itself ends like a helper, and has no type.
        is_own = name == "SubagentStop" and not payload.get("agent_type")
        text = "" if is_own else conclusion(payload.get(SAID.get(name, "")))
        found = {"prompt": prompt, "last_assistant_message": text}
        is_told = text or name not in SAID
        return {key: words for key, words in found.items() if words and is_told}
    made = kept(payload.get("tool_response"), {"agentId": None, "content": [{"text": None}]}) or {}
    texts = [part["text"] for part in made.get("content", []) if part]
    text = conclusion("\n".join(one for one in texts if isinstance(one, str)))
    made["content"] = [{"type": "text", "text": text}]
    task = beginning(given.get("prompt"), LONGEST_TASK) if isinstance(given, dict) else ""
    return {"tool_input": {"prompt": task}, "tool_response": made}


def conclusion(value: object) -> str:
    """The beginning of a text that cites a place there; of any other text nothing."""
    text = beginning(value, LONGEST_TEXT)
    # `a.py:12`, `a.py#L12`, `line 12`, `a.py (12-14)`: the server looks closer.
    is_cited = re.search(r"\w`?[:#]L?\d|[Ll]ines? L?\d|\.\w{1,9}`? \(L?\d", text)
    return text if is_cited else ""


def beginning(value: object, most: int) -> str:
    """At most so many characters of a text, and bytes of a conclusion, to the end of a word."""
    text = value if isinstance(value, str) else ""
    cut = text[:most].encode("utf-8", "replace")[:LONGEST_TEXT].decode("utf-8", "ignore")
    return cut if len(cut) == len(text) else (cut.rsplit(None, 1) or [""])[0]


def is_on(name: str) -> bool:
    """Whether a setting is on, as far as this can know: the server asks its own settings."""
    said = os.environ.get("LIVE_MEMORY_" + name.upper()) or configured(name)
    return str(said).lower() not in OFF


def deliver(folder: str, project: str, event: Fields) -> int:
    """Send the event to the server that proves itself; the reply's status."""
    import socket

    server = published(folder)
    address = server.host, server.port
    with socket.create_connection(address, timeout=left_s(UNTIL)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = proved(connection, server, until=UNTIL)
        data = json.dumps(event).encode("ascii")
        head = (
            "POST /notify HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n"
            "X-Live-Memory-Project: "
        ) % (server.shown, key, len(data))
        # The name goes as its bytes; a line end in it would end the header.
        name = project.encode("utf-8", "surrogateescape").replace(b"\r", b"").replace(b"\n", b"")
        connection.settimeout(left_s(UNTIL))
        connection.sendall(head.encode("ascii") + name + b"\r\n\r\n" + data)
        return reply_of(connection, until=UNTIL)[0]


def host_of(payload: Fields) -> str:
    """Which host sends this: others run Claude Code's hooks as well."""
    tool = str(payload.get("tool_name", ""))
    if "cursor_version" in payload or "workspace_roots" in payload:
        return "cursor"
    if tool in CLAUDES:  # whatever fields a newer one may have
        return "claude_code"
    if "turn_id" in payload or "/rollout-" in str(payload.get("transcript_path")):
        return "codex"
    if name_of(payload) in ("BeforeAgent", "AfterAgent", "AfterTool"):
        return "gemini"
    # Gemini's events of a session are Claude Code's.
    is_vscodes = "timestamp" in payload and not tool[:1].isupper()
    return "vscode" if is_vscodes or "hookEventName" in payload else "claude_code"


def name_of(payload: Fields) -> str:
    """The name of the event."""
    name = payload.get("hook_event_name") or payload.get("hookEventName")
    return name if isinstance(name, str) else ""


def event_of(payload: Fields, host: str = "claude_code") -> Fields | None:
    """What of a payload is sent, if anything."""
    if host != "claude_code" or "patch" in str(payload.get("tool_name")).lower():
        from live_memory.client.one_form import in_one_form

        payload = in_one_form(payload, host, until=UNTIL)
    event: Fields = {"host": host, **kept(payload, KEPT)}
    speaks = name_of(event) in ASKED or name_of(event) in SAID
    if speaks or event.get("tool_name") in HELPER_TOOLS:
        words = words_in(payload) if is_on("remember_conclusions") else {}
        return {**event, **words} if words else None
    return event


def project_of(event: Fields, host: str) -> str:
    """The folder that the session is about."""
    if host == "claude_code":
        return os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    # Cursor runs hooks in a folder of its own, and may have several projects open.
    roots = [root for root in event.get("workspace_roots") or [] if isinstance(root, str)]
    path = path_in(event)
    holding = [root for root in roots if path.startswith(root.rstrip("/") + "/")]
    if roots:
        return max(holding or roots[:1], key=len)
    # Codex names the folder that a command ran in.
    cwd = None if host == "codex" else event.get("cwd")
    return cwd if isinstance(cwd, str) and cwd else os.getcwd()


def is_told_by_its_own(host: str, project: str) -> bool:
    """Whether a host that runs Claude Code's hooks has ours of its own as well.

    Of the others each event has a name, by which the server knows what it was told before.
    """
    if host != "cursor":
        return False
    from live_memory.client.one_form import text_of

    for folder in (os.path.expanduser("~"), project):
        try:
            if "hook cursor" in text_of(
                os.path.realpath(os.path.join(folder, ".cursor/hooks.json"))
            ):
                return True
        except (OSError, ValueError):
            pass
    return False


def path_in(event: Fields) -> str:
    """The file that an event is about, if it is about one."""
    given = event.get("tool_input", {})
    names = [event.get("file_path"), *(given.get(name) for name in PATHS)]
    return next((name for name in names if isinstance(name, str)), "")


def is_noise(event: Fields, folder: str) -> bool:
    """Our own data, and changes in folders that programs fill."""
    path = path_in(event).replace("\\", "/")
    if path.startswith(folder.replace("\\", "/") + "/"):
        return True
    parts = path.split("/")
    touched = event.get("hook_event_name") == "FileChanged"
    return touched and not NOISY.isdisjoint(parts)


def payload() -> Fields:
    """The event on standard input, read to its end or to the end of the budget."""
    import select

    data = bytearray()
    while len(data) <= LARGEST_PAYLOAD:
        # What is there is read even if the machine was too busy to start us in time.
        wait_s = max(0.0, UNTIL - time.monotonic())
        if sys.platform != "win32" and not select.select([0], [], [], wait_s)[0]:
            raise OSError("no payload")
        chunk = os.read(0, 1 << 20)
        if not chunk:
            said: Fields = json.loads(data)
            return said
        data += chunk
    raise OSError("too large")


def main() -> None:
    """Send one event, or write it down."""
    said, named = payload(), "".join(sys.argv[1:2]).replace("claude_code", "")
    host = named or host_of(said)
    event, folder = event_of(said, host), data_folder()
    if event is None or is_noise(event, folder):
        return
    project = project_of(event, host)
    if not named and is_told_by_its_own(host, project):
        return
    try:
        status = deliver(folder, project, event)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        status = None
    # 401: it took our proof for an answer and not our key, as a server of another version may.
    if status is None or status >= 500 or status in (401, 429):
        from live_memory.client.spool_events import write_down

        write_down(folder, project, event, until=time.monotonic() + 0.05)


if __name__ == "__main__":
    try:
        main()
    except Exception:  # noqa: BLE001  the host shows what fails; a hook never gets in the way
        pass
    # No clean-up, and nothing that is still open can hold us.
    os._exit(0)
