"""What `Read` and `Grep` show of files: lines under their place, each behind its number."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from live_memory.core.companion.rendering import excerpt, name_of_file, numbered, one_line
from live_memory.core.companion.tools import ToolRequest
from live_memory.core.errors import InvalidRequest
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.places import OpenedFile, Place
from live_memory.core.evidence.uses import is_definition_of
from live_memory.core.reading.lookup import Match, Matches, TextPattern
from live_memory.core.reading.observation import Observation, Skipped
from live_memory.core.values import RelPath
from live_memory.flow.evidence.desk import Desk, Shelf
from live_memory.ports import EvidenceIndex

__all__ = ["Looking", "as_word"]

# What is read of a file beyond the head that is known, when lines there are asked for.
_LARGEST = 4 * 1024 * 1024
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(frozen=True, slots=True)
class Looking:
    """Opens what the tools show; stretches that were asked for are `noted`."""

    shelf: Shelf
    index: EvidenceIndex
    noted: Callable[[OpenedFile, Place], None]

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
            found = await self.shelf.reader.sandbox.search(pattern)
        except InvalidRequest as problem:
            pattern = replace(pattern, regex=_literal(pattern.regex))
            found = await self.shelf.reader.sandbox.search(pattern)
            said = f"({problem}; looked for the text itself)\n"
        if not found.matches and not pattern.ignore_case:
            found = await self.shelf.reader.sandbox.search(replace(pattern, ignore_case=True))
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
        self, path: RelPath, matches: Sequence[Match], file: OpenedFile | None, context: int
    ) -> str:
        text, count = "", 0
        if file is not None:
            lines = [match.line for match in matches if match.line <= len(file.lines)]
            text, count = _hits(file, lines, context), len(lines)
        for match in matches[count:]:  # in what is not opened, as a generated file
            text += f"{name_of_file(path)}:{match.line}\n"
            text += numbered([self.redacted(match.text)], start=match.line)
        return text

    async def _file(self, name: str, last: int) -> OpenedFile | Skipped:
        """A file as it is now, with its lines up to `last` where it has them."""
        seen: Observation | Skipped = await self._observed(name, None)
        if isinstance(seen, Observation) and seen.is_clipped and last > len(seen.lines):
            seen = await self._observed(name, _LARGEST)
        if isinstance(seen, Skipped):
            return seen
        outline = await self.index.outline(seen.path)
        file = OpenedFile(seen.path, seen.sha, seen.lines, outline, seen.is_clipped)
        there = tuple(d for d in outline if is_definition_of(file, d))
        return OpenedFile(seen.path, seen.sha, seen.lines, there, seen.is_clipped)

    async def _observed(self, name: str, max_bytes: int | None) -> Observation | Skipped:
        reader = self.shelf.reader
        (seen,) = await reader.observed(await reader.bytes_of([name], max_bytes=max_bytes))
        return seen

    async def _opened(self, last: Mapping[RelPath, int]) -> Mapping[RelPath, OpenedFile]:
        """Files as they are now, with their lines up to `last`."""
        files = dict(await Desk(self.shelf, self.index).current(last))
        short = [p for p, f in files.items() if f.is_clipped and last[p] > len(f.lines)]
        whole = [await self._file(path.text, last[path]) for path in short]
        return files | {file.path: file for file in whole if isinstance(file, OpenedFile)}

    def redacted(self, text: str) -> str:
        """A text on one line and without secrets."""
        return one_line(self.shelf.reader.redacted(text))


def as_word(name: str, *, limit: int) -> TextPattern:
    """Lines that hold a name as a word of its own."""
    return TextPattern(rf"(?:^|\W){_literal(name)}(?:\W|$)", limit=limit)


def _literal(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _hits(file: OpenedFile, hits: Sequence[int], context: int) -> str:
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
