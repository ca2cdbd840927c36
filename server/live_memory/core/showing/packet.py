"""Places as everybody is shown them: under `path:a-b name`, every line behind its number."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from live_memory.core.companion.rendering import heading, one_line
from live_memory.core.evidence.natures import Nature, nature_of
from live_memory.core.evidence.outline import head_end, indent_of
from live_memory.core.evidence.places import Definition, DefinitionKind, OpenedFile, Place
from live_memory.core.evidence.units import LONGEST_WHOLE
from live_memory.core.evidence.words import unique

__all__ = [
    "Excerpt",
    "excerpt",
    "filled",
    "merged",
    "rendered",
    "room_of",
    "spans_around",
]

# What a line of an answer has at most; a longer one is data.
_LONGEST_LINE = 600
# Answers are bounded by bytes, at what the benchmark counts for a token; tokenizers that cut code
# finer take up to a third more.
_CHARACTERS_A_TOKEN = 3.6
# In less than this no place fits.
_LEAST = 60
# Places of a file that are no further apart are shown, and cited, as one.
_GAP = 4
# A copy of which so many lines are shown already tells nothing.
_REPEATED = 0.8
# The first place is what was asked for, if any is: more of it is shown than of others.
_LONGEST_FIRST = 110
_BODIES = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)
Span = tuple[int, int]


@dataclass(frozen=True)  # without slots, to keep its text
class Excerpt:
    """Spans of lines of a file, in order and apart, and what they are part of.

    `core` is the span that it is shown for.
    """

    file: OpenedFile
    spans: tuple[Span, ...]
    names: tuple[str, ...]
    core: Span

    @cached_property
    def text(self) -> str:
        """What it renders to: measured where there is little room, and then shown."""
        return _rendered(self)

    @property
    def places(self) -> Iterator[Place]:
        """What it shows, the core first; the head of something longer is no place of its own."""
        path = self.file.path
        cores = [span for span in self.spans if span[0] <= self.core[0] and self.core[1] <= span[1]]
        rest = [span for span in self.spans if span not in cores and span[0] < span[1]]
        return (Place(path, *span) for span in (*cores, *rest))

    @property
    def rows(self) -> list[str]:
        """The lines it shows, without blank ones and indentation."""
        lines = (self.file.lines[n - 1] for a, b in self.spans for n in range(a, b + 1))
        return [row for line in lines if (row := line.strip())]

    def repeats(self, said: Collection[str]) -> bool:
        """Whether nearly all of its lines are among these."""
        rows = self.rows
        return sum(row in said for row in rows) >= _REPEATED * len(rows)

    def shows(self, place: Place) -> bool:
        """Whether all lines of a place are among its own."""
        same = place.path == self.file.path
        return same and any(a <= place.start and place.end <= b for a, b in self.spans)

    def is_near(self, other: "Excerpt") -> bool:
        """Whether no more than a few lines lie between them."""
        if self.file.path != other.file.path:
            return False
        return any(a - _GAP <= d and c <= b + _GAP for a, b in self.spans for c, d in other.spans)

    def joined(self, other: "Excerpt") -> "Excerpt":
        """Both as one, named in the order of their lines; what this one is shown for stays."""
        before, after = sorted((self, other), key=lambda each: each.spans[0])
        spans = merged((*self.spans, *other.spans))
        return Excerpt(self.file, spans, unique((*before.names, *after.names)), self.core)


def room_of(tokens: int) -> int:
    """How many characters an answer of so many tokens may have."""
    return int(tokens * _CHARACTERS_A_TOKEN)


def excerpt(
    file: OpenedFile, place: Place, owner: Definition | None, *, is_first: bool = False
) -> Excerpt:
    """A place with the head of what it is part of, or all of that where it is short."""
    start, end = place.start, min(place.end, len(file.lines))
    names = (owner.name,) if owner else ()
    if owner is None or owner.kind not in _BODIES:
        return Excerpt(file, ((start, end),), names, (start, end))
    longest = _LONGEST_FIRST if is_first else LONGEST_WHOLE
    spans = spans_around(file, owner, (start, end), longest=longest)
    return Excerpt(file, spans, names, (start, end))


def spans_around(
    file: OpenedFile, owner: Definition, span: Span, *, longest: int
) -> tuple[Span, ...]:
    """A span widened to its definition where that is no longer than this, else below its head."""
    first, last = owner.place.start, min(owner.place.end, len(file.lines))
    whole = min(first, span[0]), max(last, span[1])
    if whole[1] - whole[0] < longest:
        return (whole,)
    if first >= span[0]:
        return (span,)
    return merged(((first, min(head_end(file.lines, first - 1), span[0])), span))


def filled(excerpts: Iterable[Excerpt], room: int) -> list[Excerpt]:
    """Those there is room for, in their order; what lies close together becomes one, and built
    copies of what is shown are passed over.
    """
    shown: list[Excerpt] = []
    sizes: list[int] = []
    said: set[str] = set()
    for new in excerpts:
        if room < _LEAST:
            break
        if nature_of(new.file.path) is Nature.GENERATED and new.repeats(said):
            continue
        at = next((n for n, each in enumerate(shown) if each.is_near(new)), None)
        joined = new if at is None else shown[at].joined(new)
        size = len(rendered(joined)) + 2
        cost = size if at is None else size - sizes[at]
        if cost > room:
            continue
        room -= cost
        if at is None:
            shown.append(joined)
            sizes.append(size)
        else:
            shown[at], sizes[at] = joined, size
        said.update(new.rows)
    return shown


def rendered(shown: Excerpt) -> str:
    """The text of an excerpt, without blank lines and common indentation."""
    return shown.text


def _rendered(shown: Excerpt) -> str:
    lines, spans = shown.file.lines, shown.spans
    numbers = [n for first, last in spans for n in range(first, last + 1) if lines[n - 1].strip()]
    common = min((indent_of(lines[n - 1]) for n in numbers), default=0)
    rows = [heading(shown.file.path, spans[0][0], spans[-1][1], ", ".join(shown.names))]
    before = spans[0][0] - 1
    for first, last in spans:
        if first > before + 1:
            rows.append(f"… ({first - before - 1} lines)")
        said = (n for n in range(first, last + 1) if lines[n - 1].strip())
        rows += [f"{n}|{one_line(_cut_indent(lines[n - 1], common)[:_LONGEST_LINE])}" for n in said]
        before = last
    return "\n".join(rows)


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """In order; those that overlap or lie close are one."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1 + _GAP:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _cut_indent(row: str, columns: int) -> str:
    if "\t" not in row[:columns]:
        blanks = len(row) - len(row.lstrip(" "))
        return row[min(columns, blanks) :].rstrip()
    while columns > 0 and row[:1] in (" ", "\t"):
        columns -= 4 if row[0] == "\t" else 1
        row = row[1:]
    return row.rstrip()
