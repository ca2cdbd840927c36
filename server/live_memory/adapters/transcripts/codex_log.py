"""Codex's rollouts: a file a session or helper, in the paginated form of 0.147 on or the older one.

Of the newer form only what it calls items is read: in code mode the rest hides what was done.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from live_memory.adapters.transcripts.session_log import (
    Fields,
    Found,
    LogLines,
    PastEvent,
    Teller,
    fields,
    hunks,
    log_files,
    object_in,
    text,
    texts_in,
)
from live_memory.core.hosts.events import Ending

__all__ = ["codex_logs"]

_CODE = re.compile(r"(?:exited with code|[Ee]xit[ _][Cc]ode\"?:) ?(-?\d+)")
# It still runs, or nobody can say how far it came.
_NO_END = re.compile(r"running with session ID|aborted by user|timed out", re.IGNORECASE)
_REFUSED = re.compile(r"rejected by user|declined", re.IGNORECASE)
_PATCH = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_MOST_CALLS = 256


def codex_logs(home: Path, environ: Mapping[str, str], since: float) -> Found:
    """Every rollout that changed since then."""
    root = Path(environ.get("CODEX_HOME") or home / ".codex")
    for folder in (root / "sessions", root / "archived_sessions"):
        yield from log_files("codex", folder, ".jsonl", _read, since=since)
        yield from log_files("codex", folder, ".jsonl.zst", _read, since=since, unpacked=_unpacked)


@contextmanager
def _unpacked(packed: IO[bytes]) -> Iterator[IO[bytes]]:
    """What a compressed file holds.

    Raises:
        OSError: there is no program that unpacks it.
    """
    zstd = shutil.which("zstd")
    if zstd is None:
        raise OSError("compressed, and the program `zstd` is not installed")
    quiet = subprocess.DEVNULL
    with subprocess.Popen(  # noqa: S603  (a fixed command; the name is found in an absolute PATH)
        [zstd, "-dc"], stdin=packed, stdout=subprocess.PIPE, stderr=quiet
    ) as run:
        assert run.stdout is not None
        yield run.stdout


def _read(lines: LogLines, path: Path) -> Iterator[PastEvent]:
    teller = Teller(path)
    read_event = _older_event
    calls: dict[str, Fields] = {}
    for end, line in lines:
        teller.come_to(end, line.get("timestamp"))
        payload = fields(line, "payload")
        match line.get("type"):
            # What a session goes on from may be told in it too, with its own beginning.
            case "session_meta" if not teller.session:
                _begin(teller, payload)
                if payload.get("history_mode") == "paginated":
                    read_event = _newer_event
            case "turn_context":
                teller.go_to(payload.get("cwd"))
            case "compacted":
                # What the agent knew by then, in its own words; it goes on with its task.
                yield from teller.ended()
                teller.says(text(payload, "message"))
                yield from teller.ended()
            case "event_msg":
                yield from read_event(teller, payload)
            case "response_item" if read_event is _older_event:
                yield from _item(teller, payload, calls)
            case _:
                pass
    yield from teller.ended()


def _begin(teller: Teller, meta: Fields) -> None:
    own = text(meta, "id", "session_id")
    parent = text(meta, "parent_thread_id")
    teller.session = text(meta, "session_id", "id") if parent else own
    teller.agent = own if parent or meta.get("thread_source") == "subagent" else ""
    teller.go_to(meta.get("cwd"))


def _older_event(teller: Teller, event: Fields) -> Iterator[PastEvent]:
    match event.get("type"):
        case "user_message":
            yield from teller.asked(text(event, "message"))
        case "agent_message":
            teller.says(text(event, "message"))
        case "task_complete":
            teller.says(text(event, "last_agent_message"))
            yield from teller.ended()
        case _:
            pass


def _newer_event(teller: Teller, event: Fields) -> Iterator[PastEvent]:
    if event.get("type") == "task_complete":
        yield from _older_event(teller, event)
    item = fields(event, "item") if event.get("type") == "item_completed" else {}
    match item.get("type"):
        case "UserMessage":
            yield from teller.asked(texts_in(item.get("content")))
        case "AgentMessage":
            teller.says(texts_in(item.get("content")))
        case "CommandExecution":
            yield from _command(teller, item)
        case "FileChange" if item.get("status") == "completed":
            for path, change in fields(item, "changes").items():
                yield from _change(teller, path, change if isinstance(change, dict) else {})
        case "McpToolCall":
            teller.works()
        case _:
            pass


def _command(teller: Teller, item: Fields) -> Iterator[PastEvent]:
    command = _script(item.get("command"))
    # What was turned down never ran, and what is typed into a program is no command.
    is_typed = item.get("source") == "unified_exec_interaction"
    if not command or item.get("status") == "declined" or is_typed:
        return
    folder = text(item, "cwd")
    if folder.startswith("file:"):
        folder = unquote(urlsplit(folder).path)
    code = item.get("exit_code")
    ending = Ending.SUCCEEDED if code == 0 else Ending.FAILED
    yield from teller.ran(
        command, folder, ending=ending if code is not None else Ending.INTERRUPTED
    )


def _change(teller: Teller, path: str, change: Fields) -> Iterator[PastEvent]:
    moved = text(change, "move_path")
    if change.get("type") == "add":
        yield from teller.wrote(path)
    else:
        yield from teller.edited(moved or path, hunks(change.get("unified_diff")))


def _item(teller: Teller, item: Fields, calls: dict[str, Fields]) -> Iterator[PastEvent]:
    """A call of the older form, which is told once its output says how it ended."""
    match item.get("type"):
        case "function_call" | "custom_tool_call" | "local_shell_call":
            teller.works()
            calls[text(item, "call_id")] = item
            while len(calls) > _MOST_CALLS:
                del calls[next(iter(calls))]
        case "function_call_output" | "custom_tool_call_output":
            call = calls.pop(text(item, "call_id"), None)
            if call is not None:
                output = item.get("output")
                said = texts_in(output.get("content") if isinstance(output, dict) else output)
                yield from _called(teller, call, said)
        case _:
            pass


def _called(teller: Teller, call: Fields, said: str) -> Iterator[PastEvent]:
    if _REFUSED.search(said[:200]):
        return
    found = _CODE.search(said)
    ending = Ending.INTERRUPTED if not found and _NO_END.search(said) else Ending.SUCCEEDED
    if found and int(found[1]):
        ending = Ending.FAILED
    given = object_in(text(call, "arguments")) or fields(call, "action")
    command = _script(given.get("cmd") or given.get("command"))
    patch = text(call, "input") or text(given, "input") or command
    if "*** Begin Patch" in patch:
        if ending is Ending.SUCCEEDED:
            yield from _patched(teller, patch)
    elif command:
        yield from teller.ran(command, text(given, "workdir", "working_directory"), ending=ending)


def _patched(teller: Teller, patch: str) -> Iterator[PastEvent]:
    for kind, name in _PATCH.findall(patch):
        path = name.rstrip()
        yield from teller.wrote(path) if kind == "Add File" else teller.edited(path)


def _script(command: object) -> str:
    """A command as a shell takes it: a text, or the words of a call, often of a shell with one."""
    if not isinstance(command, list):
        return command if isinstance(command, str) else ""
    words = [word for word in command if isinstance(word, str)]
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)
