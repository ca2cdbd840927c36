"""`learn`: a codebase is indexed before anybody asks, with how far it is on a terminal."""

import json
import sys
import time

import click

from live_memory.cli.connection import stream
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.launcher import ensure_running
from live_memory.cli.main import absolute, configured, json_option
from live_memory.core.reading.observation import visible
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
    from rich.progress import (  # noqa: PLC0415  (takes long)
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    server, began = ensure_running(configuration, within_s=_START_S), time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, transient=True, disable=not sys.stderr.isatty()) as shown:
        task = shown.add_task("looking at the codebase", total=None)
        for reply in stream(server, "/v1/learn", {"cwd": absolute(folder)}, timeout_s=_SILENT_S):
            learned = reply.get("learned")
            if isinstance(learned, dict):
                break
            done, total = reply.get("done"), reply.get("total")
            if isinstance(done, int) and isinstance(total, int):
                what = f"{done:,} of {total:,} files"
                shown.update(task, description=what, completed=done, total=total)
        else:
            raise Failure(
                "the server ended before it was done: run `live-memory doctor`",
                code=ExitCode.UNREACHABLE,
                kind="unreachable",
            )
    if as_json:
        click.echo(json.dumps(learned))
        return
    took_s = time.monotonic() - began
    root = visible(str(learned["workspace"]["root"]))
    click.echo(
        f"{learned['files'] - learned['waiting']:,} files of {root} are known ({took_s:.1f} s)"
    )
    if learned["is_cut"]:
        click.echo("it is very large: no more files than these are looked at")
    if learned["problem"]:
        click.echo(f"not all of it: {visible(learned['problem'])}")
