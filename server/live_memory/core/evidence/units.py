"""A file cut into stretches short enough to show and long enough to mean something."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from live_memory.core.evidence.outline import indent_of
from live_memory.core.evidence.places import Definition, DefinitionKind
from live_memory.core.evidence.words import holds_data, tokens
from live_memory.core.values import RelPath

__all__ = ["LONGEST_UNIT", "Unit", "cut", "enclosing", "loses_words", "stands_above", "weigh"]

# More lines dilute a unit's words, fewer tear a function apart (evidence-notes.md, item 2).
LONGEST_UNIT = 25
_DEEPEST_CUT = 4  # columns: methods of a class, not functions within them
# What a definition is called says more than what is written in it.
_NAME_COUNTS, _PATH_COUNTS = 3, 1
_ABOVE = re.compile(r"^\s*(?:@|#|//|/\*|\*|--|\[[A-Z]\w*)")
_LONGEST_LINE = 2_000  # the rest of a longer line is data


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines `start` to `end` of a file and the definition they are part of."""

    start: int
    end: int
    definition: Definition | None


def cut(lines: Sequence[str], definitions: Sequence[Definition]) -> tuple[Unit, ...]:
    """Cut where definitions begin, together with what is written right above them."""
    borders = {0, len(lines)}
    for definition in definitions:
        at = definition.place.start - 1
        is_body = definition.kind is not DefinitionKind.VALUE
        if is_body and at < len(lines) and indent_of(lines[at]) <= _DEEPEST_CUT:
            borders.add(_with_what_is_above(lines, at))
    edges = sorted(borders)
    units: list[Unit] = []
    for begin, end in pairwise(edges):
        for at in range(begin, end, LONGEST_UNIT):
            last = min(at + LONGEST_UNIT, end)
            if any(line.strip() for line in lines[at:last]):
                owner = enclosing(definitions, _first_line_within(definitions, at, last))
                units.append(Unit(at + 1, last, owner))
    return tuple(units)


def enclosing(definitions: Sequence[Definition], line: int) -> Definition | None:
    """The innermost definition around a line, values aside; definitions come in order."""
    for at in range(bisect_right(definitions, line, key=_start) - 1, -1, -1):
        definition = definitions[at]
        if line <= definition.place.end and definition.kind is not DefinitionKind.VALUE:
            return definition
    return None


def stands_above(
    lines: Sequence[str], definitions: Sequence[Definition], start: int, end: int
) -> Definition | None:
    """The definition that a stretch of nothing but comment is written above, if it is one."""
    at = bisect_right(definitions, end, key=_start)
    following = [d for d in definitions[at:] if d.kind is not DefinitionKind.VALUE][:1]
    for definition in following:
        rows = lines[start - 1 : definition.place.start - 1]
        said = [row for row in rows if row.strip()]
        if len(rows) <= len(said) + 1 and all(map(_ABOVE.match, said)):
            return definition
    return None


def weigh(path: RelPath, lines: Sequence[str], unit: Unit) -> Mapping[str, int]:
    """How often each word counts for a unit: its lines, its name, its path."""
    text = "\n".join([line[:_LONGEST_LINE] for line in lines[unit.start - 1 : unit.end]])
    words = tokens(text)
    if unit.definition is not None:
        words += tokens(unit.definition.name) * _NAME_COUNTS
    return Counter(words + tokens(path.text) * _PATH_COUNTS)


def loses_words(lines: Sequence[str]) -> bool:
    """Whether something on these lines counts for no unit."""
    return any(len(line) > _LONGEST_LINE or holds_data(line) for line in lines)


def _with_what_is_above(lines: Sequence[str], at: int) -> int:
    while at > 0 and _ABOVE.match(lines[at - 1]):
        at -= 1
    return at


def _first_line_within(definitions: Sequence[Definition], begin: int, end: int) -> int:
    """The line that tells whose a unit is: where a definition begins in it, else its first."""
    for at in range(bisect_right(definitions, begin, key=_start), len(definitions)):
        definition = definitions[at]
        if definition.place.start > end:
            break
        if definition.kind is not DefinitionKind.VALUE:
            return definition.place.start
    return begin + 1


def _start(definition: Definition) -> int:
    return definition.place.start
