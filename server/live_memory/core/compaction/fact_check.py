"""What becomes a fact of what was proposed: only what stands on the bytes that were shown.

Neither a model nor the text of a file is believed. What fails is dropped and counted.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from live_memory.core.answer import CitationStatus
from live_memory.core.checking.claim_check import LineRange, SourceFile, are_set, are_there
from live_memory.core.compaction.fact_wording import Stated, stated, statement, without_places
from live_memory.core.errors import OutsideWorkspace
from live_memory.core.evidence.places import Place
from live_memory.core.evidence.words import tokens_of_word, vocabulary, words_of
from live_memory.core.memory.learning import Span, merged
from live_memory.core.memory.ledger import Fact, FactId, Ledger, Source
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.values import ContentHash, Instant, RelPath

__all__ = [
    "Admitted",
    "KnownFacts",
    "Proposal",
    "SourceText",
    "admitted",
    "clipped",
    "fact_id",
    "proposals",
    "standing",
]

# Where the cited lines are copied to, so that several places are checked as one.
_COPY = RelPath("copied/lines.c")
_WORD = re.compile(r"0[xXbBoO]\w+|[A-Za-z_$][\w$]*|\d[\d_.]*\d|\d")
_PATH_WORD = re.compile(r"\w+")
_ASSIGNED = re.compile(
    r"(?<![\w$.])(?:self\.|this\.)?([A-Za-z_$][\w$]*)[\"']?\s*(?::[^=,]{1,40})?[:=]\s*"
    r"(\"[^\"]*\"|'[^']*'|-?\d[\w.]*|[Tt]rue|[Ff]alse|None|null|nil)\s*(?:[,;)}#]|//|$)"
)


@dataclass(frozen=True)  # without slots, to keep what is worked out once for all that is said of it
class SourceText:
    """Current redacted lines of a file, by number, and the hash of its whole bytes."""

    path: RelPath
    sha: ContentHash
    lines: Mapping[int, str]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The runs of lines that are shown."""
        return merged((n, n) for n in self.lines)

    @cached_property
    def where(self) -> Mapping[str, Sequence[int]]:
        """The lines that a word stands on."""
        found: dict[str, list[int]] = {}
        for number, line in self.lines.items():
            for word in set(_WORD.findall(line)):
                found.setdefault(word, []).append(number)
        return found

    @cached_property
    def constants(self) -> frozenset[str]:
        """The names that a line gives a literal."""
        lines = self.lines.values()
        return frozenset(name for line in lines for name, _ in _ASSIGNED.findall(line))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The tokens of all words on them and of its path."""
        return frozenset(vocabulary(self.text) | vocabulary(self.path.text))

    @cached_property
    def text(self) -> str:
        """All of them."""
        return "\n".join(self.lines.values())


def clipped(place: Place, page: SourceText) -> Place | None:
    """The part of a place that is shown, where no more is cut off than stays."""
    parts = [(max(place.start, a), min(place.end, b)) for a, b in page.spans]
    start, end = max(parts, key=lambda part: part[1] - part[0], default=(1, 0))
    kept, asked = end - start + 1, place.end - place.start + 1
    return Place(place.path, start, end) if kept >= 1 and asked - kept <= kept else None


def standing(
    text: str, places: Sequence[Place], pages: Mapping[RelPath, SourceText]
) -> tuple[Place, ...] | None:
    """The places on which a text stands, with further lines for its names; nothing if it does not.

    All `places` lie within `pages`. This is stricter than the check of answers: an answer is read
    once, a fact for months. So every name and all code must be there, a constant must stand on a
    line that sets it, what is written as a proper noun must occur in the source, and no place is
    moved to where the sentence would stand.
    """
    said = stated(text)
    cited = [pages[path] for path in dict.fromkeys(place.path for place in places)]
    if not cited or not said.is_checkable or not _is_of_these(said, cited):
        return None
    names = said.names - {word for page in cited for word in _path_words(page.path)}
    if names and not any(_is_on(name, page, places) for name in names for page in cited):
        return None
    whole = _with_names(said, places, cited)
    return whole if whole and _holds(said, whole, pages) else None


def _is_of_these(said: Stated, cited: Sequence[SourceText]) -> bool:
    """Whether all that is said in prose, and all that leads elsewhere, occurs in the sources."""

    def is_written(text: str) -> bool:
        return any(text in page.text or text in page.path.text for page in cited)

    def is_word(word: str) -> bool:
        return word in in_paths or any(word in page.where for page in cited)

    in_paths = {word for page in cited for word in _path_words(page.path)}
    proper = (part for word in said.proper for part in words_of(word))
    tokens = (token for part in proper for token in tokens_of_word(part)[:1])
    return (
        all(any(token in page.vocabulary for page in cited) for token in tokens)
        and all(map(is_written, said.addresses))
        and all(is_written(w) or all(map(is_word, _WORD.findall(w))) for w in said.codelike)
    )


def _with_names(
    said: Stated, places: Sequence[Place], cited: Sequence[SourceText]
) -> tuple[Place, ...] | None:
    """The places, and the nearest line of the same files for each name that they leave out."""
    found = [*places]
    in_paths = {word for page in cited for word in _path_words(page.path)}
    for name in sorted(said.names):
        if name not in in_paths and not any(_is_on(name, page, places) for page in cited):
            line = _nearest(name, places, cited)
            if line is None:
                return None
            found.append(line)
    spans: dict[RelPath, list[Span]] = {}
    for place in found:
        spans.setdefault(place.path, []).append((place.start, place.end))
    return tuple(Place(path, *span) for path, each in spans.items() for span in merged(each))


def _is_on(name: str, page: SourceText, places: Sequence[Place]) -> bool:
    numbers = page.where.get(name, ())
    return any(p.start <= n <= p.end for p in places if p.path == page.path for n in numbers)


def _nearest(name: str, places: Sequence[Place], cited: Sequence[SourceText]) -> Place | None:
    """The line with a name that is nearest to a place, rather above it than below."""
    near = [
        (n > place.start, abs(n - place.start), Place(page.path, n, n))
        for page in cited
        for n in page.where.get(name, ())
        for place in places
        if place.path == page.path
    ]
    return min(near, key=lambda each: each[:2])[2] if near else None


def _holds(said: Stated, places: Sequence[Place], pages: Mapping[RelPath, SourceText]) -> bool:
    """Whether the lines of the places, taken together, hold what the text states."""
    lines = [pages[p.path].lines[n] for p in places for n in range(p.start, p.end + 1)]
    # What a path says is no more than that a name is in it, so each word is a line of its own.
    copy = [*lines, *(word for place in places for word in _path_words(place.path))]
    shown = LineRange(SourceFile(places[0].path, copy), 1, len(copy))
    if not (are_there(said.pieces, shown) and are_set(said.settings, shown)):
        return False
    words = [frozenset(_WORD.findall(line)) for line in lines]
    there = {_plain(word) for each in words for word in each}
    if not all(_plain(number) in there for number in said.numbers):
        return False
    constants = {name for place in places for name in pages[place.path].constants}
    return constants.isdisjoint(said.names) or all(
        _is_bound(v, said, lines, words) for v in (*said.values, *said.numbers)
    )


def _is_bound(
    value: str, said: Stated, lines: Sequence[str], words: Sequence[frozenset[str]]
) -> bool:
    """Whether a value shares a line with a name: else it may be any other constant's value."""
    bare = value.strip("\"'")
    return any(
        bool(said.names & on_it) and (_plain(bare) in map(_plain, on_it) or bare in line)
        for line, on_it in zip(lines, words, strict=True)
    )


