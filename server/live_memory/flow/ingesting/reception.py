"""The one way in for what hosts say: each payload is understood and handed to its workspace."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import anyio

from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.core.hosts.notices import AnythingChanged, Subject, notices_of
from live_memory.core.hosts.paths import inside
from live_memory.flow.ingesting.ingestor import Ingestor
from live_memory.ports import HostDialect, Spool

__all__ = ["Reception"]

Payload = Mapping[str, object]

# How often the spool may be looked at while events come in.
_SPOOL_PAUSE_S = 1.0
# A burst names one folder over and over: where it leads is found out once in this time.
_RECENT_S, _MOST_RECENT = 1.0, 64


class _Learner(Protocol):
    """A workspace, as far as this module knows one."""

    @property
    def ingestor(self) -> Ingestor:
        """Where its events go."""
        ...


Opened = Callable[[str], Awaitable[_Learner]]


class Reception:
    """Takes events from the web layer and, once the server is back, from the spool."""

    def __init__(
        self, dialect: HostDialect, *, opened: Opened, spool: Spool, private: Sequence[str] = ()
    ) -> None:
        """`private` folders are our own: nothing in them is ever learned (cases C29)."""
        self._dialect = dialect
        self._opened = opened
        self._spool = spool
        self._private = tuple(private)
        self._look = anyio.Event()
        self._recent: dict[str, tuple[float, _Learner]] = {}

    async def run(self) -> None:
        """Empty the spool at the start and whenever a hook reaches us, until cancelled."""
        while True:
            await self._drain()
            await anyio.sleep(_SPOOL_PAUSE_S)
            await self._look.wait()
            self._look = anyio.Event()

    async def take(self, payloads: Sequence[Payload], *, project: str | None) -> None:
        """Accept payloads; all of them, or none.

        Raises:
            InvalidRequest: a payload names no workspace, or one that cannot be.
            Unavailable: a workspace cannot be opened.
        """
        subjects: dict[str, list[Subject]] = {}
        for payload in payloads:
            report = self._dialect.parse(payload)
            cwd = project or report.cwd
            if cwd is None:
                raise InvalidRequest("no folder: send X-Live-Memory-Project, or a payload's 'cwd'")
            found = subjects.setdefault(cwd, [])
            for event in report.events:
                found += (subject for subject in notices_of(event) if not self._is_ours(subject))
        workspaces = {cwd: await self._workspace(cwd) for cwd in subjects}
        for cwd, found in subjects.items():
            workspaces[cwd].ingestor.offer(found)
        self._look.set()

    async def _workspace(self, cwd: str) -> _Learner:
        until, recent = self._recent.get(cwd, (0.0, None))
        if recent is not None and anyio.current_time() < until and not recent.ingestor.is_closed:
            return recent
        if len(self._recent) >= _MOST_RECENT:
            self._recent.clear()
        found = await self._opened(cwd)
        self._recent[cwd] = (anyio.current_time() + _RECENT_S, found)
        return found

    async def _drain(self) -> None:
        for missed in await self._spool.take():
            try:
                if missed.payload is None:
                    (await self._opened(missed.project)).ingestor.lost(missed.dropped)
                else:
                    await self.take([missed.payload], project=missed.project)
            except LiveMemoryError:
                continue  # the folder is gone since

    def _is_ours(self, subject: Subject) -> bool:
        if isinstance(subject, AnythingChanged):
            return False
        return any(
            subject.path == folder or inside(folder, subject.path) for folder in self._private
        )
