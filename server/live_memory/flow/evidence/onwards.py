"""What a place leads on to: the short functions that it calls."""

from dataclasses import replace

from live_memory.core.evidence.places import Definition, DefinitionKind, Evidence, RankedUnit
from live_memory.core.evidence.uses import called_on
from live_memory.core.evidence.words import base_name, unique
from live_memory.flow.evidence.calling import programs
from live_memory.flow.evidence.desk import Desk

__all__ = ["with_called"]

# Of 42 everyday questions on how something happens 8 are answered in full with two functions of at
# most 20 lines that the first place calls, 7 with four or with longer ones, and 6 with none; of 190
# long ones half a point more of what they name is shown.
_MOST_CALLED, _SHORT = 2, 20
_CALLABLE = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)


async def with_called(evidence: Evidence, desk: Desk) -> Evidence:
    """Put the short functions that the first place calls behind it, for they do what it does."""
    units = evidence.units
    owner = units[0].definition if units else None
    if owner is None or owner.kind not in _CALLABLE:
        return evidence
    place = units[0].place
    lines = evidence.files[place.path].lines[place.start - 1 : place.end]
    names = unique(name for line in lines for _, name in called_on(line))
    found: list[Definition] = []
    for name in names:
        if name != base_name(owner.name) and len(found) < _MOST_CALLED:
            called = await _only(name, owner, desk)
            found += [called] if called is not None else []
    await desk.open(each.place.path for each in found)
    new = [RankedUnit(d.place, d, 0.0) for d in found if d.place.path in evidence.files]
    candidates = replace(evidence.candidates, units=(units[0], *new, *units[1:]))
    return replace(evidence, candidates=candidates)


async def _only(name: str, caller: Definition, desk: Desk) -> Definition | None:
    """What a call means where there is one such function beside the caller, or else anywhere."""
    found = [d for d in await programs(name, desk) if d.kind in _CALLABLE]
    found = [d for d in found if d.place.path == caller.place.path] or found
    is_short = len(found) == 1 and found[0].place.end - found[0].place.start < _SHORT
    return found[0] if is_short else None
