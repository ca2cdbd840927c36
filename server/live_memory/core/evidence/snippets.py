"""Which lines of a place to show: those that hold the question's words."""

import re
from collections.abc import Collection, Mapping, Sequence

from live_memory.core.evidence.docs import spoken_lines
from live_memory.core.evidence.outline import head_end, indent_of
from live_memory.core.evidence.places import Definition, OpenedFile, Place, RankedUnit
from live_memory.core.evidence.words import tokens

__all__ = ["excerpt", "key_lines", "quoted", "shown"]

# Lines that say nothing of what happens.
_SILENT = re.compile(r"^\s*(?:@|import\b|from\b.*\bimport\b|[\])}\s;,]*$)")
_LINT = re.compile(r"\s*(?:#\s*(?:type:|noqa|pragma|pylint)|//\s*(?:nolint|eslint)).*$")
_LONGEST_QUOTE = 150
_LEFT_OUT = "…"


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
    first = head_end(file.lines, place.start - 1) + 1
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


def shown(
    file: OpenedFile, unit: RankedUnit, worth: Mapping[str, float], *, most: int
) -> tuple[int, ...]:
    """The numbers of at most so many lines of a unit: the stretch worth most.

    Lines that say nothing by themselves are passed over where there are others: blank ones, and
    what the authors say, which repeats the question's words and not what happens.
    """
    start, end = _trimmed(file.lines, unit.place)
    above = unit.definition.place.start if unit.definition else start
    spoken = spoken_lines(file.lines, min(above, start), end)
    telling = [n for n in range(start, end + 1) if file.lines[n - 1].strip()]
    telling = [n for n in telling if n not in spoken] or telling or [start]
    values = [_worth(file.lines[number - 1], worth) for number in telling]
    sums = [sum(values[at : at + most]) for at in range(max(1, len(values) - most + 1))]
    at = max(range(len(sums)), key=lambda index: (sums[index], -index))
    return tuple(telling[at : at + most])


def excerpt(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """These lines without their common indentation; a mark stands where words are left out."""
    common = min((indent_of(lines[n - 1]) for n in numbers if lines[n - 1].strip()), default=0)
    rows: list[str] = []
    before = numbers[0] - 1
    for number in numbers:
        if any(line.strip() for line in lines[before : number - 1]):
            rows.append(_LEFT_OUT)
        rows.append(_cut_indent(lines[number - 1], common))
        before = number
    return "\n".join(rows)


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
