"""Make sure that the server runs: started once, in the background, whoever asks at the same time.

A plugin-started server outlives the session that needed it first, so it gets its own session,
no open descriptors, and of that session's variables only what `environment` lists.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from live_memory import __version__
from live_memory.cli.connection import ProvenServer, find, post
from live_memory.cli.environment import (
    ExitCode,
    Failure,
    FileLock,
    StartMode,
    holder,
    is_alive,
    lasting,
)
from live_memory.cli.saying import say
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, Settings
from live_memory.web.identity import RunningServer, ensure_data_dir, published

__all__ = ["LOG_NAME", "ensure_running", "is_older", "stop", "stop_unheard", "take_over"]

_STOPPED_EVERY_S = 0.05
# After its last word the process is gone at once; in a container, its number is another's here.
_LAST_S = 1.0
# One that hangs saves nothing any more; what it acknowledged is in its journal.
_TO_SAVE_S = 5.0


def stop(
    server: ProvenServer, settings: Settings, *, within_s: float, if_idle: bool = False
) -> bool:
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
        if not is_alive(server.pid):
            return True
        if not is_saved and _has_withdrawn(server, settings):
            is_saved, until = True, time.monotonic() + _LAST_S
        time.sleep(_STOPPED_EVERY_S)
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
            if not is_alive(there.pid):
                return there.pid
            time.sleep(_STOPPED_EVERY_S)
    raise Failure(f"process {there.pid} cannot be ended", code=ExitCode.FAILED, kind="timeout")


def _ask(server: ProvenServer) -> None:
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


def _has_withdrawn(server: ProvenServer, settings: Settings) -> bool:
    """Whether it took back what it published: the last thing it does."""
    said = published(settings.data_dir)
    return said is None or said.pid != server.pid


_RELEASE = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}")
# A server without a question in flight saves for at most 5 s, and usually for none.
_TO_END_S = 10.0


def is_older(theirs: str, ours: str) -> bool:
    """Whether one release came before another; nothing is known of what is no plain release."""
    if not (_RELEASE.fullmatch(theirs) and _RELEASE.fullmatch(ours)):
        return False
    return _numbers(theirs) < _numbers(ours)


def is_outdated(server: ProvenServer, settings: Settings) -> bool:
    """Whether a server should give way to one of this command's version.

    Versions only go up, so each server gives way at most once. A newer command replaces an older
    background server, an older command uses a newer one, and a service takes the place of a
    background server of any version. Whatever somebody looks after, and whatever has a version that
    we cannot read, is left alone and used.
    """
    there = _in_background(server, settings)
    return there is not None and is_older(there.version, __version__)


def make_way(server: ProvenServer, settings: Settings, *, within_s: float) -> bool:
    """Make an older server end, unless a question is in flight; says so once.

    Raises:
        Failure: it said that it ends, and still has not.
    """
    there = _in_background(server, settings)
    try:
        if not stop(server, settings, within_s=within_s, if_idle=True):
            return False
    except Failure as problem:
        if problem.kind == "timeout":
            raise
        return False  # it knows no such request: it is used as it is
    theirs = there.version if there else "another"
    say(f"live-memory: {__version__} takes over from {theirs}", err=True)
    return True


def take_over(settings: Settings) -> None:
    """Make a background server end, because a service is to run in its place.

    Raises:
        Failure: it said that it ends, and still has not.
        InvalidRequest: the token file is not to be trusted.
    """
    try:
        server = find(settings)
    except Failure:
        return  # nobody, or one that hangs: the start itself says what there is to say
    if _in_background(server, settings) is not None:
        stop(server, settings, within_s=_TO_END_S)


def _in_background(server: ProvenServer, settings: Settings) -> RunningServer | None:
    """What a server says of itself in the data folder, where nobody but us looks after it."""
    said = published(settings.data_dir)
    is_it = said is not None and (said.pid, said.mode) == (server.pid, StartMode.BACKGROUND)
    return said if is_it else None


def _numbers(release: str) -> tuple[int, ...]:
    numbers = tuple(map(int, release.split(".")))
    return numbers + (0,) * (4 - len(numbers))


LOG_NAME = "server.log"
START_LOCK = "start.lock"
# How a line for a person begins, among those of the log.
_SAID = "live-memory: "
_LOOK_EVERY_S = 0.05
_LONGEST_LOG = 1024 * 1024


def ensure_running(configuration: Configuration, *, within_s: float) -> ProvenServer:
    """The running server of this data folder, started now if there is none.

    Raises:
        Failure: it cannot start; the text says why and holds the end of its log.
        InvalidRequest: the data folder or the token is not to be trusted.
    """
    until = time.monotonic() + within_s
    settings = configuration.settings
    server = _running(settings)
    if server is None or is_outdated(server, settings):
        server = _alone(configuration, until=until)
    return server


def log_tail(data_dir: Path, *, lines: int = 12) -> str:
    """The end of what the server logged."""
    try:
        with (data_dir / LOG_NAME).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def _running(settings: Settings) -> ProvenServer | None:
    try:
        return find(settings)
    except Failure as problem:
        # Who just starts, or just ends, may look like both.
        if problem.code in (ExitCode.UNREACHABLE, ExitCode.LOCKED):
            return None
        raise


def _alone(configuration: Configuration, *, until: float) -> ProvenServer:
    """Start the server unless another caller did while we waited for our turn."""
    settings = configuration.settings
    ensure_data_dir(settings.data_dir)
    left_s = max(0.0, until - time.monotonic())
    with FileLock(settings.data_dir / START_LOCK) as lock:
        if not lock.take(within_s=left_s):
            raise _too_slow(settings.data_dir)
        try:
            server = find(settings)
        except Failure as problem:
            if problem.code != ExitCode.UNREACHABLE:
                raise
        else:
            # One that has to finish a question stays; the next session asks again.
            if not is_outdated(server, settings) or not make_way(
                server, settings, within_s=until - time.monotonic()
            ):
                return server
        try:
            return _start(configuration, until=until)
        except OSError as problem:
            raise InvalidRequest(
                f"data folder '{settings.data_dir}' cannot be used ({problem.strerror}): make it "
                "writable, or set another with `data_dir`"
            ) from problem


def _start(configuration: Configuration, *, until: float) -> ProvenServer:
    settings = configuration.settings
    process = _spawn(configuration)
    while time.monotonic() < until:
        server = _running(settings)
        if server is not None:
            process.returncode = 0  # it is meant to outlive us: nothing to warn of
            return server
        if process.poll():  # it ends with 0 where another start, not one of ours, was first
            raise _ended(settings, process.returncode)
        time.sleep(_LOOK_EVERY_S)
    raise _too_slow(settings.data_dir)


def _spawn(configuration: Configuration) -> "subprocess.Popen[bytes]":
    """Start `serve` so that nothing ties it to this terminal, session or folder."""
    settings = configuration.settings
    flags = [
        f"--{name.replace('_', '-')}={getattr(settings, name)}"
        for name, source in configuration.sources.items()
        if source == "flag" and name != "data_dir"
    ]
    # Absolute, because the server's working folder is another.
    flags.append(f"--data-dir={settings.data_dir.absolute()}")
    if settings.log_file is None:
        # What it writes to standard error, it bounds from then on.
        flags.append(f"--log-file={LOG_NAME}")
    log = _open_log(settings.data_dir / LOG_NAME)
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter, flags checked by settings
            # -I: neither a folder nor a variable decides what is imported.
            [
                sys.executable,
                "-I",
                "-m",
                "live_memory",
                "serve",
                f"--mode={StartMode.BACKGROUND}",
                *flags,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=lasting(os.environ),
            start_new_session=True,
        )
    finally:
        os.close(log)


def _open_log(log: Path) -> int:
    """Open the log for appending, at most two files of a mebibyte, for its owner only."""
    if log.exists() and log.stat().st_size > _LONGEST_LOG:
        log.replace(log.with_name(f"{LOG_NAME}.1"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(log, flags, 0o600)


def _ended(settings: Settings, returncode: int) -> Failure:
    known = {ExitCode.REFUSED, ExitCode.LOCKED}
    code = ExitCode(returncode) if returncode in known else ExitCode.FAILED
    tail = log_tail(settings.data_dir)
    said = [line for line in tail.splitlines() if line.startswith(_SAID)]
    # The first line is all that a session's user is shown.
    why = said[-1].removeprefix(_SAID) if said else f"it said nothing ({returncode})"
    return Failure(
        f"the server ended at once: {why}\n"
        f"Its log '{settings.data_dir / LOG_NAME}' ends with:\n{tail}",
        code=code,
        kind=code.name.lower(),
    )


def _too_slow(data_dir: Path) -> Failure:
    return Failure(
        "the server did not come up in time: try again, or see `live-memory doctor`\n"
        f"Its log '{data_dir / LOG_NAME}' ends with:\n{log_tail(data_dir)}",
        code=ExitCode.UNREACHABLE,
        kind="timeout",
    )
