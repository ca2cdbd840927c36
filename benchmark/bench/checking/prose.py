"""Places, sentences, clauses and code in prose, by rules of the harness's own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.scores import Place

__all__ = [
    "Cited",
    "Piece",
    "citations",
    "clause_around",
    "code_in",
    "code_words",
    "masked",
    "sentence_around",
    "words_of",
    "written",
]

_CITED = re.compile(r"(?P<path>[\w./+-]+\.[A-Za-z]\w{0,6}):(?P<start>\d+)(?:[-–](?P<end>\d+))?")
_CODE = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\[-])|\n\s*(?=[-*\d])|\n\n")
# Between places that stand for the same clause.
_JOINT = re.compile(r"[\s`,;&()]*(?:and\b)?[\s`]*")
_PAUSE = re.compile(r"[,;:]\s")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cited:
    """A place, and where in a text it is written, without the backticks."""

    place: Place
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Code in backticks, and where in a text it begins."""

    text: str
    begin: int


def citations(text: str) -> list[Cited]:
    """Every place with its path in full, in the order of the text."""
    return [
        Cited(Place(m["path"], int(m["start"]), int(m["end"] or m["start"])), m.start(), m.end())
        for m in _CITED.finditer(text)
    ]


def written(place: Place) -> str:
    """A place as answers write it."""
    last = f"-{place.end}" if place.end > place.start else ""
    return f"{place.path}:{place.start}{last}"


def sentence_around(text: str, at: int) -> Span:
    """Where the sentence, or the item of a list, begins and ends that holds an offset."""
    begin = 0
    for gap in _BREAK.finditer(text):
        if gap.start() >= at:
            return begin, gap.start()
        begin = gap.end()
    return begin, len(text)


def clause_around(text: str, cited: Cited) -> Span:
    """What is said before a place, back to the last place of another clause."""
    begin, end = sentence_around(text, cited.begin)
    first = cited.begin
    for other in reversed([one for one in citations(text[:first]) if one.begin >= begin]):
        if _JOINT.fullmatch(text, other.end, first):
            first = other.begin
            continue
        # What follows a place up to a pause may still be said of that place.
        pause = _PAUSE.search(masked(text[begin:end]), other.end - begin, first - begin)
        return (pause.end() + begin if pause else other.end), first
    return begin, first


def code_in(text: str, span: Span) -> Iterator[Piece]:
    """The code in backticks between two offsets, places left out."""
    for match in _CODE.finditer(text, *span):
        if not _CITED.fullmatch(match[1]):
            yield Piece(match[1], match.start(1))


def code_words(text: str) -> frozenset[str]:
    """The words of the code in a text, places left out."""
    bare = _CITED.sub(" ", text)
    return frozenset(word for code in _CODE.findall(bare) for word in words_of(code))


def words_of(code: str) -> frozenset[str]:
    """Every identifier of three letters and more."""
    return frozenset(_WORD.findall(code))


def masked(text: str) -> str:
    """The text with its code blotted out, as long as before."""
    return _CODE.sub(lambda match: "`" * len(match[0]), text)
