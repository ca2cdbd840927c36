"""Make sure that the server runs: started once, in the background, whoever asks at the same time.

A plugin-started server outlives the session that needed it first, so it gets its own session,
no open descriptors, and of that session's variables only what `environment` lists.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from live_memory.cli.failure import ExitCode, Failure, forget_trouble
from live_memory.cli.reaching.finding import Server, find
from live_memory.cli.reaching.lock import FileLock
from live_memory.cli.running.environment import lasting
from live_memory.cli.running.mode import Mode
from live_memory.cli.running.replacing import is_outdated, make_way
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, Settings
from live_memory.web.token import ensure_data_dir

__all__ = ["LOG_NAME", "ensure_running", "log_tail"]

LOG_NAME = "server.log"
_LOCK_NAME = "start.lock"
# How a line for a person begins, among those of the log.
_SAID = "live-memory: "
# What the host waits for its header helper is 10 s; reaching it would cost the session its memory.
_WITHIN_S = 8.0
_LOOK_EVERY_S = 0.05
_LONGEST_LOG = 1024 * 1024


def ensure_running(configuration: Configuration, *, within_s: float = _WITHIN_S) -> Server:
    """The running server of this data folder, started now if there is none.

    Raises:
        Failure: it cannot start; the text says why and holds the end of its log.
        InvalidRequest: the data folder or the token is not to be trusted.
    """
    until = time.monotonic() + within_s
    settings = configuration.settings
    # Another caller's server that is just coming up looks like a stranger: only the holder of the
    # lock may conclude that it is one.
    server = _running(settings)
    if server is None or is_outdated(server, settings):
        server = _alone(configuration, until=until)
    if server.port != settings.port and configuration.sources["port"] != "default":
        raise Failure(
            f"the server of '{settings.data_dir}' already runs on port {server.port}, not on "
            f"{settings.port}: stop it first with `live-memory stop`, or use {server.port}",
            code=ExitCode.LOCKED,
            kind="locked",
        )
    forget_trouble(settings.data_dir)
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


def _running(settings: Settings) -> Server | None:
    try:
        return find(settings)
    except Failure as problem:
        # Who just starts, or just ends, may look like any of them.
        if problem.code in (ExitCode.UNREACHABLE, ExitCode.STRANGER, ExitCode.LOCKED):
            return None
        raise


def _alone(configuration: Configuration, *, until: float) -> Server:
    """Start the server unless another caller did while we waited for our turn."""
    settings = configuration.settings
    ensure_data_dir(settings.data_dir)
    left_s = max(0.0, until - time.monotonic())
    with FileLock(settings.data_dir / _LOCK_NAME) as lock:
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


def _start(configuration: Configuration, *, until: float) -> Server:
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
                f"--mode={Mode.BACKGROUND}",
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
    known = {ExitCode.REFUSED, ExitCode.LOCKED, ExitCode.STRANGER}
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
