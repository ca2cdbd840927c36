"""Which of the things that are kept a query means, best first: words that few of them have count.

Without words the newest come first.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from live_memory.core.answer import Question
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.words import vocabulary
from live_memory.core.findings.relevance import words_in
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.notebook import Handoff, Note, NoteCategory, Writer
from live_memory.core.memory.window import QuestionAnswered, Window, questions
from live_memory.core.values import Author, Instant, RelPath

__all__ = [
    "CURATED",
    "Found",
    "Kept",
    "NoteWords",
    "RecallQuery",
    "RecordKind",
    "Space",
    "asked_at_of",
    "question_id",
    "recollected",
]

# What holds less of a query, by what its words are worth, is about something else.
_LEAST_SHARE = 0.25
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
    """What is looked for: words, or nothing for the newest; `ids` name things, all of which are
    meant, whatever they say.

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


class NoteWords:
    """Which notes of one space hold a word, and which have a place in a file. Notes are only added,
    so it only grows; a purge alone begins it anew.
    """

    def __init__(self) -> None:
        self._notes: Sequence[Note] = ()
        self._places: dict[str, array[int]] = {}
        self._on: dict[RelPath, array[int]] = {}

    def behind(self, notes: Sequence[Note]) -> int:
        """How many notes it does not know yet."""
        return len(notes) - len(self._notes) if self._is_begin_of(notes) else len(notes)

    def of(self, notes: Sequence[Note]) -> "NoteWords":
        """The same, of these notes."""
        if not self._is_begin_of(notes):
            self._notes, self._places, self._on = (), {}, {}
        for at in range(len(self._notes), len(notes)):
            for word in vocabulary(_text_of(notes[at])):
                self._places.setdefault(word, array("I")).append(at)
            for path in {source.path for source in notes[at].sources}:
                self._on.setdefault(path, array("I")).append(at)
        self._notes = notes
        return self

    def holding(self, word: str) -> Sequence[int]:
        """Where the notes that hold a word stand."""
        return self._places.get(word, ())

    def on(self, path: RelPath) -> Sequence[int]:
        """Where the notes that have a place in a file stand."""
        return self._on.get(path, ())

    def _is_begin_of(self, notes: Sequence[Note]) -> bool:
        known = len(self._notes)
        return known <= len(notes) and (not known or self._notes[-1].id == notes[known - 1].id)


