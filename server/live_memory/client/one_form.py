"""Brings what hosts other than Claude Code say to the form of its payloads, without file text.

A patch becomes names and lines, and so does a diff that a host shows; a helper's result and a
command's exit status come to where Claude Code has them.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from itertools import islice
from typing import Any

__all__ = ["in_one_form", "text_of"]

Fields = dict[str, Any]

# Of one patch; more is a rewrite of the project, and is found when it is asked for.
MOST_FILES, MOST_HUNKS = 64, 32
LARGEST_PATCH, LARGEST_FILE = 512 * 1024, 1024 * 1024
HEAD = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
HUNK = re.compile(r"^@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.MULTILINE)
SHOWN = re.compile(r"Read lines (\d{1,9})-(\d{1,9}) of")
EXIT = re.compile(r"^Exit Code: (\d{1,3})$", re.MULTILINE)


# Names of Claude Code's for Cursor's own.
CURSORS = {
    **{name: name[0].lower() + name[1:] for name in ("PostToolUse", "PostToolUseFailure", "Stop")},
    **{name: name[0].lower() + name[1:] for name in ("SessionStart", "SessionEnd", "SubagentStop")},
    "UserPromptSubmit": "beforeSubmitPrompt",
}


def in_one_form(payload: Fields, host: str, *, until: float) -> Fields:
    """The payload with what is told elsewhere at Claude Code's places; `until` is monotonic."""
    given, made = _fields(payload, "tool_input"), _fields(payload, "tool_response")
    given, made = {**given}, {**made}
    if "patch" in str(payload.get("tool_name")).lower():
        # It is file text, whatever the host calls it.
        texts = [given.pop(name, None) for name in ("command", "input", "patchText", "patch")]
        text = next((one for one in texts if isinstance(one, str)), None)
        if text is not None:
            given["files"] = patched(text, str(payload.get("cwd")), until)
    shown = made.get("returnDisplay")
    if isinstance(shown, dict) and isinstance(shown.get("fileDiff"), str):
        made["structuredPatch"] = ranges_of(shown["fileDiff"])
    if isinstance(shown, str) and SHOWN.match(shown):
        first, last = map(int, SHOWN.match(shown).groups())  # type: ignore[union-attr]  # just so
        made["file"] = {"startLine": first, "numLines": last - first + 1}
    exits = EXIT.findall(str(made.get("llmContent"))[-2000:])
    if payload.get("tool_name") == "run_shell_command" and exits:
        made["exit"] = int(exits[-1])
    if payload.get("tool_name") == "invoke_agent":
        made["agentId"] = given.get("agent_name")
        made["content"] = (
            [{"text": _result(shown.get("result"))}] if isinstance(shown, dict) else []
        )
    also: Fields = {"tool_input": given, "tool_response": made}
    if host == "cursor":
        name, kind = payload.get("hook_event_name"), payload.get("subagent_type")
        also["hook_event_name"] = CURSORS.get(name, name) if isinstance(name, str) else name
        also.update({"agent_type": kind, "agent_id": kind} if kind else {})
    return {**payload, **also}


def patched(text: str, folder: str, until: float) -> list[Fields]:
    """The files that a patch names, with the lines of each that are new."""
    found: list[Fields] = []
    marks = list(islice(HEAD.finditer(text), 2 * MOST_FILES))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends):
        change, name, moved = mark.groups()
        if moved and found:
            # What it was is gone.
            found[-1]["change"], change, name = "delete", "update", moved
        if not name:
            continue
        one: Fields = {"file_path": name.strip(), "change": change.lower()}
        if change in ("Update", "update") and len(text) <= LARGEST_PATCH:
            body = text[mark.end() : end].partition("\n*** End")[0].strip("\n")
            hunks = re.split(r"^@@.*$\n?", body, flags=re.MULTILINE)
            path = os.path.join(folder, one["file_path"])
            one["structuredPatch"] = places_of(hunks, path, until)
        found.append(one)
    return found[:MOST_FILES]


def places_of(hunks: list[str], path: str, until: float) -> list[Fields]:
    """Where the new lines of hunks stand in the file as it is now; hunks have no numbers."""
    try:
        text = "\n" + text_of(path)
    except (OSError, ValueError):
        return []
    found, start = [], 0
    for hunk in hunks[:MOST_HUNKS]:
        # A blank line may stand for an empty one.
        made = (line for line in hunk.rstrip("\n").split("\n") if not line.startswith(("-", "\\")))
        lines = [line[1:] for line in made] if hunk else []
        at = text.find("\n" + "\n".join(lines), start) if lines else -1
        if at < 0 or time.monotonic() > until:
            continue
        found.append({"newStart": text.count("\n", 0, at) + 1, "newLines": len(lines)})
        start = at + 1
    return found


def ranges_of(diff: str) -> list[Fields]:
    """The lines that a diff with numbers makes."""
    hunks = islice(HUNK.finditer(diff), MOST_HUNKS + 1)
    return [{"newStart": int(hunk[1]), "newLines": int(hunk[2] or 1)} for hunk in hunks]


def text_of(path: str) -> str:
    """A file's text, with plain line ends; of a link, a pipe or a large file an `OSError`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_FILE:
            raise OSError("not looked at")
        data = os.read(descriptor, LARGEST_FILE)
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _result(text: object) -> object:
    """What a helper said, of the JSON that it is wrapped in."""
    try:
        said = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return text
    return said.get("response") if isinstance(said, dict) else text


def _fields(of: Fields, name: str) -> Fields:
    value = of.get(name)
    return value if isinstance(value, dict) else {}
