"""`live-memory serve`: one server a data folder, in the foreground, until it is told to stop.

The order matters: the lock before the port, the port before anything that takes long. So this
imports only what the first reply needs.
"""

import functools
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import anyio
import click

from live_memory import __version__
from live_memory.cli.environment import (
    FileLock,
    StartMode,
    holder,
    is_alive,
    is_of_a_session,
    lasting,
    limit_malloc_arenas,
    plugin_watch,
    settings_in,
)
from live_memory.cli.main import data_dir_option
from live_memory.cli.saying import say
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, Settings, config_file, load
from live_memory.web import identity as known
from live_memory.web.identity import (
    Identity,
    RunningServer,
    ensure_data_dir,
    ensure_token,
    read_token,
)
from live_memory.web.serving import IdleExit, host_app, listen, log_to
from live_memory.wiring import build_app, never_wait_for_output, open_log
from live_memory.wiring.descriptors import raise_limit

_REFUSED, _LOCKED = 2, 3
# How long a second start waits for the first one to open its port.
_FOR_THE_FIRST_S = 5.0
# Who holds our port answers within this if it is us: nothing tells it apart from a silent stranger.
_OURS_S = 0.5


@click.command(name="serve")
@click.option("--host", help="Address to listen on; only this machine's loopback is accepted.")
@click.option("--port", type=int, help="TCP port to listen on.")
@data_dir_option("Folder that holds everything.")
@click.option("--log-file", type=click.Path(path_type=Path), help="Where lines are logged.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in StartMode]),
    default=StartMode.FOREGROUND.value,
    help="Who looks after it: you, nobody (then it ends when it is not needed), or a service.",
)
@click.option("--idle-exit-s", type=int, help="Seconds of quiet after which it ends; 0 is never.")
@click.option("--print-limits", is_flag=True, help="Print every published limit as JSON and stop.")
def command(*, print_limits: bool, mode: str, **flags: object) -> None:
    """Run the server in the foreground.

    \b
    Examples:
      live-memory serve
      live-memory serve --port 7800 --data-dir /tmp/lm
    """
    if print_limits:
        from live_memory.web.application import published_limits  # noqa: PLC0415  (takes long)

        defaults = Settings()
        limits = {
            **published_limits(),
            "file_bytes": defaults.max_file_bytes,
            "idle_exit_s": defaults.idle_exit_s,
        }
        say(json.dumps(limits, indent=2))
        return
    try:
        # A folder that is named from here stays the same from there.
        flags["data_dir"] = load(flags, settings_in(os.environ), config_file()).settings.data_dir
        if is_of_a_session(os.environ):
            kept = lasting(os.environ)
            os.environ.clear()
            os.environ.update(kept)
        os.chdir("/")
        sys.exit(serve(lambda: load(flags, os.environ, config_file()), mode=StartMode(mode)))
    except InvalidRequest as problem:
        _say(str(problem))
        sys.exit(_REFUSED)


def serve(read: Callable[[], Configuration], *, mode: StartMode = StartMode.FOREGROUND) -> int:
    """Serve until told to stop; the exit code says why it ended.

    Raises:
        InvalidRequest: a setting or a file of ours is not as it must be.
    """
    never_wait_for_output()
    configuration = read()
    settings = configuration.settings
    for warning in configuration.warnings:
        _say(warning)
    host = known.LOOPBACK.get(settings.host)
    if host is None:
        _say(
            f"host {settings.host!r} is refused: only 127.0.0.1, ::1 and localhost are served, "
            "because whoever reaches the port reaches your code"
        )
        return _REFUSED
    ensure_data_dir(settings.data_dir)
    if mode is StartMode.SERVICE:
        # It talks as a client does, with libraries that nothing else here needs before the port.
        from live_memory.cli.launcher import take_over  # noqa: PLC0415

        take_over(settings)
    with FileLock(settings.data_dir / "lock") as lock:
        ended = _turn(lock, settings)
        if ended is not None:
            return ended
        last = lock.last_port()
        lock.note(0)
        token = ensure_token(settings.data_dir)
        listener = _listener(configuration, host, last=last, token=token)
        if listener is None:
            return 0
        with closing(listener):
            here = RunningServer(
                *(host, _port(listener), os.getpid(), __version__, mode),
                async_tools=settings.async_tools,
                tools=settings.tools,
            )
            lock.note(here.port)
            return _serve_on(listener, here, configuration, token=token, reread=read)


