"""Where events wait for a server that is away: `spool.jsonl` in the data folder, a JSON line each.

It holds nothing that looks like a secret, and at most half a megabyte: then the older half is
dropped and counted. The server takes both files under the same lock.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any

if sys.platform != "win32":
    import fcntl

__all__ = ["write_down"]

# Where an event has a path.
NAMES = ("file_path", "filePath", "notebook_path", "path", "dir_path", "workdir")
# Half of what is kept.
MOST_BYTES = 256 * 1024
# What shows files, and what only leads there. Of any other command nothing is learned, and it may
# hold anything, so it is not kept. This runs without the server's redactor, whose rules would slow
# every hook: what is kept is what needs none.
SHOWING = frozenset(
    "cat head tail sed nl less more bat batcat grep egrep fgrep rg ag git wc sort uniq awk cd "
    "pwd ls find fd true".split()
)
PARTS = re.compile(r"&&|[|;&\n]+")
# Quoted text, assignments, substitutions, addresses: where secrets stand in a command.
RISKY = re.compile(
    r"[$`\\<>{}@]|://|\w=\S|(?i:bearer|pass|pwd|secret|token|api.?key|credential|authorization)"
)
# A long word that mixes digits and letters, between the signs that join the parts of a path.
WORD = re.compile(r"[A-Za-z0-9+=]{16,}")
SHAPES = re.compile(
    r"\b(?:sk-|[a-z]{2,6}_|gl[a-z]{2,6}-|xox[a-z]-|AKIA|ASIA|AIza|eyJ|SG\.|hv[sb]\.)"
    r"[\w.-]{0,99}\d[\w.-]{9}|-----BEGIN|://[^/\s]*@"
)


def write_down(folder: str, project: str, event: dict[str, Any], *, until: float) -> None:
    """Keep an event for later in a bounded file of ours, without anything that may be a secret."""
    tool = event.get("tool_input", {})
    said = [(event, "prompt"), (event, "last_assistant_message"), (tool, "prompt")]
    said += [(part, "text") for part in event.get("tool_response", {}).get("content", [])]
    for part, name in said:
        if name in part:
            part[name] = _harmless(part[name])
    holders = [event, tool, *tool.get("files", []), *tool.get("replacements", [])]
    for holder in holders:
        if "command" in holder and not _only_shows(str(holder["command"])):
            holder["command"] = "unknown"
    names = [holder.get(name, "") for holder in holders for name in NAMES]
    line: dict[str, Any] = {"project": project, "payload": event}
    if any(_may_be_secret(str(name)) for name in names):
        line = {"project": project, "dropped": 1}
    _append(folder, json.dumps(line), until)


def _harmless(text: str) -> str:
    """The lines of a text in which nothing may be a secret, nor is spoken of one."""
    # A key goes on over lines of its own.
    lines = [] if "-----BEGIN" in text else text.split("\n")
    return "\n".join(
        one for one in lines if not _speaks_of_secrets(one) and not _may_be_secret(one)
    )


def _speaks_of_secrets(line: str) -> bool:
    found = re.search(
        r"(?i:bearer|passw|passphrase|\bpass\b|pwd|secret|token|[a-z]_?key\b|credential|\bauth)"
        r"|//\S{0,99}@|\s-\w",
        line,
    )
    return found is not None


def _only_shows(command: str) -> bool:
    """Whether a command shows files, and nothing in it may be a secret."""
    if RISKY.search(command) or _may_be_secret(command):
        return False
    programs = [part.split()[0].rpartition("/")[2] for part in PARTS.split(command) if part.strip()]
    return SHOWING.issuperset(programs)


def _may_be_secret(text: str) -> bool:
    words = WORD.findall(text[:16_000])
    is_mixed = any(re.search(r"\d", word) and re.search(r"[A-Za-z]", word) for word in words)
    return bool(is_mixed or SHAPES.search(text))


def _append(folder: str, line: str, until: float) -> None:
    path, older = os.path.join(folder, "spool.jsonl"), os.path.join(folder, "spool.old.jsonl")
    if len(line) > MOST_BYTES // 4 or not os.path.isdir(folder):
        return
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    try:
        _lock(descriptor, until)
        if os.fstat(descriptor).st_size + len(line) > MOST_BYTES:
            dropped = _counted(older)
            os.replace(path, older)
            lines = [json.dumps({"project": p, "dropped": n}) for p, n in dropped.items()]
            os.close(descriptor)
            descriptor = os.open(path, flags, 0o600)
            line = "\n".join([*lines, line])
        os.write(descriptor, (line + "\n").encode("ascii"))
    finally:
        os.close(descriptor)


def _counted(path: str) -> dict[str, int]:
    """How many events of each project a file holds."""
    found: dict[str, int] = {}
    try:
        with open(path, encoding="ascii") as lines:
            for line in lines:
                one = json.loads(line)
                found[one["project"]] = found.get(one["project"], 0) + one.get("dropped", 1)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return found


def _lock(descriptor: int, until: float) -> None:
    """Hold the file while it is written; whoever holds it longer than a moment is stopped."""
    if sys.platform == "win32":
        return
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.002)
