"""What an answer claims: its sentences, the places they cite, the names and values they state."""

import re
from dataclasses import dataclass
from itertools import pairwise

from live_memory.core.errors import OutsideWorkspace
from live_memory.core.values import RelPath

__all__ = ["CitedPlace", "Claim", "claims_of"]

# `a/b.py:12`, `a/b.py:12-20`, `b.py#L12-L20`, `b.py (lines 12-20)`, `b.py, line 12`.
_PART = r"[\w@+\-\[\]().]*[\w\])]"
_CITATION = re.compile(
    rf"(?<![\w/.:@])(?P<path>{_PART}(?:/{_PART})*)`?"
    r"(?:(?::|#)L?(?P<a>\d{1,7})(?:[-–]L?(?P<b>\d{1,7}))?"
    r"|,? \(?lines? (?P<c>\d{1,7})(?:(?:[-–]| to )(?P<d>\d{1,7}))?\)?)(?!\w)"
)
# A file is recognised by a folder before it or an ending that starts with a letter: hosts with
# ports and times of day are no places.
_FILE = re.compile(r"/|\.[A-Za-z]\w{0,9}$")
# A sentence ends at a full stop and blank space, at a list item, or at an empty line.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"'(\[])|\n\s*(?=(?:[-*#]|\d+\.)\s)|\n\s*\n")
_FENCE = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
# Outside code marks a word is a name when only names are written so: a capital inside, an
# underscore, brackets or an equals sign behind.
_BARE_NAME = re.compile(
    r"\b(?:[a-z]+[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w*|\w+_\w*|_\w+|[A-Za-z]\w*(?=\(\)| = ))"
)
_LITERAL = r"\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|0[xXbBoO][0-9A-Fa-f_]+|-?\d[\d_.]*\d|-?\d"
_IN_CODE = re.compile(rf"(?<![\w.])(?:{_LITERAL})(?![\w.])")
# Code with a blank or with arguments is quoted from the file; a name with its value may be written
# otherwise there (`"name": value,`, `name: int = value`).
_QUOTE = re.compile(r"\S\s+\S|\([^)\s]")
_SETTING = re.compile(r"[\"']?(?:\w+\.)*(\w+)[\"']?\s*(?:==?|:=?)\s*(\S.*)")
_STATED = re.compile(rf"(?:=|\b(?:is|are|equals|was|to|of|by|value)) +(?:{_LITERAL})(?![\w%])")


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """A place as it was written, from `offset` to `end_offset` of the answer's text."""

    path: RelPath
    start: int
    end: int
    offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that cites: names that should stand at its places, values and quotes that must."""

    places: tuple[CitedPlace, ...]
    names: frozenset[str]
    values: frozenset[str]
    quotes: frozenset[str]
    settings: frozenset[tuple[str, str]]  # a name with the value that it is said to have

    @property
    def states(self) -> bool:
        """Whether it says anything that can be looked for."""
        return bool(self.names or self.values or self.quotes or self.settings)


def claims_of(text: str) -> tuple[Claim, ...]:
    """The sentences that cite a place, in order; code blocks are quotations, not claims."""
    prose = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)
    # No sentence ends within code, whatever stops and capitals it holds.
    plain = _CODE.sub(lambda code: f"`{'x' * len(code[1])}`", prose)
    bounds = [0, *(end.end() for end in _SENTENCE_END.finditer(plain)), len(prose)]
    sentences = ((a, prose[a:b]) for a, b in pairwise(bounds))
    claims = (_claim(offset, sentence) for offset, sentence in sentences)
    return tuple(claim for claim in claims if claim.places)


def _claim(offset: int, sentence: str) -> Claim:
    found = [(match, _place(match, offset)) for match in _CITATION.finditer(sentence)]
    cited = [(match, place) for match, place in found if place is not None]
    rest = list(sentence)
    for match, _ in cited:
        rest[match.start() : match.end()] = " " * (match.end() - match.start())
    return _stated(tuple(place for _, place in cited), "".join(rest))


def _place(match: re.Match[str], offset: int) -> CitedPlace | None:
    name = match["path"].lstrip("([")
    if not _FILE.search(name) or name.startswith("www."):
        return None
    first = int(match["a"] or match["c"])
    last = int(match["b"] or match["d"] or first)
    try:
        path = RelPath.parse(name)
    except OutsideWorkspace:
        return None
    lead = len(match["path"]) - len(name)
    return CitedPlace(
        path=path,
        start=max(1, min(first, last)),
        end=max(1, first, last),
        offset=offset + match.start() + lead,
        end_offset=offset + match.end(),
    )


def _stated(places: tuple[CitedPlace, ...], sentence: str) -> Claim:
    """A value counts when it is marked as code or said to be one."""
    names: set[str] = set()
    values: set[str] = set()
    quotes: set[str] = set()
    settings: set[tuple[str, str]] = set()
    for span in _CODE.findall(sentence):
        literals = _IN_CODE.findall(span)
        setting = _SETTING.fullmatch(span)
        if setting:
            settings.add((setting[1], setting[2]))
        elif _QUOTE.search(span) and not re.fullmatch(_LITERAL, span):
            quotes.add(span)
        if setting or span in quotes:
            literals = []
        values.update(literals)
        for literal in literals:
            span = span.replace(literal, " ")  # noqa: PLW2901  a quoted word is a value, not a name
        names.update(_NAME.findall(span))
    plain = _CODE.sub(" ", sentence)
    names.update(_BARE_NAME.findall(plain))
    values.update(re.search(_LITERAL, said).group() for said in _STATED.findall(plain))  # type: ignore[union-attr]  # _STATED ends in one
    return Claim(
        places, frozenset(names), frozenset(values), frozenset(quotes), frozenset(settings)
    )
