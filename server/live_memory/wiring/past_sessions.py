"""Which hosts' past sessions can be read, and which workspace one belongs to."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import anyio

from live_memory.adapters.transcripts.claude_code_log import claude_code_logs
from live_memory.adapters.transcripts.codex_log import codex_logs
from live_memory.adapters.transcripts.cursor_log import cursor_logs
from live_memory.adapters.transcripts.gemini_log import gemini_logs
from live_memory.adapters.transcripts.opencode_log import opencode_logs
from live_memory.adapters.transcripts.session_log import (
    Found,
    LeftOut,
    PastEvent,
    PastKind,
    SessionLog,
    Unread,
)
from live_memory.settings import Settings

__all__ = [
    "HOSTS",
    "LeftOut",
    "PastEvent",
    "PastKind",
    "SessionLog",
    "Unread",
    "logs_of",
    "root_finder",
]

HOSTS: Mapping[str, Callable[[Path, Mapping[str, str], float], Found]] = {
    "claude": claude_code_logs,
    "codex": codex_logs,
    "cursor": cursor_logs,
    "gemini": gemini_logs,
    "opencode": opencode_logs,
}


def logs_of(
    hosts: Sequence[str], environ: Mapping[str, str], *, since: float
) -> Iterator[SessionLog | LeftOut]:
    """The logs of these hosts that changed since then, in the user's home or where it is said."""
    for host in hosts:
        yield from HOSTS[host](Path.home(), environ, since)


def root_finder(settings: Settings) -> Callable[[str], str]:
    """What finds the root of the workspace of a folder, as a server does.

    It raises an `InvalidRequest` where there is none.
    """
    from live_memory.wiring.building import workspaces_of  # noqa: PLC0415  (takes long)

    workspaces = workspaces_of(settings)
    return functools.cache(lambda folder: anyio.run(workspaces.resolve, folder).root)
