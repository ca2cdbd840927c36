"""What was told, as a person reads it: who said it when, and then its words, marked as quoted."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.reading.observation import visible

__all__ = ["BY", "Form", "Shown", "by", "one_line", "place", "plain", "texts", "when"]

Form = Mapping[str, object]

BY = {
    "agent": "the agent",
    "subagent": "a sub-agent",
    "companion": "the companion",
    "person": "a person",
    "summary": "a summary by the companion",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A record as it is shown: its id, what it is, what is known about it, and what it says.

    `rows` are words with sentences, below that.
    """

    id: str
    about: str
    text: str
    rows: Sequence[tuple[str, str]] = ()


def plain(one: Shown) -> str:
    """A record for a pipe: all of it, what it says behind a bar."""
    lines = [f"{one.id} [{one.about}]"]
    lines += [f"  | {line}" for line in one.text.splitlines()]
    width = max((len(name) for name, _ in one.rows), default=0)
    for name, value in one.rows:
        first, *more = value.splitlines() or [""]
        lines += [f"  {name:<{width}}  {first}", *(f"  {'':<{width}}  {line}" for line in more)]
    return "\n".join(lines)


def by(writer: object, at: object) -> str:
    """Who told something, and when."""
    if not isinstance(writer, dict):
        return when(at)
    who = BY.get(str(writer.get("author")), "somebody")
    more = ", ".join(one_line(writer[name]) for name in ("name", "host") if writer.get(name))
    return f"{who}{f' ({more})' if more else ''}, {when(at)}"


def when(at: object) -> str:
    """A time, to the minute."""
    moment = datetime.datetime.fromtimestamp(float(str(at)), datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def one_line(text: object) -> str:
    """A word of others for a line of ours."""
    return visible(" ".join(str(text).split()))


def texts(form: Form, name: str) -> Sequence[str]:
    """The texts of a list, as they may be shown."""
    found = form.get(name)
    return [visible(str(one)) for one in found] if isinstance(found, list) else []


def place(source: Form) -> str:
    """A place as it is written: `path:line` or `path:first-last`."""
    start, end = source["start"], source["end"]
    return f"{source['path']}:{start}" if start == end else f"{source['path']}:{start}-{end}"
