"""What `find_symbol` and `who_calls` show: definitions with their body, uses with their meaning."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from live_memory.core.companion.rendering import excerpt
from live_memory.core.companion.tools import ToolRequest
from live_memory.core.evidence.docs import silent_lines
from live_memory.core.evidence.natures import is_test
from live_memory.core.evidence.outline import head_end
from live_memory.core.evidence.places import Definition, DefinitionKind, OpenedFile, Place
from live_memory.core.evidence.words import base_name
from live_memory.core.values import RelPath
from live_memory.flow.companion.looking import Looking, as_word
from live_memory.flow.evidence.calling import Edge, callers, defined
from live_memory.flow.evidence.desk import Desk

__all__ = ["Symbols"]

# A definition of so many lines is shown whole, and so many of a longer one.
_WHOLE = 80
# What all definitions of a name may take; those beyond show their first line.
_MOST_LINES, _MOST_DEFINITIONS = 240, 20
_MOST_USES, _MOST_TESTS, _MOST_NAMED = 60, 12, 2
# Lines around the uses: as many as fit, a short caller whole.
_AROUND, _MOST_AROUND = (12, 6, 3, 1, 0), 120
# What the index leaves out: a plain word that is handed on, a line beyond the head of a file.
_MOST_SEARCHED = 200
# Lines that hold a name which nothing is known to define.
_MOST_MENTIONS = 20
_ABOVE = re.compile(r"\s*(?:@|#|//|/\*|\*|--|;;|\[[A-Z]\w*)")
_MOST_ABOVE = 20


@dataclass(frozen=True, slots=True)
class Symbols:
    """The tools that know names."""

    looking: Looking

    async def find_symbol(self, request: ToolRequest) -> str:
        """Definitions of a name, whole where they are short; more of one that is the only one."""
        name = request.text("name")
        desk = Desk(self.looking.shelf, self.looking.index)
        found = await defined(name, desk)
        if not found:
            return await self._mentions(name)
        base = base_name(name)
        found.sort(key=lambda d: (is_test(d.place.path), d.name not in (name, base)))
        text, room = "", _MOST_LINES
        for definition in found[:_MOST_DEFINITIONS]:
            file, end = desk.files[definition.place.path], definition.place.end
            numbers = _body(definition, file, most=room if len(found) == 1 else _WHOLE)
            if len(numbers) > room:
                numbers = [definition.place.start]
            room -= len(numbers)
            text += excerpt(file.path, file.lines, numbers, about=definition.name, until=end)
            self.looking.noted(file, Place(file.path, numbers[0], numbers[-1]))
        return text + _end(len(found), "definitions", shown=min(len(found), _MOST_DEFINITIONS))

    async def who_calls(self, request: ToolRequest) -> str:
        """Uses of a name and what they may mean, and who calls those that use it."""
        name, depth = request.text("name"), request.number("depth")
        desk = Desk(self.looking.shelf, self.looking.index)
        found = await self.looking.shelf.reader.sandbox.search(
            as_word(base_name(name), limit=_MOST_SEARCHED)
        )
        mentions = [Place(m.path, m.line, m.line) for m in found.matches]
        known = await callers(name, desk, depth=depth, mentions=mentions)
        tests = [edge for edge in known.edges if edge.use.is_test]
        rest = [edge for edge in known.edges if not edge.use.is_test]
        shown = [*rest[:_MOST_USES], *tests[:_MOST_TESTS]]
        text = "".join(
            excerpt(path, desk.files[path].lines, lines, about=about)
            for path, about, lines in _with_context(shown, known.defined)
        )
        notes = [f"{known.others} lines mean something else"] if known.others else []
        notes += [f"{known.unopened} more were not looked at"] if known.unopened else []
        return (
            ("" if known.defined else self._unknown(name))
            + text
            + _end(len(known.edges), "uses", shown=len(shown), notes=notes)
        )

    async def _mentions(self, name: str) -> str:
        found = await self.looking.shelf.reader.sandbox.search(as_word(name, limit=_MOST_MENTIONS))
        lines = await self.looking.matches(found, context=1)
        return self._unknown(name) + lines

    def _unknown(self, name: str) -> str:
        return f"(no definition of {self.looking.redacted(name)} is known; lines that hold it:)\n"


def _body(definition: Definition, file: OpenedFile, *, most: int) -> list[int]:
    """The lines of a definition with what is written above it, so many at most.

    Of a long class the heads of its members, of any other long one the lines that do something.
    """
    start, end = definition.place.start, definition.place.end
    above = start
    while above > max(1, start - _MOST_ABOVE) and _ABOVE.match(file.lines[above - 2]):
        above -= 1
    if end - above < most:
        return list(range(above, end + 1))
    own = definition.name.count(".") + 1
    inner = [d for d in file.outline if start < d.place.start <= end and d.name.count(".") == own]
    if definition.kind is DefinitionKind.CLASS and inner:
        opening = range(above, min(inner[0].place.start, above + most // 2))
        heads = (range(d.place.start, head_end(file.lines, d.place.start - 1) + 1) for d in inner)
        return sorted({*opening, *chain(*heads)})[:most]
    silent = silent_lines(file.lines, start, end)
    return [n for n in range(above, end + 1) if n not in silent][:most]


def _with_context(
    edges: Sequence[Edge], wanted: Sequence[Definition]
) -> Sequence[tuple[RelPath, str, Collection[int]]]:
    """Uses by caller, with as many lines of direct callers around them as there is room for."""
    for around in _AROUND:
        found = _by_caller(edges, wanted, around)
        if sum(len(lines) for _, _, lines in found) <= _MOST_AROUND:
            break
    return found


def _by_caller(
    edges: Sequence[Edge], wanted: Sequence[Definition], around: int
) -> Sequence[tuple[RelPath, str, Collection[int]]]:
    """Uses in one definition that mean the same stand together."""
    groups: dict[tuple[RelPath, str, int], set[int]] = {}
    shown = {(edge.use.place.path, edge.use.place.start) for edge in edges}
    for edge in edges:
        place, within = edge.use.place, edge.use.within
        about = f"{within.name if within else ''} {_relation(edge, wanted)}".strip()
        is_telling = within and edge.hop == 1 and not edge.use.is_test
        near = range(place.start - around, place.start + around + 1) if is_telling else ()
        own = {n for n in near if within and within.place.start <= n <= within.place.end}
        new = {n for n in own if (place.path, n) not in shown}
        shown.update((place.path, n) for n in new)
        key = (place.path, about, 0 if within else place.start)
        groups.setdefault(key, set()).update(new, {place.start})
    return [(path, about, lines) for (path, about, _), lines in groups.items()]


def _relation(edge: Edge, wanted: Sequence[Definition]) -> str:
    """What a use leads to: a name, with its place where several have it."""
    if edge.use.is_import:
        return "(import)"
    is_one = len(wanted) == 1 and len(edge.called) == 1
    names = [
        d.name if is_one else f"{d.name} at {d.place.path}:{d.place.start}"
        for d in edge.called[:_MOST_NAMED]
    ] or [edge.name]
    more = len(edge.called) - _MOST_NAMED
    names += [f"{more} more"] if more > 0 else []
    return ("-> " if edge.is_sure else "-> maybe ") + " or ".join(names)


def _end(count: int, what: str, *, shown: int, notes: Sequence[str] = ()) -> str:
    more = [f"{count - shown} more exist"] if count > shown else []
    return f"({', '.join([f'{shown} {what}', *more, *notes])})\n"
