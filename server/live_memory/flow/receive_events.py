"""The one way in for what hosts say: each payload is understood and handed to its workspace."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from typing import Protocol

import anyio
import anyio.to_thread

from live_memory.core.errors import InvalidRequest, LiveMemoryError, StoreUnavailable
from live_memory.core.hosts.events import (
    AgentConcluded,
    FileEdited,
    FileWritten,
    HostEvent,
    HostReport,
    SessionEnded,
    TaskGiven,
    inside,
    shortened,
)
from live_memory.core.hosts.notices import (
    LONGEST_CONCLUSION,
    LONGEST_TASK,
    AnythingChanged,
    Conclusion,
    Interest,
    notices_of,
)
from live_memory.core.reading.observation import visible
from live_memory.core.reading.redaction import Redactor
from live_memory.flow.ingest import MOST_CONCLUSIONS, Ingestor
from live_memory.flow.reader import Reader
from live_memory.ports import HostDialect, Missed, Spool, WorkspaceIdentity, Worktrees

__all__ = ["Reception"]

Payload = Mapping[str, object]

# How often the spool may be looked at while events come in.
_SPOOL_PAUSE_S = 1.0
# A burst names one folder over and over: where it leads is found out once in this time.
_RECENT_S, _MOST_RECENT = 1.0, 64
# Two registrations of ours in one host tell the same call of a tool within this time; a host whose
# names of calls are not unique may tell the same of another one later.
_DOUBLE_S, _MOST_CALLS = 10.0, 512
# Who waits for what was taken is told after this how much still waits.
_TO_LEARN_S = 20.0
# Characters of a name of an agent, and agents whose task is known.
_LONGEST_NAME, _MOST_TASKS = 100, 256


class _Learner(Protocol):
    """A workspace, as far as this module knows one."""

    @property
    def identity(self) -> WorkspaceIdentity:
        """Which one it is."""
        ...

    @property
    def ingestor(self) -> Ingestor:
        """Where its events go."""
        ...

    @property
    def reader(self) -> Reader:
        """What reads its files."""
        ...

    @property
    def is_closing(self) -> bool:
        """Whether it takes no more."""
        ...

    def in_use(self) -> AbstractContextManager[None]:
        """Keep it open meanwhile."""
        ...

    async def hear(self, subjects: Sequence[Interest], *, events: int) -> None:
        """Take notice; returns once it survives a crash."""
        ...

    async def note(self, reports: Sequence[HostReport]) -> None:
        """Take down what its sessions do."""
        ...


Opened = Callable[[str], Awaitable[_Learner]]


class Reception:
    """Takes events from the web layer and, once the server is back, from the spool."""

    def __init__(
        self,
        dialect: HostDialect,
        *,
        opened: Opened,
        spool: Spool,
        worktrees: Worktrees,
        private: Sequence[str] = (),
    ) -> None:
        """`private` folders are our own: nothing in them is ever learned."""
        self._dialect = dialect
        self._opened = opened
        self._spool = spool
        self._worktrees = worktrees
        self._private = tuple(private)
        self._look, self._draining = anyio.Event(), anyio.Lock()
        # While what was written down before the start is not taken up; who does not `run` has none.
        self._is_behind = False
        self._caught_up = anyio.Event()
        self._recent: dict[str, tuple[float, _Learner]] = {}
        # What each agent was asked last, by its session and its own name.
        self._tasks: dict[tuple[str, str], str] = {}
        # Calls of tools that were told just now, and when.
        self._calls: dict[object, float] = {}

    async def run(self) -> None:
        """Empty the spool at the start and whenever a hook reaches us, until cancelled."""
        self._is_behind = True
        while True:
            await self._drain()
            self._is_behind = False
            self._caught_up.set()
            await anyio.sleep(_SPOOL_PAUSE_S)
            await self._look.wait()
            self._look = anyio.Event()

    async def take(self, payloads: Sequence[Payload], *, project: str | None) -> None:
        """Accept payloads, after what was written down before the start; all of them, or none.

        Raises:
            InvalidRequest: a payload names no workspace, or one that cannot be.
            StoreUnavailable: they are known, and would not survive a crash.
            Unavailable: a workspace cannot be opened.
        """
        if self._is_behind:
            await self._caught_up.wait()
        elif any("last_assistant_message" in payload for payload in payloads):
            # What was asked may have been written down while the server came up.
            await self._drain()
        await self._take(payloads, project=project)

    async def forget(self, root: str) -> None:
        """Take up nothing more that was written down of the workspace at this root.

        What agents were asked is known no more either, of whatever workspace.

        Raises:
            StoreUnavailable: the disk does not let it.
        """
        async with self._draining:
            await self._spool.forget(root)
            self._tasks.clear()
            self._recent.clear()

    async def unlearned(self, project: str) -> int:
        """Wait a while until all that was taken for a folder is learned; how much still waits.

        Raises:
            InvalidRequest: it is no workspace.
            Unavailable: it cannot be opened.
        """
        with ExitStack() as held:
            ingestor = (await self._workspace(project, held)).ingestor
            with anyio.move_on_after(_TO_LEARN_S):
                await ingestor.caught_up()
            return len(ingestor.unlearned)

    async def _take(self, payloads: Sequence[Payload], *, project: str | None) -> None:
        reports = [self._dialect.parse(payload) for payload in payloads]
        new = [report for report in reports if self._is_new(report)]
        is_heard = False
        try:
            await self._hear(new, project=project)
            is_heard = True
        finally:
            # Else it comes again.
            if not is_heard:
                for report in new:
                    self._calls.pop(_told_of(report), None)

    def _is_new(self, report: HostReport) -> bool:
        """Whether the call of a tool that it tells of was not told just now."""
        now, calls = anyio.current_time(), self._calls
        while calls and (len(calls) > _MOST_CALLS or now - next(iter(calls.values())) > _DOUBLE_S):
            del calls[next(iter(calls))]
        if report.call is None:
            return True
        told = _told_of(report)
        is_new = told not in calls
        if is_new:
            calls[told] = now
        return is_new

    async def _hear(self, reports: Sequence[HostReport], *, project: str | None) -> None:
        subjects: dict[str, list[Interest]] = {}
        said: dict[str, list[Conclusion]] = {}
        done: dict[str, list[HostReport]] = {}
        events, not_understood = Counter[str](), Counter[str]()
        for report in reports:
            cwd = project or report.cwd
            if cwd is None:
                raise InvalidRequest("no folder: send X-Live-Memory-Project, or a payload's 'cwd'")
            found = subjects.setdefault(cwd, [])
            events[cwd] += 1
            not_understood[cwd] += not report.is_understood
            private = (*self._private, *([report.records] if report.records else ()))
            for event in report.events:
                said.setdefault(cwd, []).extend(self._said(event))
                found += (one for one in notices_of(event) if not _is_in(private, one))
            done.setdefault(cwd, []).append(_without(private, report))
        unkept: StoreUnavailable | None = None
        with ExitStack() as held:
            # Every workspace is found before any is told.
            homes = {cwd: await self._workspace(cwd, held) for cwd in subjects}
            for cwd, count in not_understood.items():
                homes[cwd].ingestor.not_understood += count
            for cwd, conclusions in said.items():
                homes[cwd].ingestor.dropped += len(conclusions[:-MOST_CONCLUSIONS])
                last = conclusions[-MOST_CONCLUSIONS:]
                subjects[cwd] += [await _cleaned(one, cwd, homes[cwd]) for one in last]
            elsewhere = [
                pair
                for cwd in subjects
                for pair in await self._taken_out(subjects[cwd], homes[cwd], held)
            ]
            told = [(homes[cwd], found, events[cwd]) for cwd, found in subjects.items()]
            told += [(workspace, found, 0) for workspace, found in elsewhere]
            for workspace, found, count in told:
                try:
                    await workspace.hear(found, events=count)
                except StoreUnavailable as problem:
                    unkept = problem
            self._look.set()
            if unkept is not None:
                raise unkept
            for cwd, its in done.items():
                await homes[cwd].note(its)
            await self._end_elsewhere(done, {home.identity for home in homes.values()}, held)

    def _said(self, event: HostEvent) -> Iterator[Conclusion]:
        """What an agent concluded, with its task, as the host tells it."""
        if isinstance(event, TaskGiven) and event.session:
            self._tasks.pop((event.session, event.agent), None)
            self._tasks[event.session, event.agent] = shortened(event.text, LONGEST_TASK)
            if len(self._tasks) > _MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
        elif isinstance(event, AgentConcluded):
            task = self._tasks.get((event.session, event.agent), "")
            yield Conclusion(event.text, event.author, event.session, task, said_at=event.at)

    async def _taken_out(
        self, subjects: list[Interest], home: _Learner, held: ExitStack
    ) -> Sequence[tuple[_Learner, list[Interest]]]:
        """Take out what lies in other work trees of the repository or in repositories within it,
        with each one's workspace.
        """
        named = [one for one in subjects if not isinstance(one, AnythingChanged | Conclusion)]
        if not named:
            return ()
        paths = [one.path for one in named]
        roots = await self._worktrees.holding(paths, beside=home.identity.root)
        places: dict[str | None, list[Interest]] = {}
        for subject, root in zip(named, roots, strict=True):
            places.setdefault(root, []).append(subject)
        others = [one for one in subjects if isinstance(one, AnythingChanged | Conclusion)]
        subjects[:] = [*places.pop(None, []), *others]
        found: list[tuple[_Learner, list[Interest]]] = []
        for root, its in places.items():
            assert root is not None
            # A work tree may have been removed since it was found.
            with suppress(LiveMemoryError):
                other = await self._workspace(root, held)
                if other.identity == home.identity:  # a submodule may be part of the one around it
                    subjects += its
                else:
                    found.append((other, its))
        return found

    async def _end_elsewhere(
        self,
        done: Mapping[str, Sequence[HostReport]],
        told: Collection[WorkspaceIdentity],
        held: ExitStack,
    ) -> None:
        """A session in a window of several projects is told to end in one of them."""
        for report in (report for its in done.values() for report in its):
            ended = tuple(one for one in report.events if isinstance(one, SessionEnded))
            for folder in report.folders if ended else ():
                try:
                    other = await self._workspace(folder, held)
                except LiveMemoryError:
                    continue  # it is no project
                if other.identity not in told:
                    await other.note([replace(report, events=ended)])

    async def _workspace(self, cwd: str, held: ExitStack) -> _Learner:
        until, recent = self._recent.get(cwd, (0.0, None))
        if recent is not None and anyio.current_time() < until and not recent.is_closing:
            held.enter_context(recent.in_use())
            return recent
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        found = await self._opened(cwd)
        held.enter_context(found.in_use())
        self._recent[cwd] = (anyio.current_time() + _RECENT_S, found)
        return found

    async def _drain(self) -> None:
        async with self._draining:
            while taken := await self._spool.take():
                for missed in taken:
                    await self._take_up(missed)

    async def _take_up(self, missed: Missed) -> None:
        # Its folder may be gone since.
        with suppress(LiveMemoryError):
            if missed.payload is None:
                (await self._opened(missed.project)).ingestor.lost(missed.dropped)
            else:
                await self._take([missed.payload], project=missed.project)


def _told_of(report: HostReport) -> object:
    return report.call, report.events


def _is_in(folders: Sequence[str], subject: Interest) -> bool:
    if isinstance(subject, AnythingChanged | Conclusion):
        return False
    return _lies_in(folders, subject.path)


def _lies_in(folders: Sequence[str], path: str) -> bool:
    return any(path == folder or inside(folder, path) for folder in folders)


def _without(folders: Sequence[str], report: HostReport) -> HostReport:
    """A report without the edits of files in these folders."""
    edits = FileEdited | FileWritten
    kept = (e for e in report.events if not (isinstance(e, edits) and _lies_in(folders, e.path)))
    return replace(report, events=tuple(kept))


async def _cleaned(said: Conclusion, cwd: str, home: _Learner) -> Conclusion:
    """Without secrets and controls, bounded, and with names of files as they are below the root."""
    root, redactor = home.identity.root.rstrip("/"), home.reader.redactor
    # The host may spell the root by a link, or name a folder below it.
    (inner,) = await home.reader.sandbox.locate([f"{cwd}/-"])
    folders = {cwd.rstrip("/"): inner.text[:-1]} if inner else {}

    def clean() -> Conclusion:
        text = shortened(said.text, LONGEST_CONCLUSION)
        for folder, below in {**folders, root: ""}.items():
            if folder:
                text = re.sub(
                    rf"(?<![\w./~-]){re.escape(folder)}/", below.replace("\\", r"\\"), text
                )
        return replace(
            said,
            text=_plain(text, LONGEST_CONCLUSION, redactor),
            session=said.session[:_LONGEST_NAME],
            task=_plain(said.task, LONGEST_TASK, redactor),
        )

    return await anyio.to_thread.run_sync(clean)


def _plain(text: str, most: int, redactor: Redactor) -> str:
    whole = visible(text.encode("utf-8", "replace").decode())
    return shortened(redactor.redact(whole).text.text, most)
