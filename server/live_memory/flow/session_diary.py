"""What the sessions of a workspace did, and the handoff that the end of each leaves by itself.

No model is called. A session that left one by hand, or did next to nothing, leaves none; where it
goes on and ends again, its newer one takes the place of the older, unless that was taken over.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import anyio

from live_memory.core.errors import (
    Busy,
    InvalidRequest,
    LiveMemoryError,
    OutsideWorkspace,
    StoreUnavailable,
)
from live_memory.core.hosts.events import (
    CommandRan,
    Ending,
    FileEdited,
    FileWritten,
    HostReport,
    SessionBegan,
    SessionEnded,
    TaskGiven,
    inside,
    shortened,
)
from live_memory.core.memory.notebook import (
    AUTOMATIC_S,
    Handoff,
    HandoffState,
    Notebook,
    Withdrawal,
    Writer,
    handoff_id,
)
from live_memory.core.memory.window import HandoffCancelled, HandoffLeft, Telling, Window
from live_memory.core.notes.session_work import (
    LONGEST_COMMAND,
    LONGEST_PROMPT,
    SessionRecord,
    SessionWork,
)
from live_memory.core.reading.observation import refusal_of_name, visible
from live_memory.core.values import Author, Instant, RelPath
from live_memory.flow.ingest import Ingestor
from live_memory.flow.reader import Reader
from live_memory.ports import Clock, SnapshotStore, WorkspaceIdentity

__all__ = ["SessionDiary"]

# Sessions of one workspace; each has some 3 kB, and 20 kB at most.
_MOST_SESSIONS = 24
_LONGEST_NAME, _LONGEST_PATH = 100, 400
# One that ended is resumed within this, or never.
_FORGOTTEN_AFTER_S = 30 * 86_400.0
# What is noted is kept after this; a crash in between costs no more.
_KEPT_AFTER_S = 5.0
# What a hook told at the end of a session may come after its end, and conclusions wait to be
# checked.
_LATE_S, _TO_LEARN_S, _NEXT_TRY_S = 0.2, 10.0, 1.0
# Two registrations of ours in one host tell a prompt within this time.
_DOUBLE_S = 2.0
# The start of a command whose words are redacted; of a prompt, that is much more than is kept.
_MUCH = 2_000
# What the hook writes down of a command that may hold anything.
_UNKNOWN = "unknown"
# They fail where they find nothing.
_SEARCHES = re.compile(r"(?:\S*/)?(?:git )?(?:grep|egrep|fgrep|rg|ag|ack)(?: |$)")
_NEWER = "the session went on, and left a newer one"

Record = Callable[[Telling], Awaitable[None]]


class SessionDiary:
    """Owner of what is noted of a workspace's sessions."""

    def __init__(
        self,
        identity: WorkspaceIdentity,
        *,
        ingestor: Ingestor,
        reader: Reader,
        store: SnapshotStore,
        clock: Clock,
        is_on: bool = True,
    ) -> None:
        """Where it is not on nothing is noted, and nothing is left."""
        self._identity = identity
        self._ingestor = ingestor
        self._sandbox, self._redactor = reader.sandbox, reader.redactor
        self._store = store
        self._clock = clock
        self._is_on = is_on
        # The one that was heard of last comes last.
        self._sessions: dict[tuple[str, str], SessionRecord] = {}
        self._prompted: tuple[object, float] = (None, 0.0)
        self._changed, self._over = anyio.Event(), anyio.Event()
        self._keeping = anyio.Lock()

    async def take_up(self) -> None:
        """Go on from what was kept."""
        if not self._is_on:
            return
        now = self._clock.now()
        for one in await self._store.sessions(self._identity.key):
            if one.is_due or now - (one.ended_at or one.began_at) < _FORGOTTEN_AFTER_S:
                self._sessions[one.host, one.session] = one
        if self._due():
            self._note_over()

    async def note(self, reports: Sequence[HostReport]) -> bool:
        """Take down what a host told; whether a session ended, which is kept before this returns.

        Raises:
            StoreUnavailable: it is not.
        """
        if not self._is_on:
            return False
        is_over = False
        for report in reports:
            if report.session and not report.is_past:
                is_over |= await self._noted(report)
        if is_over:
            # It is known, also where the disk does not take it.
            self._note_over()
            await self._keep()
        return is_over

    def coming(self, window: Window) -> int:
        """How many more handoffs will be open once those are left that sessions come to."""
        notebook, now = window.notebook, self._clock.now()
        due = [self._sessions[key] for key in self._due()]
        return sum(
            _open_one(one, notebook, now) is None and self._leaves(one, notebook, now)
            for one in due
        )

    async def run(self, window: Callable[[], Window], record: Record) -> None:
        """Keep what is noted, and leave what sessions come to that ended, until cancelled."""
        while True:
            await self._changed.wait()
            with anyio.move_on_after(_KEPT_AFTER_S):
                await self._over.wait()
            if self._over.is_set():
                self._over = anyio.Event()
                await anyio.sleep(_LATE_S)
                with anyio.move_on_after(_TO_LEARN_S):
                    await self._ingestor.caught_up()
                await self._leave(window, record)
            self._changed = anyio.Event()
            try:
                await self._keep()
            except StoreUnavailable:
                self._changed.set()

    def rest(self, window: Window) -> Sequence[Telling]:
        """What sessions leave that ended and were not looked at; for a workspace that closes."""
        return [event for key in self._due() for event in self._ended(key, window)]

    async def close(self) -> None:
        """Keep what there is."""
        if self._changed.is_set():
            with suppress(LiveMemoryError):
                await self._keep()

    async def forget(self) -> None:
        """Leave no trace of any session."""
        self._sessions.clear()
        await self._keep()

    async def _leave(self, window: Callable[[], Window], record: Record) -> None:
        for key in self._due():
            before = self._sessions[key]
            # All is worked out before anything is waited for: what is noted meanwhile comes after.
            for event in list(self._ended(key, window())):
                try:
                    await record(event)
                except StoreUnavailable:
                    continue  # it is known, and kept once the disk takes it
                except InvalidRequest:
                    continue  # learning is paused
                except Busy:
                    await anyio.sleep(_NEXT_TRY_S)
                    since = self._sessions.get(key, before).work
                    self._sessions[key] = replace(before, work=before.work.with_later(since))
                    self._note_over()
                    return

    async def _noted(self, report: HostReport) -> bool:
        """Take down one report; whether its session is over."""
        key = report.host[:_LONGEST_NAME], report.session[:_LONGEST_NAME]
        known = self._sessions.pop(key, None)
        one = known or SessionRecord(*key, began_at=self._clock.now())
        self._sessions[key] = one
        is_over = False
        for event in report.events:
            # Another may have told of it meanwhile.
            path = (
                await self._name_of(event) if isinstance(event, FileEdited | FileWritten) else None
            )
            one = self._sessions.get(key, one)
            match event:
                case SessionBegan():
                    one = self._begun(one)
                case SessionEnded():
                    one = replace(one, ended_at=self._clock.now(), is_due=True)
                    is_over = True
                case FileEdited(_, regions) if path is not None:
                    one = replace(one, work=one.work.with_edit(path, regions))
                case FileWritten() if path is not None:
                    one = replace(one, work=one.work.with_edit(path, ()))
                case CommandRan():
                    one = self._with_command(one, event)
                case TaskGiven(agent=""):
                    one = replace(one, work=self._with_prompt(one.work, key, event.text))
                case _:
                    continue
            self._sessions[key] = one
            self._changed.set()
        self._make_room()
        return is_over

    def _begun(self, one: SessionRecord) -> SessionRecord:
        """One that begins, or goes on after its end; after a compaction it was never away."""
        if one.ended_at is None:
            return one
        return replace(one, began_at=self._clock.now(), ended_at=None, is_due=False)

    async def _name_of(self, event: FileEdited | FileWritten) -> RelPath | None:
        """The name below the root of a file that may be named."""
        name = inside(self._identity.root, event.path)
        if name is None:
            # The host may spell the root by a link.
            (there,) = await self._sandbox.locate([event.path])
            name = there.text if there else ""
        try:
            path = RelPath.parse(name)
        except OutsideWorkspace:
            return None
        is_unfit = len(name) > _LONGEST_PATH or visible(name) != name or "\n" in name
        if is_unfit or refusal_of_name(path) is not None or self._redactor.redact(name).count:
            return None
        return path

    def _with_command(self, one: SessionRecord, event: CommandRan) -> SessionRecord:
        has_failed = event.ending is Ending.FAILED
        is_told = has_failed or (one.work.failed or one.before.failed)
        if not is_told or event.ending is Ending.INTERRUPTED or event.command == _UNKNOWN:
            return one
        command = self._plain(event.command, LONGEST_COMMAND)
        if not has_failed:
            before = one.before.with_success(command)
            return replace(one, work=one.work.with_success(command), before=before)
        is_search = not command or _SEARCHES.match(command)
        return one if is_search else replace(one, work=one.work.with_failure(command))

    def _with_prompt(self, work: SessionWork, key: object, text: str) -> SessionWork:
        prompt, now = self._plain(text, LONGEST_PROMPT), anyio.current_time()
        (last, at), self._prompted = self._prompted, ((key, prompt), now)
        is_double = last == (key, prompt) and now - at < _DOUBLE_S
        return work if is_double or not prompt else work.with_prompt(prompt)

    def _plain(self, text: str, most: int) -> str:
        """Without secrets and controls, on one line, and bounded."""
        whole = visible(shortened(text, _MUCH).encode("utf-8", "replace").decode())
        return shortened(" ".join(self._redactor.redact(whole).text.text.split()), most)

    def _make_room(self) -> None:
        """Of too many, those go that were heard of longest ago, but none that is due."""
        loose = [key for key, one in self._sessions.items() if not one.is_due]
        for key in loose[: max(0, len(self._sessions) - _MOST_SESSIONS)]:
            del self._sessions[key]

    def _due(self) -> Sequence[tuple[str, str]]:
        return [key for key, one in self._sessions.items() if one.is_due]

    def _ended(self, key: tuple[str, str], window: Window) -> Iterator[Telling]:
        """What the end of a session comes to; from now on it is not due."""
        one, notebook, now = self._sessions[key], window.notebook, self._clock.now()
        older, work = _open_one(one, notebook, now), _work_of(one, notebook, now)
        done = replace(one, is_due=False)
        if self._is_left_by_hand(one, notebook):
            done = replace(done, work=SessionWork(), before=SessionWork(), left="", left_at=now)
        elif self._leaves(one, notebook, now):
            since = one.left_at if older is None else None
            handoff = self._handoff(one, work, window, since=since, now=now)
            done = replace(done, work=SessionWork(), before=work, left=handoff.id, left_at=now)
            yield HandoffLeft(handoff)
            if older is not None:
                yield HandoffCancelled(older.id, Withdrawal(handoff.writer, now, _NEWER))
        self._sessions[key] = done
        self._changed.set()

    def _leaves(self, one: SessionRecord, notebook: Notebook, now: Instant) -> bool:
        """Whether the end of a session comes to a handoff."""
        is_worth_it = _work_of(one, notebook, now).is_worth_leaving
        return (
            one.work != SessionWork() and is_worth_it and not self._is_left_by_hand(one, notebook)
        )

    def _is_left_by_hand(self, one: SessionRecord, notebook: Notebook) -> bool:
        """Whether the session left a handoff by hand since it began."""
        others = [other for other in self._sessions.values() if other.host == one.host]
        ended = {other.session: other.ended_at for other in others if other.ended_at is not None}
        return any(
            not left.is_automatic and left.left_at >= one.began_at and _is_of(left, one, ended)
            for left in notebook.handoffs
        )

    def _handoff(
        self,
        one: SessionRecord,
        work: SessionWork,
        window: Window,
        *,
        since: Instant | None,
        now: Instant,
    ) -> Handoff:
        found = [
            fact
            for fact in window.ledger.facts
            if fact.session == one.session
            and not fact.is_stale
            and (since is None or fact.learned_at >= since)
        ]
        summary, files = work.told(found)
        return Handoff(
            id=handoff_id(f"{one.host} {one.session} {one.ended_at}", self._identity.root),
            summary=self._redactor.redact(summary).text.text,
            writer=Writer(Author.AGENT, host=one.host.replace("_", "-"), session=one.session),
            left_at=now,
            expires_at=Instant(now + AUTOMATIC_S),
            files=files,
            is_automatic=True,
        )

    def _note_over(self) -> None:
        self._changed.set()
        self._over.set()

    async def _keep(self) -> None:
        if not self._is_on:
            return
        async with self._keeping:
            await self._store.keep_sessions(self._identity.key, tuple(self._sessions.values()))


def _open_one(one: SessionRecord, notebook: Notebook, now: Instant) -> Handoff | None:
    """What a session left before, where nobody has taken it over yet."""
    older = notebook.handoff(one.left) if one.left else None
    return older if older is not None and older.state_at(now) is HandoffState.OPEN else None


def _work_of(one: SessionRecord, notebook: Notebook, now: Instant) -> SessionWork:
    """What is to be told of a session: what somebody took over, or did not want, is not again."""
    is_open = _open_one(one, notebook, now) is not None
    return one.before.with_later(one.work) if is_open else one.work


def _is_of(left: Handoff, one: SessionRecord, ended: Mapping[str, Instant]) -> bool:
    """Whether a handoff is of a session, as far as its writer's names tell.

    A host that names no session is one of which nobody knows better. What the agent asks through
    keeps the name of the session that it was started in, also where another one followed in the
    same window: so what a session left after its end is of one that goes on.
    """
    host, session = left.writer.host.lower(), left.writer.session[:_LONGEST_NAME]
    if session:
        return session == one.session or left.left_at > ended.get(session, left.left_at)
    is_its_host = host.startswith(one.host.replace("_", "-"))
    return is_its_host and left.writer.author is not Author.PERSON
