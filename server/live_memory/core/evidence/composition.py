"""The answer without a model: a finding in words, then the places that show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from live_memory.core.asking.answer import Budget, Citation, CitationStatus, Grounding
from live_memory.core.evidence.finding import Saying
from live_memory.core.evidence.places import (
    Definition,
    Evidence,
    Place,
    RankedUnit,
)
from live_memory.core.evidence.snippets import excerpt, shown
from live_memory.core.evidence.support import Standing, Support
from live_memory.core.values import RelPath

__all__ = ["Composed", "compose", "nothing"]

# Measured on code and English by four tokenizers: 2.6 to 3.1.
_CHARACTERS_A_TOKEN = 2.8
_MOST_SNIPPETS = 12
_SNIPPET_LINES = 10
_MOST_FILES, _LEAD_SNIPPETS, _NEAREST = 10, 2, 3
_SOURCE_LINE = 50  # what one line of "Sources" takes in the reply


@dataclass(frozen=True, slots=True)
class Composed:
    """What to say, and the places it rests on in order of importance."""

    text: str
    citations: tuple[Citation, ...]
    grounding: Grounding


def nothing(evidence: Evidence, support: Support) -> Composed:
    """Say that there is nothing, what was looked for, and what comes nearest."""
    if support.unknown:
        names = ", ".join(f"`{name}`" for name in support.unknown)
        said = f"Nothing in this workspace matches {names}."
    else:
        words = ", ".join(support.sought[:_MOST_SNIPPETS])
        said = f"No place in this workspace holds much of this question; looked for: {words}."
    near = _best_of_each(evidence)[:_NEAREST]
    if near:
        named = "; ".join(f"{unit.place}{_owner(unit, ' in')}" for unit in near)
        said += f"\nThe nearest by the other words, and probably something else: {named}."
    cited = _cited([unit.place for unit in near], evidence)
    return Composed(said, cited, Grounding.UNGROUNDED)


def compose(
    saying: Saying,
    subjects: Sequence[Definition],
    evidence: Evidence,
    support: Support,
    *,
    budget: Budget,
) -> Composed:
    """Put finding, snippets and further places together within the budget."""
    parts = [*_reservations(support), saying.text]
    places = list(saying.places)
    room = int(budget.answer_tokens * _CHARACTERS_A_TOKEN)
    room -= sum(len(part) + 2 for part in parts) + _SOURCE_LINE * len(places)
    for place, block in _snippets(subjects, evidence):
        if len(block) + _SOURCE_LINE <= room and len(parts) <= _MOST_SNIPPETS:
            room -= len(block) + 2 + _SOURCE_LINE
            parts.append(block)
            places.append(place)
    open_already = {place.path for place in places}
    further = [unit for unit in _best_of_each(evidence) if unit.place.path not in open_already]
    further = further[: max(0, _MOST_FILES - len(open_already))]
    if further:
        parts.append("See also: " + "; ".join(f"{u.place}{_owner(u, '')}" for u in further))
        places += [unit.place for unit in further]
    is_whole = support.standing is Standing.ENOUGH and not support.unknown
    grounding = Grounding.VERIFIED if is_whole else Grounding.PARTIAL
    return Composed("\n\n".join(parts), _cited(places, evidence), grounding)


def _reservations(support: Support) -> list[str]:
    if support.unknown:
        names = ", ".join(f"`{name}`" for name in support.unknown)
        return [f"Not found in this workspace: {names}. What there is on the rest of the question:"]
    if support.standing is not Standing.ENOUGH:
        return ["No single place here holds much of this question. The nearest:"]
    return []


def _snippets(subjects: Sequence[Definition], evidence: Evidence) -> Iterator[tuple[Place, str]]:
    """What to show, the subject of the finding first."""
    lead = [unit for unit in evidence.units if unit.definition in subjects[:1]][:_LEAD_SNIPPETS]
    for unit in dict.fromkeys([*lead, *evidence.units]):
        file = evidence.files[unit.place.path]
        numbers = shown(file, unit, evidence.candidates.worth, most=_SNIPPET_LINES)
        place = Place(file.path, numbers[0], numbers[-1])
        yield place, f"{place}{_owner(unit, ' in')}\n```\n{excerpt(file.lines, numbers)}\n```"


def _owner(unit: RankedUnit, joint: str) -> str:
    return f"{joint} `{unit.definition.name}`" if unit.definition else ""


def _best_of_each(evidence: Evidence) -> list[RankedUnit]:
    """The best unit of each file, best file first."""
    best: dict[RelPath, RankedUnit] = {}
    for unit in evidence.units:
        best.setdefault(unit.place.path, unit)
    return [best[file.path] for file in evidence.best if file.path in best]


def _cited(places: Sequence[Place], evidence: Evidence) -> tuple[Citation, ...]:
    """The first place leads; then file by file as ranked, so that their order is a ranking."""
    rank = {file.path: at for at, file in enumerate(evidence.best)}
    first = places[0].path if places else None
    order = sorted(
        dict.fromkeys(places),
        key=lambda place: (place.path != first, rank.get(place.path, len(rank))),
    )
    return tuple(Citation(p.path, p.start, p.end, CitationStatus.VERIFIED) for p in order)
