"""The answer without a model: a finding in words, then the places that show it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from live_memory.core.asking.answer import Budget, Citation, CitationStatus, Grounding
from live_memory.core.evidence.finding import Saying
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    Evidence,
    Place,
    RankedUnit,
)
from live_memory.core.evidence.snippets import (
    Stretch,
    is_only_imports,
    is_text,
    line_worth,
    says_something,
    shown,
    written,
)
from live_memory.core.evidence.support import Standing, Support
from live_memory.core.evidence.words import base_name, unique
from live_memory.core.values import RelPath

__all__ = ["Composed", "compose", "nothing", "opening", "stretches_for", "stretches_of"]

# Measured on code and English by four tokenizers: 2.6 to 3.1.
_CHARACTERS_A_TOKEN = 2.8
_MOST_SNIPPETS = 12
_SNIPPET_LINES = 12
_MOST_FILES, _LEAD_SNIPPETS, _NEAREST = 10, 2, 3
# Depth in the best files shows more than breadth: .013 of the gold lines.
_FILES_FIRST = 4
# The lines of so many snippets, which the finding need not quote.
_OPENING_SNIPPETS = 6
# Places of a file that are no further apart are shown, and cited, as one.
_GAP, _LONGEST_JOINED = 3, 40
# After some five snippets a name of something defined beside them tells more than a sixth.
_NAMES_FILES, _MOST_NAMES, _NAMES_ROOM = 5, 12, 200


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


def stretches_for(subjects: Sequence[Definition], evidence: Evidence) -> list[Stretch]:
    """What may be shown: the subject of the finding, then the best files, then the others; what
    only tells comes last.
    """
    files, worth = evidence.files, evidence.candidates.worth
    lead = [unit for unit in evidence.units if unit.definition in subjects[:1]][:_LEAD_SNIPPETS]
    first = {file.path for file in evidence.best[:_FILES_FIRST]}
    units = sorted(evidence.units, key=lambda unit: unit.place.path not in first)
    units.sort(key=lambda unit: is_text(files[unit.place.path], unit, worth))
    return stretches_of(unique([*lead, *units]), evidence)


def stretches_of(units: Iterable[RankedUnit], evidence: Evidence) -> list[Stretch]:
    """The lines to show of these, where they say something."""
    worth = evidence.candidates.worth
    found = []
    for unit in units:
        file = evidence.files[unit.place.path]
        numbers = shown(file, unit, worth, most=_SNIPPET_LINES)
        stretch = Stretch(file, numbers, (unit.definition,) if unit.definition else ())
        if not is_only_imports(file, unit) and says_something(stretch, worth):
            found.append(stretch)
    return found


def opening(stretches: Sequence[Stretch]) -> frozenset[tuple[RelPath, int]]:
    """The lines that are shown first, right below the finding."""
    first = stretches[:_OPENING_SNIPPETS]
    return frozenset((stretch.file.path, n) for stretch in first for n in stretch.numbers)


def compose(
    saying: Saying,
    stretches: Sequence[Stretch],
    evidence: Evidence,
    support: Support,
    *,
    budget: Budget,
    is_all: bool = False,
) -> Composed:
    """Put finding, snippets and further places together within the budget.

    The list of sources comes on top, as it does on what a model may write. Where the stretches are
    all there is to say, nothing further is named.
    """
    parts = [*_reservations(support), saying.text]
    room = int(budget.answer_tokens * _CHARACTERS_A_TOKEN) - _length(parts)
    ranked = [] if is_all else _best_of_each(evidence)
    known = {place.path for place in saying.places}
    owed = {u.place.path: len(_seen(u)) + 2 for u in ranked if u.place.path not in known}
    room -= 0 if is_all else _NAMES_ROOM
    snippets = _fitting(stretches, evidence, room - sum(owed.values()), owed)
    parts += [written(stretch, evidence.candidates.worth) for stretch in snippets]
    places = [*saying.places, *(stretch.place for stretch in snippets)]
    open_already = {place.path for place in places}
    further = [unit for unit in ranked if unit.place.path not in open_already]
    further = further[: max(0, _MOST_FILES - len(open_already))]
    tail = ["See also: " + "; ".join(map(_seen, further))] if further else []
    places += [unit.place for unit in further]
    tail = [*_clipped(places, evidence), *tail]
    room = int(budget.answer_tokens * _CHARACTERS_A_TOKEN) - _length([*parts, *tail])
    names = [] if is_all else _names("\n".join(parts), evidence, room)
    is_whole = support.standing is Standing.ENOUGH and not support.unknown
    grounding = Grounding.VERIFIED if is_whole else Grounding.PARTIAL
    text = "\n\n".join([*parts, *names, *tail])
    return Composed(text, _cited(_joined(places), evidence), grounding)


def _reservations(support: Support) -> list[str]:
    if support.unknown:
        names = ", ".join(f"`{name}`" for name in support.unknown)
        return [f"Not found in this workspace: {names}. What there is on the rest of the question:"]
    if support.standing is not Standing.ENOUGH:
        return ["No single place here holds much of this question. The nearest:"]
    return []


def _fitting(
    stretches: Iterable[Stretch], evidence: Evidence, room: int, owed: dict[RelPath, int]
) -> list[Stretch]:
    """Those there is room for, neighbours as one; to show a file saves the word `owed` to it."""
    worth = evidence.candidates.worth
    chosen: list[Stretch] = []
    for stretch in stretches:
        near = next((other for other in chosen if other.is_near(stretch, within=_GAP)), None)
        if near is None and len(chosen) >= _MOST_SNIPPETS:
            continue
        new = near.joined(stretch) if near else stretch
        cost = len(written(new, worth)) + 2 - owed.get(new.file.path, 0)
        cost -= len(written(near, worth)) + 2 if near else 0
        if cost <= room:
            room -= cost
            owed.pop(new.file.path, None)
            chosen = [new if other is near else other for other in chosen]
            chosen += [] if near else [new]
    return chosen


def _names(said: str, evidence: Evidence, room: int) -> list[str]:
    """What else the best files define of the question's words, as far as there is room."""
    worth, score = evidence.candidates.worth, {f.path: f.score for f in evidence.candidates.files}
    valued: dict[str, tuple[float, RelPath]] = {}
    for file in evidence.best[:_NAMES_FILES]:
        for definition in file.outline:
            name = base_name(definition.name)
            value = line_worth(name, worth) * score[file.path]
            is_new = name not in said and definition.kind is not DefinitionKind.SECTION
            if is_new and value > valued.get(name, (0.0, file.path))[0]:
                valued[name] = value, file.path
    best = sorted(valued, key=lambda name: (-valued[name][0], name))[:_MOST_NAMES]
    rows: list[str] = []
    for path in unique(valued[name][1] for name in best):
        row = f"Also in {path}: "
        here = [f"`{name}`" for name in best if valued[name][1] == path]
        while here and len(row) + len(", ".join(here)) + 2 > room:
            here.pop()
        if here:
            rows.append(row + ", ".join(here))
            room -= len(rows[-1]) + 2
    return ["\n".join(rows)] if rows else []