def _path_words(path: RelPath) -> Iterator[str]:
    """What a path can name; a number in it is no value of anything."""
    words = (*_PATH_WORD.findall(path.text), *_WORD.findall(path.text))
    return (word for word in words if not word[0].isdigit())


def _plain(number: str) -> str:
    return number.replace("_", "").replace(",", "").lstrip("-") if number[-1:].isdigit() else number


# Bounds of the work: a summary of 60 facts has some 20,000 characters, one fact some 300.
_LONGEST_REPLY, _LONGEST_OBJECT = 400_000, 6_000
_MOST_ATTEMPTS, _MOST_PROPOSALS = 2_000, 500
_MOST_PLACES = 20
_LAST_LINE = 10_000_000
_DECODER = json.JSONDecoder()
_LAST_COMMA = re.compile(r",\s*(?=[}\]])")
_WRITTEN_PLACE = re.compile(r"(?P<path>.+?):(?P<start>\d{1,7})(?:-(?P<end>\d{1,7}))?")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A sentence that a model offers as a fact, and where it says that it stands.

    Without places where none was given, or one was that no file can have.
    """

    text: str
    places: tuple[Place, ...]


def proposals(text: str) -> Sequence[Proposal]:
    """Every proposal in a reply, whatever stands around and between them."""
    found: list[Proposal] = []
    for record in _records(text[:_LONGEST_REPLY]):
        said = record.get("text")
        if isinstance(said, str):
            found.append(Proposal(said, _places(record.get("sources"))))
        if len(found) >= _MOST_PROPOSALS:
            break
    return tuple(found)


def _records(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects in a text; one that holds no fact itself may hold some."""
    at = text.find("{")
    for _ in range(_MOST_ATTEMPTS):
        if at < 0:
            return
        record, size = _record(text[at : at + _LONGEST_OBJECT])
        if record is not None and "text" in record:
            yield record
            at += size - 1
        at = text.find("{", at + 1)


