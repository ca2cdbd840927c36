"""`start`, `status` and `stop`; `mcp`, which is run without this where it is told nothing."""

import socket
from pathlib import Path

import click

from live_memory.cli.connection import ProvenServer, find, health
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.launcher import ensure_running, stop_unheard
from live_memory.cli.launcher import stop as end
from live_memory.cli.main import configured, json_option
from live_memory.cli.saying import say, say_json
from live_memory.client import bridge
from live_memory.settings import Configuration, Settings

# A cold start on a loaded machine; the bridge itself waits for less.
_START_S = 30.0
# The server saves for at most 5 s and closes workspaces for at most 2 s.
_STOP_S = 15.0


@click.command()
@json_option
@configured
def start(configuration: Configuration, *, as_json: bool) -> None:
    """Start the server in the background, unless it runs.

    \b
    Examples:
      live-memory start
      live-memory start --port 7800
    """
    server = ensure_running(configuration, within_s=_START_S)
    lines = _connect_lines()
    why = elsewhere(configuration, server)
    if why:
        say(f"live-memory: {why}", err=True)
    if as_json:
        say_json(_form(server, configuration.settings) | {"connect": lines})
        return
    say(f"Live Memory {health(server).version} runs at {server.url}")
    if lines:
        say("Connect Claude Code, once:\n" + "\n".join(f"  {line}" for line in lines))


@click.command()
@json_option
@configured
def status(configuration: Configuration, *, as_json: bool) -> None:
    """Say whether the server runs, and where.

    \b
    Examples:
      live-memory status
      live-memory status --json
    """
    server = find(configuration.settings)
    if as_json:
        say_json(_form(server, configuration.settings))
        return
    now = health(server)
    say(f"Live Memory {now.version} runs at {server.url} (pid {server.pid})")
    say(f"data folder {configuration.settings.data_dir}")
    say("\n- ".join((f"status {now.status}", *now.reasons, *now.notes)))


@click.command()
@json_option
@configured
def stop(configuration: Configuration, *, as_json: bool) -> None:
    """Stop the server; what it knows is saved first.

    \b
    Examples:
      live-memory stop
    """
    pid = end_running(configuration.settings)
    if as_json:
        say_json({"stopped": False} if pid is None else {"stopped": True, "pid": pid})
    else:
        say("no server runs" if pid is None else "stopped")


@click.command()
def mcp() -> None:
    """Speak MCP over standard input and output, for a client that starts its servers itself.

    The server is started when it is needed.
    """
    bridge.main()


def end_running(settings: Settings) -> int | None:
    """End the server, also one that hangs; its process, or nothing where none runs.

    Raises:
        Failure: it cannot be ended, or it is not sure that it is ours.
    """
    try:
        server = find(settings)
    except Failure as problem:
        pid = stop_unheard(settings) if problem.code == ExitCode.LOCKED else None
        # Nothing runs: that is what was asked for.
        if pid is None and problem.code != ExitCode.UNREACHABLE:
            raise
        return pid
    end(server, settings, within_s=_STOP_S)
    return server.pid


def elsewhere(configuration: Configuration, server: ProvenServer) -> str | None:
    """Why the server is not on the port that was set; nothing where none was."""
    wished = configuration.settings.port
    if configuration.sources["port"] == "default" or server.port == wished:
        return None
    why = _refused(server.host, wished)
    if why is not None:
        return f"port {wished} cannot be had ({why}): the server has port {server.port}"
    return (
        f"the server runs on port {server.port}: to have it on {wished}, run `live-memory stop`, "
        "then `live-memory start` again"
    )


def _refused(host: str, port: int) -> str | None:
    """Why a server cannot have a port now; nothing where it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as problem:
            return str(problem.strerror).lower()
    return None


def plugin_folder() -> Path | None:
    """The checkout that this package is installed from, where it holds the plugin too."""
    folder = Path(__file__).parents[3]
    return folder if (folder / ".claude-plugin" / "marketplace.json").is_file() else None


def _connect_lines() -> list[str]:
    folder = plugin_folder()
    if folder is None:
        return []
    return [
        f"claude plugin marketplace add {folder}",
        "claude plugin install live-memory@live-memory",
    ]


def _form(server: ProvenServer, settings: Settings) -> dict[str, object]:
    now = health(server)
    return {
        "running": True,
        "url": server.url,
        "pid": server.pid,
        "version": now.version,
        "status": now.status,
        "reasons": list(now.reasons),
        "data_dir": str(settings.data_dir),
    }
