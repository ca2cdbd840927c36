"""A workspace on disk, behind the `Sandbox` port."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, TypeVarTuple

from anyio import CancelScope, CapacityLimiter, create_task_group, to_thread

from live_memory.adapters.sandbox.dialect import compile_expression
from live_memory.adapters.sandbox.git.excludes import UserExcludes
from live_memory.adapters.sandbox.git.finding import Refused
from live_memory.adapters.sandbox.git.names import Names
from live_memory.adapters.sandbox.git.omitting import omitted
from live_memory.adapters.sandbox.git.standing import Standing
from live_memory.adapters.sandbox.history import Git, bounded
from live_memory.adapters.sandbox.listing import Lister
from live_memory.adapters.sandbox.opener import OpenedFile, Opening, SafeRoot
from live_memory.adapters.sandbox.runner import Programs, Runner
from live_memory.adapters.sandbox.search import Searcher, searchable
from live_memory.core.errors import InvalidRequest, LiveMemoryError, OutsideWorkspace
from live_memory.core.looking.spotting import Mentions
from live_memory.core.reading.globs import compile_glob
from live_memory.core.reading.hiding import Hiding
from live_memory.core.reading.lookup import (
    History,
    HistoryQuery,
    Listing,
    Matches,
    NamePattern,
    Omission,
    Omitted,
    TextPattern,
)
from live_memory.core.reading.observation import FileRead, ListedFile, Skipped, SkipReason
from live_memory.core.reading.redaction import DEFAULT, Redactor
from live_memory.core.values import RelPath

__all__ = ["MOST_MATCHES", "MOST_NAMES", "DiskSandbox"]

MOST_MATCHES, MOST_NAMES = 1_000, 5_000
T = TypeVar("T")
Given = TypeVarTuple("Given")
# Reads of one workspace at a time; more threads only wait for the same disk.
_THREADS = 4
# Names a thread reads before it looks whether anyone still waits.
_NAMES_AT_ONCE = 32


class DiskSandbox:
    """Reads one workspace; everything that waits for the disk runs in a thread."""

    def __init__(
        self,
        root: str,
        *,
        runner: Runner,
        programs: Programs,
        opening: Opening,
        hiding: Hiding | None = None,
        excludes: UserExcludes | None = None,
        redactor: Redactor = DEFAULT,
    ) -> None:
        """Open the real path `root`.

        Raises:
            InvalidRequest: it is not a folder that can be read.
        """
        self._root = SafeRoot(root, opening, hiding=hiding)
        excludes = excludes or UserExcludes()
        self._lister = Lister(self._root, excludes)
        self._threads = CapacityLimiter(_THREADS)
        programs = _trusted(programs, root)
        self._git = Git(self._root, runner, programs.git, excludes, redactor)
        self._standing = Standing(self._git, root)
        # No part refers back to the whole, which is free then as soon as nobody has it.
        self._read = partial(_read, self._root, self._threads)
        self._searcher = Searcher(root, runner, programs, read=self._read, redactor=redactor)

    async def is_same_root(self) -> bool:
        """Whether the root is still the folder that was opened."""
        return await to_thread.run_sync(self._root.is_same, limiter=self._threads)

    async def list(self) -> Listing:
        """Regular files that git's ignore rules keep, with their signatures; no links followed."""
        same = await self._in_thread(self._as_before)
        if same is not None:
            return same
        names: Names | Refused | None = None
        unlooked: LiveMemoryError | None = None
        asked_ns = time.time_ns()

        async def ask_git() -> None:
            nonlocal names, unlooked
            try:
                names = await self._git.names()
            except Refused as why:
                names = why
            except LiveMemoryError as exhausted:
                unlooked = exhausted

        # Git nearly always says what it said the last time, so both are looked at meanwhile.
        plan, listing = self._lister.plan, Listing(())
        async with create_task_group() as tasks:
            tasks.start_soon(ask_git)
            try:
                listing = await self._in_thread(self._lister.look, plan)
            except LiveMemoryError as exhausted:
                unlooked = exhausted
        if unlooked is not None:
            raise unlooked
        match names:
            case Names(plan.said, plan.problem):
                await self._in_thread(self._standing.found_same, plan.said, asked_ns)
                return listing
            case Names(said, problem):
                return await self._in_thread(self._lister.by_names, said, problem)
        return await self._in_thread(self._lister.by_walk, str(names))

    def _as_before(self) -> Listing | None:
        """Look at the names from before, where git would say them again."""
        plan = self._lister.plan
        return self._lister.look(plan) if self._standing.is_of(plan.said, plan.problem) else None

    async def omitted(self, listing: Listing) -> Sequence[Omitted]:
        """What the last listing leaves out that no rule ignores, and repositories below."""
        return await self._in_thread(self._omitted, listing)

    async def read(self, names: Sequence[str], *, max_bytes: int) -> Sequence[FileRead | Skipped]:
        """Open, hash and read the head of each name; one outcome a name, in the same order."""
        return await self._read(names, max_bytes)

    async def locate(self, paths: Sequence[str]) -> Sequence[RelPath | None]:
        """The name of each absolute path below the root; nothing for what lies elsewhere."""
        return await to_thread.run_sync(
            lambda: [self._root.locate(path) for path in paths], limiter=self._threads
        )

    async def search(self, pattern: TextPattern) -> Matches:
        """Find lines.

        Raises:
            InvalidRequest: the expression or glob is malformed, or takes too long to match.
            OutsideWorkspace: `under` does not lead into the workspace.
            Unavailable: no program can be started.
        """
        expression = compile_expression(pattern.regex, ignore_case=pattern.ignore_case)
        limit = bounded(pattern.limit, MOST_MATCHES)
        if pattern.among is not None:
            return await self._searcher.search(pattern.among, expression, limit=limit)
        is_named = compile_glob(pattern.glob) if pattern.glob is not None else None
        place = await to_thread.run_sync(self._place, pattern.under, limiter=self._threads)
        if isinstance(place, OpenedFile):
            names = searchable([ListedFile(place.path, place.signature)])
        else:
            names = searchable((await self.list()).files, below=place, is_named=is_named)
        return await self._searcher.search(names, expression, limit=limit)

    async def mentions(self, texts: Sequence[str], *, among: Sequence[ListedFile]) -> Mentions:
        """How often each of these files holds each of these texts."""
        return await self._searcher.mentions(texts, [file.path for file in among])

    async def find(self, pattern: NamePattern) -> Sequence[RelPath]:
        """Find names of regular files, in path order.

        Raises:
            InvalidRequest: the glob is malformed.
        """
        is_named = compile_glob(pattern.glob)
        listing = await self.list()
        found = [listed.path for listed in listing.files if is_named(listed.path)]
        return found[: bounded(pattern.limit, MOST_NAMES)]

    async def history(self, query: HistoryQuery) -> History:
        """Read git's history without the repository's own configuration.

        Raises:
            InvalidRequest: a revision is unknown.
            OutsideWorkspace: a path does not lead into the workspace.
        """
        found = await self._git.history(query)
        commits = tuple(
            replace(each, files=tuple(filter(self._is_told, each.files))) for each in found.commits
        )
        changed = tuple(row for row in found.changed if self._is_told(row[1]))
        return replace(found, commits=commits, changed=changed)

    async def aclose(self) -> None:
        """Let go of descriptors and private folders."""
        with CancelScope(shield=True):
            await self._git.aclose()
            self._root.close()

    async def _in_thread(self, work: Callable[[*Given], T], *given: *Given) -> T:
        return await to_thread.run_sync(work, *given, limiter=self._threads)

    def _omitted(self, listing: Listing) -> Sequence[Omitted]:
        listed = [file.path for file in listing.files]
        found = omitted(self._root, self._lister.unlisted(), listed=listed)
        if listing.problem is None:
            return found
        # An index that may be another work tree's tells nothing of what is not here.
        return [each for each in found if each.why is not Omission.ABSENT]

    def _is_told(self, name: str) -> bool:
        try:
            return not self._root.hides(RelPath(name))
        except OutsideWorkspace:
            return False

    def _place(self, under: str) -> OpenedFile | RelPath | None:
        """What `under` names: a file, a folder by its real name, or (nothing) the root."""
        if under in (".", "./"):
            return None
        opened = self._root.open_file(under)
        if isinstance(opened, OpenedFile):
            os.close(opened.descriptor)
            return opened
        if opened.reason is SkipReason.NOT_REGULAR:
            try:
                return self._root.real_folder(RelPath.parse(under))
            except OSError as problem:
                raise InvalidRequest("'under' is neither a regular file nor a folder") from problem
        if opened.reason is SkipReason.UNREADABLE:
            raise InvalidRequest("'under' cannot be read")
        raise OutsideWorkspace("not a path in this workspace")


async def _read(
    root: SafeRoot, threads: CapacityLimiter, names: Sequence[str], max_bytes: int
) -> Sequence[FileRead | Skipped]:
    """Read files, a few in a row at a time."""

    def read(some: Sequence[str]) -> Sequence[FileRead | Skipped]:
        return [root.read(name, max_bytes=max_bytes) for name in some]

    outcomes: list[FileRead | Skipped] = []
    for start in range(0, len(names), _NAMES_AT_ONCE):
        some = names[start : start + _NAMES_AT_ONCE]
        outcomes += await to_thread.run_sync(read, some, limiter=threads)
    return outcomes


def _trusted(programs: Programs, root: str) -> Programs:
    """Leave out programs that the workspace could replace; our own installation is trusted."""
    return replace(programs, git=_outside(programs.git, root), rg=_outside(programs.rg, root))


def _outside(program: str | None, root: str) -> str | None:
    if program is None or os.path.dirname(program) == os.path.dirname(sys.executable):
        return program
    return None if os.path.realpath(program).startswith(root + "/") else program
