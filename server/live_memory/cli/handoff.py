"""`handoff`: work that one leaves to the next, who takes it over alone."""

from collections.abc import Iterator, Sequence

import click

from live_memory.cli.connection import find, tell
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.main import absolute, configured, cwd_option, json_option
from live_memory.cli.note import said, show
from live_memory.cli.quoted import Form, Shown, by, one_line, texts, when
from live_memory.cli.saying import say, say_json
from live_memory.core.memory.notebook import LARGEST_HANDOFF
from live_memory.core.reading.observation import visible
from live_memory.settings import Configuration

__all__ = ["handoff"]

_ROUTE = "/v1/handoff"


@click.group()
def handoff() -> None:
    """Leave work to whoever goes on, see what was left, and take it over."""


@handoff.command()
@click.argument("summary", nargs=-1, required=True, metavar="SUMMARY|-")
@click.option("--next", "next_steps", multiple=True, help="What to do next; may be repeated.")
@click.option("--question", "questions", multiple=True, help="What is open; may be repeated.")
@click.option("--file", "files", multiple=True, help="A place to look at; may be repeated.")
@click.option("--to", "to_agent", help="To whom it is offered; anybody can claim it.")
@click.option("--expires", help="How long it can be claimed: 12h, 7d, a date; 30d by default.")
@cwd_option
@json_option
@configured
def leave(
    configuration: Configuration,
    *,
    summary: Sequence[str],
    next_steps: Sequence[str],
    questions: Sequence[str],
    files: Sequence[str],
    to_agent: str | None,
    expires: str | None,
    cwd: str,
    as_json: bool,
) -> None:
    """Leave work to the next one.

    SUMMARY says what was done and what is left; - reads it from standard input.

    \b
    Examples:
      live-memory handoff leave retries are half done --next "test the limit"
      live-memory handoff leave "retries are half done" --file net/retry.py:12 --to codex
      live-memory handoff leave - --question "is 7 enough?" < notes.txt
    """
    body = {
        "action": "leave",
        "cwd": absolute(cwd),
        "summary": said(summary, most=LARGEST_HANDOFF),
        "next_steps": list(next_steps),
        "open_questions": list(questions),
        "files": list(files),
        "to_agent": to_agent,
        "expires": expires,
    }
    reply = tell(find(configuration.settings), _ROUTE, body)
    if as_json:
        say_json(reply)
        return
    left = _handoff(reply)
    until = when(left["expires_at"])
    say(f"left {left['id']}, which can be claimed until {until}")


@handoff.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that ended.")
@click.option("--to", "to_agent", help="Those for anybody and for this one.")
@cwd_option
@json_option
@configured
def list_(
    configuration: Configuration, *, everything: bool, to_agent: str | None, cwd: str, as_json: bool
) -> None:
    """List what can be claimed.

    The newest come first, and looking changes nothing.

    \b
    Examples:
      live-memory handoff list
      live-memory handoff list --all --json
    """
    where = absolute(cwd)
    body = {"action": "list", "cwd": where, "all": everything, "to_agent": to_agent}
    reply = tell(find(configuration.settings), _ROUTE, body)
    if as_json:
        say_json(reply)
        return
    found = reply.get("handoffs")
    left = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    show([_shown(one, list(_counts(one))) for one in left], is_long=False)
    if not left:
        say("nothing was left" if everything else "nothing can be claimed")


@handoff.command("show")
@click.argument("handoff_id", metavar="ID")
@cwd_option
@json_option
@configured
def show_(configuration: Configuration, *, handoff_id: str, cwd: str, as_json: bool) -> None:
    """Show a handoff without claiming it.

    \b
    Examples:
      live-memory handoff show h5a4b3c2d1e0f
    """
    body = {"cwd": absolute(cwd), "ids": [handoff_id]}
    found = tell(find(configuration.settings), "/v1/recall", body).get("found")
    for one in found if isinstance(found, list) else ():
        if one["kind"] == "handoff":
            _show_whole({"handoff": one["record"]}, as_json=as_json)
            return
    raise Failure(
        f"there is no handoff {handoff_id!r} here: `live-memory handoff list --all` names them",
        code=ExitCode.REFUSED,
        kind="invalid",
    )


