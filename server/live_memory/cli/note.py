"""`note`, `recall`, `forget`: what is told, what of it is found, and what no longer counts."""

import sys
from collections.abc import Iterator, Sequence

import click

from live_memory.cli.connection import find, tell
from live_memory.cli.environment import ExitCode, Failure
from live_memory.cli.main import absolute, configured, cwd_option, json_option
from live_memory.cli.quoted import Form, Shown, by, one_line, place, plain, texts, when
from live_memory.cli.saying import is_watched, say, say_json
from live_memory.core.memory.notebook import LARGEST_NOTE, NoteCategory
from live_memory.core.notes.recollection import RecordKind
from live_memory.core.reading.observation import visible
from live_memory.settings import Configuration

__all__ = ["forget", "note", "recall", "said", "show"]

_CATEGORIES = click.Choice([category.value for category in NoteCategory])
_KINDS = click.Choice([kind.value for kind in RecordKind])
_SCOPES = click.Choice(["workspace", "user"])


@click.command()
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@click.option("--category", type=_CATEGORIES, default="observation", help="What it is about.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be repeated.")
@click.option("--pin", is_flag=True, help="Put it before others that fit as well.")
@click.option("--expires", help="Until when it counts: 30m, 12h, 7d, or a date.")
@click.option("--scope", type=_SCOPES, help="For this codebase (default), or for you in all.")
@cwd_option
@json_option
@configured
def note(
    configuration: Configuration,
    *,
    text: Sequence[str],
    category: str,
    tags: Sequence[str],
    pin: bool,
    expires: str | None,
    scope: str | None,
    cwd: str,
    as_json: bool,
) -> None:
    """Remember TEXT, or with - what comes from standard input.

    Agents are told it, as your words and with its date, where it fits what they ask. Places such as
    net/retry.py:12 are looked at, so that it can be told later when they changed.

    \b
    Examples:
      live-memory note we retry 7 times, the gateway drops 3 --category decision
      live-memory note "test net/retry.py:12" --category todo --expires 7d
      git log -1 --format=%B | live-memory note - --category progress --tag release
    """
    body = {
        "cwd": absolute(cwd),
        "text": said(text, most=LARGEST_NOTE),
        "category": category,
        "tags": list(tags),
        "pin": pin,
        "expires": expires,
        "scope": scope,
    }
    reply = tell(find(configuration.settings), "/v1/remember", body)
    if as_json:
        say_json(reply)
    else:
        say("\n".join(_remembered(reply)))


def _remembered(reply: Form) -> Iterator[str]:
    kept = reply["note"]
    assert isinstance(kept, dict)
    what = f"{kept['id']} ({kept['category']})"
    yield f"remembered {what}" if reply.get("new") else f"{what} says that already"
    redacted = reply.get("redacted")
    if redacted:
        yield f"left out: {redacted} secret{'' if redacted == 1 else 's'}"
    missing = texts(reply, "not_found")
    if missing:
        yield f"not here: {', '.join(missing)}"


@click.command()
@click.argument("words", nargs=-1)
@click.option("--kind", "kinds", type=_KINDS, multiple=True, help="Of what; may be repeated.")
@click.option("--category", type=_CATEGORIES, help="Only notes about that.")
@click.option("--author", help="agent, subagent, person; a host, session or token's name.")
@click.option("--since", help="Told since: 30m, 12h, 7d ago, or a date.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many; 10 by default.")
@click.option("--id", "ids", multiple=True, help="This one, with all of it; may be repeated.")
@click.option("--scope", type=_SCOPES, help="Only of this codebase, or only of you in all.")
@cwd_option
@json_option
@configured
def recall(
    configuration: Configuration,
    *,
    words: Sequence[str],
    kinds: Sequence[str],
    category: str | None,
    author: str | None,
    since: str | None,
    limit: int | None,
    ids: Sequence[str],
    scope: str | None,
    cwd: str,
    as_json: bool,
) -> None:
    """Find notes and handoffs that hold WORDS; without words, the newest.

    No model is asked. With --kind also what agents found out (finding), other facts (fact), and
    past questions (question).

    \b
    Examples:
      live-memory recall retries
      live-memory recall --category todo --author person --since 7d
      live-memory recall --kind finding --kind fact session cookie
      live-memory recall --id n0f1e2d3c4b5a
    """
    body = {
        "cwd": absolute(cwd),
        "text": " ".join(words),
        "kinds": list(kinds),
        "category": category,
        "author": author,
        "since": since,
        "limit": limit,
        "ids": list(ids),
        "scope": scope,
    }
    reply = tell(find(configuration.settings), "/v1/recall", body)
    if as_json:
        say_json(reply)
        return
    found = reply.get("found")
    records = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    show([_shown(one) for one in records], is_long=bool(ids))
    total = reply.get("total")
    if not records:
        say("nothing that is kept fits: `live-memory recall` names the newest")
    elif isinstance(total, int) and total > len(records):
        say(f"{len(records)} of {total}: more words find fewer, --limit shows more")


