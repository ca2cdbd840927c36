"""Which names of a question stand nowhere as they are written, and what is much like them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from live_memory.core.absence.spelling import forms_of, is_name, is_spelled, nearest
from live_memory.core.evidence.asks import asks_of
from live_memory.core.evidence.docs import silent_lines
from live_memory.core.evidence.natures import Nature, nature_of
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.places import DefinitionKind, Evidence, Place, RankedUnit, Terms
from live_memory.core.evidence.question import terms_of
from live_memory.core.evidence.uses import in_reading_order, unquoted
from live_memory.core.evidence.words import base_name, tokens, unique, vocabulary
from live_memory.flow.evidence.desk import Desk

__all__ = ["exact_first", "nearest_names", "terms_here", "unspelled"]

_SHOWN_WHOLE = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)
# A question with more names is a pasted log.
_MOST_NAMES = 12
# `TESTING`, which may be a setting; `URL`, which may be a word.
_CAPITALS = re.compile(r"(?<![\w.$-])[A-Z][A-Z0-9]{2,}(?![\w.$-]\w|[\w$])")
_MOST_OPENED, _MOST_PLACES = 6, 40
# So many places that have it are shown before what ranks by the other words.
_MOST_EXACT = 4


async def terms_here(question: str, desk: Desk) -> Terms:
    """What a question is about. A word in capitals that would tell what kind of question it is,
    such as `TESTING`, is a name instead where code here has it as one; others stay words.
    """
    terms = terms_of(question)
    words = unique(_CAPITALS.findall(question))[:_MOST_NAMES]
    telling = (word for word in words if asks_of(_without(question, word)) != terms.asks)
    names = [word for word in telling if await _is_identifier(word, desk)]
    if not names:
        return terms
    asks = asks_of(_without(question, *names))
    return replace(terms, names=unique((*terms.names, *names)), asks=asks)


def _without(question: str, *names: str) -> str:
    return re.sub(rf"\b(?:{'|'.join(names)})\b", "it", question)


async def exact_first(terms: Terms, evidence: Evidence, desk: Desk) -> Evidence:
    """The places of programs that have a name in capitals lead, those with most of the question
    first; its stem would lead anywhere.
    """
    names = [name for name in terms.names if _CAPITALS.fullmatch(name)]
    found = [
        place
        for name in names
        for place in await _places_of(name, desk)
        if nature_of(place.path) is Nature.CODE and _is_in_code(name, place, desk)
    ]
    if not found:
        return evidence
    worth, units = evidence.candidates.worth, dict[object, RankedUnit]()
    for place in found:
        file = desk.files[place.path]
        owner = enclosing(file.outline, place.start)
        shown = owner.place if owner and owner.kind in _SHOWN_WHOLE else place
        said = vocabulary("\n".join(file.lines[shown.start - 1 : shown.end]))
        score = sum(value for word, value in worth.items() if word in said)
        units.setdefault(owner or place, RankedUnit(place, owner, score))
    best = sorted(units.values(), key=lambda unit: -unit.score)[:_MOST_EXACT]
    rest = [u for u in evidence.candidates.units if u not in best]
    return replace(evidence, candidates=replace(evidence.candidates, units=(*best, *rest)))


async def unspelled(terms: Terms, evidence: Evidence, desk: Desk) -> frozenset[str]:
    """The names whose stem is here, and that no definition, use, path or ranked file has."""
    worth = evidence.candidates.worth
    names = [name for name in unique(terms.names) if is_name(name)][:_MOST_NAMES]
    known = (name for name in names if not worth.keys().isdisjoint(tokens(base_name(name))[:1]))
    return frozenset([name for name in known if not await _is_there(name, evidence, desk)])


def nearest_names(names: Iterable[str], evidence: Evidence) -> Mapping[str, str]:
    """For each name what is most like it of all that the open files define, and where."""
    outlines = (d for file in evidence.files.values() for d in file.outline)
    defined = {base_name(d.name): d.place for d in outlines}
    found = {name: nearest(name, defined) for name in names if is_name(name)}
    places = {name: (near, defined[near]) for name, near in found.items() if near is not None}
    return {
        name: f"`{near}` at {place.path}:{place.start}" for name, (near, place) in places.items()
    }


async def _is_identifier(word: str, desk: Desk) -> bool:
    """Whether code defines or uses it in this spelling, or has it as a key in quotes."""
    if any(base_name(d.name) == word for d in await desk.definitions(word)):
        return True
    return any(_is_in_code(word, place, desk) for place in await _places_of(word, desk))


async def _places_of(word: str, desk: Desk) -> list[Place]:
    """The lines of open files that may use or define a name in this spelling."""
    defined = [d.place for d in await desk.definitions(word) if base_name(d.name) == word]
    heads = [Place(place.path, place.start, place.start) for place in defined]
    used = in_reading_order(await desk.references(word), (), ())
    places = unique([*heads, *used])[:_MOST_PLACES]
    await desk.open(unique(place.path for place in places)[:_MOST_OPENED])
    return [place for place in places if place.path in desk.files]


def _is_in_code(word: str, place: Place, desk: Desk) -> bool:
    file = desk.files[place.path]
    if place.start > len(file.lines):
        return False
    line, within = file.lines[place.start - 1], enclosing(file.outline, place.start)
    first = within.place.start if within else max(1, place.start - 1)
    if place.start in silent_lines(file.lines, first, place.start):
        return False
    is_used = re.search(rf"(?<![\w$-]){word}(?![\w$-])", unquoted(line)) is not None
    return is_used or any(f"{quote}{word}{quote}" in line for quote in "\"'`")


async def _is_there(name: str, evidence: Evidence, desk: Desk) -> bool:
    base = base_name(name)
    whole = tokens(base)[0]
    ranked = {file.path for file in evidence.candidates.files if whole in file.words}
    holding = [file for file in evidence.best if file.path in ranked]
    if not holding or any(is_spelled(base, file.lines) for file in holding):
        return True
    for form in (base, *forms_of(base)):
        if await desk.definitions(form) or await desk.references(form):
            return True
    return is_spelled(base, (path.text for path in await desk.index.known()))
