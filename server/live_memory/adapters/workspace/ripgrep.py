"""Searching lines: ripgrep, where there is one, names the files worth opening; we decide.

Every file is opened by the one opener and every line is matched by the same child program, with
or without ripgrep, so both give the same result and a file swapped for a link gives nothing. What
is matched is the redacted text of the whole file: a secret cannot be found out by asking for it.
"""

import json
import os
import signal
import stat
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE

from anyio import (
    BrokenResourceError,
    CancelScope,
    CapacityLimiter,
    ClosedResourceError,
    EndOfStream,
    create_task_group,
    move_on_after,
    open_process,
    to_thread,
)
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from live_memory.adapters.workspace import matcher
from live_memory.adapters.workspace.patterns import Expression
from live_memory.core.errors import Exhausted, InvalidRequest, Unavailable, refuse_exhausted
from live_memory.core.evidence.text_matches import Mentions
from live_memory.core.reading.lookup import LARGEST_SEARCHED, Match, Matches
from live_memory.core.reading.observation import (
    SEARCHED,
    FileRead,
    ListedFile,
    Skipped,
    decode,
    lines_of,
    refusal_of_name,
)
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import RelPath

__all__ = [
    "Invocation",
    "InvocationResult",
    "Programs",
    "Runner",
    "Searcher",
    "find_programs",
    "searchable",
    "texts_of",
]

# Limits are set by a shell that then becomes the program: no code of ours runs between fork and
# exec in a threaded server, and it costs 0.6 ms. `-f 0`: a child can write no file. A limit the
# system does not know (`-v` on macOS) is left out.
_LAUNCHER = (
    'ulimit -f 0; ulimit -c 0; ulimit -n 256; ulimit -t "$1"; ulimit -v "$2" 2>/dev/null; '
    'shift 2; exec "$@"'
)
# git maps whole packs; the largest public repositories have packs of 4 to 6 GB.
_MEMORY_KIB = 8 * 1024 * 1024
# Two cores' worth of searches and log reads; more would only wait for the disk.
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Invocation:
    """A program with its arguments and everything it may know and use."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    timeout_s: float = 10.0
    max_output: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InvocationResult:
    """What a program did; `code` is `None` when it was ended by us or could not start."""

    code: int | None
    out: bytes
    is_cut: bool = False
    is_late: bool = False
    is_exhausted: bool = False

    @property
    def is_fine(self) -> bool:
        """Whether it ended by itself and was content."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Programs:
    """Absolute paths of the programs we use, or nothing where there is none."""

    git: str | None
    rg: str | None
    python: str = sys.executable


def find_programs(search_path: str) -> Programs:
    """Resolve the programs once; relative entries of the search path are never looked at."""
    ours = str(Path(sys.executable).parent)
    return Programs(
        git=_find("git", search_path), rg=_find("rg", f"{ours}{os.pathsep}{search_path}")
    )


class Runner:
    """The one way a program is started, a few at a time; it knows nothing of what they are for."""

    def __init__(self, *, at_once: int = _AT_ONCE) -> None:
        self._limiter = CapacityLimiter(at_once)

    async def run(self, command: Invocation) -> InvocationResult:
        """Run a program to its end or to its limits; nothing it started is left behind."""
        async with self._limiter:
            try:
                # Shielded, because a process that starts while we are cancelled would be lost.
                with CancelScope(shield=True):
                    process = await _start(command)
            except (OSError, ValueError) as problem:
                return InvocationResult(None, b"", is_exhausted=_is_exhausted(problem))
            try:
                return await _attend(process, command)
            finally:
                with CancelScope(shield=True):
                    _end_group(process.pid)
                    await process.aclose()


async def _start(command: Invocation) -> Process:
    cpu_s = str(int(command.timeout_s) + 1)
    launcher = ("/bin/sh", "-c", _LAUNCHER, "sh", cpu_s, str(_MEMORY_KIB))
    stdin = _stdin_of(command.stdin)
    try:
        return await open_process(
            [*launcher, *command.argv],
            stdin=stdin,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=command.cwd,
            env=command.env,
            start_new_session=True,
        )
    finally:
        if stdin >= 0:
            os.close(stdin)


def _stdin_of(data: bytes | None) -> int:
    """Where a program reads from: memory where the system has such files, else a pipe.

    A program that ends before it has read a pipe to its end leaves an error behind in the event
    loop of some versions of Python, which nobody can catch.
    """
    if data is None:
        return DEVNULL
    if not hasattr(os, "memfd_create"):
        return PIPE
    descriptor = os.memfd_create("input", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as memory:
        memory.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


async def _attend(process: Process, command: Invocation) -> InvocationResult:
    assert process.stdout is not None
    out, is_cut = bytearray(), False
    with move_on_after(command.timeout_s) as deadline:
        async with create_task_group() as tasks:
            if process.stdin is not None:
                tasks.start_soon(_feed, process.stdin, command.stdin or b"")
            is_cut = await _drain(process.stdout, out, command.max_output)
            tasks.cancel_scope.cancel()
        if not is_cut:
            code = await process.wait()
            return InvocationResult(code, bytes(out))
    return InvocationResult(None, bytes(out), is_cut=is_cut, is_late=deadline.cancelled_caught)


async def _feed(stdin: ByteSendStream, data: bytes) -> None:
    # A program may end before it has read everything; what it did is in its output.
    with suppress(BrokenResourceError, ClosedResourceError, ConnectionError):
        await stdin.send(data)
        await stdin.aclose()


async def _drain(stdout: ByteReceiveStream, out: bytearray, limit: int) -> bool:
    """Collect output until it ends; true when there was more than the limit."""
    while True:
        try:
            out += await stdout.receive()
        except EndOfStream:
            return False
        if len(out) > limit:
            del out[limit:]
            return True


def _is_exhausted(problem: Exception) -> bool:
    """Whether the system has no room for another program now."""
    try:
        refuse_exhausted(problem)
    except Exhausted:
        return True
    return False


def _end_group(leader: int) -> None:
    # The leader may be gone while something it started lives on, so this is done always.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _find(name: str, search_path: str) -> str | None:
    for folder in search_path.split(os.pathsep):
        candidate = os.path.join(folder, name)
        if os.path.isabs(folder) and _is_program(candidate):
            return candidate
    return None


def _is_program(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and os.access(path, os.X_OK)


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

    async def _counting(self, names: Sequence[RelPath], texts: Sequence[str]) -> InvocationResult:
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

    async def _ripgrep(self, names: Sequence[RelPath], expression: Expression) -> InvocationResult:
        options = ("--no-config", "--no-messages", "--color=never", "--files-with-matches")
        reading = ("--null", "--text", "--no-ignore", "--hidden", "--case-sensitive")
        pattern = ("-e", expression.bytes_superset)
        return await self._started((*options, *reading, *pattern), names)

    async def _started(self, options: Sequence[str], names: Sequence[RelPath]) -> InvocationResult:
        assert self._programs.rg is not None
        return await self._runner.run(
            Invocation(
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
            Invocation(
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
        lines = lines_of(redactor.redact(decoded).text.text) if decoded else ()
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
