"""What agents and people tell each other: told, found again, withdrawn, handed over; no model.

What is told is redacted before anything is made of it, and kept before anybody hears that it is.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import anyio
import anyio.to_thread

from live_memory.core.checking.citations import Resolver, endings_of, named_paths
from live_memory.core.checking.claims import places_in
from live_memory.core.errors import InvalidRequest
from live_memory.core.evidence.places import Place
from live_memory.core.findings.conclusions import lines_hash
from live_memory.core.findings.standing import standing_facts
from live_memory.core.memory.ledger import Fact, Source
from live_memory.core.memory.notebook import (
    AUTOMATIC_S,
    EXPLICIT_S,
    MOST_OPEN_HANDOFFS,
    Claim,
    Handoff,
    HandoffId,
    Note,
    Notebook,
    NoteCategory,
    Withdrawal,
    Writer,
    handoff_id,
    note_id,
)
from live_memory.core.memory.window import (
    Forgotten,
    HandoffCancelled,
    HandoffClaimed,
    HandoffLeft,
    NotesWithdrawn,
    NoteTold,
    questions,
)
from live_memory.core.notes.recollection import (
    Kept,
    RecallQuery,
    Space,
    asked_at_of,
    recollected,
)
from live_memory.core.reading.observation import clean
from live_memory.core.reading.redaction import Redactor
from live_memory.core.values import Instant
from live_memory.flow.notes_beside import changed_places
from live_memory.flow.reader import QuestionFiles
from live_memory.flow.user_space import UserSpace
from live_memory.flow.workspace import Workspace
from live_memory.ports import Clock, WorkspaceIdentity

__all__ = [
    "AUTOMATIC_S",
    "EXPLICIT_S",
    "Claimed",
    "Forgot",
    "HandoffDraft",
    "NoteDraft",
    "Notes",
    "Recalled",
    "Remembered",
    "Scope",
]

# A note that names more files lists a folder; a long one is gone through beside the loop.
_MOST_FILES, _SHORT = 40, 2_000
# So many notes are cut up faster than a thread is found for it.
_FEW_NEW = 20
# What the disk does not give at once is no reason to keep a question waiting.
_TO_OPEN_S = 1.0
_LONGEST_REASON = 200


class Scope(StrEnum):
    """For whom something is kept: for one project, or for its user in all projects."""

    WORKSPACE = "workspace"
    USER = "user"


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A note as it is told."""

    text: str
    category: NoteCategory
    tags: tuple[str, ...] = ()
    is_pinned: bool = False
    expires_at: Instant | None = None
    told_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A note as it is kept, `is_new` unless the same was told before.

    So many `redacted` secrets were taken out of it. What is `not_found` of the places that it names
    is not here.
    """

    note: Note
    is_new: bool
    redacted: int
    not_found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was found of so many that there are; the sources that `changed`, by the id of a note."""

    workspace: WorkspaceIdentity
    found: tuple[Kept, ...]
    total: int
    changed: dict[str, tuple[Source, ...]]


@dataclass(frozen=True, slots=True)
class Forgot:
    """The ids of what was withdrawn now, of what was before, and of what is not there."""

    forgotten: tuple[str, ...]
    before: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HandoffDraft:
    """A handoff as it is left."""

    summary: str
    next_steps: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    to_agent: str = ""
    expires_at: Instant | None = None
    is_automatic: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """A handoff, and whether who asked has it now."""

    handoff: Handoff
    is_ours: bool


