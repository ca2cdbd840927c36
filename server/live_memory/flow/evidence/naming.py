"""Which names of a question stand nowhere as they are written, and what is much like them."""

from collections.abc import Iterable, Mapping

from live_memory.core.absence.spelling import forms_of, is_name, is_spelled, nearest
from live_memory.core.evidence.places import Evidence, Terms
from live_memory.core.evidence.words import base_name, tokens, unique
from live_memory.flow.evidence.desk import Desk

__all__ = ["nearest_names", "unspelled"]

# A question with more names is a pasted log.
_MOST_NAMES = 12


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


async def _is_there(name: str, evidence: Evidence, desk: Desk) -> bool:
    base = base_name(name)
    whole = tokens(base)[0]
    ranked = {file.path for file in evidence.candidates.files if whole in file.words}
    holding = [file for file in evidence.best if file.path in ranked]
    if not holding or any(is_spelled(base, file.lines) for file in holding):
        return True
    for form in (base, *forms_of(base)):
        if await desk.definitions(form) or await desk.index.references(form):
            return True
    return any(is_spelled(base, [path.text]) for path in await desk.index.known())
