"""Runs the companion's tool calls on sandbox and index, within a budget of bytes.

Whatever a model calls, the outcome is text for the model; there is nothing here that writes.
Stretches of files that it showed are reported, so that memory has them in view from now on.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby

import anyio

from live_memory.core.companion.chat import ToolCall, ToolResult
from live_memory.core.companion.prompt import excerpt, name_of_file, numbered, one_line
from live_memory.core.companion.tools import BadCall, ToolRequest, parse
from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.core.evidence.docs import silent_lines
from live_memory.core.evidence.file_kinds import is_test
from live_memory.core.evidence.outline import enclosing, head_end
from live_memory.core.evidence.places import Definition, DefinitionKind, Place, RankedFileText
from live_memory.core.evidence.uses import is_definition_of
from live_memory.core.evidence.words import base_name
from live_memory.core.memory.window import EntryNumber, FileObserved
from live_memory.core.reading.lookup import (
    ChangedFiles,
    Commit,
    CommitSearch,
    History,
    LogQuery,
    Match,
    Matches,
    NamePattern,
    TextPattern,
)
from live_memory.core.reading.observation import Observation, Skipped, visible
from live_memory.core.values import Origin, RelPath
from live_memory.flow.find_uses import CallEdge, callers_of, defined
from live_memory.flow.reader import FileCache, QuestionFiles, Reader
from live_memory.ports import Clock, EvidenceIndex

__all__ = ["Seen", "Toolbox"]

# What is read of a file beyond the head that is known, when lines there are asked for.
_LARGEST = 4 * 1024 * 1024
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(frozen=True, slots=True)
class Looking:
    """Opens what the tools show; stretches that were asked for are `noted`."""

    shelf: FileCache
    index: EvidenceIndex
    noted: Callable[[RankedFileText, Place], None]

    async def read(self, request: ToolRequest) -> str:
        """Lines of one file."""
        first, count = request.number("first_line"), request.number("lines")
        file = await self._file(request.text("path"), first + count - 1)
        if isinstance(file, Skipped):
            return f"{self.redacted(file.name)}: {file.reason}\n"
        total = len(file.lines)
        if first > total:
            return f"{name_of_file(file.path)}: has {total} lines\n"
        last = min(total, first + count - 1)
        self.noted(file, Place(file.path, first, last))
        around = enclosing(file.outline, first)
        about = around.name if around and around.place.start < first else ""
        text = excerpt(file.path, file.lines, range(first, last + 1), about=about, until=total)
        return text + ("(the file goes on: only its head can be read)\n" if file.is_clipped else "")

    async def grep(self, request: ToolRequest) -> str:
        """Lines that match, with lines around, by the definition that they stand in."""
        pattern = TextPattern(
            request.text("pattern"),
            under=request.text("path"),
            glob=request.text("glob") or None,
            ignore_case=bool(request.values["ignore_case"]),
            limit=request.number("limit"),
        )
        said = ""
        try:
            found = await self.shelf.sandbox.search(pattern)
        except InvalidRequest as problem:
            pattern = replace(pattern, regex=_literal(pattern.regex))
            found = await self.shelf.sandbox.search(pattern)
            said = f"({problem}; looked for the text itself)\n"
        if not found.matches and not pattern.ignore_case:
            found = await self.shelf.sandbox.search(replace(pattern, ignore_case=True))
            said += "(nothing as it is written; in upper or lower case:)\n" * bool(found.matches)
        return said + await self.matches(found, context=request.number("context"))

    async def matches(self, found: Matches, *, context: int) -> str:
        """Lines that were found, with lines around, by the definition that they stand in."""
        last: dict[RelPath, int] = {}
        for match in found.matches:
            last[match.path] = match.line + context
        files = await self._opened(last)
        text = ""
        for path, matches in groupby(found.matches, key=lambda match: match.path):
            text += self._matches_in(path, list(matches), files.get(path), context)
        more = ", more exist" if found.is_cut else ""
        return f"{text}({len(found.matches)} lines{more})\n"

    def _matches_in(
        self, path: RelPath, matches: Sequence[Match], file: RankedFileText | None, context: int
    ) -> str:
        text, count = "", 0
        if file is not None:
            lines = [match.line for match in matches if match.line <= len(file.lines)]
            text, count = _hits(file, lines, context), len(lines)
        for match in matches[count:]:  # in what is not opened, as a generated file
            text += f"{name_of_file(path)}:{match.line}\n"
            text += numbered([self.redacted(match.text)], start=match.line)
        return text

    async def _file(self, name: str, last: int) -> RankedFileText | Skipped:
        """A file as it is now, with its lines up to `last` where it has them."""
        seen: Observation | Skipped = await self._observed(name, None)
        if isinstance(seen, Observation) and seen.is_clipped and last > len(seen.lines):
            seen = await self._observed(name, _LARGEST)
        if isinstance(seen, Skipped):
            return seen
        outline = await self.index.outline(seen.path)
        file = RankedFileText(seen.path, seen.sha, seen.lines, outline, seen.is_clipped)
        there = tuple(d for d in outline if is_definition_of(file, d))
        return RankedFileText(seen.path, seen.sha, seen.lines, there, seen.is_clipped)

    async def _observed(self, name: str, max_bytes: int | None) -> Observation | Skipped:
        reader = self.shelf.reader
        (seen,) = await reader.observed(await reader.bytes_of([name], max_bytes=max_bytes))
        return seen

    async def _opened(self, last: Mapping[RelPath, int]) -> Mapping[RelPath, RankedFileText]:
        """Files as they are now, with their lines up to `last`."""
        files = dict(await QuestionFiles(self.shelf, self.index).current(last))
        short = [p for p, f in files.items() if f.is_clipped and last[p] > len(f.lines)]
        whole = [await self._file(path.text, last[path]) for path in short]
        return files | {file.path: file for file in whole if isinstance(file, RankedFileText)}

    def redacted(self, text: str) -> str:
        """A text on one line and without secrets."""
        return one_line(self.shelf.reader.redacted(text))


def as_word(name: str, *, limit: int) -> TextPattern:
    """Lines that hold a name as a word of its own."""
    return TextPattern(rf"(?:^|\W){_literal(name)}(?:\W|$)", limit=limit)


def _literal(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _hits(file: RankedFileText, hits: Sequence[int], context: int) -> str:
    """Lines with those around, each once, by the definition that the hits stand in."""
    taken: set[int] = set()
    text = ""
    for within, group in groupby(hits, key=lambda line: enclosing(file.outline, line)):
        lines = list(group)
        near = {n for line in lines for n in range(line - context, line + context + 1)}
        near = (near - set(hits) - taken) | set(lines)
        taken |= near
        text += excerpt(file.path, file.lines, near, about=within.name if within else "")
    return text


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
        desk = QuestionFiles(self.looking.shelf, self.looking.index)
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
        return text + _end_of_body(
            len(found), "definitions", shown=min(len(found), _MOST_DEFINITIONS)
        )

    async def who_calls(self, request: ToolRequest) -> str:
        """Uses of a name and what they may mean, and who calls those that use it."""
        name, depth = request.text("name"), request.number("depth")
        desk = QuestionFiles(self.looking.shelf, self.looking.index)
        found = await self.looking.shelf.sandbox.search(
            as_word(base_name(name), limit=_MOST_SEARCHED)
        )
        mentions = [Place(m.path, m.line, m.line) for m in found.matches]
        known = await callers_of(name, desk, depth=depth, mentions=mentions)
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
            + _end_of_body(len(known.edges), "uses", shown=len(shown), notes=notes)
        )

    async def _mentions(self, name: str) -> str:
        found = await self.looking.shelf.sandbox.search(as_word(name, limit=_MOST_MENTIONS))
        lines = await self.looking.matches(found, context=1)
        return self._unknown(name) + lines

    def _unknown(self, name: str) -> str:
        return f"(no definition of {self.looking.redacted(name)} is known; lines that hold it:)\n"


def _body(definition: Definition, file: RankedFileText, *, most: int) -> list[int]:
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
    edges: Sequence[CallEdge], wanted: Sequence[Definition]
) -> Sequence[tuple[RelPath, str, Collection[int]]]:
    """Uses by caller, with as many lines of direct callers around them as there is room for."""
    for around in _AROUND:
        found = _by_caller(edges, wanted, around)
        if sum(len(lines) for _, _, lines in found) <= _MOST_AROUND:
            break
    return found


def _by_caller(
    edges: Sequence[CallEdge], wanted: Sequence[Definition], around: int
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


def _relation(edge: CallEdge, wanted: Sequence[Definition]) -> str:
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


def _end_of_body(count: int, what: str, *, shown: int, notes: Sequence[str] = ()) -> str:
    more = [f"{count - shown} more exist"] if count > shown else []
    return f"({', '.join([f'{shown} {what}', *more, *notes])})\n"


# One result, and all results of one question: a question may read about ten files whole.
_ONE_RESULT, _ALL_RESULTS = 30_000, 200_000
# Calls of one turn that are run; more in one reply is a loop, not a plan.
_CALLS_A_TURN = 16

_Run = Callable[[ToolRequest], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a tool read; entries from `since` on were made after it was."""

    event: FileObserved
    since: EntryNumber


