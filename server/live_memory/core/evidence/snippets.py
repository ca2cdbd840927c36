"""Which lines of a place to show: those that hold the question's words."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.evidence.docs import silent_lines, spoken_lines, told_lines
from live_memory.core.evidence.outline import head_end, indent_of
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    OpenedFile,
    Place,
    RankedUnit,
)
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.uses import import_lines, is_import
from live_memory.core.evidence.words import base_name, tokens, unique

__all__ = [
    "Stretch",
    "excerpt",
    "is_only_imports",
    "is_text",
    "key_lines",
    "line_worth",
    "quoted",
    "says_something",
    "shown",
    "written",
]

# Lines that say nothing of what happens.
_SILENT = re.compile(r"^\s*(?:@|import\b|from\b.*\bimport\b|[\])};,][\])}\s;,]*$|$)")
# Sentences in strings: messages, errors, help.
_MESSAGE = re.compile(r"\"(?:[^\"\\\s]+ ){3}(?:[^\"\\]|\\.)*\"|'(?:[^'\\\s]+ ){3}(?:[^'\\]|\\.)*'")
_CLOSING = re.compile(r"^(?:[\])}\s;,]|end\b|fi\b|esac\b|done\b)*$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LINT = re.compile(r"\s*(?:#\s*(?:type:|noqa|pragma|pylint)|//\s*(?:nolint|eslint)).*$")
_LONGEST_QUOTE = 150
_A_TAIL = 2  # words of a line that only hands on a result
_LEFT_OUT = "…"
# A snippet of a class no longer than this says nothing of what the class does.
_HEAD_LINES, _MOST_MEMBERS = 3, 10


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of a file to show, and the definitions they belong to."""

    file: OpenedFile
    numbers: tuple[int, ...]
    owners: tuple[Definition, ...]

    @property
    def place(self) -> Place:
        """From the first line to the last."""
        return Place(self.file.path, self.numbers[0], self.numbers[-1])

    def is_near(self, other: "Stretch", *, within: int) -> bool:
        """Whether no more than so many lines lie between some line of one and of the other."""
        if self.file.path != other.file.path:
            return False
        ends = other.numbers[0], other.numbers[-1]
        return any(abs(own - end) <= within for own in self.numbers for end in ends)

    def joined(self, other: "Stretch") -> "Stretch":
        """Both as one."""
        numbers = tuple(sorted({*self.numbers, *other.numbers}))
        return Stretch(self.file, numbers, unique((*self.owners, *other.owners)))


def line_worth(line: str, worth: Mapping[str, float]) -> float:
    """What the words on a line are worth to the question, each once."""
    return sum(worth.get(word, 0.0) for word in set(tokens(line)))