def _clipped(places: Sequence[Place], evidence: Evidence) -> list[str]:
    """Which of the files that are pointed at were read in part."""
    cited = (evidence.files[path] for path in unique(place.path for place in places))
    rows = [f"{f.path} is only indexed up to line {len(f.lines)}." for f in cited if f.is_clipped]
    return ["\n".join(rows)] if rows else []


def _length(parts: Iterable[str]) -> int:
    return sum(len(part) + 2 for part in parts)


def _seen(unit: RankedUnit) -> str:
    return f"{unit.place.path}:{unit.place.start}{_owner(unit, '')}"


def _owner(unit: RankedUnit, joint: str) -> str:
    return f"{joint} `{unit.definition.name}`" if unit.definition else ""


def _best_of_each(evidence: Evidence) -> list[RankedUnit]:
    """The best unit of each file, best file first."""
    best: dict[RelPath, RankedUnit] = {}
    for unit in evidence.units:
        best.setdefault(unit.place.path, unit)
    return [best[file.path] for file in evidence.best if file.path in best]


def _joined(places: Sequence[Place]) -> list[Place]:
    """Those that overlap or touch as one, unless that is long; a single line that is pointed at
    stays apart.
    """
    found: list[Place] = []
    for place in places:
        one, at = place, len(found)
        while near := next((other for other in found if _is_one(one, other)), None):
            one = Place(one.path, min(one.start, near.start), max(one.end, near.end))
            at = min(at, found.index(near))
            found.remove(near)
        found.insert(at, one)
    return found


def _is_one(place: Place, other: Place) -> bool:
    if place.path != other.path or place == other:
        return place == other
    first, last = sorted((place, other), key=lambda each: each.start)
    are_long = place.start < place.end and other.start < other.end
    length = max(place.end, other.end) - first.start
    return are_long and last.start <= first.end + 1 and length < _LONGEST_JOINED


def _cited(places: Sequence[Place], evidence: Evidence) -> tuple[Citation, ...]:
    """The first place leads; then file by file as ranked, so that their order is a ranking."""
    rank = {file.path: at for at, file in enumerate(evidence.best)}
    first = places[0].path if places else None
    order = sorted(
        dict.fromkeys(places),
        key=lambda place: (place.path != first, rank.get(place.path, len(rank))),
    )
    return tuple(Citation(p.path, p.start, p.end, CitationStatus.VERIFIED) for p in order)