def _shown(record: Form) -> Shown:
    whole = record.get("record")
    of_all = "of all your codebases" if record.get("scope") == "user" else ""
    label = " ".join(
        one_line(record[name]) for name in ("state", "category", "kind") if record.get(name)
    )
    about = [label, by(record.get("writer"), record["at"]), of_all]
    about += ["pinned"] if record.get("pinned") else []
    rows = [("changed", one) for one in texts(record, "changed")]
    text = str(record["text"])
    if isinstance(whole, dict) and record.get("kind") == RecordKind.NOTE:
        text, rows = str(whole["text"]), [*_rows_of_note(whole), *rows]
    return Shown(str(record["id"]), "; ".join(filter(None, about)), visible(text), rows)


def _rows_of_note(kept: Form) -> Iterator[tuple[str, str]]:
    for tag in texts(kept, "tags"):
        yield "tag", one_line(tag)
    sources = kept.get("sources")
    for source in sources if isinstance(sources, list) else ():
        yield "names", visible(place(source))
    if kept.get("expires_at"):
        yield "until", when(kept["expires_at"])
    gone = kept.get("withdrawn")
    if isinstance(gone, dict):
        why = f": {one_line(gone['reason'])}" if gone.get("reason") else ""
        yield "forgotten", f"by {by(gone['by'], gone['at'])}{why}"


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", help="Why; whoever tells it again hears that.")
@cwd_option
@json_option
@configured
def forget(
    configuration: Configuration, *, ids: Sequence[str], reason: str | None, cwd: str, as_json: bool
) -> int:
    """Take back notes, facts, past answers or open handoffs, by the ids that recall shows.

    Nobody is told them any more, and they stay away, also when the same is told or learned again.

    \b
    Examples:
      live-memory forget n0f1e2d3c4b5a
      live-memory forget n0f1e2d3c4b5a h5a4b3c2d1e0f --reason "the gateway was fixed"
    """
    body = {"cwd": absolute(cwd), "ids": list(ids), "reason": reason}
    reply = tell(find(configuration.settings), "/v1/forget", body)
    unknown = texts(reply, "unknown")
    if as_json:
        say_json(reply)
        return ExitCode.REFUSED if unknown else ExitCode.FINE
    for name, says in (("forgotten", "forgot"), ("before", "forgotten before:")):
        for one in texts(reply, name):
            say(f"{says} {one}")
    if unknown:
        raise Failure(
            f"nothing here is called {', '.join(map(repr, unknown))}: `live-memory recall` names "
            "what is kept",
            code=ExitCode.REFUSED,
            kind="invalid",
        )
    return ExitCode.FINE


def said(words: Sequence[str], *, most: int) -> str:
    """The words of a command line, or for `-` what comes from standard input.

    Raises:
        Failure: that has more than `most` bytes, or is no text.
    """
    if tuple(words) != ("-",):
        return " ".join(words)
    data = sys.stdin.buffer.read(most + 1) if sys.stdin else b""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = None
    if len(data) <= most and text is not None:
        return text
    what = f"has more than {most} bytes" if len(data) > most else "is no text in UTF-8"
    raise Failure(f"standard input {what}", code=ExitCode.REFUSED, kind="invalid")


def show(records: Sequence[Shown], *, is_long: bool) -> None:
    """Print records: all of them in a pipe; on a terminal the first lines unless `is_long`."""
    if is_watched(sys.stdout):
        from live_memory.cli.terminal import show_records  # noqa: PLC0415  (takes long)

        show_records(records, is_long=is_long)
        return
    for one in records:
        say(plain(one))