@dataclass(frozen=True, slots=True)
class Space:
    """What is kept for a project, or for a user in all projects, with the words of its notes."""

    window: Window
    words: NoteWords
    is_users: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Some of the `total` that a query means, best first."""

    page: tuple[Kept, ...]
    total: int


def recollected(spaces: Sequence[Space], query: RecallQuery, now: Instant) -> Found:
    """What a query means: of its `limit` results those from `offset` on."""
    if query.ids:
        order = {named: n for n, named in enumerate(query.ids)}
        named = [one for space in spaces for one in _named(space, frozenset(query.ids))]
        named.sort(key=lambda one: order[one.id])
        return Found(tuple(named), len(named))
    terms = sorted({word for word, _ in terms_of(query.text).weights})
    found: list[tuple[float, Kept | tuple[Space, Note]]] = []
    others = [one for space in spaces for one in _others(space, query) if _is_meant(one, query)]
    if not query.text.strip():
        found = [(0.0, one) for one in others]
        found += [
            (0.0, (space, note))
            for space in spaces
            for note in space.window.notebook.notes
            if _is_note_meant(note, query, now)
        ]
        return _page(found, query)
    held = [words_in(one.text).intersection(terms) for one in others]
    counts = Counter(word for words in held for word in words)
    for space in spaces:
        for word in terms:
            counts[word] += len(space.words.holding(word))
    many = len(others) + sum(len(space.window.notebook.notes) for space in spaces)
    worth = {word: math.log1p(many / (counts[word] or 0.5)) for word in terms}
    least = _LEAST_SHARE * sum(worth.values())
    for one, words in zip(others, held, strict=True):
        score = sum(worth[word] for word in words)
        if words and score >= least:
            found.append((score, one))
    for space in spaces:
        notes = space.window.notebook.notes
        found += [
            (score, (space, notes[at]))
            for at, score in _scores(space.words, worth).items()
            if at < len(notes) and score >= least and _is_note_meant(notes[at], query, now)
        ]
    return _page(found, query)


def _scores(words: NoteWords, worth: Mapping[str, float]) -> Mapping[int, float]:
    scores: dict[int, float] = {}
    for word, value in worth.items():
        for at in words.holding(word):
            scores[at] = scores.get(at, 0.0) + value
    return scores


def _page(found: list[tuple[float, Kept | tuple[Space, Note]]], query: RecallQuery) -> Found:
    def rank(pair: tuple[float, Kept | tuple[Space, Note]]) -> tuple[float, bool, float]:
        score, one = pair
        if isinstance(one, Kept):
            return -round(score, 2), score > 0 and not one.is_pinned, -one.at
        return -round(score, 2), score > 0 and not one[1].is_pinned, -one[1].told_at

    found.sort(key=rank)
    page = (one for _, one in found[query.offset : query.offset + query.limit])
    return Found(
        tuple(one if isinstance(one, Kept) else _of_note(*one) for one in page), len(found)
    )


def _text_of(note: Note) -> str:
    return " ".join((note.text, *note.tags))


def _of_note(space: Space, note: Note) -> Kept:
    return Kept(
        RecordKind.NOTE,
        note.id,
        note.text,
        note.told_at,
        note.writer,
        note,
        is_pinned=note.is_pinned,
        is_users=space.is_users,
    )


def _named(space: Space, ids: frozenset[str]) -> Iterator[Kept]:
    """The things with these ids, also those that were withdrawn or have ended."""
    notes = (space.window.notebook.note(named) for named in ids)
    yield from (_of_note(space, note) for note in notes if note is not None)
    everything = RecallQuery(kinds=frozenset(RecordKind))
    yield from (one for one in _others(space, everything) if one.id in ids)


def _others(space: Space, query: RecallQuery) -> Iterator[Kept]:
    """All that is no note, of the kinds that are looked for."""
    window, kinds = space.window, query.kinds
    if RecordKind.HANDOFF in kinds:
        for one in window.notebook.handoffs:
            words = "\n".join((one.summary, *one.next_steps, *one.open_questions, *one.files))
            yield Kept(RecordKind.HANDOFF, one.id, words, one.left_at, one.writer, one)
    if kinds & {RecordKind.FACT, RecordKind.FINDING}:
        for fact in window.ledger.facts:
            kind = RecordKind.FINDING if fact.conclusion else RecordKind.FACT
            if kind in kinds:
                by = Writer(fact.author, session=fact.session)
                at, is_pinned = fact.learned_at, fact.is_pinned
                yield Kept(kind, fact.id, fact.text, at, by, fact, is_pinned=is_pinned)
    if RecordKind.QUESTION in kinds:
        for asked in questions(window):
            question, named = asked.question, question_id(asked.question)
            by = Writer(Author.COMPANION if asked.answer.model else Author.SUMMARY)
            yield Kept(RecordKind.QUESTION, named, question.text, question.asked_at, by, asked)


def _is_meant(one: Kept, query: RecallQuery) -> bool:
    is_new = query.since is None or one.at >= query.since
    return is_new and query.category is None and _is_by(one.writer, query.author)


def _is_note_meant(note: Note, query: RecallQuery, now: Instant) -> bool:
    return (
        RecordKind.NOTE in query.kinds
        and note.counts_at(now)
        and (query.category is None or note.category is query.category)
        and (query.since is None or note.told_at >= query.since)
        and _is_by(note.writer, query.author)
    )


def _is_by(writer: Writer, author: str) -> bool:
    names = (writer.name, writer.host, writer.session)
    return (
        not author
        or writer.author == author
        or any(name.startswith(author) for name in names if name)
    )