class Notes:
    """What is told about each workspace, and in the space of the user.

    Where `cwd` leads to no workspace, that is an `InvalidRequest`; what would not survive a crash
    is a `StoreUnavailable`.
    """

    def __init__(
        self,
        *,
        opened: Callable[[str], Awaitable[Workspace]],
        user: UserSpace,
        redactor: Redactor,
        clock: Clock,
    ) -> None:
        self.user = user
        self._opened = opened
        self._redactor = redactor
        self._clock = clock
        self._cutting_up = anyio.Lock()

    async def remember(
        self, cwd: str, draft: NoteDraft, writer: Writer, *, scope: Scope = Scope.WORKSPACE
    ) -> Remembered:
        """Keep a note; the same one that was told before stays as it is.

        Raises:
            InvalidRequest: it is empty or too long, there are too many, it was withdrawn, or
                learning is paused.
        """
        text, redacted = self.cleaned(draft.text)
        await self.user.opened()
        memory = await self._unpaused(cwd, scope)
        space = self.user if memory is None else memory
        note = Note(
            id=note_id(text),
            text=text,
            category=draft.category,
            writer=writer,
            told_at=draft.told_at or self._clock.now(),
            tags=tuple(dict.fromkeys(self.cleaned(tag)[0] for tag in draft.tags)),
            is_pinned=draft.is_pinned,
            expires_at=draft.expires_at,
        )
        with nullcontext() if memory is None else memory.in_use():
            twin = space.window.notebook.note(note.id)
            if twin is not None:
                _refuse_withdrawn(twin)
                await space.settled()
                return Remembered(twin, is_new=False, redacted=redacted, not_found=())
            if space.window.notebook.is_full:
                raise InvalidRequest("there is no room for another note: purge what was forgotten")
            not_found: tuple[str, ...] = ()
            if memory is not None:
                sources, not_found = await _places_of(text, memory)
                note = replace(note, sources=sources)
            await space.record(NoteTold(note))
        return Remembered(note, is_new=True, redacted=redacted, not_found=not_found)

    async def recall(self, cwd: str, query: RecallQuery, *, scope: Scope | None = None) -> Recalled:
        """What a query means in a workspace, in the user's space, or without a scope in both.

        Facts are opened again, and told only where they stand; so are the places of notes.
        """
        user = await self.user.opened()
        memory = await self._opened(cwd)
        spaces = []
        if scope is not Scope.USER:
            spaces.append(Space(memory.window, memory.note_words))
        if scope is not Scope.WORKSPACE:
            spaces.append(Space(user, self.user.note_words, is_users=True))
        with memory.in_use():
            await self._cut_up(spaces)
            work = partial(recollected, spaces, query, self._clock.now())
            found = await anyio.to_thread.run_sync(work)
            standing, changed = await _compared(found.page, memory)
        return Recalled(memory.identity, tuple(standing), found.total, changed)

    async def beside(self, memory: Workspace) -> Sequence[Space]:
        """What is kept for a workspace, and across projects, as far as that is known by now."""
        with anyio.move_on_after(_TO_OPEN_S):
            await self.user.opened()
        here = Space(memory.window, memory.note_words)
        spaces = [here, Space(self.user.window, self.user.note_words, is_users=True)]
        await self._cut_up(spaces)
        return spaces

    async def _cut_up(self, spaces: Iterable[Space]) -> None:
        """Learn the words of what was told since, one after another."""
        async with self._cutting_up:
            for space in spaces:
                notes = space.window.notebook.notes
                behind = space.words.behind(notes)
                if behind > _FEW_NEW:
                    await anyio.to_thread.run_sync(space.words.of, notes)
                elif behind:
                    space.words.of(notes)

    async def forget(self, cwd: str, ids: Collection[str], reason: str, writer: Writer) -> Forgot:
        """Withdraw notes, facts, past answers and open handoffs, for good.

        What is learned again by itself does not bring them back.
        """
        await self.user.opened()
        memory = await self._opened(cwd)
        withdrawal = Withdrawal(writer, self._clock.now(), self.cleaned(reason)[0])
        wanted = frozenset(ids)
        gone: set[str] = set()
        before: set[str] = set()
        with memory.in_use():
            for space in (memory, self.user):
                notes = [n for named in wanted if (n := space.window.notebook.note(named))]
                before |= {note.id for note in notes if note.withdrawn is not None}
                counted = frozenset(note.id for note in notes if note.withdrawn is None)
                if counted:
                    await space.record(NotesWithdrawn(counted, withdrawal))
                gone |= counted
            window = memory.window
            facts = frozenset(fact.id for fact in window.ledger.facts if fact.id in wanted)
            times = {asked_at_of(named): named for named in wanted}
            asked = {
                times[a.question.asked_at]: a.question.asked_at
                for a in questions(window)
                if a.question.asked_at in times
            }
            if facts or asked:
                await memory.record(Forgotten(frozenset(), facts, frozenset(asked.values())))
            gone |= facts | set(asked)
            before |= wanted & window.ledger.forgotten
            now = withdrawal.at
            for one in window.notebook.open_handoffs(now):
                if one.id in wanted:
                    await memory.record(HandoffCancelled(one.id, withdrawal))
                    gone.add(one.id)
        return Forgot(
            *(
                tuple(named for named in dict.fromkeys(ids) if named in some)
                for some in (gone, before - gone, wanted - gone - before)
            )
        )

    async def leave(self, cwd: str, draft: HandoffDraft, writer: Writer, *, call: str) -> Handoff:
        """Leave work to the next one; the same `call` leaves it once.

        Raises:
            InvalidRequest: it is empty or too long, too many that somebody left are open, or
                learning is paused.
        """
        memory = await self._opened(cwd)
        memory.refuse_if_paused()
        now = self._clock.now()
        handoff = Handoff(
            id=handoff_id(call, memory.identity.root),
            summary=self.cleaned(draft.summary)[0],
            writer=writer,
            left_at=now,
            expires_at=draft.expires_at
            or Instant(now + (AUTOMATIC_S if draft.is_automatic else EXPLICIT_S)),
            next_steps=self._all_cleaned(draft.next_steps),
            open_questions=self._all_cleaned(draft.open_questions),
            files=self._all_cleaned(draft.files),
            to_agent=self.cleaned(draft.to_agent)[0],
            is_automatic=draft.is_automatic,
        )
        notebook = memory.window.notebook
        known = notebook.handoff(handoff.id)
        if known is not None:
            with memory.in_use():
                await memory.settled()
            return known
        by_hand = [one for one in notebook.open_handoffs(now) if not one.is_automatic]
        if len(by_hand) >= MOST_OPEN_HANDOFFS:
            raise InvalidRequest(
                f"{MOST_OPEN_HANDOFFS} handoffs are open, the most there may be: claim or cancel "
                "some first"
            )
        with memory.in_use():
            await memory.record(HandoffLeft(handoff))
        return handoff

    async def claim(self, cwd: str, named: str, writer: Writer, *, call: str) -> Claimed:
        """Take a handoff over, if nobody has: of many, one does. The same `call` may ask again.

        Raises:
            InvalidRequest: there is no such handoff, or it ended otherwise.
        """
        memory = await self._opened(cwd)
        _handoff(memory.window.notebook, named)
        claim = Claim(writer, self._clock.now(), call)
        with memory.in_use():
            await memory.record(HandoffClaimed(HandoffId(named), claim))
        handoff = _handoff(memory.window.notebook, named)
        if handoff.claim is None:
            state = handoff.state_at(claim.at)
            raise InvalidRequest(f"handoff {named} was {state}, and cannot be claimed any more")
        return Claimed(handoff, is_ours=handoff.claim.call == call)

    async def cancel(self, cwd: str, named: str, reason: str, writer: Writer) -> Handoff:
        """End a handoff that nobody has taken over.

        Raises:
            InvalidRequest: there is no such handoff, or it was claimed or cancelled before.
        """
        memory = await self._opened(cwd)
        withdrawal = Withdrawal(writer, self._clock.now(), self.cleaned(reason)[0])
        _handoff(memory.window.notebook, named)
        with memory.in_use():
            await memory.record(HandoffCancelled(HandoffId(named), withdrawal))
        handoff = _handoff(memory.window.notebook, named)
        if handoff.cancelled != withdrawal:
            state = handoff.state_at(withdrawal.at)
            raise InvalidRequest(f"handoff {named} was {state} already")
        return handoff

    async def handoffs(
        self, cwd: str, *, to_agent: str = "", is_open: bool = True
    ) -> tuple[WorkspaceIdentity, Sequence[Handoff]]:
        """Those that can be claimed, or all, newest first; for an agent, those for all and for it.

        Looking at them changes nothing.
        """
        memory = await self._opened(cwd)
        notebook = memory.window.notebook
        some = notebook.open_handoffs(self._clock.now()) if is_open else notebook.handoffs
        meant = [one for one in some if not to_agent or one.to_agent in ("", to_agent)]
        return memory.identity, tuple(reversed(meant))

    async def _unpaused(self, cwd: str, scope: Scope) -> Workspace | None:
        """The workspace that something is kept in, if it is one; that of `cwd` must not be paused.

        What is kept across projects may be told where there is none.
        """
        try:
            memory = await self._opened(cwd)
        except InvalidRequest:
            if scope is Scope.USER:
                return None
            raise
        memory.refuse_if_paused()
        return memory if scope is Scope.WORKSPACE else None

    async def opened(self, cwd: str) -> Workspace:
        """The workspace that `cwd` belongs to, open."""
        return await self._opened(cwd)

    def now(self) -> Instant:
        """The current time."""
        return self._clock.now()

    async def places_of(self, text: str, memory: Workspace) -> tuple[Source, ...]:
        """The places that a text names and that are here, as they are now."""
        sources, _ = await _places_of(text, memory)
        return sources

    def cleaned(self, text: str) -> tuple[str, int]:
        """A text without secrets and lone surrogates, and how many secrets there were."""
        lines = (line.rstrip(" \t") for line in clean(text).split("\n"))
        found = self._redactor.redact("\n".join(lines).strip())
        return found.text.text, found.count

    def _all_cleaned(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(filter(None, (self.cleaned(text)[0] for text in texts)))


def _refuse_withdrawn(twin: Note) -> None:
    if twin.withdrawn is not None:
        # It is somebody else's, and stands in a sentence of ours.
        reason = " ".join(twin.withdrawn.reason.split())[:_LONGEST_REASON]
        why = f" ({reason!r})" if reason else ""
        raise InvalidRequest(
            f"this was remembered as {twin.id} and forgotten since{why}; say it in other words if "
            "it holds again"
        )


def _handoff(notebook: Notebook, named: str) -> Handoff:
    found = notebook.handoff(named)
    if found is None:
        raise InvalidRequest(f"there is no handoff {named!r} in this workspace: list them first")
    return found


async def _places_of(text: str, memory: Workspace) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """The places that a text names, as they are now, and those that are not here."""
    listed = memory.indexer.signatures
    named = partial(named_paths, text, opened=(), listed=listed)
    is_little = len(text) <= _SHORT and len(listed) <= _SHORT
    paths = named() if is_little else await anyio.to_thread.run_sync(named)
    if not paths:
        return (), ()
    files = await QuestionFiles(memory.indexer.shelf, memory.index).current(paths[:_MOST_FILES])
    resolver = Resolver(text, files.keys())
    found: dict[Source, None] = {}
    missing: dict[str, None] = {}
    for place in places_in(text, endings_of(files)):
        path = next((path for path in resolver.paths_of(place) if path in files), None)
        written = text[place.offset : place.end_offset]
        if path is None or not 1 <= place.start <= place.end <= len(files[path].lines):
            missing[written] = None
            continue
        lines = lines_hash(files[path].lines, Place(path, place.start, place.end))
        found[Source(path, files[path].sha, place.start, place.end, lines)] = None
    return tuple(found), tuple(missing)


async def _compared(
    page: Sequence[Kept], memory: Workspace
) -> tuple[Sequence[Kept], dict[str, tuple[Source, ...]]]:
    """Notes with what changed of their places since, and facts that stand, as they are now."""
    desk = QuestionFiles(memory.indexer.shelf, memory.index)
    facts = [one.item for one in page if isinstance(one.item, Fact)]
    paths = dict.fromkeys(source.path for fact in facts for source in fact.sources)
    files = await desk.current(paths) if paths else {}
    standing = {each.fact.id: each.text for each in standing_facts(facts, files)}
    told = [
        replace(one, text=standing.get(one.item.id, "")) if isinstance(one.item, Fact) else one
        for one in page
    ]
    notes = [one.item for one in page if isinstance(one.item, Note)]
    return [one for one in told if one.text], await changed_places(notes, desk)