def _record(text: str) -> tuple[dict[str, object] | None, int]:
    """The object that a text begins with, and its length; commas before an end are forgiven."""
    value, size = _decoded(text)
    if value is None:
        line = text.partition("\n")[0]
        line = line[: line.rfind("}") + 1]
        value, _ = _decoded(_LAST_COMMA.sub("", line))
        size = len(line)
    return value, size


def _decoded(text: str) -> tuple[dict[str, object] | None, int]:
    try:
        value, size = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None, 0
    return (value, size) if isinstance(value, dict) else (None, 0)


def _places(value: object) -> tuple[Place, ...]:
    """All places or none: a proposal may not stand on only those of its sources that exist."""
    listed = value if isinstance(value, list) else [value]
    places = [_place(each) for each in listed[: _MOST_PLACES + 1]]
    found = tuple(dict.fromkeys(place for place in places if place is not None))
    return found if len(places) <= _MOST_PLACES and None not in places else ()


def _place(value: object) -> Place | None:
    if isinstance(value, str):
        written = _WRITTEN_PLACE.fullmatch(value.strip())
        value = written.groupdict() if written else None
    if not isinstance(value, dict) or not isinstance(value.get("path"), str):
        return None
    start = _line(value.get("start"))
    end = _line(start if value.get("end") is None else value["end"])
    if start is None or end is None:
        return None
    try:
        path = RelPath.parse(value["path"])
    except OutsideWorkspace:
        return None
    return Place(path, min(start, end), max(start, end))


