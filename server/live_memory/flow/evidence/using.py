"""Who uses a name, as places to show; callers of small callers as well."""

from collections.abc import Sequence

from live_memory.core.evidence.places import Definition, Evidence, Place
from live_memory.core.evidence.uses import Use, in_reading_order, is_definition_of, uses_of
from live_memory.core.evidence.words import base_name, unique
from live_memory.core.showing.callers import WRAPPER, callers, in_order
from live_memory.core.showing.packet import Excerpt, rendered
from live_memory.core.showing.saying import uses_lead
from live_memory.flow.evidence.desk import Desk

__all__ = ["MOST_NAMESAKES", "users_of"]

# What is opened beyond the ranked files bounds the work of a question.
_MOST_OPENED = 24
# A name that more definitions share says nothing of which one is called.
MOST_NAMESAKES = 4
# Callers of callers are followed so far.
_HOPS, _MOST_WRAPPERS = 3, 6


async def users_of(
    name: str,
    defined: Sequence[Definition],
    evidence: Evidence,
    desk: Desk,
    *,
    room: int,
    is_asked: bool,
) -> tuple[str, Sequence[Excerpt], Sequence[Place]] | None:
    """What leads, whom to show and every line that is counted, if a name is used or that is asked;
    callers of wrappers are shown as well.
    """
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
            if len(await desk.definitions(base_name(wrapper.name))) > MOST_NAMESAKES:
                continue
            more, _ = await _uses_of(base_name(wrapper.name), (wrapper,), evidence, desk)
            indirect = in_order(more, (wrapper,))
            extra = callers(indirect, (), evidence.files, room=left) if indirect else []
            excerpts += extra
            left -= sum(len(rendered(each)) + 2 for each in extra)
            wrappers += [use.within for use in indirect if use.within is not None]
        if left <= 0:
            break
    lead = uses_lead(name, uses, unopened=unopened, definitions=len(there))
    counted = [use.place for use in uses if not use.is_import] or [use.place for use in uses]
    return lead, excerpts, counted


async def _uses_of(
    name: str, defined: Sequence[Definition], evidence: Evidence, desk: Desk
) -> tuple[Sequence[Use], int]:
    near = [*(d.place.path for d in defined), *(file.path for file in evidence.best)]
    places = in_reading_order(await desk.references(name), near, defined)
    paths = [*(d.place.path for d in defined[:MOST_NAMESAKES]), *(p.path for p in places)]
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
