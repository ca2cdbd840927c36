"""Who uses a name, which of its definitions each use may mean, and who calls those in turn."""

import heapq
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from anyio.to_thread import run_sync

from live_memory.core.evidence.file_kinds import is_test
from live_memory.core.evidence.outline import is_code
from live_memory.core.evidence.packet import (
    WRAPPER,
    Excerpt,
    callers,
    in_order,
    rendered,
    uses_lead,
)
from live_memory.core.evidence.places import (
    Definition,
    DefinitionKind,
    Evidence,
    Place,
    RankedFileText,
    RankedUnit,
)
from live_memory.core.evidence.uses import (
    CallStep,
    Use,
    called_on,
    in_reading_order,
    is_definition_of,
    is_import,
    is_one_language,
    is_open,
    is_told,
    meant_by,
    objects_on,
    owner_of,
    uses_of,
)
from live_memory.core.evidence.words import base_name, is_compound, unique
from live_memory.core.values import RelPath
from live_memory.flow.reader import QuestionFiles

__all__ = [
    "MOST_NAMESAKES",
    "CallEdge",
    "Callers",
    "callers_of",
    "defined",
    "users_of",
    "way",
    "with_called",
]

# Bounds of the work: a name that is used in more places is no step of anything.
MOST_OPENED, _MOST_MENTIONS = 60, 200
# What may be one of more says nothing of who is called through it.
_MOST_MEANT = 3
_MOST_NEXT, _MOST_EDGES = 12, 150
# Where a class is made, this runs.
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "__construct"})
_GENERIC = re.compile(r"<[^<>]*>")
_CALLABLE = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)


@dataclass(frozen=True, slots=True)
class CallEdge:
    """A use of `name`, so many calls away, and what it may mean; nothing where none can tell."""

    use: Use
    name: str
    called: tuple[Definition, ...]
    is_sure: bool
    hop: int = 1


@dataclass(frozen=True, slots=True)
class Callers:
    """Where a name is defined and who uses it: programs, nearest first, and then tests.

    So many `others` mean something else of that name; `unopened` were not looked at.
    """

    defined: Sequence[Definition]
    edges: Sequence[CallEdge]
    others: int
    unopened: int


async def callers_of(
    name: str, desk: QuestionFiles, *, depth: int, mentions: Sequence[Place] = ()
) -> Callers:
    """Everything that uses a name, and who calls that, up to so many calls away.

    `mentions` of the name are looked at besides those that the index has.
    """
    wanted = await defined(name, desk)
    first = await _uses(base_name(name), wanted, desk, 1, mentions=mentions)
    edges, done = list(first.edges), set(wanted)
    for hop in range(2, depth + 1):
        found = [e for e in edges if e.hop == hop - 1 and 1 <= len(e.called) <= _MOST_MEANT]
        ways = unique(e.use.within for e in found if e.use.within and not e.use.is_test)
        new = [d for d in ways if d.kind in _CALLABLE and d not in done][:_MOST_NEXT]
        done.update(new)
        for each in new:
            if len(edges) < _MOST_EDGES:
                target = _made_by(each, desk) or each
                further = await _uses(base_name(target.name), [target], desk, hop)
                edges += [e for e in further.edges if _is_further(e) and e.use.within not in done]
    edges.sort(key=lambda e: (e.use.is_test, e.use.is_import, e.hop, not e.is_sure, not e.called))
    return Callers(wanted, edges[:_MOST_EDGES], first.others, first.unopened)


def _is_further(edge: CallEdge) -> bool:
    """Whether an indirect use says something: all tests lead everywhere."""
    return bool(edge.called) and not edge.use.is_import and not edge.use.is_test


async def programs(name: str, desk: QuestionFiles) -> Sequence[Definition]:
    """What a program defines by a name; the last of a name in a file stands for its overloads."""
    found = await desk.definitions(name)
    found = [d for d in found if is_code(d.place.path) and not is_test(d.place.path)]
    found = [d for d in found if not is_import(d.signature)] or found
    return [*{(d.place.path, d.name): d for d in found}.values()]


async def opened(paths: Iterable[RelPath], desk: QuestionFiles) -> None:
    """Open these too, as far as there is room."""
    new = [path for path in unique(paths) if path not in desk.files]
    await desk.open(new[: max(0, MOST_OPENED - len(desk.files))])


async def heads_of(
    uses: Sequence[Use], name: str, named: Sequence[Definition], desk: QuestionFiles
) -> Mapping[str, str]:
    """How the classes that a call may be on begin, in any case: it says what they extend."""
    lines = (_line(use, desk.files) for use in uses)
    owners = {owner for line in lines for owner in objects_on(line, name)}
    heads: dict[str, str] = {}
    for owner in sorted(owners | {owner_of(d.name) for d in named}):
        classes = [d for d in await programs(owner, desk) if d.kind is DefinitionKind.CLASS]
        heads[owner] = " ".join(d.signature for d in classes)
    return heads


