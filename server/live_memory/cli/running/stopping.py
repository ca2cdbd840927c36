"""Ask the server to end, and wait until it has."""

import os
import signal
import time
from pathlib import Path

from live_memory.cli.failure import ExitCode, Failure
from live_memory.cli.reaching.connection import post
from live_memory.cli.reaching.finding import Server
from live_memory.cli.reaching.lock import holder
from live_memory.settings import Settings
from live_memory.web.identity import published

__all__ = ["stop", "stop_unheard"]

_LOOK_EVERY_S = 0.05
# After its last word the process is gone at once; in a container, its number is another's here.
_LAST_S = 1.0
# One that hangs saves nothing any more; what it acknowledged is in its journal.
_TO_SAVE_S = 5.0


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


def stop_unheard(settings: Settings) -> int | None:
    """End our server where it does not prove itself; its process, or nothing where none is sure.

    It holds the lock of the data folder and published that it serves: no other process does both.

    Raises:
        Failure: it belongs to another user, or cannot be ended.
    """
    there, said = holder(settings.data_dir / "lock"), published(settings.data_dir)
    if there is None or said is None or said.pid != there.pid:
        return None
    for number, within_s in ((signal.SIGTERM, _TO_SAVE_S), (signal.SIGKILL, _LAST_S)):
        _signal(there.pid, number)
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            if not _is_alive(there.pid):
                return there.pid
            time.sleep(_LOOK_EVERY_S)
    raise Failure(f"process {there.pid} cannot be ended", code=ExitCode.FAILED, kind="timeout")


def _ask(server: Server) -> None:
    try:
        post(server, "/v1/stop", {"when": "now"})
    except Failure as problem:
        if problem.kind == "timeout":
            raise
        # It takes no such request; the proof covered its process id.
        _signal(server.pid, signal.SIGTERM)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
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
