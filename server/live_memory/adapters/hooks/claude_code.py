"""Claude Code's hook payloads, as version 2.1 sends them.

What is unknown, of another type or missing gives no event: a newer client must not break us, and
junk tells nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from live_memory.core.hosts.events import (
    AgentConcluded,
    CommandRan,
    Ending,
    FileEdited,
    FileTouched,
    FileViewed,
    FileWritten,
    HostEvent,
    HostReport,
    LineSlice,
    SessionBegan,
    SessionEnded,
    TaskGiven,
    as_absolute,
)
from live_memory.core.values import Author, Instant

__all__ = ["ClaudeCode"]

Fields = Mapping[str, object]

_TOUCHES = frozenset({"add", "change", "unlink"})
# The tools whose doings we can tell.
_TOOLS = frozenset({"Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "Agent", "Task"})
# Events of which the payload need not say anything.
_QUIET = frozenset({"PostToolUseFailure", "Stop", "SubagentStop", "UserPromptSubmit"})
# The client tells a session by a prompt of its own that a helper in the background ended.
_NO_PROMPT = "<task-notification>"
# A hunk of an edit: more of them are a rewrite.
_MOST_REGIONS = 32


class ClaudeCode:
    """Knows the payloads of one host."""

    def parse(self, payload: Mapping[str, object]) -> HostReport:
        """What one payload says; nothing is raised, whatever it holds."""
        # Its records quote us, and large outputs of tools lie beside them.
        transcript = _path(payload, "transcript_path") or ""
        records = transcript.rpartition("/")[0] or None
        events = tuple(_events(payload))
        is_understood = bool(events) or _text(payload, "hook_event_name") in _QUIET
        if payload.get("hook_event_name") == "PostToolUse":
            is_understood = is_understood and _text(payload, "tool_name") in _TOOLS
        return HostReport(_text(payload, "cwd"), events, records, is_understood)


def _events(payload: Fields) -> Iterator[HostEvent]:
    session = _text(payload, "session_id") or ""
    yield from _words(payload, session)
    match payload.get("hook_event_name"):
        case "PostToolUse":
            yield from _tool_events(payload)
        case "PostToolUseFailure" if payload.get("tool_name") in ("Bash", "PowerShell"):
            # It may have shown and changed files before; other tools that fail did nothing.
            yield from _tool_events(payload)
        case "FileChanged":
            path = _path(payload, "file_path")
            if path and _text(payload, "event") in _TOUCHES:
                yield FileTouched(path)
        case "SessionStart":
            yield SessionBegan(session)
        case "SessionEnd":
            yield SessionEnded(session)
        case _:
            pass


def _words(payload: Fields, session: str) -> Iterator[HostEvent]:
    """What was asked of a session's own agent, and what agents said when they ended."""
    prompt, said = _text(payload, "prompt"), _text(payload, "last_assistant_message")
    match payload.get("hook_event_name"):
        case "UserPromptSubmit" if prompt and not prompt.startswith(_NO_PROMPT):
            yield TaskGiven(session, "", prompt)
        case "Stop" if said:
            # A past session is told with both at once.
            if prompt:
                yield TaskGiven(session, "", prompt)
            yield AgentConcluded(session, "", said, at=_at(payload))
        # What the client does for itself is no agent's work, and has no type.
        case "SubagentStop" if said and _text(payload, "agent_type"):
            agent = _text(payload, "agent_id") or ""
            yield AgentConcluded(session, agent, said, Author.SUBAGENT, _at(payload))
        case _:
            pass


def _of_helper(payload: Fields, given: Fields, response: Fields) -> Iterator[HostEvent]:
    """A sub-agent's task, and its result unless it goes on in the background."""
    session, agent = (_text(payload, "session_id") or "", _text(response, "agentId") or "")
    task, content = _text(given, "prompt"), response.get("content")
    parts = content if isinstance(content, Sequence) else ()
    texts = [_text(part, "text") for part in parts if isinstance(part, Mapping)]
    # Without a name it would be taken for the session's own.
    if task and agent:
        yield TaskGiven(session, agent, task)
    if any(texts):
        text = "\n".join(filter(None, texts))
        yield AgentConcluded(session, agent, text, Author.SUBAGENT, _at(payload))


