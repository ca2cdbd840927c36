"""The way from one definition to another, read backwards over who calls whom."""

import heapq
from collections.abc import Mapping, Sequence
from itertools import count

from live_memory.core.evidence.natures import is_test
from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.uses import Step, is_definition_of, uses_of
from live_memory.core.evidence.words import base_name
from live_memory.core.tracing.calls import meant_by
from live_memory.core.values import RelPath
from live_memory.flow.evidence.calling import heads_of, opened, programs
from live_memory.flow.evidence.desk import Desk

__all__ = ["way"]

# A name with more definitions than this is no start and no end.
_MOST_ENDS = 5
# A call that may mean more than this leads everywhere, unless it ends at what is asked for.
_MOST_MEANT = 5
# What is called in more places is no step.
_MOST_MENTIONS = 60
# Bounds of the work: a way is short, and found within some 40 definitions, or there is none.
_MOST_LOOKED_AT = 150
# Two calls that mean one thing are better than one that may mean several.
_CERTAIN, _UNCERTAIN = 1, 3

Calls = Sequence[tuple[Definition, Step]]


async def way(start: str, end: str, desk: Desk) -> Sequence[Step]:
    """Each call on the best way with what it calls, in order; nothing where there is none.

    Both are names, and few definitions may carry them. The best way is a short one of calls that
    can mean one definition only.
    """
    starts, ends = [await _named(name, desk) for name in (start, end)]
    if not (1 <= len(starts) <= _MOST_ENDS and 1 <= len(ends) <= _MOST_ENDS):
        return []
    steps: dict[Definition, Step] = {}
    costs = dict.fromkeys(ends, 0)
    order = count()
    waiting = [(0, next(order), each) for each in ends]
    known: dict[str, Calls] = {}
    done: set[Definition] = set()
    while waiting and len(done) < _MOST_LOOKED_AT:
        cost, _, called = heapq.heappop(waiting)
        if called in done:
            continue
        done.add(called)
        if called in steps and any(_is_in(called, each) for each in starts):
            return _followed(called, steps)
        for caller, step in await _calls(called, desk, known):
            if _is_in(caller, called) or (step.among > _MOST_MEANT and called not in ends):
                continue
            total = cost + (_CERTAIN if step.among == 1 else _UNCERTAIN)
            if total < costs.get(caller, total + 1):
                costs[caller], steps[caller] = total, step
                heapq.heappush(waiting, (total, next(order), caller))
    return []


async def _named(name: str, desk: Desk) -> Sequence[Definition]:
    """What a question means by a name: of the class or else the module that it names, if any."""
    found = await programs(base_name(name), desk)
    owner = name.rpartition(".")[0].rpartition(".")[2]
    free = [d for d in found if "." not in d.name]
    if not owner:
        return found if len(found) <= _MOST_ENDS else free
    exact = [d for d in found if f".{d.name.replace('.prototype.', '.')}".endswith(f".{name}")]
    module = [d for d in free if owner in d.place.path.text.partition(".")[0].split("/")]
    return exact or module or found


async def _calls(called: Definition, desk: Desk, known: dict[str, Calls]) -> Calls:
    """Who calls it and where, as the lines say now; programs only."""
    name, path = base_name(called.name), called.place.path
    await opened([path], desk)
    if path not in desk.files or not is_definition_of(desk.files[path], called):
        return []
    if name not in known:
        known[name] = await _calls_of(name, path, desk)
    return [(caller, step) for caller, step in known[name] if step.called == called]


async def _calls_of(name: str, first: RelPath, desk: Desk) -> Calls:
    """Every call by that name, with each definition that it may mean; one file is read first."""
    named, files = await programs(name, desk), desk.files
    homes = {definition.place.path for definition in named}
    mentions = [p for p in await desk.references(name) if not is_test(p.path)]
    mentions.sort(key=lambda p: (p.path != first, p.path not in files, p.path not in homes))
    await opened([place.path for place in mentions[:_MOST_MENTIONS]], desk)
    there = [
        d for d in named if d.place.path not in files or is_definition_of(files[d.place.path], d)
    ]
    uses = uses_of(name, mentions[:_MOST_MENTIONS], files)
    heads = await heads_of(uses, name, there, desk)
    found = []
    for use in uses:
        if use.within is not None:
            file = files[use.place.path]
            meant = meant_by(file.lines[use.place.start - 1], use.within, file, there, heads)
            found += [(use.within, Step(use, each, among)) for each, among in meant.items()]
    return found


def _followed(first: Definition, steps: Mapping[Definition, Step]) -> Sequence[Step]:
    found = []
    at = first
    while at in steps:
        found.append(steps[at])
        at = steps[at].called
    return found


def _is_in(inner: Definition, outer: Definition) -> bool:
    same_file = inner.place.path == outer.place.path
    return inner == outer or (same_file and inner.name.startswith(f"{outer.name}."))