async def defined(name: str, desk: QuestionFiles) -> list[Definition]:
    """Where a name, as it is written, is defined now: by programs, or else by whatever there is."""
    found, base = await desk.definitions(name), base_name(name)
    found = [d for d in found if base_name(d.name) == base] or found
    whole = f".{name.replace('::', '.')}"
    found = [d for d in found if f".{_GENERIC.sub('', d.name)}".endswith(whole)] or found
    code = [d for d in found if is_code(d.place.path)] or found
    await opened((d.place.path for d in code), desk)
    files = desk.files
    there = [d for d in code if d.place.path in files and is_definition_of(files[d.place.path], d)]
    return [d for d in there if not is_import(d.signature)] or there


async def _uses(
    name: str,
    wanted: Sequence[Definition],
    desk: QuestionFiles,
    hop: int,
    *,
    mentions: Sequence[Place] = (),
) -> Callers:
    namesakes = await defined(name, desk)
    near = [d.place.path for d in wanted]
    places = unique([*await desk.references(name), *mentions])
    places = in_reading_order(places, near, namesakes)[:_MOST_MENTIONS]
    await opened((place.path for place in places), desk)
    files = dict(desk.files)
    uses = await run_sync(uses_of, name, places, files)
    heads = await heads_of(uses, name, namesakes, desk)
    # Two hundred uses take a quarter of a second, and nothing else may wait for them.
    found = await run_sync(lambda: [_edge(use, name, namesakes, heads, files) for use in uses])
    edges = [
        replace(e, hop=hop) for e in found if e is not None and _may_mean(e, wanted, namesakes)
    ]
    unopened = sum(place.path not in files for place in places)
    return Callers(wanted, edges, len(found) - len(edges), unopened)


def _edge(
    use: Use,
    name: str,
    named: Sequence[Definition],
    heads: Mapping[str, str],
    files: Mapping[RelPath, RankedFileText],
) -> CallEdge | None:
    """What a use may mean, if it can mean any of these or of what nobody knows."""
    if not named or use.is_import:
        return CallEdge(use, name, tuple(named), is_sure=not named)
    file, line = files[use.place.path], _line(use, files)
    named = [d for d in named if is_one_language(d.place.path, file.path)]
    if not named:
        return None
    if not [*objects_on(line, name)]:
        line = _as_called(line, name)
        if not any(objects_on(line, name)) and not _is_brought_in(name, file, named):
            return None
    whole = Place(file.path, 1, len(file.lines))
    caller = use.within or Definition("", DefinitionKind.FUNCTION, whole, "")
    found = tuple(meant_by(line, caller, file, named, heads))
    is_sure = len(found) == 1 and is_told(line, caller, file, named, heads)
    if not found and not is_open(line, name, file, named):
        return None
    return CallEdge(use, name, found, is_sure)


def _may_mean(edge: CallEdge, wanted: Collection[Definition], named: Sequence[Definition]) -> bool:
    if edge.called or not named:
        return not named or any(each in wanted for each in edge.called)
    # On an object of which nothing is known it may be any method, and no function.
    return any(owner_of(d.name) for d in wanted)


