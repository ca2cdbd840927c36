"""Searching lines: ripgrep, where there is one, names the files worth opening; we decide.

Every file is opened by the one opener and every line is matched by the same child program, with
or without ripgrep, so both give the same result and a file swapped for a link gives nothing. What
is matched is the redacted text of the whole file: a secret cannot be found out by asking for it.
"""

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from anyio import move_on_after, to_thread

from live_memory.adapters.sandbox import matcher
from live_memory.adapters.sandbox.dialect import Expression
from live_memory.adapters.sandbox.runner import Command, Programs, Ran, Runner
from live_memory.core.errors import InvalidRequest, Unavailable
from live_memory.core.looking.spotting import Mentions
from live_memory.core.reading.lookup import LARGEST_SEARCHED, Match, Matches
from live_memory.core.reading.names import SEARCHED, refusal_of_name
from live_memory.core.reading.observation import FileRead, ListedFile, Skipped
from live_memory.core.reading.redaction import Redactor
from live_memory.core.reading.text import decode, lines_of
from live_memory.core.values import RelPath

__all__ = ["SearchedText", "Searcher", "counted", "searchable", "texts_of"]

# A caller waits at most 5 s for a search; what is not searched by then is cut.
_SEARCH_S, _NARROW_S, _MATCH_S = 3.0, 2.0, 2.0
# A question on a workspace that is not known yet is answered within 5 s, also of 100,000 files.
_MENTIONS_S = 2.5
# Linux allows 2 MiB of arguments and environment, macOS 1 MiB.
_ARGUMENT_BYTES = 512 * 1024
# Every name once, or some matches in each of many files.
_MOST_OUTPUT = 8 * _ARGUMENT_BYTES
# Enough text for the limit in most searches, little enough to redact: a batch takes 0.2 s.
_BATCH_BYTES, _BATCH_FILES, _READ_AT_ONCE = 2 * 1024 * 1024, 512, 64
# A row of the matcher's reply: JSON writes a character in at most 12 bytes.
_LONGEST_ROW = 12 * matcher.LONGEST_EXCERPT + 64

Read = Callable[[Sequence[str], int], Awaitable[Sequence[FileRead | Skipped]]]


@dataclass(frozen=True, slots=True)
class SearchedText:
    """A file's redacted lines, each ended by LF, as UTF-8."""

    path: RelPath
    data: bytes


def searchable(
    files: Iterable[ListedFile],
    *,
    below: RelPath | None = None,
    is_named: Callable[[RelPath], bool] | None = None,
) -> list[RelPath]:
    """The files that may be searched by name and size, below a folder and named as asked."""
    prefix = f"{below}/" if below is not None else ""
    return [
        listed.path
        for listed in files
        if listed.path.text.startswith(prefix)
        and (is_named is None or is_named(listed.path))
        and listed.signature.size <= LARGEST_SEARCHED
        and refusal_of_name(listed.path) is None
    ]


