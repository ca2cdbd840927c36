"""Who uses a name, which of its definitions each use may mean, and who calls those in turn."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from anyio.to_thread import run_sync

from live_memory.core.evidence.natures import is_test
from live_memory.core.evidence.places import Definition, DefinitionKind, OpenedFile, Place
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.uses import (
    Use,
    in_reading_order,
    is_definition_of,
    is_import,
    uses_of,
)
from live_memory.core.evidence.words import base_name, is_compound, unique
from live_memory.core.tracing.calls import is_one_language, is_open, is_told, meant_by, objects_on
from live_memory.core.tracing.imports import owner_of
from live_memory.core.values import RelPath
from live_memory.flow.evidence.desk import Desk

__all__ = ["MOST_OPENED", "Callers", "Edge", "callers", "defined", "heads_of", "opened", "programs"]

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
class Edge:
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
    edges: Sequence[Edge]
    others: int
    unopened: int


async def callers(name: str, desk: Desk, *, depth: int, mentions: Sequence[Place] = ()) -> Callers:
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


def _is_further(edge: Edge) -> bool:
    """Whether an indirect use says something: all tests lead everywhere."""
    return bool(edge.called) and not edge.use.is_import and not edge.use.is_test


async def programs(name: str, desk: Desk) -> Sequence[Definition]:
    """What a program defines by a name; the last of a name in a file stands for its overloads."""
    found = await desk.definitions(name)
    found = [d for d in found if is_code(d.place.path) and not is_test(d.place.path)]
    found = [d for d in found if not is_import(d.signature)] or found
    return [*{(d.place.path, d.name): d for d in found}.values()]


async def opened(paths: Iterable[RelPath], desk: Desk) -> None:
    """Open these too, as far as there is room."""
    new = [path for path in unique(paths) if path not in desk.files]
    await desk.open(new[: max(0, MOST_OPENED - len(desk.files))])


async def heads_of(
    uses: Sequence[Use], name: str, named: Sequence[Definition], desk: Desk
) -> Mapping[str, str]:
    """How the classes that a call may be on begin, in any case: it says what they extend."""
    lines = (_line(use, desk.files) for use in uses)
    owners = {owner for line in lines for owner in objects_on(line, name)}
    heads: dict[str, str] = {}
    for owner in sorted(owners | {owner_of(d.name) for d in named}):
        classes = [d for d in await programs(owner, desk) if d.kind is DefinitionKind.CLASS]
        heads[owner] = " ".join(d.signature for d in classes)
    return heads


async def defined(name: str, desk: Desk) -> list[Definition]:
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
    desk: Desk,
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
    files: Mapping[RelPath, OpenedFile],
) -> Edge | None:
    """What a use may mean, if it can mean any of these or of what nobody knows."""
    if not named or use.is_import:
        return Edge(use, name, tuple(named), is_sure=not named)
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
    return Edge(use, name, found, is_sure)


def _may_mean(edge: Edge, wanted: Collection[Definition], named: Sequence[Definition]) -> bool:
    if edge.called or not named:
        return not named or any(each in wanted for each in edge.called)
    # On an object of which nothing is known it may be any method, and no function.
    return any(owner_of(d.name) for d in wanted)


def _as_called(line: str, name: str) -> str:
    """The line as if it called what it hands on; a name that is given a value is no use."""
    given = r"(?!\s*(?:=(?!=)|:(?!:)))" if name[:1].islower() else ""
    return re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$]){given}", f"{name}(", line)


def _is_brought_in(name: str, file: OpenedFile, named: Sequence[Definition]) -> bool:
    """Whether a name on its own can be one of these, and not just a variable's."""
    if any(d.place.path == file.path for d in named) or name[:1].isupper() or is_compound(name):
        return True
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    return any(name in line and is_import(line) and word.search(line) for line in file.lines)


def _made_by(definition: Definition, desk: Desk) -> Definition | None:
    """The class that a constructor makes."""
    if base_name(definition.name) not in _CONSTRUCTORS:
        return None
    file = desk.files[definition.place.path]
    owner = owner_of(definition.name)
    return next((d for d in file.outline if owner and base_name(d.name) == owner), None)


def _line(use: Use, files: Mapping[RelPath, OpenedFile]) -> str:
    return files[use.place.path].lines[use.place.start - 1]
