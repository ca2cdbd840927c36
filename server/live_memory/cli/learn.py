"""`learn`: a codebase is indexed before anybody asks, with how far it is on a terminal."""

import time

import click

from live_memory.cli.connection import stream
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.launcher import ensure_running
from live_memory.cli.main import absolute, configured, json_option
from live_memory.cli.saying import progress, say, say_json
from live_memory.settings import Configuration

__all__ = ["learn"]

_START_S = 30.0
# The server says every second how far it is.
_SILENT_S = 60.0


@click.command()
@click.argument("folder", default=".")
@json_option
@configured
def learn(configuration: Configuration, *, folder: str, as_json: bool) -> None:
    """Index the codebase of FOLDER, so that its first question finds all of it.

    Nothing leaves the machine, and no model is called. What changes later is taken in by itself.

    \b
    Examples:
      live-memory learn
      live-memory learn ~/src/linux
    """
    server, began = ensure_running(configuration, within_s=_START_S), time.monotonic()
    with progress() as tell:
        tell("looking at the codebase")
        for reply in stream(server, "/v1/learn", {"cwd": absolute(folder)}, timeout_s=_SILENT_S):
            learned = reply.get("learned")
            if isinstance(learned, dict):
                break
            done, total = reply.get("done"), reply.get("total")
            if isinstance(done, int) and isinstance(total, int):
                tell(f"{done:,} of {total:,} files", done=done, total=total)
        else:
            raise Failure(
                "the server ended before it was done: run `live-memory doctor`",
                code=ExitCode.UNREACHABLE,
                kind="unreachable",
            )
    if as_json:
        say_json(learned)
        return
    took_s = time.monotonic() - began
    root, known = learned["workspace"]["root"], learned["files"] - learned["waiting"]
    say(f"{known:,} files of {root} are known ({took_s:.1f} s)")
    if learned["is_cut"]:
        say("it is very large: no more files than these are looked at")
    if learned["problem"]:
        say(f"not all of it: {learned['problem']}")
