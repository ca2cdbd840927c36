"""How a note is told beside an answer: whose it is, how old, and its words as data on one line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from live_memory.core.companion.prompt import one_line
from live_memory.core.evidence.places import Place
from live_memory.core.findings.standing import ago
from live_memory.core.memory.ledger import Source
from live_memory.core.memory.notebook import Note, Writer
from live_memory.core.reading.observation import clean, inert
from live_memory.core.tokens import estimate
from live_memory.core.values import Author, Instant

__all__ = ["ToldNote", "as_name", "by_whom", "place_of", "told_line", "told_lines"]

# Characters of a note's text, and of what its writer calls itself.
_LONGEST_TEXT, _LONGEST_NAME, _LONGEST_SESSION = 300, 40, 6
_IN_NAMES = frozenset(" ._@/+-")
_MOST_CHANGED = 3
# What a host is called where it does not say.
_KINDS = {
    Author.AGENT: "an agent",
    Author.SUBAGENT: "a sub-agent",
    Author.COMPANION: "the companion",
    Author.PERSON: "a person",
    Author.SUMMARY: "a summary",
}


@dataclass(frozen=True, slots=True)
class ToldNote:
    """A note, and what `changed` of its places; `is_users` where it counts in all projects."""

    note: Note
    changed: Sequence[Source] = ()
    is_users: bool = False


def place_of(source: Source) -> str:
    """Lines of a file as they are written: `path:line` or `path:first-last`."""
    return str(Place(source.path, source.start, source.end))


def by_whom(writer: Writer) -> str:
    """A writer in words: `claude-code (session ab12cd)`, `a sub-agent of codex`, `a person`."""
    kind, host = _KINDS[writer.author], as_name(writer.host)
    if writer.author is Author.AGENT and host:
        who = host
    elif writer.author is Author.SUBAGENT and host:
        who = f"{kind} of {host}"
    else:
        who = kind
    session = as_name(writer.session)[:_LONGEST_SESSION]
    named = [as_name(writer.name), f"session {session}" if session else ""]
    more = ", ".join(filter(None, named))
    return f"{who} ({more})" if more else who


def as_name(text: str, *, longest: int = _LONGEST_NAME) -> str:
    """What of a text may be a name: letters, digits and a few marks, not too many, on one line.

    It stands outside what is quoted, so it must not look like a word of ours.
    """
    marks = " ".join(text.split())[:longest]
    return "".join(c if c.isalnum() or c in _IN_NAMES else "_" for c in marks)


def told_line(told: ToldNote, now: Instant) -> str:
    """One line: what kind of note, by whom, how old, its id, then its text, which is inert."""
    note = told.note
    text = inert(one_line(" ".join(clean(note.text).split())))
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT].rstrip()}\u2026 (recall ids=[{note.id}] for all)"
    changed = ", ".join(one_line(place_of(source)) for source in told.changed[:_MOST_CHANGED])
    since = f" ({changed} changed since)" if changed else ""
    where = " in all projects" if told.is_users else ""
    age = ago(now - note.told_at)
    return f"{note.category}{where}, by {by_whom(note.writer)}, {age}, {note.id}: {text}{since}"


def told_lines(notes: Iterable[ToldNote], now: Instant, *, tokens: int) -> str:
    """A line for each note, the first whatever it takes, the others that fit the tokens."""
    lines: list[str] = []
    for line in (told_line(told, now) for told in notes):
        tokens -= estimate(line)
        if lines and tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines)
