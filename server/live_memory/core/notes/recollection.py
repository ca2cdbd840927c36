"""Which of the things that are kept a query means, best first: words that few of them have count.

Without words the newest come first.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from live_memory.core.answer import Question
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.words import vocabulary
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.notebook import Handoff, Note, NoteCategory, Writer
from live_memory.core.memory.window import QuestionAnswered, Window, questions
from live_memory.core.values import Author, Instant

__all__ = [
    "CURATED",
    "Kept",
    "RecallQuery",
    "RecordKind",
    "asked_at_of",
    "kept_in",
    "question_id",
    "recollected",
]

# What holds less of a query, by what its words are worth, is about something else.
_LEAST_SHARE = 0.25
# Notes never change their text, so each is cut up once; some 2 kB each.
_REMEMBERED_TEXTS = 32_768
_QUESTION = "q"


class RecordKind(StrEnum):
    """What kind of thing is kept."""

    NOTE = "note"
    HANDOFF = "handoff"
    FINDING = "finding"
    FACT = "fact"
    QUESTION = "question"


# What somebody told on purpose.
CURATED = frozenset({RecordKind.NOTE, RecordKind.HANDOFF})
Item = Note | Handoff | Fact | QuestionAnswered


@dataclass(frozen=True, slots=True)
class Kept:
    """A thing that is kept: what it says, who told it and when.

    `is_users` where it is of the space that all projects share.
    """

    kind: RecordKind
    id: str
    text: str
    at: Instant
    writer: Writer
    item: Item
    is_pinned: bool = False
    is_users: bool = False


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What is looked for: words, or nothing for the newest; `ids` name things, whatever they say.

    `author` is what its writer is, or how their name, host or session begins. With `since` it was
    told then or later. `offset` and `limit` count results.
    """

    text: str = ""
    kinds: frozenset[RecordKind] = CURATED
    category: NoteCategory | None = None
    author: str = ""
    since: Instant | None = None
    ids: tuple[str, ...] = ()
    limit: int = 10
    offset: int = 0


def question_id(question: Question) -> str:
    """The id of a past question."""
    return f"{_QUESTION}{question.asked_at!r}"


def asked_at_of(named: str) -> Instant | None:
    """When the question with this id was asked; nothing where it is no such id."""
    try:
        return Instant(float(named[1:])) if named.startswith(_QUESTION) else None
    except ValueError:
        return None


def kept_in(window: Window, *, is_users: bool = False) -> Iterable[Kept]:
    """All that a space keeps, in no order; also what was withdrawn."""
    for note in window.notebook.notes:
        words = " ".join((note.text, *note.tags))
        yield Kept(
            *(RecordKind.NOTE, note.id, words, note.told_at, note.writer, note),
            is_pinned=note.is_pinned,
            is_users=is_users,
        )
    for one in window.notebook.handoffs:
        words = "\n".join((one.summary, *one.next_steps, *one.open_questions, *one.files))
        yield Kept(
            RecordKind.HANDOFF, one.id, words, one.left_at, one.writer, one, is_users=is_users
        )
    for fact in window.ledger.facts:
        kind = RecordKind.FINDING if fact.conclusion else RecordKind.FACT
        writer = Writer(fact.author, session=fact.session)
        yield Kept(
            *(kind, fact.id, fact.text, fact.learned_at, writer, fact), is_pinned=fact.is_pinned
        )
    for asked in questions(window):
        at = asked.question.asked_at
        writer = Writer(Author.COMPANION if asked.answer.model else Author.SUMMARY)
        text = asked.question.text
        yield Kept(RecordKind.QUESTION, question_id(asked.question), text, at, writer, asked)


def recollected(kept: Iterable[Kept], query: RecallQuery, now: Instant) -> Sequence[Kept]:
    """What a query means, best first, before its `offset` and `limit`."""
    if query.ids:
        order = {named: n for n, named in enumerate(query.ids)}
        return sorted((k for k in kept if k.id in order), key=lambda k: order[k.id])
    found = [one for one in kept if _is_meant(one, query, now)]
    terms = {word for word, _ in terms_of(query.text).weights} if query.text.strip() else None
    if terms is None:
        return sorted(found, key=lambda one: -one.at)
    held = [terms & _words(one.text) for one in found]
    counts = Counter(word for words in held for word in words)
    worth = {word: math.log1p(len(found) / counts.get(word, 0.5)) for word in terms}
    whole = sum(worth.values()) or 1.0
    scored = [
        (sum(worth[word] for word in words) / whole, one)
        for words, one in zip(held, found, strict=True)
        if words
    ]
    scored = [pair for pair in scored if pair[0] >= _LEAST_SHARE]
    scored.sort(key=lambda pair: (-round(pair[0], 2), not pair[1].is_pinned, -pair[1].at))
    return [one for _, one in scored]


def _is_meant(one: Kept, query: RecallQuery, now: Instant) -> bool:
    item = one.item
    if one.kind not in query.kinds or (query.since is not None and one.at < query.since):
        return False
    if query.author and not _is_by(one.writer, query.author):
        return False
    if query.category is not None:
        return isinstance(item, Note) and item.category is query.category and item.counts_at(now)
    return not isinstance(item, Note) or item.counts_at(now)


def _is_by(writer: Writer, author: str) -> bool:
    names = (writer.name, writer.host, writer.session)
    return writer.author == author or any(name.startswith(author) for name in names if name)


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _words(text: str) -> frozenset[str]:
    return frozenset(vocabulary(text))