def _tool_events(payload: Fields) -> Iterator[HostEvent]:
    given, response = _fields(payload, "tool_input"), _fields(payload, "tool_response")
    path = _path(given, "file_path")
    match payload.get("tool_name"):
        case "Read" if path:
            cut = _lines_read(given, response)
            yield FileViewed(path, () if cut is None else (cut,))
        case "Write" if path:
            yield FileWritten(path)
        case "Edit" | "MultiEdit" if path:
            yield FileEdited(path, tuple(_regions(response)))
        case "NotebookEdit":
            notebook = _path(given, "notebook_path")
            if notebook:
                yield FileEdited(notebook)
        case "Bash":
            command, cwd = _text(given, "command"), _path(payload, "cwd")
            if command and cwd:
                yield CommandRan(command, cwd, _ending(payload, response))
        case "Agent" | "Task":
            yield from _of_helper(payload, given, response)
        case _:
            yield from _of_other_tool(payload, given)


def _of_other_tool(payload: Fields, given: Fields) -> Iterator[HostEvent]:
    """What may have changed by a tool whose doings we cannot tell."""
    command, cwd = _text(given, "command"), _path(payload, "cwd")
    if payload.get("tool_name") == "PowerShell" and command and cwd:
        # Another language: what it showed is not told, and it may have changed anything.
        yield CommandRan(f"powershell {command}", cwd, Ending.INTERRUPTED)
        return
    paths = (_path(given, name) for name in ("file_path", "notebook_path", "path"))
    named = next(filter(None, paths), None)
    if named and payload.get("tool_name") not in ("Grep", "Glob"):
        yield FileTouched(named)


def _ending(payload: Fields, response: Fields) -> Ending:
    if response.get("interrupted") is True or payload.get("is_interrupt") is True:
        return Ending.INTERRUPTED
    failed = payload.get("hook_event_name") == "PostToolUseFailure"
    return Ending.FAILED if failed else Ending.SUCCEEDED


def _lines_read(given: Fields, response: Fields) -> LineSlice | None:
    """The lines that were shown: as the client counted them, else as it was asked for."""
    file = _fields(response, "file")
    first, count = _count(file, "startLine"), _count(file, "numLines")
    if first is None or count is None:
        first, count = _count(given, "offset"), _count(given, "limit")
    if first is None and count is None:
        return None
    start = max(0, (first or 1) - 1)
    return LineSlice(start, None if count is None else start + count)


def _regions(response: Fields) -> Iterator[tuple[int, int]]:
    hunks = response.get("structuredPatch")
    if not isinstance(hunks, Sequence) or len(hunks) > _MOST_REGIONS:
        return
    for hunk in hunks:
        if isinstance(hunk, Mapping):
            first, count = _count(hunk, "newStart"), _count(hunk, "newLines")
            if first and count:
                yield first, first + count - 1


def _at(payload: Fields) -> Instant | None:
    """When it was said, where that is told with its time zone."""
    try:
        at = datetime.fromisoformat(_text(payload, "timestamp") or "")
    except ValueError:
        return None
    return Instant(at.timestamp()) if at.tzinfo and at.timestamp() > 0 else None


def _fields(of: Fields, name: str) -> Fields:
    value = of.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(of: Fields, name: str) -> str | None:
    value = of.get(name)
    return value if isinstance(value, str) and value else None


def _path(of: Fields, name: str) -> str | None:
    text = _text(of, name)
    return as_absolute(text) if text else None


def _count(of: Fields, name: str) -> int | None:
    value = of.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        return None
    return value
