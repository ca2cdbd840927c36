"""The answer without a model: alone, as what a model begins with, and as the fallback.

The index says where to look; what is shown comes from bytes read now, and from nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType

from live_memory.core.absence.saying import told
from live_memory.core.asking.answer import (
    Answer,
    Citation,
    CitationStatus,
    Grounding,
    Mode,
    Question,
)
from live_memory.core.evidence.asks import asks_of
from live_memory.core.evidence.natures import Nature, is_guide, nature_of
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.places import (
    Definition,
    Evidence,
    OpenedFile,
    Place,
    RankedUnit,
)
from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    asked_of_impact,
    terms_of,
)
from live_memory.core.evidence.support import Standing, Support, explain, held_by, support
from live_memory.core.evidence.units import LONGEST_WHOLE
from live_memory.core.evidence.uses import Use, in_reading_order, is_definition_of, uses_of
from live_memory.core.evidence.words import base_name, unique
from live_memory.core.memory.events import QuestionAnswered
from live_memory.core.showing.callers import WRAPPER, callers, in_order
from live_memory.core.showing.head_start import Viewed, looked_at, recalled
from live_memory.core.showing.packet import Excerpt, excerpt, filled, rendered, room_of
from live_memory.core.showing.saying import (
    Composed,
    ending,
    leading,
    nothing_found,
    uses_lead,
    way_lead,
)
from live_memory.core.values import RelPath
from live_memory.flow.evidence.beyond import look_beyond
from live_memory.flow.evidence.desk import Desk
from live_memory.flow.evidence.tracing import way

__all__ = ["answer_from_evidence", "head_start"]

# Recall is judged, and people read, within the first ten files.
_MOST_FILES = 10
# What is opened beyond the ranked files bounds the work of a question.
_MOST_OPENED = 24
# A name that more definitions share says nothing of which one is called.
_MOST_NAMESAKES = 4
# Callers of callers are followed so far.
_HOPS, _MOST_WRAPPERS = 3, 6
# What the sentences around the places take.
_SENTENCES = 300
_NEAREST = 3
# Documents at the root that are shown where it is asked what this is.
_MOST_TOLD = 2
# What answers to like questions cited doubles the gold lines of recorded sessions at 8,000 tokens.
_UNITS_BEFORE_PAST, _UNITS_AFTER_PAST = 2, 4


@dataclass(frozen=True, slots=True)
class Found:
    """What an answer is made of: its first sentence, the places to show, and those it counts on."""

    lead: str
    excerpts: Sequence[Excerpt]
    is_settled: bool = False


async def answer_from_evidence(
    question: Question,
    *,
    desk: Desk,
    edited: frozenset[RelPath] = frozenset(),
) -> Answer:
    """Find places, open them again, and show what stands there now; what was `edited` ranks higher.

    The caller has brought the index up to date; a file that changed since is indexed again here.
    """
    terms = replace(terms_of(question.text), edited=edited)
    evidence = await desk.look_up(terms, limit=_MOST_FILES)
    room = room_of(question.budget.answer_tokens) - _SENTENCES
    found = await _found(question.text, evidence, desk, room=room)
    shown = filled(found.excerpts, room)
    worth = evidence.candidates.worth
    about = support(question.text, terms, worth, [_held(each) for each in shown])
    if found.is_settled and shown:
        about = replace(about, standing=Standing.ENOUGH, missing=())
    beyond = await look_beyond(terms, about, evidence, desk=desk)
    about = beyond.left_of(about)
    is_there = shown and about.standing is not Standing.NONE
    composed = (
        _packet(found, shown, about, evidence, most=room + _SENTENCES)
        if is_there
        else _nothing(evidence, about)
    )
    composed = told(composed, about, beyond)
    hashes = {path: file.sha for path, file in evidence.files.items()} | dict(beyond.hashes)
    used = sorted({citation.path for citation in composed.citations})
    return Answer(
        text=composed.text,
        mode=Mode.EVIDENCE,
        grounding=composed.grounding,
        citations=composed.citations,
        evidence=MappingProxyType({path: hashes[path] for path in used}),
        why=explain(question.text, terms, evidence, composed.citations),
    )


async def head_start(
    question: Question,
    *,
    desk: Desk,
    past: Sequence[QuestionAnswered],
    viewed: Mapping[RelPath, Viewed],
    budget_tokens: int,
) -> str:
    """The same places for a model to begin with.

    What `past` answers to like questions cite comes early, where those bytes are still there, and
    then what the agent `viewed` of the files that rank.
    """
    evidence = await desk.look_up(terms_of(question.text), limit=_MOST_FILES)
    room = room_of(budget_tokens)
    found = await _found(question.text, evidence, desk, room=room)
    known = recalled(evidence.candidates.worth, past)
    await desk.open(place.path for place, _ in known)
    files = evidence.files
    same = [p for p, sha in known if p.path in files and files[p.path].sha == sha]
    looks = chain.from_iterable(looked_at(file, viewed.get(file.path)) for file in evidence.best)
    before, after = found.excerpts[:_UNITS_BEFORE_PAST], found.excerpts[_UNITS_BEFORE_PAST:]
    known_excerpts = [_around(place, files[place.path]) for place in (*same, *looks)]
    shown = filled([*before, *known_excerpts, *after], room)
    return "\n\n".join([found.lead, *map(rendered, shown)]) if shown else ""


async def _found(question: str, evidence: Evidence, desk: Desk, *, room: int) -> Found:
    ends = asked_for_a_way(question)
    steps = await way(*ends, desk) if ends else ()
    if steps:
        on_it = unique([*(step.use.within for step in steps), steps[-1].called])
        files = evidence.files
        way_places = [excerpt(files[d.place.path], d.place, d) for d in on_it if d is not None]
        return Found(way_lead(steps), [*way_places, *_excerpts(evidence)], is_settled=True)
    asked = asked_for_uses(question)
    for name in asked_of_impact(question):
        defined = await desk.definitions(name)
        if 1 <= len(defined) <= _MOST_NAMESAKES:
            is_asked, base = name == asked, base_name(name)
            used = await _uses(base, defined, evidence, desk, room=room, is_asked=is_asked)
            if used is not None:
                return used
    excerpts = _excerpts(evidence)
    if asks_of(question).is_on_what_it_is and (said := await _said_of_itself(desk)):
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


def _excerpts(evidence: Evidence) -> list[Excerpt]:
    files = evidence.files
    return [
        excerpt(files[unit.place.path], unit.place, unit.definition, is_first=at == 0)
        for at, unit in enumerate(evidence.units)
    ]


def _owner_of(shown: Excerpt, evidence: Evidence) -> Definition | None:
    return evidence.units[0].definition if shown.names else None


async def _uses(
    name: str,
    defined: Sequence[Definition],
    evidence: Evidence,
    desk: Desk,
    *,
    room: int,
    is_asked: bool,
) -> Found | None:
    """Who uses a name, if it is used or that is asked; wrappers are followed as well."""
    uses, unopened = await _uses_of(name, defined, evidence, desk)
    there = _there(defined, evidence)
    if not there or not (uses or is_asked):
        return None
    calls = in_order(uses, there)
    excerpts = callers(calls, there, evidence.files, room=room)
    left = room - sum(len(rendered(each)) + 2 for each in excerpts)
    wrappers = [use.within for use in calls if use.within is not None]
    seen = {base_name(definition.name) for definition in there}
    for _ in range(_HOPS - 1):
        short = [w for w in unique(wrappers) if _is_wrapper(w) and base_name(w.name) not in seen]
        wrappers = []
        for wrapper in short[:_MOST_WRAPPERS]:
            seen.add(base_name(wrapper.name))
            if len(await desk.definitions(base_name(wrapper.name))) > _MOST_NAMESAKES:
                continue
            more, _ = await _uses_of(base_name(wrapper.name), (wrapper,), evidence, desk)
            indirect = in_order(more, (wrapper,))
            extra = callers(indirect, (), evidence.files, room=left) if indirect else []
            excerpts += extra
            left -= sum(len(rendered(each)) + 2 for each in extra)
            wrappers += [use.within for use in indirect if use.within is not None]
        if left <= 0:
            break
    lead = uses_lead(name, uses, unopened=unopened)
    return Found(lead, excerpts, is_settled=True)


async def _uses_of(
    name: str, defined: Sequence[Definition], evidence: Evidence, desk: Desk
) -> tuple[Sequence[Use], int]:
    near = [*(d.place.path for d in defined), *(file.path for file in evidence.best)]
    places = in_reading_order(await desk.index.references(name), near, defined)
    paths = [*(d.place.path for d in defined[:_MOST_NAMESAKES]), *(p.path for p in places)]
    await desk.open([path for path in unique(paths) if path not in evidence.files][:_MOST_OPENED])
    unopened = sum(place.path not in evidence.files for place in places)
    return uses_of(name, places, evidence.files), unopened


def _is_wrapper(definition: Definition) -> bool:
    return definition.place.end - definition.place.start < WRAPPER


def _there(definitions: Sequence[Definition], evidence: Evidence) -> list[Definition]:
    """Those that the opened files really have."""
    files = evidence.files
    opened = [d for d in definitions if d.place.path in files]
    return [d for d in opened if is_definition_of(files[d.place.path], d)]


def _around(place: Place, file: OpenedFile) -> Excerpt:
    return excerpt(file, place, enclosing(file.outline, place.start))


def _held(shown: Excerpt) -> frozenset[str]:
    """The words of an excerpt."""
    return held_by(rendered(shown))


def _packet(
    found: Found, shown: Sequence[Excerpt], about: Support, evidence: Evidence, *, most: int
) -> Composed:
    places = list(chain.from_iterable(each.places for each in shown))
    further = _further(evidence, places)
    text = "\n\n".join([found.lead, *map(rendered, shown)])
    text += "\n\n" + ending(len(places), about, further, room=most - len(text))
    cited = _cited([*places, *(unit.place for unit in further)])
    is_whole = about.standing is Standing.ENOUGH
    grounding = Grounding.VERIFIED if is_whole else Grounding.PARTIAL
    return Composed(f"{text}{_clipped(evidence, places)}", cited, grounding)


def _nothing(evidence: Evidence, about: Support) -> Composed:
    near = _best_of_each(evidence)[:_NEAREST]
    cited = _cited([unit.place for unit in near])
    return Composed(nothing_found(about, near), cited, Grounding.UNGROUNDED)


def _further(evidence: Evidence, places: Sequence[Place]) -> list[RankedUnit]:
    """The best place of each of the best files that is not shown."""
    shown = {place.path for place in places}
    rest = [unit for unit in _best_of_each(evidence) if unit.place.path not in shown]
    return rest[: max(0, _MOST_FILES - len(shown))]


def _best_of_each(evidence: Evidence) -> list[RankedUnit]:
    best: dict[RelPath, RankedUnit] = {}
    for unit in evidence.units:
        best.setdefault(unit.place.path, unit)
    order = {file.path: at for at, file in enumerate(evidence.best)}
    return sorted(best.values(), key=lambda unit: order[unit.place.path])


def _clipped(evidence: Evidence, places: Sequence[Place]) -> str:
    """Which of the files that are shown were read in part."""
    files = (evidence.files[path] for path in unique(place.path for place in places))
    return "".join(
        f" {file.path} is only indexed up to line {len(file.lines)}."
        for file in files
        if file.is_clipped
    )


def _cited(places: Sequence[Place]) -> tuple[Citation, ...]:
    return tuple(
        Citation(p.path, p.start, p.end, CitationStatus.VERIFIED) for p in dict.fromkeys(places)
    )
