"""A file cut into places: whole definitions where they are short, stretches of them otherwise."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from live_memory.core.evidence.docs import directive, spoken_lines, told_lines
from live_memory.core.evidence.outline import indent_of, is_code
from live_memory.core.evidence.places import Definition, DefinitionKind
from live_memory.core.evidence.uses import import_lines, unquoted
from live_memory.core.evidence.words import holds_data, tokens, unique
from live_memory.core.values import RelPath

__all__ = [
    "LONGEST_WHOLE",
    "PARTS",
    "Traits",
    "Unit",
    "cut",
    "headings",
    "loses_words",
    "traits_of",
    "unpacked",
    "weigh",
]

_BRANCH = re.compile(r"\b(?:if|match|switch|case|else|elif|elsif|unless|when)\b|\?\s.{0,120}:")
_TEST = re.compile(r"(?:^|[.:])(?:[Tt]ests?|test_\w+)(?:[.:]|$)")
# A line of a list: strings and numbers alone, as in word lists and tables of bytes.
_STRING = "|".join(rf"{mark}[^{mark}]{{0,300}}+{mark}" for mark in "\"'`")
_VALUE = rf"(?:[bBfFrRuU]{{0,2}}+(?:{_STRING})|-?\d[\w.]{{0,40}}+)"
_LISTED = re.compile(rf"\s*+{_VALUE}(?:\s*+,\s*+{_VALUE})*+\s*+[,;]?\s*+")
_BEGINS_LISTED = frozenset("\"'`-0123456789")  # few lines do, and only these are looked at
_FEWEST_LISTED = 8
_STEPS = 15  # of four bits
# A line in three that decides is as much as there can be; of less than four lines none decides.
_FULL_SHARE, _FEWEST = 3, 4
_MOSTLY = 0.6


@dataclass(frozen=True, slots=True)
class Traits:
    """How much of a place decides something, and how much is comment, both 0 to 1.

    `is_list` says that there are imports, or strings and numbers, one after the other.
    """

    branching: float
    comment: float
    is_list: bool
    is_test: bool


def traits_of(lines: Sequence[str], first: int, last: int, owner: Definition | None) -> int:
    """Look at lines `first` to `last`, and pack what is seen."""
    rows = [line for line in lines[first - 1 : last] if line.strip()]
    spoken = spoken_lines(lines, first, last)
    told = told_lines(lines, first, last, spoken=spoken)
    branches = sum(
        _BRANCH.search(unquoted(lines[n - 1])) is not None
        for n in range(first, last + 1)
        if n not in told
    )
    branching = min(1.0, _FULL_SHARE * branches / max(_FEWEST, len(rows)))
    comment = len(spoken) / (last - first + 1)
    values = [row for row in rows if row.lstrip()[:1] in _BEGINS_LISTED]
    listed = sum(_LISTED.fullmatch(row) is not None for row in values)
    listed = listed if listed >= _FEWEST_LISTED else 0
    is_list = max(listed, len(import_lines(rows, len(rows)))) > _MOSTLY * len(rows)
    is_in_test = owner is not None and _TEST.search(owner.name) is not None
    shares = round(branching * _STEPS) | round(comment * _STEPS) << 4
    return shares | is_list << 8 | is_in_test << 9


@lru_cache(2_048)
def unpacked(traits: int) -> Traits:
    """Undo the packing."""
    return Traits(
        branching=(traits & 15) / _STEPS,
        comment=(traits >> 4 & 15) / _STEPS,
        is_list=bool(traits & 256),
        is_test=bool(traits & 512),
    )


# A definition of so many lines is shown whole, and so is one place; a longer one is cut near
# blank or shallow lines. An inner function of so many lines is a place of its own
# (ADR 17).
LONGEST_WHOLE, _PIECE, _LONG_INNER = 60, 30, 80
_ABOVE = re.compile(r"^\s*(?:@|#|//|/\*|\*|--|\[[A-Z]\w*)")
_LONGEST_LINE = 2_000  # the rest of a longer line is data
_BODIES = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)
# What a word counts in a field, how far the field's length weakens it, and the length at which it
# counts just that: BM25F with fixed lengths, so that a file's words never have to be counted anew.
_FIELDS = {
    "name": (3.0, 0.3, 4),
    "said": (1.0, 0.75, 20),
    "done": (1.0, 0.75, 50),
    # What is said to a tool is about no subject.
    "ordered": (0.1, 0.75, 20),
}
_PATH_COUNTS = 1.0
# Weights are kept as whole numbers, in so many parts.
PARTS = 16


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines `start` to `end` of a file, the definition they are part of, and what they look like.

    `traits` is packed, see `traits`.
    """

    start: int
    end: int
    definition: Definition | None
    traits: int = 0


