"""Which notes speak of the question at hand.

A note that does not is noise at the top of an answer. So it has to share words that tell with the
question: few, where it names lines that the answer shows, more for its file alone, and most of
them, and first of all, where it names no such place.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.places import Candidates, Place, RankedFileText, Terms
from live_memory.core.evidence.words import base_name, tokens_of_word, vocabulary
from live_memory.core.memory.ledger import Source
from live_memory.core.memory.notebook import Note, NoteCategory
from live_memory.core.notes.recollection import Space
from live_memory.core.values import Instant, RelPath

__all__ = ["MOST_TOLD", "ShownPlaces", "notes_about", "notes_repeated_in", "relevant_notes"]

# So many are told, of so many that are looked at more closely.
MOST_TOLD, _MOST_LOOKED_AT = 3, 50
# The share of a question, by what its words are worth, that a note holds which names lines that
# are shown, one of their files, or neither (tests/support/shop.py has what they were tried on).
_ON_LINES, _ON_FILE, _BY_WORDS = 0.18, 0.35, 0.6
# Files of an answer, in its order, of which a note may speak as a whole; and lines of a place whose
# words are those of the note too.
_BEST_FILES, _HEAD_LINES = 4, 2
# Of these, a word points to it that is worth so much of the one that tells most.
_POINTING = 0.6
# What is shared by words alone are so many at least, of a longer question; what a note says first
# it is about, what it says later counts so much.
_LEAST_WORDS, _HEAD_CHARACTERS, _LATE = 2, 120, 0.5
# What so many notes hold, or this part of all of them, singles none of them out.
_FEW, _MANY = 3, 0.05
_FIRST = frozenset({NoteCategory.DECISION, NoteCategory.TODO})
# A place says where, and what its folders are called says nothing of what is told.
_NAMED_FILE = re.compile(r"(?<![\w./-])([\w.-]+(?:/[\w.-]+)+)(?::\d+(?:-\d+)?)?")
# Notes never change their text, so each is cut up once; some 2 kB each.
_REMEMBERED_TEXTS = 32_768


@dataclass(frozen=True, slots=True)
class ShownPlaces:
    """What an answer shows: its places, those of the facts that lead it, and the files as read.

    `asked_for` are the names that the question gives.
    """

    asked_for: Sequence[str]
    places: Sequence[Place]
    leading: Sequence[Source]
    files: Mapping[RelPath, RankedFileText]


class _CutUp(NamedTuple):
    """The words of a note, those that it begins with, and the files that it names."""

    words: frozenset[str]
    first: frozenset[str]
    named: frozenset[str]


def relevant_notes(
    spaces: Sequence[Space],
    terms: Terms,
    candidates: Candidates,
    shown: ShownPlaces,
    now: Instant,
) -> Sequence[Note]:
    """The few notes to tell beside an answer: decisions and what is to do first, then the best.

    What several spaces hold is that of the first.
    """
    asked = frozenset(word for word, _ in terms.weights)
    judge = _Judge(asked, candidates, shown)
    held: dict[str, tuple[Note, frozenset[str], _CutUp]] = {}
    for note in chain.from_iterable(_touched(space, asked, judge.paths) for space in spaces):
        if note.id not in held and note.counts_at(now):
            cut = _cut_up(note.text, note.tags)
            held[note.id] = note, asked & cut.words, cut
    alike = Counter(words for _, words, _ in held.values())
    judge.weigh(alike, sum(len(space.window.notebook.notes) for space in spaces))
    scored = (_Scored(judge, *each) for each in held.values())
    found = sorted((one for one in scored if one.score >= 1.0), key=_order, reverse=True)
    meant = (one.note for one in found[:_MOST_LOOKED_AT] if judge.singles_out(one))
    return [*islice(meant, MOST_TOLD)]


def _touched(space: Space, asked: Iterable[str], paths: Iterable[RelPath]) -> Iterator[Note]:
    """The notes that hold a word or have a place in one of these files: of 10,000 few do."""
    notes, words = space.window.notebook.notes, space.words
    found = {at for word in asked for at in words.holding(word)}
    found.update(at for path in paths for at in words.on(path))
    yield from (notes[at] for at in sorted(found) if at < len(notes))


def notes_about(notes: Iterable[Note], paths: Collection[RelPath], now: Instant) -> Sequence[Note]:
    """Those that name one of these files, or lines of it, in their order."""
    wanted, names = frozenset(paths), frozenset(path.text for path in paths)
    return [
        note
        for note in notes
        if note.counts_at(now)
        and (
            any(source.path in wanted for source in note.sources)
            or not names.isdisjoint(_cut_up(note.text, note.tags).named)
        )
    ]


def notes_repeated_in(text: str, notes: Iterable[Note]) -> Sequence[Note]:
    """Those that a text may repeat: it has half of their words."""
    said = vocabulary(text)
    cut = ((note, _cut_up(note.text, note.tags).words) for note in notes)
    return [note for note, words in cut if 2 * len(said & words) >= len(words)]


class _Scored:
    """A note, what of the question it holds, and how well it does, also `by_place`."""

    __slots__ = ("by_place", "note", "score", "words")

    def __init__(self, judge: "_Judge", note: Note, words: frozenset[str], cut: _CutUp) -> None:
        self.note, self.words = note, words
        self.by_place = judge.by_place(note, words, cut)
        self.score = max(self.by_place, judge.by_words(words, cut))


def _order(found: _Scored) -> tuple[bool, float, bool, float]:
    note = found.note
    return note.category in _FIRST, round(found.score, 2), note.is_pinned, note.told_at


class _Judge:
    """How far notes hold what is asked, over what they have to hold: enough from 1 on."""

    def __init__(self, asked: frozenset[str], candidates: Candidates, shown: ShownPlaces) -> None:
        # What only notes could say is as rare as anything here.
        most = max(candidates.worth.values(), default=1.0)
        self._worth = {word: candidates.worth.get(word, most) for word in asked}
        self._pointing = {word for word, one in self._worth.items() if one >= _POINTING * most}
        self._whole = sum(self._worth.values()) or 1.0
        named = (tokens_of_word(base_name(name))[:1] for name in shown.asked_for)
        self._names = frozenset(chain.from_iterable(named))
        self._telling: Mapping[str, float] = {}
        self._alike: Mapping[frozenset[str], int] = {}
        self._most = 0
        self._shown = shown
        self._there: dict[Place, frozenset[str]] = {}
        self.paths = {place.path for place in shown.places}
        self.paths.update(source.path for source in shown.leading)
        best = [*dict.fromkeys(place.path for place in shown.places)][:_BEST_FILES]
        self._best = frozenset(best)
        self._best_names = frozenset(path.text for path in best)

    def weigh(self, alike: Mapping[frozenset[str], int], notes: int) -> None:
        """What many of so many notes hold tells the less; `alike` counts those that hold a set."""
        counts: Counter[str] = Counter()
        for words, count in alike.items():
            counts.update(dict.fromkeys(words, count))
        self._telling = {
            word: self._worth[word] / self._whole * (1.0 if n <= _FEW else 1 - n / (1 + notes))
            for word, n in counts.items()
        }
        self._alike, self._most = alike, max(_FEW, int(_MANY * notes))

    def singles_out(self, found: _Scored) -> bool:
        """Whether it is on what is shown, or few others hold as much of the question."""
        if found.by_place >= 1.0:
            return True
        as_well = (n for words, n in self._alike.items() if words >= found.words)
        return sum(as_well) <= self._most

    def by_place(self, note: Note, words: frozenset[str], cut: _CutUp) -> float:
        """As a note on what is shown."""
        shown = self._shown
        on_lines = frozenset[RelPath]()
        if note.sources and any(source.path in self.paths for source in note.sources):
            if any(_touch(source, one) for source in note.sources for one in shown.leading):
                return 2.0
            on_lines = frozenset(
                place.path
                for place in shown.places
                if any(_touch(place, source) for source in note.sources)
            )
        if not on_lines.isdisjoint(self._best):
            there = {*chain.from_iterable(map(self._words_at, note.sources))}
            if not self._names.isdisjoint(there | words):
                return 2.0
            return self._worth_of(words | (there & self._pointing)) / _ON_LINES
        share = self._worth_of(words)
        if not cut.named.isdisjoint(shown.asked_for):
            return share / _ON_LINES
        is_on_it = bool(on_lines) or not cut.named.isdisjoint(self._best_names)
        return share / _ON_FILE if is_on_it else 0.0

    def by_words(self, words: frozenset[str], cut: _CutUp) -> float:
        """As a note that names no such place."""
        if not words or len(words) < min(len(self._worth), _LEAST_WORDS):
            return 0.0
        first = self._share(words & cut.first)
        return (_LATE * self._share(words) + (1 - _LATE) * first) / _BY_WORDS

    def _words_at(self, source: Source) -> frozenset[str]:
        """Many notes point to the same place."""
        place = Place(source.path, source.start, source.end)
        if place not in self._there:
            self._there[place] = frozenset(_words_at(source, self._shown.files))
        return self._there[place]

    def _worth_of(self, words: Iterable[str]) -> float:
        return sum([self._worth[word] for word in words]) / self._whole

    def _share(self, words: Iterable[str]) -> float:
        return sum([self._telling[word] for word in words])


def _touch(one: Place | Source, other: Place | Source) -> bool:
    return one.path == other.path and one.start <= other.end and other.start <= one.end


def _words_at(source: Source, files: Mapping[RelPath, RankedFileText]) -> Iterator[str]:
    """What it is called where a note points to, which the note may leave out."""
    yield from vocabulary(source.path.name.partition(".")[0])
    file = files.get(source.path)
    if file is not None:
        owner = enclosing(file.outline, source.start)
        yield from vocabulary(owner.name if owner else "")
        for line in file.lines[source.start - 1 : min(source.end, source.start + _HEAD_LINES - 1)]:
            yield from vocabulary(line)


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _cut_up(text: str, tags: tuple[str, ...]) -> _CutUp:
    bare = _NAMED_FILE.sub(" ", text)
    first = vocabulary(" ".join((bare[:_HEAD_CHARACTERS], *tags)))
    words = first if len(bare) <= _HEAD_CHARACTERS else first | vocabulary(bare)
    return _CutUp(frozenset(words), frozenset(first), frozenset(_NAMED_FILE.findall(text)))