@dataclass(slots=True)
class Toolbox:
    """The tools for one question; it counts what they gave and keeps what was seen."""

    shelf: FileCache
    index: EvidenceIndex
    clock: Clock
    moment: Callable[[], EntryNumber]
    calls: int = 0
    characters: int = 0
    seen: list[Seen] = field(default_factory=list)
    _past: dict[tuple[str, str], int] = field(default_factory=dict)

    async def run(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Run the calls of one turn side by side; results are in their order."""
        results: list[ToolResult | None] = [None] * len(calls)

        async def one(n: int, call: ToolCall) -> None:
            results[n] = await self._one(call)

        async with anyio.create_task_group() as tasks:
            for n, call in enumerate(calls[:_CALLS_A_TURN]):
                tasks.start_soon(one, n, call)
        left_out = f"not run: at most {_CALLS_A_TURN} calls in one turn"
        return tuple(
            result or ToolResult(call.id, left_out, is_error=True)
            for call, result in zip(calls, results, strict=True)
        )

    async def _one(self, call: ToolCall) -> ToolResult:
        request = parse(call)
        if isinstance(request, BadCall):
            return ToolResult(call.id, visible(request.text), is_error=True)
        again = self._past.get((call.name, call.arguments), 0)
        self._past[call.name, call.arguments] = again + 1
        if again:
            return ToolResult(call.id, "you have this result already; look above", is_error=True)
        if self.characters >= _ALL_RESULTS:
            return ToolResult(call.id, "nothing more can be read: conclude now", is_error=True)
        self.calls += 1
        try:
            text = await self._tools()[request.name](request)
        except LiveMemoryError as problem:
            return ToolResult(call.id, visible(str(problem)), is_error=True)
        limit = min(_ONE_RESULT, _ALL_RESULTS - self.characters)
        if len(text) > limit:
            text = f"{text[:limit]}\n(cut here: {len(text)} characters in all; ask for less)\n"
        self.characters += len(text)
        return ToolResult(call.id, text)

    def _tools(self) -> dict[str, _Run]:
        looking = Looking(
            self.shelf,
            self.index,
            noted=partial(self._note, self.moment()),
        )
        symbols = Symbols(looking)
        return {
            "Read": looking.read,
            "Grep": looking.grep,
            "Glob": self._glob,
            "find_paths": self._find_paths,
            "get_changed_files": self._changed,
            "git_search": self._git_search,
            "find_symbol": symbols.find_symbol,
            "who_calls": symbols.who_calls,
        }

    def _note(self, since: EntryNumber, file: RankedFileText, place: Place) -> None:
        total, now = len(file.lines), self.clock.now()
        shown = FileObserved(file.path, file.sha, place.start, place.end, total, Origin.TOOL, now)
        self.seen.append(Seen(shown, since))

    async def _glob(self, request: ToolRequest) -> str:
        limit = request.number("limit")
        pattern = NamePattern(request.text("pattern"), limit + 1)
        return _paths(await self.shelf.sandbox.find(pattern), limit)

    async def _find_paths(self, request: ToolRequest) -> str:
        words = request.text("words").lower().split()
        listing = await self.shelf.sandbox.list()
        hits = [f.path for f in listing.files if all(w in f.path.text.lower() for w in words)]
        return _paths(hits, request.number("limit"))

    async def _changed(self, request: ToolRequest) -> str:
        history = await self.shelf.sandbox.history(ChangedFiles(request.text("since")))
        lines = "".join(f"{status} {one_line(name)}\n" for status, name in history.changed)
        return (
            (history.problem or "")
            + lines
            + _end(len(history.changed), "files", is_cut=history.is_cut)
        )

    async def _git_search(self, request: ToolRequest) -> str:
        text, path = request.text("text"), request.text("path") or None
        limit = request.number("limit")
        query = CommitSearch(text, path, limit) if text else LogQuery(path, limit)
        return _commits(await self.shelf.sandbox.history(query), self.shelf.reader)


def _commits(history: History, reader: Reader) -> str:
    lines = "".join(_commit(c, reader, is_end=c.id in history.ends) for c in history.commits)
    end = _end(len(history.commits), "commits", is_cut=history.is_cut)
    if history.is_shallow:
        end += (
            "(a shallow clone: older commits are not here, so no origin can be told from these)\n"
        )
    return (f"{history.problem}\n" if history.problem else "") + lines + end


def _commit(commit: Commit, reader: Reader, *, is_end: bool) -> str:
    subject = one_line(reader.redacted(commit.subject))
    if is_end:
        return f"{commit.id[:12]} {subject} (the shallow history ends here: its lines are older)\n"
    return f"{commit.id[:12]} {subject}\n" + "".join(
        f"    {one_line(name)}\n" for name in commit.files[:20]
    )


def _paths(paths: Sequence[RelPath], limit: int) -> str:
    lines = "".join(f"{name_of_file(path)}\n" for path in paths[:limit])
    return lines + _end(min(len(paths), limit), "files", is_cut=len(paths) > limit)


def _end(count: int, what: str, *, is_cut: bool = False) -> str:
    return f"({count} {what}{', more exist' if is_cut else ''})\n"