def cut(path: RelPath, lines: Sequence[str], definitions: Sequence[Definition]) -> tuple[Unit, ...]:
    """Give each line to its innermost definition, with what is written right above that."""
    owners = _owners(lines, definitions)
    units: list[Unit] = []
    at, count = 0, len(lines)
    is_program = is_code(path)
    while at < count:
        owner, end = owners[at], at + 1
        while end < count and owners[end] is owner:
            end += 1
        for first, last in _pieces(lines, at, end):
            traits = traits_of(lines, first, last, owner) if is_program else 0
            units.append(Unit(first, last, owner, traits))
        at = end
    return tuple(units)


def headings(units: Sequence[Unit], definitions: Sequence[Definition]) -> Iterator[str]:
    """What each part of a document stands under: its title, and the sections around it."""
    around: list[Definition] = []
    at = 0
    for unit in units:
        while at < len(definitions) and definitions[at].place.start < unit.start:
            around.append(definitions[at])
            at += 1
        around = [d for d in around if d.place.end >= unit.start]
        own = unit.definition
        if own is None or own.kind is not DefinitionKind.SECTION:
            yield ""
            continue
        wide = (d for d in around if unit.end <= d.place.end)
        yield " ".join(unique(d.name for d in (definitions[0], *wide) if d is not own))


def weigh(path: RelPath, lines: Sequence[str], unit: Unit, *, under: str = "") -> Mapping[str, int]:
    """How much each word counts for a unit, by the field it stands in; in `PARTS`.

    What it stands `under` counts as its path does.
    """
    spoken: Collection[int] = ()
    rows = {n: lines[n - 1][:_LONGEST_LINE] for n in range(unit.start, unit.end + 1)}
    ordered: list[str] = []
    if is_code(path):
        spoken = spoken_lines(lines, unit.start, unit.end)
        for number, row in rows.items():
            if found := directive(row):
                rows[number] = row[: found.start()]
                ordered.append(found.group())
    fields = {
        "name": unit.definition.name if unit.definition else "",
        "said": "\n".join(row for n, row in rows.items() if n in spoken),
        "done": "\n".join(row for n, row in rows.items() if n not in spoken),
        "ordered": "\n".join(ordered),
    }
    weights: defaultdict[str, float] = defaultdict(float)
    for field, text in fields.items():
        words = tokens(text)
        weight, slope, usual = _FIELDS[field]
        share = weight / (1 - slope + slope * len(words) / usual) if words else 0.0
        for word, count in Counter(words).items():
            weights[word] += count * share
    for word in [*tokens(path.text), *unique(tokens(under))]:
        weights[word] += _PATH_COUNTS
    return {word: max(1, round(weight * PARTS)) for word, weight in weights.items()}


def loses_words(lines: Sequence[str]) -> bool:
    """Whether something on these lines counts for no unit."""
    return any(len(line) > _LONGEST_LINE or holds_data(line) for line in lines)


def _owners(lines: Sequence[str], definitions: Sequence[Definition]) -> Sequence[Definition | None]:
    """The definition that each line belongs to."""
    owners: list[Definition | None] = [None] * len(lines)
    for definition in definitions:
        first, last = definition.place.start - 1, min(definition.place.end, len(lines))
        if definition.kind is DefinitionKind.VALUE or first >= len(lines):
            continue
        outer = owners[first]
        is_inner = outer is not None and outer.kind in _BODIES
        if is_inner and last - first < _LONG_INNER:
            continue
        if definition.kind is not DefinitionKind.SECTION:
            while first > 0 and owners[first - 1] is outer and _ABOVE.match(lines[first - 1]):
                first -= 1
        owners[first:last] = [definition] * (last - first)
    return owners


def _pieces(lines: Sequence[str], at: int, end: int) -> Iterator[tuple[int, int]]:
    """Lines (from 1) of `at` to before `end`, cut where they are many, without blank ends."""
    while end - at > LONGEST_WHOLE:
        middle = range(at + _PIECE * 2 // 3, at + _PIECE * 5 // 3)
        border = min(middle, key=lambda n: (_depth(lines[n]), abs(n - at - _PIECE)))
        yield from _trimmed(lines, at, border)
        at = border
    yield from _trimmed(lines, at, end)


def _trimmed(lines: Sequence[str], at: int, end: int) -> Iterator[tuple[int, int]]:
    while at < end and not lines[at].strip():
        at += 1
    while end > at and not lines[end - 1].strip():
        end -= 1
    if at < end:
        yield at + 1, end


def _depth(line: str) -> int:
    """How well a line may begin a piece: a blank one best, a deep one worst."""
    return 4 + indent_of(line) if line.strip() else 0