@handoff.command()
@click.argument("handoff_id", metavar="ID")
@cwd_option
@json_option
@configured
def claim(configuration: Configuration, *, handoff_id: str, cwd: str, as_json: bool) -> int:
    """Claim a handoff: take its work over.

    Of all who try, one does; the others hear who did, and leave with 2.

    \b
    Examples:
      live-memory handoff claim h5a4b3c2d1e0f
    """
    body = {"action": "claim", "cwd": absolute(cwd), "id": handoff_id}
    reply = tell(find(configuration.settings), _ROUTE, body)
    is_ours = reply.get("claimed") is True
    if is_ours or as_json:
        _show_whole(reply, as_json=as_json)
        return ExitCode.FINE if is_ours else ExitCode.REFUSED
    taken = _handoff(reply)["claim"]
    who = by(taken["by"], taken["at"]) if isinstance(taken, dict) else "somebody"
    raise Failure(
        f"{one_line(handoff_id)} was claimed by {who}", code=ExitCode.REFUSED, kind="invalid"
    )


@handoff.command()
@click.argument("handoff_id", metavar="ID")
@click.option("--reason", help="Why nobody is to claim it.")
@cwd_option
@json_option
@configured
def cancel(
    configuration: Configuration, *, handoff_id: str, reason: str | None, cwd: str, as_json: bool
) -> None:
    """End a handoff that nobody has claimed.

    \b
    Examples:
      live-memory handoff cancel h5a4b3c2d1e0f --reason "done already"
    """
    body = {"action": "cancel", "cwd": absolute(cwd), "id": handoff_id, "reason": reason}
    reply = tell(find(configuration.settings), _ROUTE, body)
    if as_json:
        say_json(reply)
    else:
        say(f"cancelled {_handoff(reply)['id']}")


def _handoff(reply: Form) -> Form:
    found = reply["handoff"]
    assert isinstance(found, dict)
    return found


def _show_whole(reply: Form, *, as_json: bool) -> None:
    if as_json:
        say_json(reply)
        return
    one = _handoff(reply)
    show([_shown(one, list(_rows(one)))], is_long=True)


def _shown(one: Form, rows: Sequence[tuple[str, str]]) -> Shown:
    kind = "automatic handoff" if one.get("automatic") else "handoff"
    about = [f"{one['state']} {kind}", by(one.get("writer"), one["left_at"])]
    about += [f"for {one_line(one['to_agent'])}"] if one.get("to_agent") else []
    about += [f"until {when(one['expires_at'])}"] if one["state"] == "open" else []
    return Shown(str(one["id"]), "; ".join(about), visible(str(one["summary"])), rows)


_LISTS = (
    ("next_steps", "next", "next step"),
    ("open_questions", "question", "open question"),
    ("files", "file", "file"),
)


def _rows(one: Form) -> Iterator[tuple[str, str]]:
    for name, says, _ in _LISTS:
        for text in texts(one, name):
            yield says, text
    for name, says in (("claim", "claimed"), ("cancelled", "cancelled")):
        what = one.get(name)
        if isinstance(what, dict):
            why = f": {one_line(what['reason'])}" if what.get("reason") else ""
            yield says, f"by {by(what['by'], what['at'])}{why}"


def _counts(one: Form) -> Iterator[tuple[str, str]]:
    """What `show` shows more of."""
    many = [(len(texts(one, name)), thing) for name, _, thing in _LISTS]
    told = ", ".join(f"{n} {thing}{'' if n == 1 else 's'}" for n, thing in many if n)
    if told:
        yield "and", f"{told}: `live-memory handoff show {one['id']}`"