def _as_called(line: str, name: str) -> str:
    """The line as if it called what it hands on; a name that is given a value is no use."""
    given = r"(?!\s*(?:=(?!=)|:(?!:)))" if name[:1].islower() else ""
    return re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$]){given}", f"{name}(", line)


def _is_brought_in(name: str, file: RankedFileText, named: Sequence[Definition]) -> bool:
    """Whether a name on its own can be one of these, and not just a variable's."""
    if any(d.place.path == file.path for d in named) or name[:1].isupper() or is_compound(name):
        return True
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return any(name in line and is_import(line) and word.search(line) for line in file.lines)


def _made_by(definition: Definition, desk: QuestionFiles) -> Definition | None:
    """The class that a constructor makes."""
    if base_name(definition.name) not in _CONSTRUCTORS:
        return None
    file = desk.files[definition.place.path]
    owner = owner_of(definition.name)
    return next((d for d in file.outline if owner and base_name(d.name) == owner), None)


def _line(use: Use, files: Mapping[RelPath, RankedFileText]) -> str:
    return files[use.place.path].lines[use.place.start - 1]


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
    desk: QuestionFiles,
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
    name: str, defined: Sequence[Definition], evidence: Evidence, desk: QuestionFiles
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


# Of 42 everyday questions on how something happens 8 are answered in full with two functions of at
# most 20 lines that the first place calls, 7 with four or with longer ones, and 6 with none; of 190
# long ones half a point more of what they name is shown.
_MOST_CALLED, _SHORT = 2, 20
_WRAPPING = (DefinitionKind.FUNCTION, DefinitionKind.METHOD)


async def with_called(evidence: Evidence, desk: QuestionFiles) -> Evidence:
    """Put the short functions that the first place calls behind it, for they do what it does."""
    units = evidence.units
    owner = units[0].definition if units else None
    if owner is None or owner.kind not in _WRAPPING:
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


async def _only(name: str, caller: Definition, desk: QuestionFiles) -> Definition | None:
    """What a call means where there is one such function beside the caller, or else anywhere."""
    found = [d for d in await programs(name, desk) if d.kind in _WRAPPING]
    found = [d for d in found if d.place.path == caller.place.path] or found
    is_short = len(found) == 1 and found[0].place.end - found[0].place.start < _SHORT
    return found[0] if is_short else None


# A name with more definitions than this is no start and no end.
_MOST_ENDS = 5
# A call that may mean more than this leads everywhere, unless it ends at what is asked for.
_MOST_MEANT_BY_PATH = 5
# What is called in more places is no step.
_MOST_MENTIONS_BY_PATH = 60
# Bounds of the work: a way is short, and found within some 40 definitions, or there is none.
_MOST_LOOKED_AT = 150
# Two calls that mean one thing are better than one that may mean several.
_CERTAIN, _UNCERTAIN = 1, 3

Calls = Sequence[tuple[Definition, CallStep]]


async def way(start: str, end: str, desk: QuestionFiles) -> Sequence[CallStep]:
    """Each call on the best way with what it calls, in order; nothing where there is none.

    Both are names, and few definitions may carry them. The best way is a short one of calls that
    can mean one definition only.
    """
    starts, ends = [await _named(name, desk) for name in (start, end)]
    if not (1 <= len(starts) <= _MOST_ENDS and 1 <= len(ends) <= _MOST_ENDS):
        return []
    steps: dict[Definition, CallStep] = {}
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
            if _is_in(caller, called) or (step.among > _MOST_MEANT_BY_PATH and called not in ends):
                continue
            total = cost + (_CERTAIN if step.among == 1 else _UNCERTAIN)
            if total < costs.get(caller, total + 1):
                costs[caller], steps[caller] = total, step
                heapq.heappush(waiting, (total, next(order), caller))
    return []


async def _named(name: str, desk: QuestionFiles) -> Sequence[Definition]:
    """What a question means by a name: of the class or else the module that it names, if any."""
    found = await programs(base_name(name), desk)
    owner = name.rpartition(".")[0].rpartition(".")[2]
    free = [d for d in found if "." not in d.name]
    if not owner:
        return found if len(found) <= _MOST_ENDS else free
    exact = [d for d in found if f".{d.name.replace('.prototype.', '.')}".endswith(f".{name}")]
    module = [d for d in free if owner in d.place.path.text.partition(".")[0].split("/")]
    return exact or module or found


async def _calls(called: Definition, desk: QuestionFiles, known: dict[str, Calls]) -> Calls:
    """Who calls it and where, as the lines say now; programs only."""
    name, path = base_name(called.name), called.place.path
    await opened([path], desk)
    if path not in desk.files or not is_definition_of(desk.files[path], called):
        return []
    if name not in known:
        known[name] = await _calls_of(name, path, desk)
    return [(caller, step) for caller, step in known[name] if step.called == called]


async def _calls_of(name: str, first: RelPath, desk: QuestionFiles) -> Calls:
    """Every call by that name, with each definition that it may mean; one file is read first."""
    named, files = await programs(name, desk), desk.files
    homes = {definition.place.path for definition in named}
    mentions = [p for p in await desk.references(name) if not is_test(p.path)]
    mentions.sort(key=lambda p: (p.path != first, p.path not in files, p.path not in homes))
    await opened([place.path for place in mentions[:_MOST_MENTIONS_BY_PATH]], desk)
    there = [
        d for d in named if d.place.path not in files or is_definition_of(files[d.place.path], d)
    ]
    uses = uses_of(name, mentions[:_MOST_MENTIONS_BY_PATH], files)
    heads = await heads_of(uses, name, there, desk)
    found = []
    for use in uses:
        if use.within is not None:
            file = files[use.place.path]
            meant = meant_by(file.lines[use.place.start - 1], use.within, file, there, heads)
            found += [(use.within, CallStep(use, each, among)) for each, among in meant.items()]
    return found


def _followed(first: Definition, steps: Mapping[Definition, CallStep]) -> Sequence[CallStep]:
    found = []
    at = first
    while at in steps:
        found.append(steps[at])
        at = steps[at].called
    return found


def _is_in(inner: Definition, outer: Definition) -> bool:
    same_file = inner.place.path == outer.place.path
    return inner == outer or (same_file and inner.name.startswith(f"{outer.name}."))
