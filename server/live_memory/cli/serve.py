"""`live-memory serve`: one server a data folder, in the foreground, until it is told to stop.

The order matters: the lock before the port, the port before anything that takes long.
"""

import fcntl
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import anyio
import click

from live_memory import __version__
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Configuration, Settings, config_file, load
from live_memory.web import identity as known
from live_memory.web.hosting.limits import published_limits
from live_memory.web.hosting.logs import log_to_stderr
from live_memory.web.hosting.server import host_app, listen
from live_memory.web.identity import Identity, RunningServer
from live_memory.web.token import ensure_data_dir, ensure_token, read_token
from live_memory.wiring import build_app

__all__ = ["command", "serve"]

_REFUSED, _LOCKED, _PORT_TAKEN = 2, 3, 4
_LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
# How long a second start waits for the first one to open its port.
_FOR_THE_FIRST_S = 5.0


@click.command(name="serve")
@click.option("--host", help="Address to listen on; only this machine's loopback is accepted.")
@click.option("--port", type=int, help="TCP port to listen on.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder that holds everything.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--print-limits", is_flag=True, help="Print every published limit as JSON and stop.")
def command(*, print_limits: bool, **flags: object) -> None:
    """Run the server in the foreground."""
    if print_limits:
        limits = {**published_limits(), "file_bytes": Settings().max_file_bytes}
        click.echo(json.dumps(limits, indent=2))
        return
    try:
        sys.exit(serve(lambda: load(flags, os.environ, config_file())))
    except InvalidRequest as problem:
        _say(str(problem))
        sys.exit(_REFUSED)


def serve(read: Callable[[], Configuration]) -> int:
    """Serve until told to stop; the exit code says why it ended (product.md 2.4).

    Raises:
        InvalidRequest: a setting or a file of ours is not as it must be.
    """
    configuration = read()
    os.umask(0o077)  # whatever we make is for its owner only
    settings = configuration.settings
    for warning in configuration.warnings:
        _say(warning)
    host = _LOOPBACK.get(settings.host)
    if host is None:
        _say(
            f"host {settings.host!r} is refused: only 127.0.0.1, ::1 and localhost are served, "
            "because whoever reaches the port reaches your code"
        )
        return _REFUSED
    ensure_data_dir(settings.data_dir)
    with _lock(settings.data_dir) as is_locked:
        if not is_locked:
            return _already_running(settings, host)
        token = ensure_token(settings.data_dir)
        return _serve_locked(configuration, host, token=token, reread=read)


def _serve_locked(
    configuration: Configuration, host: str, *, token: str, reread: Callable[[], Configuration]
) -> int:
    settings = configuration.settings
    listener = listen(host, settings.port)
    if isinstance(listener, str):
        if known.is_ours(host, settings.port, token=token):
            _say(f"already running on port {settings.port}")
            return 0
        _say(f"port {settings.port} is held by another program ({listener}): set another port")
        return _PORT_TAKEN
    with closing(listener):
        log_to_stderr(settings.log_level)
        known.publish(
            settings.data_dir, RunningServer(host, settings.port, os.getpid(), __version__)
        )
        # Thousands of classes are made while importing, and not one of them is garbage: without
        # collections in between, the port opens and MCP answers a tenth earlier.
        gc.disable()
        try:
            identity = Identity(token, settings.port, os.getpid())
            app = build_app(
                configuration, identity=identity, reread=reread, all_imported=_collect_again
            )
            return anyio.run(host_app, app, listener)
        finally:
            known.withdraw(settings.data_dir)


@contextmanager
def _lock(data_dir: Path) -> Iterator[bool]:
    """Hold the data folder for life; the kernel lets go of it however the process ends.

    Raises:
        InvalidRequest: the lock file cannot be opened.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(data_dir / "lock", flags, 0o600)
    except OSError as problem:
        raise InvalidRequest(f"lock file of '{data_dir}': {problem.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)


def _already_running(settings: Settings, host: str) -> int:
    """Another process holds the data folder: fine if it serves, or soon does, where we would."""
    until = time.monotonic() + _FOR_THE_FIRST_S
    while time.monotonic() < until:
        with suppress(InvalidRequest):
            token, there = read_token(settings.data_dir), known.published(settings.data_dir)
            if known.is_ours(host, settings.port, token=token):
                return _found(settings, there)
            if there and known.is_ours(there.host, there.port, token=token):
                _say(f"data folder '{settings.data_dir}' is served on port {there.port} already")
                return _LOCKED
        time.sleep(0.1)
    _say(f"data folder '{settings.data_dir}' is locked by a process that does not answer")
    return _LOCKED


def _found(settings: Settings, there: RunningServer | None) -> int:
    if there and there.version != __version__:
        _say(f"version {there.version} still runs on port {settings.port}: stop it first")
        return _LOCKED
    _say(f"already running on port {settings.port}")
    return 0


def _collect_again() -> None:
    gc.freeze()
    gc.enable()


def _say(line: str) -> None:
    click.echo(f"live-memory: {line}", err=True)
