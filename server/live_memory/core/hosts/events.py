"""What a host did, in words that fit every host; a dialect makes these from its payloads.

Paths are absolute, with `/` between parts, as the host wrote them; none was looked up on disk.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "CommandRan",
    "Cut",
    "Cuts",
    "Ending",
    "FileEdited",
    "FileTouched",
    "FileViewed",
    "FileWritten",
    "HostEvent",
    "HostReport",
    "SessionBegan",
    "SessionEnded",
    "lines_shown",
]


@dataclass(frozen=True, slots=True)
class Cut:
    """Some lines of a text, as a Python slice takes them: from 0, and from the end if negative."""

    start: int | None = None
    stop: int | None = None


# Cuts after each other, as in `head -40 f | tail -5`; none is the whole text.
Cuts = tuple[Cut, ...]


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


HostEvent = (
    FileViewed | FileWritten | FileEdited | CommandRan | FileTouched | SessionBegan | SessionEnded
)


@dataclass(frozen=True, slots=True)
class HostReport:
    """One payload: the folder it names, if it does, and what happened.

    `records` is the folder in which the host keeps what was said in its sessions. What is not
    understood may have done more than its events tell.
    """

    cwd: str | None
    events: tuple[HostEvent, ...] = ()
    records: str | None = None
    is_understood: bool = True
