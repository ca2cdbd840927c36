"""Runs the companion's tool calls on sandbox and index, within a budget of bytes.

Whatever a model calls, the outcome is text for the model; there is nothing here that writes.
Stretches of files that it showed are reported, so that memory has them in view from now on.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import anyio

from live_memory.core.companion.chat import ToolCall, ToolResult
from live_memory.core.companion.rendering import name_of_file, one_line
from live_memory.core.companion.tools import BadCall, ToolRequest, parse
from live_memory.core.errors import LiveMemoryError
from live_memory.core.evidence.places import OpenedFile, Place
from live_memory.core.memory.events import EntryNumber, FileObserved
from live_memory.core.reading.inert import visible
from live_memory.core.reading.lookup import (
    ChangedFiles,
    Commit,
    CommitSearch,
    History,
    LogQuery,
    NamePattern,
)
from live_memory.core.values import Origin, RelPath
from live_memory.flow.companion.looking import Looking
from live_memory.flow.companion.symbols import Symbols
from live_memory.flow.evidence.desk import Shelf
from live_memory.flow.reader import Reader
from live_memory.ports import Clock, EvidenceIndex

__all__ = ["Seen", "Toolbox"]

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

    shelf: Shelf
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

    def _note(self, since: EntryNumber, file: OpenedFile, place: Place) -> None:
        total, now = len(file.lines), self.clock.now()
        shown = FileObserved(file.path, file.sha, place.start, place.end, total, Origin.TOOL, now)
        self.seen.append(Seen(shown, since))

    async def _glob(self, request: ToolRequest) -> str:
        limit = request.number("limit")
        pattern = NamePattern(request.text("pattern"), limit + 1)
        return _paths(await self.shelf.reader.sandbox.find(pattern), limit)

    async def _find_paths(self, request: ToolRequest) -> str:
        words = request.text("words").lower().split()
        listing = await self.shelf.reader.sandbox.list()
        hits = [f.path for f in listing.files if all(w in f.path.text.lower() for w in words)]
        return _paths(hits, request.number("limit"))

    async def _changed(self, request: ToolRequest) -> str:
        history = await self.shelf.reader.sandbox.history(ChangedFiles(request.text("since")))
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
        return _commits(await self.shelf.reader.sandbox.history(query), self.shelf.reader)


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