def _listener(
    configuration: Configuration, host: str, *, last: int | None, token: str
) -> socket.socket | None:
    """A socket on the port that is set, else on the one of last time, else on any that is free.

    Where none is set, the one of last time comes first, so that its address stays. Nothing where
    our own server has the port, though its lock file and all that it said are gone.

    Raises:
        InvalidRequest: no port of this address can be had.
    """
    wished, refused = configuration.settings.port, ""
    is_set = configuration.sources["port"] != "default"
    for port in dict.fromkeys([wished, last or 0, 0] if is_set else [last or wished, wished, 0]):
        listener = listen(host, port)
        if not isinstance(listener, str):
            if refused:
                _say(f"port {wished} cannot be had ({refused}): took port {_port(listener)}")
            return listener
        if known.is_ours(host, port, token=token, within_s=_OURS_S):
            _say(f"already running on port {port}")
            return None
        refused = listener if port == wished else refused
    raise AssertionError("0 is any port")


def _port(listener: socket.socket) -> int:
    port = listener.getsockname()[1]
    assert isinstance(port, int)
    return port


def _serve_on(
    listener: socket.socket,
    here: RunningServer,
    configuration: Configuration,
    *,
    token: str,
    reread: Callable[[], Configuration],
) -> int:
    settings = configuration.settings
    limit_malloc_arenas()
    raise_limit()
    log = open_log(settings)
    log_to(log, settings.log_level)
    _publish(settings, here)
    try:
        identity = Identity(token, here.port, here.pid, here.host)
        app = build_app(configuration, identity=identity, log=log, reread=reread)
        quiet_s = _quiet_s(configuration, StartMode(here.mode))
        is_ours_alone = here.mode == StartMode.BACKGROUND
        leaving = IdleExit(quiet_s, _say, plugin_watch(os.environ) if is_ours_alone else None)
        return anyio.run(functools.partial(host_app, app, listener, leaving=leaving))
    finally:
        with suppress(OSError):
            known.withdraw(settings.data_dir)


def _publish(settings: Settings, here: RunningServer) -> None:
    """Say where we are; where there is no room for that, the lock's note has to do."""
    try:
        known.publish(settings.data_dir, here)
    except OSError as problem:
        _say(f"data folder '{settings.data_dir}' takes nothing ({problem.strerror})")


def _turn(lock: FileLock, settings: Settings) -> int | None:
    """Wait until the data folder is ours alone; else the exit code of a start that is not needed.

    Whoever holds it serves, or soon does, or is about to end.
    """
    until = time.monotonic() + _FOR_THE_FIRST_S
    while time.monotonic() < until:
        is_held = lock.take()
        ended = _served(settings, is_locked=not is_held)
        if ended is not None or is_held:
            return ended
        time.sleep(0.1)
    there = holder(settings.data_dir / "lock")
    who = f"process {there.pid}, which" if there else "a process that"
    _say(f"data folder '{settings.data_dir}' is locked by {who} does not answer")
    return _LOCKED


def _served(settings: Settings, *, is_locked: bool) -> int | None:
    """How a start ends where the data folder is served; someone may have removed the lock file."""
    there = known.published(settings.data_dir)
    if there is None or not (is_locked or is_alive(there.pid)):
        return None
    with suppress(InvalidRequest):
        if known.is_ours(there.host, there.port, token=read_token(settings.data_dir)):
            if there.version != __version__:
                _say(f"version {there.version} still runs on port {there.port}: stop it first")
                return _LOCKED
            _say(f"already running on port {there.port}")
            return 0
    return None


def _quiet_s(configuration: Configuration, mode: StartMode) -> float | None:
    """After how much quiet it ends: what others look after stays, unless its own flag says so."""
    is_asked_for = configuration.sources["idle_exit_s"] == "flag"
    return (
        configuration.settings.idle_exit_s if mode is StartMode.BACKGROUND or is_asked_for else None
    )


def _say(line: str) -> None:
    say(f"live-memory: {line}", err=True)
