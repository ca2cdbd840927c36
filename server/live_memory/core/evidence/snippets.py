"""Which lines of a place to show: those that hold the question's words."""

import re
from collections.abc import Collection, Mapping, Sequence

from live_memory.core.evidence.docs import spoken_lines
from live_memory.core.evidence.outline import head_end, indent_of
from live_memory.core.evidence.places import Definition, OpenedFile, Place, RankedUnit
from live_memory.core.evidence.words import tokens

__all__ = ["dedented", "key_lines", "quoted", "shown"]

# Lines that say nothing of what happens.
_SILENT = re.compile(r"^\s*(?:@|import\b|from\b.*\bimport\b|[\])}\s;,]*$)")
_LINT = re.compile(r"\s*(?:#\s*(?:type:|noqa|pragma|pylint)|//\s*(?:nolint|eslint)).*$")
_LONGEST_QUOTE = 150
# Documentation says what code does in the question's words; the code itself is what to show.
_SPOKEN_SHARE = 0.5
_HEAD_REACH = 4  # lines that a window may grow upwards to begin where its statement begins


def key_lines(
    file: OpenedFile,
    definition: Definition,
    worth: Mapping[str, float],
    *,
    most: int,
    besides: Collection[int] = (),
) -> tuple[int, ...]:
    """The numbers of the lines of a definition's body worth most to the question, in order.

    Lines `besides` which they are chosen were said already.
    """
    place = definition.place
    first = min(head_end(file.lines, place.start - 1) + 1, place.end)
    silent = spoken_lines(file.lines, place.start, place.end).union(besides)
    valued = [
        (_worth(file.lines[number - 1], worth), number)
        for number in range(first, min(place.end, len(file.lines)) + 1)
        if number not in silent and not _SILENT.match(file.lines[number - 1])
    ]
    best = sorted((pair for pair in valued if pair[0] > 0), key=lambda p: (-p[0], p[1]))
    return tuple(sorted(number for _, number in best[:most]))


def quoted(file: OpenedFile, number: int) -> str:
    """A line as a sentence quotes it, with the call it is an argument of."""
    text = _LINT.sub("", file.lines[number - 1].strip())
    head = _opener(file.lines, number)
    if head:
        text = f"{head} … {text.rstrip(',')} …"
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE].rstrip()}…"


def shown(file: OpenedFile, unit: RankedUnit, worth: Mapping[str, float], *, most: int) -> Place:
    """The stretch of a unit, at most so many lines, that is worth most."""
    place = unit.place
    start, end = _trimmed(file.lines, place)
    if end - start < most:
        return Place(place.path, start, end)
    above = unit.definition.place.start if unit.definition else start
    spoken = spoken_lines(file.lines, min(above, start), end)
    values = [
        _worth(file.lines[number - 1], worth) * (_SPOKEN_SHARE if number in spoken else 1)
        for number in range(start, end + 1)
    ]
    sums = [sum(values[at : at + most]) for at in range(len(values) - most + 1)]
    at = start + max(range(len(sums)), key=lambda index: (sums[index], -index))
    first = _statement_start(file.lines, at, start, most)
    return Place(place.path, *_trimmed(file.lines, Place(place.path, first, first + most - 1)))


def dedented(lines: Sequence[str], place: Place) -> str:
    """The text of a place with its common indentation taken off."""
    rows = lines[place.start - 1 : place.end]
    common = min((indent_of(row) for row in rows if row.strip()), default=0)
    return "\n".join(_cut_indent(row, common) for row in rows)


def _worth(line: str, worth: Mapping[str, float]) -> float:
    """What the words on a line are worth to the question, each once."""
    return sum(worth.get(word, 0.0) for word in set(tokens(line)))


def _opener(lines: Sequence[str], number: int) -> str | None:
    """The call that a line is an argument of, if that begins above."""
    indent = indent_of(lines[number - 1])
    for above in range(number - 2, max(-1, number - 14), -1):
        if lines[above].strip() and indent_of(lines[above]) < indent:
            head = lines[above].strip()
            return head if head.endswith(("(", "[")) else None
    return None


def _statement_start(lines: Sequence[str], at: int, first: int, size: int) -> int:
    """Up to the line that is no deeper than any in the window, if it is near."""
    rows = lines[at - 1 : at - 1 + size]
    shallow = min((indent_of(row) for row in rows if row.strip()), default=0)
    for number in range(at, max(first, at - _HEAD_REACH) - 1, -1):
        if lines[number - 1].strip() and indent_of(lines[number - 1]) <= shallow:
            return number
    return at


def _trimmed(lines: Sequence[str], place: Place) -> tuple[int, int]:
    """Without blank lines at its ends."""
    start, end = place.start, min(place.end, len(lines))
    while start < end and not lines[start - 1].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def _cut_indent(row: str, columns: int) -> str:
    while columns > 0 and row[:1] in (" ", "\t"):
        columns -= 4 if row[0] == "\t" else 1
        row = row[1:]
    return row.rstrip()
