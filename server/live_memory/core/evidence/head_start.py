"""What a model is shown before it begins: whole definitions, as they are now.

Each line of data stands behind a bar, so that none can pass for a header.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.asking.answer import Answer, CitationStatus
from live_memory.core.companion.rendering import numbered
from live_memory.core.evidence.outline import head_end
from live_memory.core.evidence.places import Definition, OpenedFile, Place, RankedUnit
from live_memory.core.evidence.question import terms_of
from live_memory.core.memory.events import FileObserved, QuestionAnswered
from live_memory.core.memory.window import Entry
from live_memory.core.tokens import estimate
from live_memory.core.values import ContentHash, Origin, RelPath

__all__ = [
    "HeadStart",
    "Viewed",
    "compose",
    "looked_at",
    "recalled",
    "view",
    "whole",
    "whole_definition",
]

# Longer ones say more of other things than of the question. Between 40 and 150 nothing changes by
# more than .02 of the gold lines, at any size of text.
_LONGEST_WHOLE = 80
# Recorded questions are put again in other words by every session that does the same work: half of
# what the words are worth in common finds 13 of 15 of them, and a third finds one more.
_ALIKE = 0.5
_MOST_ANSWERS = 3
_LONGEST_SPAN = 120  # a longer one is "this file", not a place
_AROUND = 2  # lines


@dataclass(frozen=True, slots=True)
class HeadStart:
    """The text, and the places that it shows."""

    text: str
    places: tuple[Place, ...]


def whole(unit: RankedUnit, file: OpenedFile) -> tuple[Place, ...]:
    """The definition around a unit, or the unit below the head of a definition that is long."""
    place, definition = unit.place, unit.definition
    if definition is None:
        return (place,)
    around = definition.place
    if around.end - around.start < _LONGEST_WHOLE:
        first, last = min(place.start, around.start), max(place.end, around.end)
        return (Place(place.path, first, last),)
    head = Place(place.path, around.start, head_end(file.lines, around.start - 1))
    return (head, place)


def whole_definition(definition: Definition) -> tuple[Place, ...]:
    """All of a definition, unless it is long."""
    place = definition.place
    return (place,) if place.end - place.start < _LONGEST_WHOLE else ()


@dataclass(frozen=True, slots=True)
class Viewed:
    """Lines of a file's bytes that the host's agent looked at, the newest look last."""

    sha: ContentHash
    spans: tuple[tuple[int, int], ...]


def view(viewed: dict[RelPath, Viewed], entry: Entry) -> None:
    """Add what an entry tells of what the agent looked at and changed; other bytes take over."""
    seen = entry.content
    if isinstance(seen, FileObserved) and seen.origin in (Origin.READ, Origin.EDIT):
        before = viewed.get(seen.path)
        spans = before.spans if before is not None and before.sha == seen.sha else ()
        viewed[seen.path] = Viewed(seen.sha, (*spans, (seen.start, seen.end)))


def looked_at(file: OpenedFile, viewed: Viewed | None) -> tuple[Place, ...]:
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


def compose(
    places: Iterable[Place], files: Mapping[RelPath, OpenedFile], *, budget_tokens: int
) -> HeadStart:
    """Show the places that fit, the first ones first, file by file and each line once."""
    shown: dict[RelPath, set[int]] = {}
    room = budget_tokens
    for place in places:
        file = files[place.path]
        before = shown.get(place.path, set())
        new = {*range(place.start, min(place.end, len(file.lines)) + 1)} - before
        parts = tuple(_stretches(place.path, new))
        cost = estimate(_shown(file, parts) if not before else _body(file, parts))
        if parts and cost <= room:
            room -= cost
            shown.setdefault(place.path, set()).update(new)
    stretches = {path: tuple(_stretches(path, numbers)) for path, numbers in shown.items()}
    text = "".join(_shown(files[path], parts) for path, parts in stretches.items())
    return HeadStart(text, tuple(part for parts in stretches.values() for part in parts))


def _shown(file: OpenedFile, parts: Sequence[Place]) -> str:
    spans = ", ".join(f"{part.start}-{part.end}" for part in parts)
    version, total = file.sha.hex[:8], len(file.lines)
    title = f"=== file {file.path} (version {version}), lines {spans} of {total}\n"
    return f"{title}{_body(file, parts)}"


def _body(file: OpenedFile, parts: Sequence[Place]) -> str:
    pieces = (numbered(tuple(file.lines[p.start - 1 : p.end]), start=p.start) for p in parts)
    return "".join(pieces)


def _stretches(path: RelPath, numbers: set[int]) -> Iterator[Place]:
    """Neighbouring lines together, in order."""
    first: int | None = None
    for number in sorted(numbers):
        first = number if first is None else first
        if number + 1 not in numbers:
            yield Place(path, first, number)
            first = None


def _shared(worth: Mapping[str, float], question: str) -> float:
    return sum(worth.get(word, 0.0) for word, _ in terms_of(question).weights)


def _places(answer: Answer) -> Iterator[tuple[Place, ContentHash]]:
    for cited in answer.citations:
        sha = answer.evidence.get(cited.path)
        is_place = cited.end - cited.start < _LONGEST_SPAN
        if sha and is_place and cited.status is CitationStatus.VERIFIED:
            first, last = max(1, cited.start - _AROUND), cited.end + _AROUND
            yield Place(cited.path, first, last), sha
