"""The answer without a model: alone, as what a model begins with, and as the fallback.

The index says where to look; what is shown comes from bytes read now, and from nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType

from live_memory.core.answer import Answer, Citation, CitationStatus, Grounding, Mode, Question
from live_memory.core.companion.prompt import quoted
from live_memory.core.evidence.absence import Held, asking_part, doubted, is_in_one_place, told
from live_memory.core.evidence.grounding import Sufficiency, Support, explain, held_by, support
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.packet import (
    Composed,
    Excerpt,
    ending,
    excerpt,
    filled,
    looked_at,
    nothing_found,
    qualified,
    recalled,
    rendered,
    room_of,
)
from live_memory.core.evidence.places import Evidence, Place, RankedFileText, RankedUnit, Terms
from live_memory.core.evidence.words import unique
from live_memory.core.memory.learning import AgentView
from live_memory.core.memory.window import QuestionAnswered
from live_memory.core.values import RelPath
from live_memory.flow.find_evidence import (
    FoundEvidence,
    exact_first,
    found_for,
    look_beyond,
    nearest_names,
    terms_here,
    unspelled,
)
from live_memory.flow.reader import QuestionFiles

__all__ = ["MOST_FILES", "answer_from_evidence", "head_start"]

# Recall is judged, and people read, within the first ten files.
MOST_FILES = 10
# What the sentences around the places take.
_SENTENCES = 300
_NEAREST = 3
# What answers to like questions cited doubles the gold lines of recorded sessions at 8,000 tokens.
_UNITS_BEFORE_PAST = 2
# Of what a model begins with, so much goes by rank; the rest shows more of the same files first: of
# 198 everyday questions .586 are complete then and .571 without, and less is beside the point.
_AS_RANKED = 2 / 3
_DENIED = (Sufficiency.APART, Sufficiency.NONE)
_GROUNDING = {
    Sufficiency.ENOUGH: Grounding.VERIFIED,
    Sufficiency.THIN: Grounding.PARTIAL,
    Sufficiency.APART: Grounding.UNGROUNDED,
}


async def answer_from_evidence(
    question: Question,
    *,
    desk: QuestionFiles,
    edited: frozenset[RelPath] = frozenset(),
) -> Answer:
    """Find places, open them again, and show what stands there now; what was `edited` ranks higher.

    The caller has brought the index up to date; a file that changed since is indexed again here.
    """
    room = room_of(question.budget.answer_tokens) - _SENTENCES
    looked = await _looked(question.text, desk, edited, room=room)
    alone = asking_part(question.text)
    if looked.about.standing in _DENIED and alone != question.text:
        # What is told around a question may lead elsewhere.
        again = await _looked(alone, desk, edited, room=room)
        worth = again.evidence.candidates.worth
        if is_in_one_place(alone, again.terms, worth, _held(again.shown, again.texts)):
            looked = again
    evidence, shown, texts, about = looked.evidence, looked.shown, looked.texts, looked.about
    beyond = await look_beyond(looked.terms, about, evidence, desk=desk)
    about = beyond.left_of(about)
    if about.standing is Sufficiency.APART:
        shown, texts = shown[:_NEAREST], texts[:_NEAREST]
    is_there = shown and about.standing is not Sufficiency.NONE
    composed = (
        _packet(
            "\n\n".join([qualified(looked.found.lead, about), *texts]),
            shown,
            about,
            evidence,
            uses=looked.found.uses,
            most=room + _SENTENCES,
        )
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
        why=explain(question.text, looked.terms, evidence, composed.citations)
        if question.wants_why
        else MappingProxyType({}),
    )


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was found for a text, what of it is shown, and how far that answers it."""

    terms: Terms
    evidence: Evidence
    found: FoundEvidence
    shown: Sequence[Excerpt]
    texts: Sequence[str]
    about: Support


async def _looked(
    text: str, desk: QuestionFiles, edited: frozenset[RelPath], *, room: int
) -> _Looked:
    terms = replace(await terms_here(text, desk), edited=edited)
    evidence = await desk.look_up(terms, limit=MOST_FILES)
    evidence = await exact_first(terms, evidence, desk)
    found = await found_for(text, evidence, desk, room=room)
    shown = filled(found.excerpts, room)
    texts = [rendered(each) for each in shown]
    held = _held(shown, texts)
    about = await _support(text, terms, evidence, held, desk, is_settled=found.is_settled)
    return _Looked(terms, evidence, found, shown, texts, about)