def key_lines(
    file: OpenedFile,
    definition: Definition,
    worth: Mapping[str, float],
    *,
    most: int,
    besides: Collection[int] = (),
) -> tuple[int, ...]:
    """The numbers of the lines of a definition's body worth most to the question, in order.

    Lines `besides` which they are chosen were said already. What is told in a string of several
    words is worth nothing: it repeats the question, while the line beside it does something.
    """
    place = definition.place
    first = head_end(file.lines, place.start - 1) + 1
    silent = silent_lines(file.lines, place.start, place.end).union(besides)
    valued = [
        (line_worth(_MESSAGE.sub('""', file.lines[number - 1]), worth), number)
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
    spoken, told = _said(file, unit)
    telling = [n for n in range(start, end + 1) if file.lines[n - 1].strip()]
    silent = spoken if told and _mostly(told, file, unit, worth) else spoken | told
    telling = [n for n in telling if n not in silent] or telling or [start]
    values = [line_worth(file.lines[number - 1], worth) for number in telling]
    sums = [sum(values[at : at + most]) for at in range(max(1, len(values) - most + 1))]
    at = max(range(len(sums)), key=lambda index: (sums[index], -index))
    chosen = telling[at : at + most]
    while len(chosen) > 1 and _CLOSING.match(file.lines[chosen[0] - 1]):
        del chosen[0]
    indent = indent_of(file.lines[chosen[0] - 1])
    while len(chosen) > 1 and _closes_more(file.lines[chosen[-1] - 1], indent):
        del chosen[-1]
    return tuple(chosen)


def is_text(file: OpenedFile, unit: RankedUnit, worth: Mapping[str, float]) -> bool:
    """Whether a unit of a program holds the question's words in the text of a string."""
    start, end = unit.place.start, unit.place.end
    if not is_code(file.path) or not told_lines(file.lines, start, end, spoken=()):
        return False
    _, told = _said(file, unit)
    return bool(told) and _mostly(told, file, unit, worth)


def says_something(stretch: Stretch, worth: Mapping[str, float]) -> bool:
    """Whether there is more on its lines than what ends a block."""
    rows = [stretch.file.lines[number - 1] for number in stretch.numbers]
    rows = [row for row in rows if not _CLOSING.match(row)]
    if len(rows) > 1 or any(owner.place.start in stretch.numbers for owner in stretch.owners):
        return bool(rows)
    return any(line_worth(row, worth) > 0 or len(_WORD.findall(row)) > _A_TAIL for row in rows)


def is_only_imports(file: OpenedFile, unit: RankedUnit) -> bool:
    """Whether nothing stands there but what is brought in from elsewhere, and comments."""
    if unit.definition is not None and not is_import(unit.definition.signature):
        return False
    first, last = unit.place.start, min(unit.place.end, len(file.lines))
    brought, said = import_lines(file.lines, last), spoken_lines(file.lines, first, last)
    telling = [n for n in range(first, last + 1) if file.lines[n - 1].strip() and n not in said]
    return bool(telling) and brought.issuperset(telling)


def written(stretch: Stretch, worth: Mapping[str, float]) -> str:
    """A stretch as the answer shows it, under its place."""
    lines, numbers = stretch.file.lines, stretch.numbers
    names = unique(_around(owner, numbers) for owner in stretch.owners)
    within = ", ".join(f"`{name}`" for name in names if name)
    head = f"{stretch.place} in {within}" if within else f"{stretch.place}"
    if len(numbers) == 1:
        said = f"{head}: `{lines[numbers[0] - 1].strip()}`"
    else:
        said = f"{head}\n```\n{excerpt(lines, numbers)}\n```"
    return "\n".join([said, *_members(stretch, worth)])


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


def _around(owner: Definition, numbers: Sequence[int]) -> str:
    """What a definition is called, or what is around it where its head is shown anyway."""
    is_shown = owner.place.start in numbers
    return owner.name.rpartition(".")[0] if is_shown else owner.name


def _members(stretch: Stretch, worth: Mapping[str, float]) -> Iterator[str]:
    """What the classes define of which little more than the head is shown."""
    if len(stretch.numbers) > _HEAD_LINES:
        return
    for owner in stretch.owners:
        if owner.kind is DefinitionKind.CLASS:
            depth = owner.name.count(".") + 1
            inner = [
                base_name(d.name)
                for d in stretch.file.outline
                if d.name.startswith(f"{owner.name}.") and d.name.count(".") == depth
            ]
            names = unique(inner)
            best = sorted(names, key=lambda name: -line_worth(name, worth))[:_MOST_MEMBERS]
            listed = ", ".join(f"`{name}`" for name in names if name in best)
            more = f" and {len(names) - len(best)} more" if len(names) > len(best) else ""
            if listed:
                yield f"`{base_name(owner.name)}` defines {listed}{more}"


def _closes_more(line: str, indent: int) -> bool:
    """Whether a line ends a block that is around what begins at so many columns."""
    return indent_of(line) < indent and _CLOSING.match(line) is not None


def _mostly(
    told: Collection[int], file: OpenedFile, unit: RankedUnit, worth: Mapping[str, float]
) -> bool:
    """Whether what is told holds more of the question than the other lines."""
    rows = range(unit.place.start, min(unit.place.end, len(file.lines)) + 1)
    does = "\n".join(file.lines[number - 1] for number in rows if number not in told)
    return line_worth("\n".join(file.lines[n - 1] for n in told), worth) > line_worth(does, worth)


def _said(file: OpenedFile, unit: RankedUnit) -> tuple[frozenset[int], frozenset[int]]:
    """The lines of a unit that are comment or docstring, and those that are texts in strings."""
    start, end = unit.place.start, unit.place.end
    first = min(unit.definition.place.start if unit.definition else start, start)
    spoken = spoken_lines(file.lines, first, end)
    return spoken, told_lines(file.lines, start, end, spoken=spoken)


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
