"""What the sentences of a text state, and the places that each clause cites.

A clause is what stands between two groups of citations: `a` does this (`x.py:3`), `b` does that
(`x.py:9`, `y.py:1`). A code block is a quotation and states nothing.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from keyword import kwlist

from live_memory.core.checking.written import Endings, WrittenPlace, places_in

__all__ = [
    "LITERAL",
    "Clause",
    "Piece",
    "PieceKind",
    "Sentence",
    "pieces_of",
    "sentences_of",
]

# A sentence ends at a full stop and blank space, at the end of a heading or a row of a table, at a
# list item, or at an empty line.
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[)\"'*_]{0,3}\s+(?=[A-Z`*_\"'(\[-])|\n\s*+(?=(?:[-*#+]|\d{1,9}[.)])\s)|\n(?:[^\S\n]*+\n)++|\n\s*+(?=\|)"
)
_HEADING = re.compile(r"^#{1,6} [^\n]*\n", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`{1,3})([^`\n]+)\1")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# Outside code marks a word is a name when only names are written so: a capital inside, an
# underscore, brackets or an equals sign behind.
_BARE_NAME = re.compile(
    r"\b(?:[a-z]+[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w*|\w+_\w*|_\w+|[A-Za-z]\w*(?=\(\)| = ))"
)
_NUMBER = r"(?:0[xXbBoO][0-9A-Fa-f_]+|-?\d[\d_]*(?:\.\d[\d_]*)?)"
LITERAL = rf"\"[^\"\n]{{1,80}}\"|'[^'\n]{{1,80}}'|{_NUMBER}"
_WHOLE_LITERAL = re.compile(LITERAL)
_IN_CODE = re.compile(rf"(?<![\w.])(?:{LITERAL})(?![\w]|\.\w)")
# Code with a blank or with arguments is quoted from the file; a name with its value may be written
# otherwise there (`"name": value,`, `name: int = value`).
_QUOTE = re.compile(r"\S\s+\S|\([^)\s]")
_SETTING = re.compile(r"[\"']?(?:\w+\.)*(\w+)[\"']?\s*(?:==?|:=|:(?=\s))\s*(\S.*)")
_PATH = re.compile(r"(?:[\w.@+-]++/)++[\w.@+-]+\.\w+")
# An argument and an environment variable have no blanks around the sign, a constant has.
_ARGUMENT = re.compile(r"[A-Za-z_]\w*=\S")
# A word in quotation marks in prose is prose, unless a name is said to be it.
_STATED = re.compile(
    r"(?:(?<!\d )=|\b(?:is|are|equals|was|value|(?:set|equal|defaults?|limited|fixed) to"
    r"|(?:limit|default|value|maximum|minimum|timeout|size|length|number|count) of)) +"
    rf"(?P<number>{_NUMBER})(?![\w%-]|\.\d)"
    rf"|` (?P<beside>{_NUMBER})(?=[,;)]|\.(?:\s|$)| and | \()"
    r"|`\s+(?:is|equals|=)\s+(?P<string>\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')"
)
# What is said not to be there need not be there; so far back a sentence is searched for it.
_DENIED_WITHIN = 60
_DENIED = re.compile(
    r"(?:\b(?:no|not|never|without|neither|nor|cannot|nothing|instead of|rather than)\b|n't\b)"
    r"(?:[^,;:.]|[.:](?=\S)){0,40}$"
)
_WORDS = re.compile(r"[^\W\d_]{2}")
_BETWEEN = re.compile(r"(?:[\s,;/|`()\[\]*+&]|\b(?:and|or|also|then|see|in|at|to)\b)*")


class PieceKind(StrEnum):
    """How a piece of a claim must stand in the file: as a word, a value, a setting, or as it is."""

    NAME = "name"
    VALUE = "value"
    SETTING = "setting"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that a text states at `offset`; a setting has a `value` too.

    A setting that is an argument (`copy=True`) may be given for the sake of example; what
    `is_denied` is said not to be there.
    """

    kind: PieceKind
    text: str
    offset: int
    value: str = ""
    is_argument: bool = False
    is_denied: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """Places cited together; `before` and `after` them stands what they are said to show."""

    places: tuple[WrittenPlace, ...]
    before: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that cites, its places blanked out; offsets count from its beginning."""

    text: str
    clauses: tuple[Clause, ...]
    pieces: tuple[Piece, ...]


def sentences_of(text: str, endings: Endings | None = None) -> tuple[Sentence, ...]:
    """The sentences that cite a place, in order; `endings` as in `places_in`."""
    prose = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)
    places = places_in(prose, endings)
    bare = list(prose)
    for place in places:
        # One mark of code without the other would pair with the next one.
        written = prose[place.offset : place.end_offset]
        bare[place.offset : place.end_offset] = re.sub("[^`]", " ", written)
    plain = "".join(bare)
    bounds = _bounds(prose, places)
    # What is nothing but places belongs to the sentence before it.
    bounds = [
        b
        for b, end in zip(bounds, [*bounds[1:], None], strict=True)
        if _WORDS.search(plain[b:end]) or not b
    ]
    at = [place.offset for place in places]
    found = (
        _sentence(prose, plain, span, places[bisect_left(at, span[0]) : bisect_left(at, span[1])])
        for span in pairwise([*bounds, len(prose)])
    )
    return tuple(sentence for sentence in found if sentence.clauses)


def pieces_of(text: str) -> tuple[Piece, ...]:
    """What a text states, in order."""
    found = sorted(_pieces(text), key=lambda piece: piece.offset)
    return tuple(replace(each, is_denied=_is_denied(text, each.offset)) for each in found)


def _is_denied(text: str, offset: int) -> bool:
    return _DENIED.search(text, max(0, offset - _DENIED_WITHIN), offset) is not None


def _bounds(prose: str, places: Sequence[WrittenPlace]) -> list[int]:
    """Where sentences begin; none ends within code or a place, whatever stops they hold."""
    plain = list(_CODE.sub(lambda code: f"`{'x' * (len(code.group()) - 2)}`", prose))
    for place in places:
        plain[place.offset : place.end_offset] = "x" * (place.end_offset - place.offset)
    line = "".join(plain)
    ends = {end.end() for end in _SENTENCE_END.finditer(line)}
    ends |= {heading.end() for heading in _HEADING.finditer(line)}
    return [0, *sorted(end for end in ends if 0 < end < len(prose))]


def _sentence(
    prose: str, plain: str, span: tuple[int, int], places: Sequence[WrittenPlace]
) -> Sentence:
    text = plain[slice(*span)]
    return Sentence(text, tuple(_clauses(prose, span, places)), pieces_of(text))


def _clauses(prose: str, span: tuple[int, int], places: Sequence[WrittenPlace]) -> Iterator[Clause]:
    groups: list[list[WrittenPlace]] = []
    for place in places:
        if groups and _BETWEEN.fullmatch(prose, groups[-1][-1].end_offset, place.offset):
            groups[-1].append(place)
        else:
            groups.append([place])
    starts = [group[0].offset for group in groups]
    ends = [group[-1].end_offset for group in groups]
    for number, group in enumerate(groups):
        before = (ends[number - 1] if number else span[0], starts[number])
        after = (ends[number], starts[number + 1] if number + 1 < len(groups) else span[1])
        yield Clause(
            tuple(group),
            (before[0] - span[0], before[1] - span[0]),
            (after[0] - span[0], after[1] - span[0]),
        )


def _pieces(text: str) -> Iterator[Piece]:
    for code in _CODE.finditer(text):
        yield from _of_code(code[2].strip(), code.start(2))
    plain = _CODE.sub(lambda code: " " * len(code.group()), text)
    for name in _BARE_NAME.finditer(plain):
        yield Piece(PieceKind.NAME, name.group(), name.start())
    marked = _CODE.sub(lambda code: "`" + " " * (len(code.group()) - 2) + "`", text)
    for said in _STATED.finditer(marked):
        value = said["number"] or said["string"] or said["beside"]
        yield Piece(PieceKind.VALUE, value, said.end() - len(value))


def _of_code(code: str, offset: int) -> Iterator[Piece]:
    if _PATH.fullmatch(code):
        return
    if _WHOLE_LITERAL.fullmatch(code):
        yield Piece(PieceKind.VALUE, code, offset)
        return
    setting = _SETTING.fullmatch(code)
    if setting and setting[1] not in kwlist:
        is_argument = _ARGUMENT.match(code) is not None
        yield Piece(PieceKind.SETTING, setting[1], offset, setting[2], is_argument)
    elif _QUOTE.search(code):
        yield Piece(PieceKind.QUOTE, code, offset)
    elif _WORDS.search(code):
        for literal in _IN_CODE.finditer(code):
            yield Piece(PieceKind.VALUE, literal.group(), offset + literal.start())
        code = _IN_CODE.sub(lambda m: " " * len(m.group()), code)
    for name in _NAME.finditer(code):
        yield Piece(PieceKind.NAME, name.group(), offset + name.start())