class Searcher:
    """Finds lines in named files of one workspace."""

    def __init__(
        self, root: str, runner: Runner, programs: Programs, *, read: Read, redactor: Redactor
    ) -> None:
        self._root, self._runner, self._programs, self._read = root, runner, programs, read
        self._redactor = redactor

    async def search(
        self, names: Sequence[RelPath], expression: Expression, *, limit: int
    ) -> Matches:
        """Matching lines of these files, which are in path order.

        Raises:
            InvalidRequest: the expression takes too long to match.
            Unavailable: no program can be started.
        """
        ends_at = time.monotonic() + _SEARCH_S
        names = await self._narrowed(names, expression)
        matches: list[Match] = []
        waiting = list(reversed(names))
        while waiting:
            texts = await self._batch(waiting)
            if not texts:
                continue
            matches += await self._matched(texts, expression, limit=limit + 1 - len(matches))
            if len(matches) > limit or (waiting and time.monotonic() > ends_at):
                return Matches(tuple(matches[:limit]), is_cut=True)
        return Matches(tuple(matches))

    async def mentions(self, texts: Sequence[str], names: Sequence[RelPath]) -> Mentions:
        """How often each of these files holds each of these texts, as ripgrep finds them."""
        if self._programs.rg is None or not texts or not names:
            return Mentions({}, is_cut=self._programs.rg is None and bool(names))
        counts: dict[RelPath, Counter[str]] = {}
        is_cut = True
        with move_on_after(_MENTIONS_S):
            # One after the other: ripgrep uses all processors itself, and a program that starts
            # while others compute holds up this process until it has a processor.
            failed = 0
            for batch in _by_argument_size(names):
                ran = await self._counting(batch, texts)
                counts.update(await to_thread.run_sync(counted, ran.out, texts))
                failed += ran.code not in (0, 1)
            is_cut = failed > 0
        return Mentions(counts, is_cut=is_cut)

    async def _counting(self, names: Sequence[RelPath], texts: Sequence[str]) -> Ran:
        options = ("--no-config", "--no-messages", "--color=never", "--only-matching", "--heading")
        reading = (
            "--null",
            "--text",
            "--no-ignore",
            "--hidden",
            "--ignore-case",
            "--no-line-number",
        )
        # Of texts that begin alike the first is found.
        longest_first = sorted(texts, key=len, reverse=True)
        patterns = (f"--regexp={text}" for text in longest_first)
        return await self._started((*options, *reading, "--fixed-strings", *patterns), names)

    async def _narrowed(
        self, names: Sequence[RelPath], expression: Expression
    ) -> Sequence[RelPath]:
        """The files that may hold a match; all of them when ripgrep cannot say."""
        if self._programs.rg is None or len(names) < 2:
            return names
        kept: list[RelPath] = []
        ends_at = time.monotonic() + _NARROW_S
        for batch in _by_argument_size(names):
            is_late = time.monotonic() > ends_at
            ran = None if is_late else await self._ripgrep(batch, expression)
            # 0: matches, 1: none. Anything else, also a file it could not open: look ourselves.
            if ran is None or ran.code not in (0, 1):
                kept += batch
            else:
                found = frozenset(ran.out.split(b"\0"))
                kept += [name for name in batch if _argument(name) in found]
        return kept

    async def _ripgrep(self, names: Sequence[RelPath], expression: Expression) -> Ran:
        options = ("--no-config", "--no-messages", "--color=never", "--files-with-matches")
        reading = ("--null", "--text", "--no-ignore", "--hidden", "--case-sensitive")
        pattern = ("-e", expression.bytes_superset)
        return await self._started((*options, *reading, *pattern), names)

    async def _started(self, options: Sequence[str], names: Sequence[RelPath]) -> Ran:
        assert self._programs.rg is not None
        return await self._runner.run(
            Command(
                (self._programs.rg, *options, "--", *(f"./{name}" for name in names)),
                cwd=self._root,
                env={"LANG": "C.UTF-8", "HOME": "/nonexistent"},
                timeout_s=_NARROW_S,
                max_output=_MOST_OUTPUT,
            )
        )

    async def _batch(self, waiting: list[RelPath]) -> list[SearchedText]:
        """Take names from the end of `waiting` until there is enough text to match."""
        batch: list[SearchedText] = []
        size = 0
        while waiting and size < _BATCH_BYTES and len(batch) < _BATCH_FILES:
            some = [waiting.pop().text for _ in range(min(_READ_AT_ONCE, len(waiting)))]
            reads = await self._read(some, LARGEST_SEARCHED)
            texts = await to_thread.run_sync(texts_of, reads, self._redactor)
            batch += texts
            size += sum(len(text.data) for text in texts)
        return batch

    async def _matched(
        self, texts: Sequence[SearchedText], expression: Expression, *, limit: int
    ) -> list[Match]:
        header = {
            "pattern": expression.python,
            "ignore_case": expression.ignore_case,
            "limit": limit,
            "sizes": [len(text.data) for text in texts],
        }
        ran = await self._runner.run(
            Command(
                (self._programs.python, "-I", "-S", "-B", matcher.__file__),
                cwd="/",
                stdin=b"\n".join((json.dumps(header).encode(), b"".join(t.data for t in texts))),
                timeout_s=_MATCH_S,
                max_output=(limit + 1) * _LONGEST_ROW,
            )
        )
        if ran.is_late or (ran.code or 0) < 0:
            raise InvalidRequest("the expression takes too long to match: make it more specific")
        if not ran.is_fine:
            raise Unavailable("the program that searches did not run: try again")
        return [
            Match(texts[number].path, line, excerpt)
            for number, line, excerpt in json.loads(ran.out)
        ]


def texts_of(reads: Sequence[FileRead | Skipped], redactor: Redactor) -> list[SearchedText]:
    """Of what may be searched, the lines as the rest of the product counts and redacts them."""
    found: list[SearchedText] = []
    for read in reads:
        if isinstance(read, Skipped) or read.is_clipped:
            continue
        decoded = decode(read.data) if refusal_of_name(read.path) in SEARCHED else None
        lines = lines_of(redactor.redact(decoded.text).text.text) if decoded else ()
        if lines:
            found.append(SearchedText(read.path, "\n".join(lines).encode()))
    return found


def counted(out: bytes, texts: Sequence[str]) -> dict[RelPath, Counter[str]]:
    """What ripgrep said: under each name what was found, a match a line."""
    inner = {text: [other for other in texts if other in text] for text in texts}
    found: dict[RelPath, Counter[str]] = {}
    for block in out.split(b"\n\n"):
        name, _, rest = block.partition(b"\0")
        counts: Counter[str] = Counter()
        for match, count in Counter(rest.decode("utf-8", "replace").lower().split("\n")).items():
            for text in inner.get(match, ()):
                counts[text] += count
        if counts:
            found[RelPath(name.decode("utf-8", "surrogateescape").removeprefix("./"))] = counts
    return found


def _argument(name: RelPath) -> bytes:
    return b"./" + name.text.encode("utf-8", "surrogateescape")


def _by_argument_size(names: Iterable[RelPath]) -> Iterable[list[RelPath]]:
    batch: list[RelPath] = []
    size = 0
    for name in names:
        # Eight bytes for the pointer, one for the terminator.
        cost = len(_argument(name)) + 9
        if batch and size + cost > _ARGUMENT_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += cost
    if batch:
        yield batch
