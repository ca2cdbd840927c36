"""What to show for a question: chosen by what it asks for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from live_memory.core.evidence.asks import asks_of
from live_memory.core.evidence.flags import flags_first
from live_memory.core.evidence.natures import Nature, is_guide, nature_of
from live_memory.core.evidence.places import Definition, Evidence, Place, RankedUnit
from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    asked_of_impact,
)
from live_memory.core.evidence.units import LONGEST_WHOLE
from live_memory.core.evidence.words import base_name, identifiers, unique
from live_memory.core.showing.packet import Excerpt, excerpt
from live_memory.core.showing.saying import leading, way_lead
from live_memory.core.values import RelPath
from live_memory.flow.evidence.desk import Desk
from live_memory.flow.evidence.onwards import with_called
from live_memory.flow.evidence.tracing import way
from live_memory.flow.evidence.using import MOST_NAMESAKES, users_of

__all__ = ["Found", "found_for"]

# Documents at the root that are shown where it is asked what this is.
_MOST_TOLD = 2


@dataclass(frozen=True, slots=True)
class Found:
    """What an answer is made of: its first sentence, the places to show, and what ranks beside
    them, for whom there is room for more; `uses` are the lines that the first sentence counts.
    """

    lead: str
    excerpts: Sequence[Excerpt]
    is_settled: bool = False
    further: Sequence[Excerpt] = ()
    uses: Sequence[Place] = ()


async def found_for(question: str, evidence: Evidence, desk: Desk, *, room: int) -> Found:
    """Choose what to show: a way, the users of a name, what the project says of itself, or the
    places that rank; of a budget of so many characters.
    """
    ends = asked_for_a_way(question)
    steps = await way(*ends, desk) if ends else ()
    if steps:
        on_it = unique([*(step.use.within for step in steps), steps[-1].called])
        files = evidence.files
        way_places = [excerpt(files[d.place.path], d.place, d) for d in on_it if d is not None]
        return Found(way_lead(steps), [*way_places, *_excerpts(evidence, desk)], is_settled=True)
    asked = asked_for_uses(question)
    for name in asked_of_impact(question):
        defined = await desk.definitions(name)
        if name.isupper() and defined and all(base_name(d.name) != name for d in defined):
            # A setting in capitals is not the attribute that has it: its places are shown.
            break
        if 1 <= len(defined) <= MOST_NAMESAKES:
            is_asked, base = name == asked, base_name(name)
            used = await users_of(base, defined, evidence, desk, room=room, is_asked=is_asked)
            if used is not None:
                lead, shown, uses = used
                rest = _excerpts(evidence, desk)
                return Found(lead, shown, is_settled=True, further=rest, uses=uses)
    asks = asks_of(question)
    if asks.is_on_flags:
        evidence = flags_first(question, evidence)
    if asks.is_on_tested:
        evidence = _tested_first(question, evidence)
    excerpts = _excerpts(await with_called(evidence, desk), desk)
    if asks.is_on_what_it_is and (said := await _said_of_itself(desk)):
        lead = f"What it says of itself: {said[0].file.path}."
        return Found(lead, [*said, *excerpts], is_settled=True)
    if not excerpts:
        return Found("", ())
    best = next(iter(excerpts[0].places))
    return Found(leading(best, _owner_of(excerpts[0], evidence), excerpts[0].file), excerpts)


async def _said_of_itself(desk: Desk) -> list[Excerpt]:
    """The beginnings of the documents at the root that say what this is, and of its manifest."""
    names = [path for path in await desk.index.known() if "/" not in path.text]
    told = sorted((path for path in names if is_guide(path)), key=_is_no_readme)[:_MOST_TOLD]
    built = [path for path in names if nature_of(path) is Nature.BUILD][:1]
    await desk.open([*told, *built])
    files = [desk.files[path] for path in (*told, *built) if path in desk.files]
    ends = [(file, min(LONGEST_WHOLE, len(file.lines))) for file in files if file.lines]
    return [Excerpt(file, ((1, end),), (), (1, end)) for file, end in ends]


def _is_no_readme(path: RelPath) -> bool:
    return not path.name.lower().startswith("readme")


def _tested_first(question: str, evidence: Evidence) -> Evidence:
    """The definition that is asked for leads before its tests, or else what ranks of programs."""
    said = {word.lower() for word in identifiers(question)}

    def is_below(unit: RankedUnit) -> tuple[bool, bool]:
        is_beside = nature_of(unit.place.path) is not Nature.CODE
        named = unit.definition and base_name(unit.definition.name).lower() in said
        return is_beside, not named

    best = min(evidence.candidates.units, key=is_below, default=None)
    rest = [unit for unit in evidence.candidates.units if unit is not best]
    units = (best, *rest) if best else ()
    return replace(evidence, candidates=replace(evidence.candidates, units=units))


def _excerpts(evidence: Evidence, desk: Desk) -> list[Excerpt]:
    return [desk.shown(unit, is_first=at == 0) for at, unit in enumerate(evidence.units)]


def _owner_of(shown: Excerpt, evidence: Evidence) -> Definition | None:
    return evidence.units[0].definition if shown.names else None
