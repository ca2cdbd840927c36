"""Places as everybody is shown them: under `path:a-b name`, every line behind its number."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby

from live_memory.core.answer import Answer, Citation, CitationStatus, Grounding
from live_memory.core.companion.prompt import heading, one_line
from live_memory.core.evidence.docs import doc_of, first_sentence
from live_memory.core.evidence.file_kinds import Nature, nature_of
from live_memory.core.evidence.grounding import Sufficiency, Support
from live_memory.core.evidence.outline import head_end, indent_of, is_code
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    Place,
    RankedFileText,
    RankedUnit,
)
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.units import LONGEST_WHOLE
from live_memory.core.evidence.uses import CallStep, Use
from live_memory.core.evidence.words import unique
from live_memory.core.memory.learning import AgentView
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.values import ContentHash, RelPath

__all__ = [
    "WRAPPER",
    "Composed",
    "Excerpt",
    "callers",
    "ending",
    "excerpt",
    "filled",
    "in_order",
    "leading",
    "looked_at",
    "merged",
    "nothing_found",
    "qualified",
    "recalled",
    "rendered",
    "room_of",
    "spans_around",
    "uses_lead",
    "way_lead",
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

    file: RankedFileText
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
    file: RankedFileText, place: Place, owner: Definition | None, *, is_first: bool = False
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
    file: RankedFileText, owner: Definition, span: Span, *, longest: int
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


@dataclass(frozen=True, slots=True)
class Composed:
    """What to say, and the places it rests on in order of importance."""

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding


# What is said to a tool, not to a reader.
_DIRECTIVE = re.compile(r"(?:pylint|noqa|type|mypy|eslint|nolint|pragma|ruff|rubocop|tslint)\b[-:]")
_APART = "Probably not here: no place that was found holds all that is asked for."
_MOST_WORDS, _NEAREST, _MOST_FURTHER = 8, 3, 6


def leading(place: Place, owner: Definition | None, file: RankedFileText) -> str:
    """The best place, and what its author says of it where that is a sentence."""
    name = f" `{owner.name}`" if owner else ""
    said = doc_of(file.lines, owner) if owner and is_code(file.path) else None
    said = None if said and _DIRECTIVE.match(said) else said
    about = f": {first_sentence(said)}" if said else "."
    return f"Best fit: {place}{name}{about}"


def qualified(lead: str, support: Support) -> str:
    """The lead, and what speaks against it: what it lacks, or that much else may be meant."""
    if support.standing is Sufficiency.APART:
        closest = lead.replace("Best fit", "The nearest", 1)
        lacking = f" It holds nothing of {_listed(support.lacking)}." if support.lacking else ""
        return f"{_APART}\n{closest}{lacking}"
    if support.lacking:
        closest = lead.replace("Best fit", "Closest", 1)
        return f"{closest} It holds nothing of {_listed(support.lacking)}."
    if support.is_vague:
        return f"{lead} The question names only {_listed(support.sought)}: say what it is about."
    return lead


def uses_lead(name: str, uses: Sequence[Use], *, unopened: int, definitions: int = 1) -> str:
    """In how many places a name is used, and that each may mean any of several definitions."""
    if not uses:
        return f"No line of code that was looked at uses `{name}`."
    more = f" {unopened} more mentions were not opened." if unopened else ""
    if definitions > 1:
        more += f" {definitions} definitions have that name: a line may be about any of them."
    if all(use.is_import for use in uses):
        return (
            f"`{name}` is imported on {_lines(len(uses))} and called on none that was read.{more}"
        )
    calls = [use for use in uses if not use.is_import]
    tests = sum(use.is_test for use in calls)
    said = f"`{name}` is used on {_lines(len(calls) - tests)} of code"
    return f"{said}{f' and {tests} of tests' if tests else ''}.{more}"


def way_lead(way: Sequence[CallStep]) -> str:
    """How calls lead from one definition to another, step by step."""
    first, last = way[0].use.within, way[-1].called
    begin = f"`{first.name}`" if first else str(way[0].use.place)
    calls = "1 call" if len(way) == 1 else f"{len(way)} calls"
    rows = [f"From {begin} to `{last.name}` in {calls}:"]
    for at, step in enumerate(way, 1):
        within = f"`{step.use.within.name}` " if step.use.within else ""
        rows.append(f"{at}. {within}({step.use.place}) calls `{step.called.name}`{_among(step)}")
    return "\n".join(rows)


def nothing_found(support: Support, near: Sequence[RankedUnit]) -> str:
    """That it is not here, what stands nowhere, and what comes nearest."""
    what = f": {_denied(support)}" if support.unknown else ""
    rows = [f"Not found in this workspace{what}."]
    if near:
        named = "; ".join(f"{unit.place}{_owner(unit)}" for unit in near[:_NEAREST])
        rows.append(f"The nearest, and probably something else: {named}.")
    if support.sought:
        rows.append(f"Looked for: {', '.join(support.sought)}.")
    return "\n".join(rows)


def ending(
    places: int,
    support: Support,
    further: Sequence[RankedUnit],
    uses: Sequence[Place] = (),
    *,
    room: int,
) -> str:
    """How many places were checked, what of the question they hold, and what they do not; `uses`
    that are counted and not shown, and then others, are named as far as there is room.
    """
    count = "1 place" if places == 1 else f"{places} places"
    said = f"{count} checked just now."
    if support.unknown:
        said += f" Nowhere here: {_denied(support)}."
    missing = [word for word in support.missing if word not in support.unknown]
    if missing:
        said += f" Not in these places: {_listed(missing)}."
    elif support.is_scattered and not support.unknown:
        said += " None of them holds all that the question names."
    elif not support.unknown:
        said += " They hold all telling words of the question."
    used = _row("Also used", [*map(str, uses)], room - len(said))
    seen = [f"{unit.place.path}:{unit.place.start}{_owner(unit)}" for unit in further]
    also = _row("See also", seen[:_MOST_FURTHER], room - len(said) - len(used))
    return f"{used}{also}{said}"


def _row(head: str, named: Sequence[str], room: int) -> str:
    """A line of names, as many as there is room for."""
    room -= len(head) + len(": \n") - len("; ")
    ends = accumulate(len(name) + len("; ") for name in named)
    fit = [name for name, end in zip(named, ends, strict=True) if end <= room]
    return f"{head}: {'; '.join(fit)}\n" if fit else ""


def _among(step: CallStep) -> str:
    """What is to be said of a call that names alone do not settle."""
    return "" if step.among == 1 else f" (may be, one of {step.among})"


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words[:_MOST_WORDS])


def _denied(support: Support) -> str:
    """The unknown names, each with what is called much like it."""
    names = support.unknown[:_MOST_WORDS]
    near = support.nearest
    return ", ".join(f"`{n}`" + (f" (nearest: {near[n]})" if n in near else "") for n in names)


def _owner(unit: RankedUnit) -> str:
    return f" `{unit.definition.name}`" if unit.definition else ""


# Recorded questions are put again in other words by every session that does the same work: half of
# what the words are worth in common finds 13 of 15 of them, and a third finds one more.
_ALIKE = 0.5
_MOST_ANSWERS = 3
_LONGEST_SPAN = 120  # a longer one is "this file", not a place
_AROUND = 2  # lines


def looked_at(file: RankedFileText, viewed: AgentView | None) -> tuple[Place, ...]:
    """What was looked at of a file as it is now, newest first; a look at all of it says nothing."""
    if viewed is None or viewed.sha != file.sha:
        return ()
    near = ((a, b) for a, b in reversed(viewed.spans) if b - a < _LONGEST_SPAN)
    return tuple(Place(file.path, a, b) for a, b in near if b - a + 1 < len(file.lines))


def recalled(
    worth: Mapping[str, float], past: Sequence[QuestionAnswered]
) -> Sequence[tuple[Place, ContentHash]]:
    """What a model's answers to the most alike questions cite, with the version they saw.

    Answers without a model cite what the index ranks, which tells nothing new.
    """
    total = sum(worth.values())
    alike = [
        (share, at, each.answer)
        for at, each in enumerate(past)
        if each.answer.model is not None
        and (share := _shared(worth, each.question.text)) >= _ALIKE * total
    ]
    best = sorted(alike, key=lambda one: (-one[0], -one[1]))[:_MOST_ANSWERS]
    return tuple(pair for _, _, answer in best for pair in _places(answer))


def _shared(worth: Mapping[str, float], question: str) -> float:
    return sum(worth.get(word, 0.0) for word, _ in terms_of(question).weights)


def _places(answer: Answer) -> Iterator[tuple[Place, ContentHash]]:
    for cited in answer.citations:
        sha = answer.evidence.get(cited.path)
        is_place = cited.end - cited.start < _LONGEST_SPAN
        if sha and is_place and cited.status is CitationStatus.VERIFIED:
            first, last = max(1, cited.start - _AROUND), cited.end + _AROUND
            yield Place(cited.path, first, last), sha


# A caller of so many lines is shown whole, so many lines around the site of a longer one, and so
# many of the definition; the first sizes that fit are taken, as
# measured on everyday questions (ADR 17).
_SIZES = (
    (80, 20, 60),
    (60, 16, 45),
    (45, 14, 40),
    (32, 12, 30),
    (24, 8, 25),
    (14, 5, 16),
    (8, 3, 12),
)
_SMALLEST = (5, 2, 8)
_COPIES = (Nature.GENERATED, Nature.VENDORED, Nature.TRANSLATED)
# Who calls a definition of so few lines is asked for as well.
WRAPPER = 10


def in_order(uses: Sequence[Use], defined: Sequence[Definition]) -> list[Use]:
    """Calls of programs, those in the definition's own file first; of tests, of examples and of
    what is built or copied only where there is no other; imports only where nothing is called.
    """
    homes = {definition.place.path for definition in defined}
    calls = [use for use in uses if not use.is_import] or list(uses)
    calls = [use for use in calls if nature_of(use.place.path) not in _COPIES] or calls
    calls = [use for use in calls if not _is_beside(use)] or calls
    return sorted(calls, key=lambda use: use.place.path not in homes)


def callers(
    uses: Sequence[Use],
    defined: Sequence[Definition],
    files: Mapping[RelPath, RankedFileText],
    *,
    room: int,
) -> list[Excerpt]:
    """The uses, in their order, then the definitions, as large as there is room for all; what is
    left goes to the first.
    """
    groups = [
        (files[path], within, [use.place.start for use in sites])
        for (path, within), sites in groupby(uses, key=lambda use: (use.place.path, use.within))
    ]
    sizes = (*_SIZES, _SMALLEST)
    for whole, around, definition_lines in sizes:
        found = [_caller(*group, whole=whole, around=around) for group in groups]
        heads = [_head(definition, files, lines=definition_lines) for definition in defined]
        left = room - sum(len(rendered(each)) + 2 for each in (*found, *heads))
        if left >= 0:
            break
    for at, group in enumerate(groups):
        most = len(rendered(found[at])) + max(0, left)
        larger = (_caller(*group, whole=whole, around=around) for whole, around, _ in sizes)
        found[at] = next(each for each in larger if len(rendered(each)) <= most)
        left = most - len(rendered(found[at]))
    return [*found, *heads]


def _is_beside(use: Use) -> bool:
    return use.is_test or nature_of(use.place.path) is not Nature.CODE


def _head(
    definition: Definition, files: Mapping[RelPath, RankedFileText], *, lines: int
) -> Excerpt:
    file, first = files[definition.place.path], definition.place.start
    last = min(definition.place.end, first + lines - 1, len(file.lines))
    return Excerpt(file, ((first, last),), (definition.name,), (first, last))


def _caller(
    file: RankedFileText,
    within: Definition | None,
    sites: Sequence[int],
    *,
    whole: int,
    around: int,
) -> Excerpt:
    end = len(file.lines)
    near = [(max(1, n - around // 2), min(end, n + around // 2)) for n in sites]
    names = (within.name,) if within else ()
    if within is None:
        return Excerpt(file, merged(near), names, (sites[0], sites[0]))
    first, last = within.place.start, min(within.place.end, end)
    if last - first < whole:
        return Excerpt(file, ((first, last),), names, (sites[0], sites[0]))
    head = (first, min(head_end(file.lines, first - 1), last))
    inside = [(max(first, a), min(last, b)) for a, b in near]
    return Excerpt(file, merged([head, *inside]), names, (sites[0], sites[0]))
