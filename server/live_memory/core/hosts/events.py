"""What a host did, in words that fit every host; a dialect makes these from its payloads.

Paths are absolute, with `/` between parts, as the host wrote them; none was looked up on disk.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from live_memory.core.values import Author, Instant

__all__ = [
    "AgentConcluded",
    "CommandRan",
    "Cuts",
    "Ending",
    "FileEdited",
    "FileTouched",
    "FileViewed",
    "FileWritten",
    "HostEvent",
    "HostReport",
    "LineSlice",
    "SessionBegan",
    "SessionEnded",
    "TaskGiven",
    "as_absolute",
    "count_in",
    "inside",
    "joined",
    "lines_shown",
    "shortened",
]


@dataclass(frozen=True, slots=True)
class LineSlice:
    """Some lines of a text, as a Python slice takes them: from 0, and from the end if negative."""

    start: int | None = None
    stop: int | None = None


# Cuts after each other, as in `head -40 f | tail -5`; none is the whole text.
Cuts = tuple[LineSlice, ...]


def lines_shown(cuts: Cuts, total: int) -> range:
    """The line numbers, from 1, that remain of a text of `total` lines."""
    lines = range(1, total + 1)
    for cut in cuts:
        lines = lines[cut.start : cut.stop]
    return lines


@dataclass(frozen=True, slots=True)
class FileViewed:
    """The agent saw these lines of a file."""

    path: str
    cuts: Cuts = ()


@dataclass(frozen=True, slots=True)
class FileWritten:
    """The agent wrote a whole file."""

    path: str


@dataclass(frozen=True, slots=True)
class FileEdited:
    """The agent changed a file; `regions` are the first and last lines of what is new."""

    path: str
    regions: tuple[tuple[int, int], ...] = ()


class Ending(StrEnum):
    """How a command ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class CommandRan:
    """The agent ran a shell command, beginning in this folder."""

    command: str
    cwd: str
    ending: Ending = Ending.SUCCEEDED


@dataclass(frozen=True, slots=True)
class FileTouched:
    """Somebody changed a file; nobody says that the agent saw it."""

    path: str


@dataclass(frozen=True, slots=True)
class SessionBegan:
    """A session began or went on."""

    session: str


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A session ended."""

    session: str


@dataclass(frozen=True, slots=True)
class TaskGiven:
    """An agent was asked to do something: a session's own, or with an `agent` one of its helpers.

    What it was asked is as the host tells it, of any length and with whatever is secret in it.
    """

    session: str
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class AgentConcluded:
    """An agent said this at the end of its work; as in `TaskGiven`. Without `at` it is just now."""

    session: str
    agent: str
    text: str
    author: Author = Author.AGENT
    at: Instant | None = None


HostEvent = (
    FileViewed
    | FileWritten
    | FileEdited
    | CommandRan
    | FileTouched
    | SessionBegan
    | SessionEnded
    | TaskGiven
    | AgentConcluded
)


@dataclass(frozen=True, slots=True)
class HostReport:
    """One payload: the folder it names, if it does, and what happened.

    `records` is the folder in which the host keeps what was said in its sessions. What is not
    understood may have done more than its events tell. `call` names the call of a tool that it
    tells of, where the host gives it a name: told again, by another registration of ours, it has
    the same. `session` names the session, as `host` does it. One that `is_past` was read from the
    host's records of long ago. `folders` are those of a window that has several projects.
    """

    cwd: str | None
    events: tuple[HostEvent, ...] = ()
    records: str | None = None
    is_understood: bool = True
    call: str | None = None
    session: str = ""
    host: str = ""
    is_past: bool = False
    folders: tuple[str, ...] = ()


def count_in(fields: Mapping[str, object], *names: str) -> int | None:
    """The first number of lines by one of these names in what a host says."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
            return value
    return None


def shortened(text: str, most: int) -> str:
    """Its beginning, at most so many characters, to the end of a word: no half of a secret."""
    return text if len(text) <= most else (text[:most].rsplit(None, 1) or [""])[0]


_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SHARE = re.compile(r"\\\\[^\\/]+[\\/]")


def as_absolute(path: str) -> str | None:
    """An absolute path with `/` between parts and no `.` or `..`; nothing for any other text.

    A Windows path keeps its drive, in upper case: `c:\\a\\b` is `C:/a/b`.
    """
    if "\0" in path or any("\ud800" <= char <= "\udfff" for char in path):
        return None
    if _DRIVE.match(path):
        return path[0].upper() + ":" + posixpath.normpath(path[2:].replace("\\", "/"))
    if _SHARE.match(path):
        return "/" + posixpath.normpath("/" + path[2:].replace("\\", "/"))
    if not path.startswith("/"):
        return None
    return "/" + posixpath.normpath(path).lstrip("/")


def joined(folder: str | None, path: str) -> str | None:
    """The absolute path that `path` means in `folder`."""
    whole = as_absolute(path)
    if whole is not None or folder is None:
        return whole
    return as_absolute(f"{folder}/{path}")


def inside(root: str, path: str) -> str | None:
    """The name of an absolute path below `root`; nothing outside, or for the root itself.

    Windows does not tell upper from lower case.
    """
    start = root.rstrip("/") + "/"
    if _DRIVE.match(path):
        is_below = path.casefold().startswith(start.casefold())
    else:
        is_below = path.startswith(start)
    return path[len(start) :] or None if is_below else None
