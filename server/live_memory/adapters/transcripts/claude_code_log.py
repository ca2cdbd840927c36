"""Claude Code's records of its sessions: a file a session and one for each helper, as of 2.1."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from live_memory.adapters.transcripts.session_log import (
    Fields,
    Found,
    LogLines,
    PastEvent,
    Teller,
    fields,
    log_files,
    rows,
    text,
    texts_in,
)
from live_memory.core.hosts.events import Ending, count_in

__all__ = ["claude_code_logs"]

# What the client writes as a user: its commands, their output, that a helper ended.
_NO_PROMPT = re.compile(r"\s*(?:<[a-z]+(?:-[a-z]+)+>|\[Request interrupted)")
# A failed command says so; one that was turned down never ran.
_FAILED = re.compile(r"(?:Error: )?Exit code \d")
# Calls whose result is not there yet.
_MOST_CALLS = 256


def claude_code_logs(home: Path, environ: Mapping[str, str], since: float) -> Found:
    """Every log that changed since then."""
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    yield from log_files("claude", folder, ".jsonl", _read, since=since)


def _read(lines: LogLines, path: Path) -> Iterator[PastEvent]:
    teller = Teller(path)
    is_helper = "subagents" in path.parts
    calls: dict[str, Fields] = {}
    message = ""
    for end, line in lines:
        kind, said = line.get("type"), fields(line, "message")
        if kind not in ("user", "assistant") or line.get("isMeta") is True:
            continue
        teller.come_to(end, line.get("timestamp"))
        teller.go_to(line.get("cwd"))
        teller.session = text(line, "sessionId") or teller.session
        teller.agent = text(line, "agentId") if is_helper else ""
        # Older versions wrote what helpers did between the lines of the session.
        is_own = is_helper or line.get("isSidechain") is not True
        if kind == "user":
            yield from _results(teller, line, said, calls)
            yield from _prompt(teller, line, said) if is_own else ()
            continue
        if is_own:
            # One message may be written in several lines.
            teller.says(_words(said), goes_on=text(said, "id") == message != "")
            message = text(said, "id")
        for call in rows(said, "content"):
            if call.get("type") == "tool_use":
                _begin_call(teller, {**call, "cwd": line.get("cwd")}, calls, is_own=is_own)
    yield from teller.ended()


def _begin_call(teller: Teller, call: Fields, calls: dict[str, Fields], *, is_own: bool) -> None:
    if is_own:
        teller.works()
    calls[text(call, "id")] = call
    while len(calls) > _MOST_CALLS:
        del calls[next(iter(calls))]


def _words(said: Fields) -> str:
    return texts_in([part for part in rows(said, "content") if part.get("type") == "text"])


def _prompt(teller: Teller, line: Fields, said: Fields) -> Iterator[PastEvent]:
    words = texts_in(said.get("content"))
    if line.get("isCompactSummary") is True:
        # What the agent knew by then, in its own words; it goes on with its task.
        yield from teller.ended()
        teller.says(words)
        yield from teller.ended()
    elif words and not _NO_PROMPT.match(words):
        yield from teller.asked(words)


def _results(
    teller: Teller, line: Fields, said: Fields, calls: dict[str, Fields]
) -> Iterator[PastEvent]:
    for part in rows(said, "content"):
        call = calls.pop(text(part, "tool_use_id"), None)
        if call is None or part.get("type") != "tool_result":
            continue
        now = teller.cwd
        teller.go_to(call.get("cwd"))
        has_failed = part.get("is_error") is True
        response = fields(line, "toolUseResult")
        if text(call, "name") == "Bash":
            told = text(line, "toolUseResult") or texts_in(part.get("content"))
            if not has_failed or _FAILED.match(told):
                yield from _command(teller, call, response, has_failed=has_failed)
        elif not has_failed:
            yield from _tool(teller, call, response)
        teller.go_to(now)


def _command(
    teller: Teller, call: Fields, response: Fields, *, has_failed: bool
) -> Iterator[PastEvent]:
    ending = Ending.FAILED if has_failed else Ending.SUCCEEDED
    if response.get("interrupted") is True:
        ending = Ending.INTERRUPTED
    if command := text(fields(call, "input"), "command"):
        yield from teller.ran(command, ending=ending)


def _tool(teller: Teller, call: Fields, response: Fields) -> Iterator[PastEvent]:
    given = fields(call, "input")
    path = text(given, "file_path", "notebook_path")
    match text(call, "name"):
        case "Read":
            file = fields(response, "file")
            first, lines = count_in(file, "startLine"), count_in(file, "numLines")
            if first is None or lines is None:
                first, lines = count_in(given, "offset"), count_in(given, "limit")
            yield from teller.viewed(path, first, lines)
        case "Write":
            yield from teller.wrote(path)
        case "Edit" | "MultiEdit" | "NotebookEdit":
            yield from teller.edited(path, _regions(response))
        case "Agent" | "Task":
            result = texts_in(response.get("content"))
            if result:
                yield from teller.helped(text(response, "agentId"), text(given, "prompt"), result)
        case _:
            pass


def _regions(response: Fields) -> Iterator[tuple[int, int]]:
    for hunk in rows(response, "structuredPatch"):
        first, lines = count_in(hunk, "newStart"), count_in(hunk, "newLines")
        if first and lines:
            yield first, lines
