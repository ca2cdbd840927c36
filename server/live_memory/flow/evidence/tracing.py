"""The way from one definition to another, read backwards over who calls whom."""

from collections import deque
from collections.abc import Mapping, Sequence

from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.ranking import is_test
from live_memory.core.evidence.uses import Use, is_call_of, is_definition_of, uses_of
from live_memory.core.evidence.words import base_name
from live_memory.flow.evidence.desk import Desk

__all__ = ["way"]

# Names that more definitions share lead everywhere, but for calls within one class. What is called
# in more places is no step.
_MOST_NAMESAKES, _MOST_MENTIONS = 3, 60
# Bounds of the work: a way is short, and found within some 40 definitions, or there is none.
_MOST_LOOKED_AT, _MOST_OPENED = 150, 60

Steps = Mapping[Definition, tuple[Use, Definition]]


async def way(start: str, end: str, desk: Desk) -> Sequence[tuple[Use, Definition]]:
    """Each call on the shortest way with what it calls, in order; nothing where there is none.

    Both are names, and few definitions may carry them.
    """
    starts, ends = [await _programs(name, desk) for name in (start, end)]
    if not (1 <= len(starts) <= _MOST_NAMESAKES and 1 <= len(ends) <= _MOST_NAMESAKES):
        return []
    steps: dict[Definition, tuple[Use, Definition]] = {}
    waiting = deque(ends)
    looked_at = 0
    while waiting and looked_at < _MOST_LOOKED_AT:
        called = waiting.popleft()
        looked_at += 1
        for use, caller in await _calls(called, desk):
            if caller in steps or caller in ends or _is_in(caller, called):
                continue
            steps[caller] = use, called
            if any(_is_in(caller, each) for each in starts):
                return _followed(caller, steps)
            waiting.append(caller)
    return []


async def _programs(name: str, desk: Desk) -> Sequence[Definition]:
    return [d for d in await desk.index.definitions(name) if not is_test(d.place.path)]


async def _calls(called: Definition, desk: Desk) -> Sequence[tuple[Use, Definition]]:
    """Who calls it and where, as the lines say now; programs only."""
    name = base_name(called.name)
    is_shared = len(await _programs(name, desk)) > _MOST_NAMESAKES
    mentions = [p for p in await desk.index.references(name) if not is_test(p.path)]
    if is_shared:
        mentions = [place for place in mentions if place.path == called.place.path]
    paths = [called.place.path, *(place.path for place in mentions[:_MOST_MENTIONS])]
    await desk.open(paths[: max(0, _MOST_OPENED - len(desk.files))])
    files = desk.files
    file = files.get(called.place.path)
    if file is None or not is_definition_of(file, called):
        return []
    found = uses_of(name, mentions[:_MOST_MENTIONS], files)
    lines = ((use, files[use.place.path].lines[use.place.start - 1]) for use in found)
    calls = [(use, use.within) for use, line in lines if use.within and is_call_of(line, called)]
    return [pair for pair in calls if not is_shared or _class_of(pair[1]) == _class_of(called)]


def _class_of(definition: Definition) -> str:
    return definition.name.rpartition(".")[0]


def _followed(first: Definition, steps: Steps) -> Sequence[tuple[Use, Definition]]:
    found = []
    at = first
    while at in steps:
        found.append(steps[at])
        at = steps[at][1]
    return found


def _is_in(inner: Definition, outer: Definition) -> bool:
    same_file = inner.place.path == outer.place.path
    return inner == outer or (same_file and inner.name.startswith(f"{outer.name}."))
