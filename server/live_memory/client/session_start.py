"""Prints, when a session starts, which folders the host should watch for changes, and how many
handoffs are open; and, in the first session of all, what is kept and where.

Of handoffs a number is told, and no text that anybody wrote. The server keeps it in a file of its
own in the data folder, so it is there before any server runs.

Folders are few, and none with folders in it that programs fill: each changed file there would start
a process. What is not watched is still never shown as it was: the server compares before it
answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__: list[str] = []

# A session waits for this.
UNTIL = time.monotonic() + 0.1
# Folders that programs fill: watching one would start a process for each of their files.
BUILT = frozenset(
    "node_modules bower_components vendor venv env virtualenv site-packages __pycache__ build "
    "dist out target obj bin coverage htmlcov tmp temp logs log cache DerivedData Pods".split()
)
MOST_WATCHED, MOST_LOOKED_AT, DEEPEST = 24, 2_000, 4
# What else than git marks a work tree.
OTHER_TREES = (".jj", ".hg", ".sl", ".bzr", ".pijul", ".svn/wc.db")
# Of twenty numbers.
LARGEST_COUNT = 4096
ONE_OPEN = "Live Memory: 1 open handoff for this workspace; `handoff` with action list shows it."
SOME_OPEN = (
    "Live Memory: %d open handoffs for this workspace; `handoff` with action list shows them."
)
KEPT = (
    "Live Memory keeps on this machine, in %s: an index of your code, questions with their answers"
)
CONCLUDED = (
    ", and what your agent concludes about the code where it cites lines (off: "
    "%s set remember_conclusions=off)."
)


def watched(project: str) -> list[str]:
    """A few folders without built ones in them; what is too large to look through is left out."""
    seen, found, below = 0, list[str](), [(project, 0)]
    ignored = BUILT | ignored_names(project)
    while below:
        folder, depth = below.pop(0)
        inside, is_clean = list[str](), True
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_LOOKED_AT or time.monotonic() > UNTIL:
                    return found
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.startswith(".") or entry.name in ignored:
                        is_clean = False
                    else:
                        inside.append(entry.path)
        if depth and is_clean and is_small(inside, ignored):
            found.append(folder)
        elif depth < DEEPEST:
            below += [(path, depth + 1) for path in sorted(inside)]
        if len(found) >= MOST_WATCHED:
            break
    return found[:MOST_WATCHED]


def is_small(folders: list[str], ignored: frozenset[str]) -> bool:
    """Whether nothing that programs fill lies anywhere below, as far as a short look can tell."""
    left, looked = list(folders), 0
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                looked += 1
                if looked > MOST_LOOKED_AT // 4 or time.monotonic() > UNTIL:
                    return False
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.startswith(".") or entry.name in ignored:
                        return False
                    left.append(entry.path)
    return True


def ignored_names(project: str) -> frozenset[str]:
    """Plain names in the project's `.gitignore`."""
    try:
        with open(os.path.join(project, ".gitignore"), encoding="utf-8", errors="replace") as file:
            lines = file.read(65536).splitlines()
    except OSError:
        return frozenset()
    names = (line.strip().strip("/") for line in lines if not line.startswith(("#", "!")))
    return frozenset(name for name in names if name and "/" not in name and "*" not in name)


def handoffs_open(project: str) -> str:
    """How many handoffs are open in a project's workspace, in a line; nothing where none are."""
    from live_memory.client.discovery import data_folder, own_file
    from live_memory.client.hook import is_on

    try:
        if not is_on("handoffs") or not is_offered("handoff"):
            return ""
        kept = os.path.join(data_folder(), "workspaces", workspace_of(project))
        until = json.loads(own_file(kept, "handoffs.json", LARGEST_COUNT))
        now = time.time()  # noqa: TID251  (until when they count is wall-clock time)
        count = sum(isinstance(one, (int, float)) and one > now for one in until)
    except (OSError, ValueError, TypeError, RecursionError):
        return ""
    return (ONE_OPEN if count == 1 else SOME_OPEN % count) if count else ""


def is_offered(tool: str) -> bool:
    """Whether agents have a tool, as far as this can know: the server asks its own settings."""
    from live_memory.client.discovery import configured, names_in

    named = names_in(os.environ.get("LIVE_MEMORY_TOOLS") or configured("tools"))
    return not named or tool in named


def workspace_of(project: str) -> str:
    """The name of the folder that the server keeps for the workspace of a project.

    By the server's rules (`DiskWorkspaces.resolve`): it is a hash of the work tree's real root.
    """
    import hashlib

    from live_memory.client.discovery import configured

    root = os.path.realpath(project)
    if configured("canonicalize_workspace") != "false":
        trees = trees_around(root)
        is_outermost = configured("repo_root_mode") == "outermost"
        for tree in trees:
            root = tree
            if not is_outermost or not is_submodule(tree):
                break
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:32]


def trees_around(folder: str) -> Iterator[str]:
    """The work trees that a folder lies in, the nearest first."""
    above = None
    while folder != above:
        dot = os.path.join(folder, ".git")
        is_git = os.path.isfile(os.path.join(dot, "HEAD")) or os.path.isfile(dot)
        if is_git or any(os.path.lexists(os.path.join(folder, name)) for name in OTHER_TREES):
            yield folder
        above, folder = folder, os.path.dirname(folder)


def is_submodule(tree: str) -> bool:
    """Whether the git data of a work tree lie among the modules of another one."""
    try:
        with open(os.path.join(tree, ".git"), "rb") as file:
            return b"/modules/" in file.read(8192)
    except OSError:
        return False


def what_is_kept(command: str) -> str | None:
    """What is kept and where, for who was not told yet; `command` changes settings there."""
    from live_memory.client.discovery import data_folder
    from live_memory.client.hook import is_on

    folder = data_folder()
    told = os.path.join(folder, "told")
    if os.path.lexists(told):
        return None
    os.makedirs(folder, 0o700, exist_ok=True)
    os.close(os.open(told, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    home = os.path.expanduser("~/")
    shown = "~/" + folder[len(home) :] if folder.startswith(home) else folder
    return KEPT % shown + (CONCLUDED % command if is_on("remember_conclusions") else ".")


def watches() -> bool:
    """Whether the host is Claude Code: others that run this plugin take such a reply for junk."""
    from live_memory.client.hook import host_of, payload

    try:
        return host_of(payload()) == "claude_code"
    except (OSError, ValueError, TypeError, AttributeError):
        return True


if __name__ == "__main__":
    try:
        sys.path.append(__file__.rpartition("/live_memory/")[0])
        said: dict[str, object] = {}
        command = "live-memory config"
        if watches():
            command = "/live-memory-config"
            project = os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
            line = handoffs_open(project)
            output: dict[str, object] = {"hookEventName": "SessionStart"}
            output.update({"additionalContext": line} if line else {})
            try:
                output["watchPaths"] = watched(project)
            except OSError:
                if not line:
                    raise
            said["hookSpecificOutput"] = output
        try:
            kept = what_is_kept(command)
            said.update({"systemMessage": kept} if kept else {})
        except OSError:
            pass
        if said:
            print(json.dumps(said))
    except Exception:  # noqa: BLE001  a session starts all the same
        pass
