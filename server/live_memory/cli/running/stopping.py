"""Ask the server to end, and wait until it has."""

import os
import signal
import time
from pathlib import Path

from live_memory.cli.connection import Server, post
from live_memory.cli.failure import ExitCode, Failure
from live_memory.settings import Settings
from live_memory.web.identity import published

__all__ = ["stop"]

_LOOK_EVERY_S = 0.05
# After its last word the process is gone at once; in a container, its number is another's here.
_LAST_S = 1.0


def stop(server: Server, settings: Settings, *, within_s: float, if_idle: bool = False) -> bool:
    """Make a proved server save what it knows and end; false where it has a question to finish.

    Raises:
        Failure: it refused, or it still runs.
    """
    if if_idle:
        if post(server, "/v1/stop", {"when": "idle"}).get("stopping") is not True:
            return False
    else:
        _ask(server)
    is_saved, until = False, time.monotonic() + within_s
    while time.monotonic() < until:
        if not _is_alive(server.pid):
            return True
        if not is_saved and _has_withdrawn(server, settings):
            is_saved, until = True, time.monotonic() + _LAST_S
        time.sleep(_LOOK_EVERY_S)
    if is_saved:
        return True
    raise Failure(
        f"process {server.pid} was asked to stop and still runs: see '{settings.data_dir}'",
        code=ExitCode.FAILED,
        kind="timeout",
    )


def _ask(server: Server) -> None:
    try:
        post(server, "/v1/stop", {"when": "now"})
    except Failure as problem:
        if problem.kind == "timeout":
            raise
        _signal(server.pid)


def _signal(pid: int) -> None:
    """End a server that takes no such request; the proof covered its process id."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as problem:
        raise Failure(
            f"process {pid} belongs to another user", code=ExitCode.FAILED, kind="auth"
        ) from problem


def _has_withdrawn(server: Server, settings: Settings) -> bool:
    """Whether it took back what it published: the last thing it does."""
    said = published(settings.data_dir)
    return said is None or said.pid != server.pid


def _is_alive(pid: int) -> bool:
    """Whether the process still runs; one that only waits to be reaped has ended."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except ProcessLookupError:
        return False
    except OSError:
        return True  # no /proc here, or it went just now: the next look tells
    return not state.rpartition(")")[2].lstrip().startswith("Z")