def _line(value: object) -> int | None:
    """A line's number, also where it was written as text or with a fraction of nothing."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and 1 <= value <= _LAST_LINE else None


_MOST_QUESTIONS = 3
_QUOTES, _STOPS = re.compile("[`\"'“”‘’]"), re.compile(r"(?<![.,;:!?])[.,;:!?]++(?=\s|\Z)")
# Two sentences about the same names are one when so much of their other words is shared.
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class Admitted:
    """The new facts, and how many proposals nothing stands behind."""

    facts: tuple[Fact, ...]
    rejected: int


def admitted(
    proposals: Sequence[Proposal],
    sources: Mapping[RelPath, SourceText],
    ledger: Ledger,
    *,
    answers: Sequence[QuestionAnswered],
    now: Instant,
    since: str | None,
) -> Admitted:
    """Judge each proposal by the lines of its sources; what is known already is not counted."""
    known = KnownFacts(ledger, {path: each.sha for path, each in sources.items()})
    facts: list[Fact] = []
    rejected = 0
    for proposal in proposals:
        found = _standing(proposal, sources)
        if found is None:
            rejected += 1
            continue
        text, places = found
        fact = Fact(
            id=fact_id(text, [place.path for place in places]),
            text=text,
            sources=tuple(Source(p.path, sources[p.path].sha, p.start, p.end) for p in places),
            learned_at=now,
            since=since,
            questions=tuple(_questions(places, answers)),
        )
        if known.is_new(fact):
            facts.append(fact)
    return Admitted(tuple(facts), rejected)


def _standing(
    proposal: Proposal, pages: Mapping[RelPath, SourceText]
) -> tuple[str, tuple[Place, ...]] | None:
    """The text as it is kept, and the places it stands on."""
    said = statement(proposal.text)
    text = said and statement(without_places(said))
    places: list[Place] = []
    for place in proposal.places:
        page = pages.get(place.path)
        shown = page and clipped(place, page)
        if not shown:
            return None
        places.append(shown)
    found = standing(text, places, pages) if text else None
    return (text, found) if text and found else None


class KnownFacts:
    """What needs no second fact: what the ledger holds and is current, and what was just added."""

    def __init__(self, ledger: Ledger, sources: Mapping[RelPath, ContentHash]) -> None:
        """`sources` are the files that new facts rest on, as they are now."""
        self._forgotten = ledger.forgotten
        self._ids: set[FactId] = set()
        self._near: dict[RelPath, list[str]] = {}
        for path in sources:
            for fact in ledger.resting_on(path):
                seen = (sources[s.path] == s.sha for s in fact.sources if s.path in sources)
                if not fact.is_stale and all(seen):
                    self._add(fact)

    def is_new(self, fact: Fact) -> bool:
        """Whether nothing like it is known; from now on it is."""
        if fact.id in self._ids or fact.id in self._forgotten:
            return False
        near = (text for source in fact.sources for text in self._near.get(source.path, ()))
        if any(_says_the_same(fact.text, text) for text in near):
            return False
        self._add(fact)
        return True

    def _add(self, fact: Fact) -> None:
        if fact.id not in self._ids:
            self._ids.add(fact.id)
            for path in {source.path for source in fact.sources}:
                self._near.setdefault(path, []).append(fact.text)


def _says_the_same(text: str, other: str) -> bool:
    """Whether two texts state the same names and values, and the same of them.

    What gives values says what it says by them; names and quotes need some words besides.
    """
    one, two = stated(text), stated(other)
    if (one.names, one.values, one.quotes, one.settings, one.numbers) != (
        two.names, two.values, two.quotes, two.settings, two.numbers,
    ):  # fmt: skip
        return False
    if one.values or one.settings:
        return True
    words, others = vocabulary(text), vocabulary(other)
    return len(words & others) >= _ALIKE * len(words | others)


def fact_id(text: str, files: Iterable[RelPath]) -> FactId:
    """The same for the same sentence about the same files, whatever their bytes and lines are."""
    plain = _STOPS.sub("", _QUOTES.sub("", without_places(text).casefold()))
    plain = " ".join(plain.split())
    paths = sorted({path.text for path in files})
    return FactId(
        hashlib.sha256("\n".join((plain, *paths)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    )


def _questions(places: Sequence[Place], answers: Sequence[QuestionAnswered]) -> Iterator[str]:
    """The newest questions whose answers rest on these lines, oldest first."""
    resting = [asked.question.text for asked in answers if _rests(asked, places)]
    yield from dict.fromkeys(resting[-_MOST_QUESTIONS:])


def _rests(asked: QuestionAnswered, places: Sequence[Place]) -> bool:
    return any(
        cited.path == place.path and cited.start <= place.end and place.start <= cited.end
        for cited in asked.answer.citations
        if cited.status is CitationStatus.VERIFIED
        for place in places
    )
