"""`purge` removes without a trace; `pause` and `resume` say whether anything is learned."""

import click

from live_memory.cli.connection import post
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.launcher import ensure_running
from live_memory.cli.main import absolute, configured, json_option
from live_memory.cli.saying import say, say_json
from live_memory.core.reading.observation import visible
from live_memory.settings import Configuration

_START_S = 30.0


@click.command()
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--forgotten", is_flag=True, help="What was forgotten or cancelled.")
@click.option(
    "--ids",
    multiple=True,
    metavar="ID",
    help="These notes, handoffs, facts or answers; may be given more than once.",
)
@click.option("--all", "everything", is_flag=True, help="Everything about this codebase.")
@click.option(
    "--scope",
    type=click.Choice(["workspace", "user"]),
    default="workspace",
    show_default=True,
    help="What is kept of this codebase, or what is kept across all.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@configured
def purge(
    configuration: Configuration,
    *,
    folder: str,
    forgotten: bool,
    ids: tuple[str, ...],
    everything: bool,
    scope: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Remove what is kept from every file, so that no byte of it stays; it cannot be undone.

    An answer that holds a line of what is removed goes too.
    Files in the codebase are not touched.

    \b
    Examples:
      live-memory purge --forgotten
      live-memory purge --ids n1f0c2a9b7d3e --ids h55aa02cc9911
      live-memory purge --all --yes
    """
    if forgotten + everything + bool(ids) != 1:
        raise click.UsageError("say what is to go: --forgotten, --ids ID or --all")
    cwd = absolute(folder)
    where = "what is kept across all codebases" if scope == "user" else f"the memory of {cwd}"
    what = "all" if everything else "all that was forgotten" if forgotten else ", ".join(ids)
    if not yes:
        click.confirm(visible(f"Remove {what} from {where}, for good?"), abort=True, err=True)
    body: dict[str, object] = {"cwd": cwd, "scope": scope}
    body |= {"ids": list(ids)} if ids else {"all" if everything else "forgotten": True}
    server = ensure_running(configuration, within_s=_START_S)
    reply = post(server, "/v1/purge", body)
    unknown = reply.get("unknown")
    is_missed = isinstance(unknown, list) and bool(unknown)
    if as_json:
        say_json(reply)
    elif everything:
        say(f"removed {where}")
    else:
        purged, answers = reply["purged"], reply["answers"]
        count = len(purged) if isinstance(purged, list) else 0
        say(f"removed {count} from every file" + (f", {answers} answers" if answers else ""))
    if is_missed and isinstance(unknown, list) and not as_json:
        missed = ", ".join(map(str, unknown))
        raise Failure(f"there is no {missed}", code=ExitCode.REFUSED, kind="invalid")


@click.command()
@click.argument("folder", default=".", metavar="[DIR]")
@json_option
@configured
def pause(configuration: Configuration, *, folder: str, as_json: bool) -> None:
    """Learn and keep nothing of a codebase until `resume`, also after a restart.

    Questions are answered as before, from the files, and are not kept.

    \b
    Examples:
      live-memory pause
      live-memory pause ~/src/flask
    """
    _switch(configuration, "pause", folder, as_json=as_json)


@click.command()
@click.argument("folder", default=".", metavar="[DIR]")
@json_option
@configured
def resume(configuration: Configuration, *, folder: str, as_json: bool) -> None:
    """Learn and keep again, after `pause`.

    \b
    Examples:
      live-memory resume
    """
    _switch(configuration, "resume", folder, as_json=as_json)


def _switch(configuration: Configuration, verb: str, folder: str, *, as_json: bool) -> None:
    server = ensure_running(configuration, within_s=_START_S)
    reply = post(server, f"/v1/{verb}", {"cwd": absolute(folder)})
    workspace = reply["workspace"]
    assert isinstance(workspace, dict)
    says = {"pause": "nothing is learned in", "resume": "learning again in"}[verb]
    if as_json:
        say_json(reply)
    else:
        say(f"{says} {workspace['root']}")