async def head_start(
    question: Question,
    *,
    desk: QuestionFiles,
    past: Sequence[QuestionAnswered],
    viewed: Mapping[RelPath, AgentView],
    budget_tokens: int,
) -> str:
    """The same places for a model to begin with.

    What `past` answers to like questions cite comes early, where those bytes are still there, and
    then what the agent `viewed` of the files that rank.
    """
    terms = await terms_here(question.text, desk)
    evidence = await desk.look_up(terms, limit=MOST_FILES)
    evidence = await exact_first(terms, evidence, desk)
    room = room_of(budget_tokens)
    found = await found_for(question.text, evidence, desk, room=room)
    # The lead may quote what an author says, which is data.
    lead = quoted(found.lead).rstrip()
    known = recalled(evidence.candidates.worth, past)
    await desk.open(place.path for place, _ in known)
    files = evidence.files
    same = [p for p, sha in known if p.path in files and files[p.path].sha == sha]
    looks = chain.from_iterable(looked_at(file, viewed.get(file.path)) for file in evidence.best)
    before, after = found.excerpts[:_UNITS_BEFORE_PAST], found.excerpts[_UNITS_BEFORE_PAST:]
    known_excerpts = [_around(place, files[place.path]) for place in (*same, *looks)]
    best = filled([*before, *known_excerpts, *after, *found.further], int(room * _AS_RANKED))
    known_files = {each.file.path for each in best}
    rest = sorted([*after, *found.further], key=lambda each: each.file.path not in known_files)
    shown = filled([*best, *known_excerpts, *rest], room - len(lead))
    texts = [rendered(each) for each in shown]
    held = _held(shown, texts)
    about = await _support(question.text, terms, evidence, held, desk, is_settled=found.is_settled)
    beyond = await look_beyond(terms, about, evidence, desk=desk)
    about = beyond.left_of(about)
    if about.standing is Sufficiency.NONE or not shown:
        parts = [nothing_found(about, ()), *texts]
    else:
        count = sum(1 for each in shown for _ in each.places)
        said = qualified(lead, about) if about.standing is Sufficiency.APART else lead
        parts = [said, *texts, ending(count, about, (), room=0)]
    return told(Composed("\n\n".join(parts), (), Grounding.PARTIAL), about, beyond).text


async def _support(
    text: str,
    terms: Terms,
    evidence: Evidence,
    held: Sequence[Held],
    desk: QuestionFiles,
    *,
    is_settled: bool,
) -> Support:
    """How far the question in `text` is answered by the places that are shown."""
    worth, words = evidence.candidates.worth, [each.words for each in held]
    named = await unspelled(terms, evidence, desk)
    about = support(text, terms, worth, words, unspelled=named)
    about = replace(about, nearest=nearest_names(about.unknown, evidence))
    if is_settled and held:
        return replace(about, standing=Sufficiency.ENOUGH, missing=(), lacking=(), is_vague=False)
    return doubted(about, text, terms, worth, held)


def _held(shown: Sequence[Excerpt], texts: Sequence[str]) -> list[Held]:
    pairs = zip(shown, texts, strict=True)
    return [Held(each.file.path, held_by(text)) for each, text in pairs]


def _around(place: Place, file: RankedFileText) -> Excerpt:
    return excerpt(file, place, enclosing(file.outline, place.start))


def _packet(
    said: str,
    shown: Sequence[Excerpt],
    about: Support,
    evidence: Evidence,
    *,
    uses: Sequence[Place],
    most: int,
) -> Composed:
    places = list(chain.from_iterable(each.places for each in shown))
    further = [] if about.standing is Sufficiency.APART else _further(evidence, places)
    unshown = [use for use in uses if not any(each.shows(use) for each in shown)]
    end = ending(len(places), about, further, unshown, room=most - len(said))
    text = f"{said}\n\n{end}"
    cited = _cited(_by_file([*places, *(unit.place for unit in further)], evidence))
    return Composed(f"{text}{_clipped(evidence, places)}", cited, _GROUNDING[about.standing])


def _nothing(evidence: Evidence, about: Support) -> Composed:
    near = _best_of_each(evidence)[:_NEAREST]
    cited = _cited([unit.place for unit in near])
    return Composed(nothing_found(about, near), cited, Grounding.UNGROUNDED)


def _further(evidence: Evidence, places: Sequence[Place]) -> list[RankedUnit]:
    """The best place of each of the best files that is not shown."""
    shown = {place.path for place in places}
    rest = [unit for unit in _best_of_each(evidence) if unit.place.path not in shown]
    return rest[:MOST_FILES]


def _best_of_each(evidence: Evidence) -> list[RankedUnit]:
    best: dict[RelPath, RankedUnit] = {}
    for unit in evidence.units:
        best.setdefault(unit.place.path, unit)
    order = {file.path: at for at, file in enumerate(evidence.best)}
    # A file that did not rank is there for a name that it holds exactly.
    return sorted(best.values(), key=lambda unit: order.get(unit.place.path, -1))


def _by_file(places: Sequence[Place], evidence: Evidence) -> list[Place]:
    """The first place leads; then file by file as ranked, so that their order is a ranking."""
    rank = {file.path: at for at, file in enumerate(evidence.best)}
    first = places[0].path
    return sorted(places, key=lambda p: (p.path != first, rank.get(p.path, len(rank))))


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
