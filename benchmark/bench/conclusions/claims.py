"""The sentences of a conclusion, and the lines that they cite as these were when it was told."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.checking.prose import masked, sentence_around
from bench.scores import Place
from bench.views import Lines

__all__ = ["Claim", "Names", "Told", "claims_of", "places_named", "told"]

_PATH = r"(?P<path>[\w./+-]+\.[A-Za-z]\w{0,6})"
_RANGE = r"\d+(?:[-–]\d+)?"
# Further lines of the same file, where nothing but a pause follows them.
_MORE = rf"(?:[,;]\s?{_RANGE}(?=\s*[,;)\n]|$))*"
_CITED = re.compile(rf"{_PATH}(?::(?P<lines>{_RANGE}{_MORE}))?")
# Behind a file, numbers in brackets, after "line" or "at", and ranges are lines of it.
_BARE = re.compile(
    rf"(?:(?<=\s\()|\b[Ll]ines? |\bat )(?P<lines>{_RANGE}{_MORE})(?=[\s),;:]|\.?$|\.\s)"
    r"|(?<![\w.:/–-])(?P<range>\d+[-–]\d+)(?![\w:/–-]|\.\d)"
)
_NUMBERS = re.compile(r"(\d+)(?:[-–](\d+))?")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, its places, and the text that stood there."""

    text: str
    places: tuple[Place, ...]
    stood: tuple[str, ...]

    def has_changed(self, lines: Lines) -> bool:
        """Whether any of its places says something else now."""
        return any(at(lines, p) != old for p, old in zip(self.places, self.stood, strict=True))


@dataclass(frozen=True, slots=True)
class Told:
    """A row of the data: what was asked and concluded, and what is asked later."""

    question: str
    conclusion: str
    later: str
    facts: tuple[str, ...]
    claims: tuple[Claim, ...] = ()
    # By file that is cited: what stood at any numbers of the conclusion, were they its lines.
    stood: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def places(self) -> tuple[Place, ...]:
        """All that it cites, each place once."""
        return tuple(dict.fromkeys(place for claim in self.claims for place in claim.places))


@dataclass(frozen=True, slots=True)
class Names:
    """The files of a tree, to find one by the end of its path."""

    all: Sequence[str]
    _said: dict[str, str] = field(default_factory=dict)

    def of(self, written: str) -> str | None:
        """The one file that a text means: what it spelled out before comes first."""
        end = f"/{written.lstrip('./')}"
        if (known := self._said.get(end)) is not None:
            return known
        fitting = [name for name in self.all if f"/{name}".endswith(end)]
        exact = [name for name in fitting if f"/{name}" == end]
        found = (exact or fitting) if len(exact or fitting) == 1 else []
        for name in found:
            parts = name.split("/")
            self._said.update({f"/{'/'.join(parts[n:])}": name for n in range(len(parts))})
        return found[0] if found else None


def told(row: dict[str, object], names: Sequence[str], lines: Lines) -> Told:
    """A row, with the lines that its conclusion cites as they are now."""
    later = row["later"]
    asked = later if isinstance(later, dict) else {}
    text = str(row["conclusion"])
    claims = tuple(claims_of(text, names, lines))
    paths = {place.path for claim in claims for place in claim.places}
    return Told(
        str(row["question"]),
        text,
        str(asked["question"]),
        tuple(str(fact) for fact in asked["facts"]),
        claims,
        {path: frozenset(at(lines, one) for one in _ranges(path, text)) for path in paths},
    )


def claims_of(text: str, names: Sequence[str], lines: Lines) -> Iterator[Claim]:
    """Every sentence; one that cites nothing has no places."""
    said = list(places_named(text, names, lines))
    start = 0
    while start < len(text):
        begin, end = sentence_around(text, start)
        places = tuple(dict.fromkeys(place for at_, place in said if begin <= at_ < end))
        yield Claim(text[begin:end], places, tuple(at(lines, place) for place in places))
        start = max(end, start) + 1


def places_named(text: str, names: Sequence[str], lines: Lines) -> Iterator[tuple[int, Place]]:
    """Places that are there, with where a text names them.

    `dir/a.py:3-4, 9`, later `a.py:12`, and behind a file `(15-16)` or `line 20` are places.
    """
    known, path = Names(names), None
    cited = list(_CITED.finditer(text))
    taken = {n for match in cited for n in range(*match.span())}
    bare = (match for match in _BARE.finditer(masked(text)) if match.end() - 1 not in taken)
    for match in sorted([*cited, *bare], key=re.Match.start):
        found = match.groupdict()
        if found.get("path"):
            path = known.of(match["path"]) or (None if match["lines"] else path)
        for place in _ranges(path or "", found.get("lines") or found.get("range") or ""):
            if path and place.end <= len(lines.of(path)):
                yield match.start(), place


def _ranges(path: str, numbers: str) -> Iterator[Place]:
    for start, end in _NUMBERS.findall(numbers):
        place = Place(path, int(start), int(end or start))
        if 1 <= place.start <= place.end:
            yield place


def at(lines: Lines, place: Place) -> str:
    """The text of a place."""
    return "\n".join(lines.of(place.path)[place.start - 1 : place.end])
