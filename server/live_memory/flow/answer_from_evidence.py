"""The answer without a model: alone, as a head start, and as the fallback.

The index says where to look; what is said comes from bytes read now, and from nothing else.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from live_memory.core.absence.saying import told
from live_memory.core.asking.answer import Answer, Mode, Question
from live_memory.core.evidence.composition import (
    Composed,
    compose,
    nothing,
    opening,
    stretches_for,
    stretches_of,
)
from live_memory.core.evidence.finding import (
    Finding,
    Saying,
    attributed,
    places_of_use,
    say,
    say_uses,
    say_way,
    subjects,
    tables,
)
from live_memory.core.evidence.head_start import (
    HeadStart,
    Viewed,
    looked_at,
    recalled,
    whole,
    whole_definition,
)
from live_memory.core.evidence.head_start import compose as show
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    Evidence,
    Place,
    RankedUnit,
    Terms,
)
from live_memory.core.evidence.question import (
    asked_for_a_way,
    asked_for_uses,
    hyphenated,
    terms_of,
)
from live_memory.core.evidence.ranking import is_test
from live_memory.core.evidence.snippets import key_lines, line_worth
from live_memory.core.evidence.support import Standing, Support, explain, support
from live_memory.core.evidence.uses import (
    in_reading_order,
    is_definition_of,
    names_on,
    uses_of,
)
from live_memory.core.evidence.words import base_name, unique
from live_memory.core.memory.events import QuestionAnswered
from live_memory.core.values import RelPath
from live_memory.flow.evidence.beyond import look_beyond
from live_memory.flow.evidence.desk import Desk
from live_memory.flow.evidence.tracing import way

__all__ = ["MOST_SHOWN_FILES", "answer_from_evidence", "head_start"]

# Recall is judged, and people read, within the first ten files.
_MOST_FILES = 10
# A model is shown more: recall goes on rising, at 8,000 tokens by .03 of the gold files.
MOST_SHOWN_FILES = 16
# What the four best places use comes right after the six best: .03 more of the gold lines.
_UNITS_FIRST, _FOLLOWED_UNITS, _MOST_NAMES_OF_A_UNIT = 6, 4, 40
# What answers to like questions cited doubles the gold lines of recorded sessions at 8,000 tokens.
_UNITS_BEFORE_PAST = 2
# What is opened beyond the ranked files bounds the work of a question.
_MOST_OPENED, _MOST_CALLS_TRIED, _MOST_CALLERS = 12, 8, 2
_LINES_FOLLOWED, _MOST_NAMES_FOLLOWED, _MOST_RELATED = 4, 8, 2
# A name that more definitions share says nothing of which one is called.
_MOST_NAMESAKES = 3


async def answer_from_evidence(
    question: Question,
    *,
    desk: Desk,
    edited: frozenset[RelPath] = frozenset(),
) -> Answer:
    """Find places, open them again, and say what stands there now; what was `edited` ranks higher.

    The caller has brought the index up to date; a file that changed since is indexed again here.
    """
    terms = replace(terms_of(question.text), edited=edited)
    evidence = attributed(await desk.look_up(terms, limit=_MOST_FILES))
    found = support(question.text, terms, evidence)
    beyond = await look_beyond(terms, found, evidence, desk=desk)
    found = beyond.left_of(found)
    composed = told(await _composed(question, terms, found, evidence, desk), found, beyond)
    hashes = {file.path: file.sha for file in evidence.files.values()} | dict(beyond.hashes)
    used = {citation.path for citation in composed.citations}
    return Answer(
        text=composed.text,
        mode=Mode.EVIDENCE,
        grounding=composed.grounding,
        citations=composed.citations,
        evidence=MappingProxyType({path: hashes[path] for path in sorted(used)}),
        why=explain(question.text, terms, evidence, composed.citations),
    )


async def head_start(
    question: Question,
    *,
    desk: Desk,
    past: Sequence[QuestionAnswered],
    viewed: Mapping[RelPath, Viewed],
    budget_tokens: int,
) -> HeadStart:
    """Whole definitions for a model to begin with: the best places, and what those use.

    What `past` answers to like questions cite comes early, where those bytes are still there, and
    then what the agent `viewed` of the files that rank.
    The caller has brought the index up to date; a file that changed since is indexed again here.
    """
    evidence = await desk.look_up(terms_of(question.text), limit=MOST_SHOWN_FILES)
    known = recalled(evidence.candidates.worth, past)
    units = [whole(unit, evidence.files[unit.place.path]) for unit in evidence.units]
    used = await _used_by(units[:_FOLLOWED_UNITS], evidence, desk)
    await desk.open([*(place.path for place, _ in known), *(d.place.path for d in used)])
    files = evidence.files
    same = [p for p, sha in known if p.path in files and files[p.path].sha == sha]
    looks = chain.from_iterable(looked_at(file, viewed.get(file.path)) for file in evidence.best)
    there = [whole_definition(definition) for definition in _there(used, evidence)]
    first, then = units[:_UNITS_FIRST], units[_UNITS_FIRST:]
    best, next_best = first[:_UNITS_BEFORE_PAST], first[_UNITS_BEFORE_PAST:]
    places = chain(*best, same, looks, *next_best, *there, *then)
    return show(places, files, budget_tokens=budget_tokens)


async def _composed(
    question: Question, terms: Terms, found: Support, evidence: Evidence, desk: Desk
) -> Composed:
    ends = asked_for_a_way(question.text)
    steps = await way(*ends, desk) if ends else ()
    if steps:
        saying = say_way(steps, evidence.files)
        on_it = unique(step.use.within for step in steps if step.use.within)
        stretches = stretches_for(on_it, evidence)
        return compose(saying, stretches, evidence, found, budget=question.budget)
    name = asked_for_uses(question.text)
    defined = await desk.definitions(name) if name else ()
    if name and defined:
        saying, shown = await _uses(base_name(name), defined, evidence, desk)
        stretches = stretches_of(shown, evidence)
        return compose(saying, stretches, evidence, found, budget=question.budget, is_all=True)
    chosen = subjects(evidence, terms.names, hyphenated(question.text))
    if not chosen or found.standing is Standing.NONE:
        return nothing(evidence, found)
    related = await _related(chosen[0], evidence, desk)
    await desk.open(definition.place.path for definition in related)
    related = [other for other in _there(related, evidence) if other not in chosen][:_MOST_RELATED]
    stretches = [*stretches_of(tables(related), evidence), *stretches_for(chosen, evidence)]
    saying = await _finding(chosen, related, evidence, desk, besides=opening(stretches))
    return compose(saying, stretches, evidence, found, budget=question.budget)


async def _uses(
    name: str, defined: Sequence[Definition], evidence: Evidence, desk: Desk
) -> tuple[Saying, Sequence[RankedUnit]]:
    near = [*(d.place.path for d in defined), *(file.path for file in evidence.best)]
    places = in_reading_order(await desk.index.references(name), near, defined)
    paths = [*(d.place.path for d in defined[:_MOST_NAMESAKES]), *(p.path for p in places)]
    await desk.open([path for path in unique(paths) if path not in evidence.files][:_MOST_OPENED])
    uses = uses_of(name, places, evidence.files)
    unopened = sum(place.path not in evidence.files for place in places)
    there = _there(defined, evidence)
    saying = say_uses(name, there, uses, evidence.files, unopened=unopened)
    return saying, places_of_use(there, uses)


async def _finding(
    chosen: Sequence[Definition],
    related: Sequence[Definition],
    evidence: Evidence,
    desk: Desk,
    *,
    besides: Collection[tuple[RelPath, int]],
) -> Saying:
    lead = chosen[0]
    places = await _calls_of(lead, evidence, desk)
    await desk.open(place.path for place in places)
    uses = uses_of(base_name(lead.name), places, evidence.files)
    callers = [use for use in uses if use.within != lead and not use.is_import]
    callers.sort(key=lambda use: use.is_test)
    finding = Finding(chosen, callers[:_MOST_CALLERS], related)
    return say(finding, evidence, besides=besides)


def _there(definitions: Sequence[Definition], evidence: Evidence) -> list[Definition]:
    """Those that the opened files really have."""
    files = evidence.files
    opened = [d for d in definitions if d.place.path in files]
    return [d for d in opened if is_definition_of(files[d.place.path], d)]


async def _calls_of(lead: Definition, evidence: Evidence, desk: Desk) -> Sequence[Place]:
    name = base_name(lead.name)
    is_defined = lead in evidence.files[lead.place.path].outline
    namesakes = await desk.definitions(name) if is_defined else ()
    if not 1 <= len(namesakes) <= _MOST_NAMESAKES:
        return ()
    near = [lead.place.path, *(file.path for file in evidence.best)]
    places = in_reading_order(await desk.index.references(name), near, namesakes)
    return places[:_MOST_CALLS_TRIED]


async def _related(lead: Definition, evidence: Evidence, desk: Desk) -> Sequence[Definition]:
    """What the lead's most telling lines use, where only one place defines it."""
    file = evidence.files[lead.place.path]
    worth = evidence.candidates.worth
    numbers = key_lines(file, lead, worth, most=_LINES_FOLLOWED) or (lead.place.start,)
    names = unique(names_on([file.lines[number - 1] for number in numbers]))
    found: list[Definition] = []
    for name, is_own in names[:_MOST_NAMES_FOLLOWED]:
        here = await desk.definitions(name)
        if len(here) == 1 and name != base_name(lead.name):
            is_near = is_own or here[0].place.path == lead.place.path
            found += [other for other in here if is_near and _may_follow(lead, other, worth)]
    if lead.kind is DefinitionKind.VALUE:
        found.sort(key=lambda other: -line_worth(base_name(other.name), worth))
    return found


async def _used_by(
    units: Sequence[Sequence[Place]], evidence: Evidence, desk: Desk
) -> Sequence[Definition]:
    """What these places use, where only one place defines it."""
    found: dict[Definition, None] = {}
    for place in chain(*units):
        rows = evidence.files[place.path].lines[place.start - 1 : place.end]
        for name in unique(name for name, _ in names_on(rows))[:_MOST_NAMES_OF_A_UNIT]:
            here = [d for d in await desk.definitions(name) if not is_test(d.place.path)]
            if len(here) == 1:
                found[here[0]] = None
    return tuple(found)


def _may_follow(lead: Definition, other: Definition, worth: Mapping[str, float]) -> bool:
    """Whether a name on a line of `lead` is worth following to that definition."""
    name = base_name(other.name)
    is_asked_for = lead.kind is DefinitionKind.VALUE and line_worth(name, worth) > 0
    is_telling = other.kind is not DefinitionKind.VALUE or name.isupper() or is_asked_for
    return is_telling and is_test(other.place.path) == is_test(lead.place.path)
