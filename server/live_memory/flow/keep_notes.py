"""What a person does with all that is kept: take it out, bring it in, purge it, pause learning."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import anyio.to_thread

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.ledger import Fact, FactId
from live_memory.core.memory.notebook import (
    MOST_CHARACTERS,
    MOST_ENDED,
    MOST_NOTES,
    MOST_OPEN_HANDOFFS,
    Handoff,
    HandoffState,
    Note,
    note_id,
)
from live_memory.core.memory.window import (
    Brought,
    Forgotten,
    LearningPaused,
    LearningResumed,
    Purged,
    QuestionAnswered,
    Window,
    questions,
)
from live_memory.core.notes.recollection import asked_at_of
from live_memory.core.notes.records import (
    Incoming,
    Item,
    counting,
    incoming_record,
    items_of,
    record_of,
    with_texts,
)
from live_memory.core.reading.observation import visible
from live_memory.core.saving.codec import written
from live_memory.core.values import Instant
from live_memory.flow.notes import Notes, Scope
from live_memory.ports import WorkspaceIdentity

__all__ = ["MOST_RECORDS", "BroughtIn", "Keeping", "PurgedIds"]

T = TypeVar("T")

# Records that are brought at once.
MOST_RECORDS = 500
# An answer that holds a line of what is purged goes with it; shorter ones say too little. So does
# one whose model read it.
_TELLING_LINE = 16


@dataclass(frozen=True, slots=True)
class BroughtIn:
    """What came of records: how many are new by kind, how many were here, how many notes are
    withdrawn by them; so many secrets were `redacted`. `refused` says by place why one was not.
    """

    new: Mapping[str, int]
    known: int
    withdrawn: int
    redacted: int
    refused: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class PurgedIds:
    """The ids of what is gone without a trace, answers that held a part of it too."""

    purged: tuple[str, ...]
    unknown: tuple[str, ...]
    answers: int


class Keeping:
    """What is kept of each workspace and in the space of the user, as a whole.

    Where `cwd` leads to no workspace, that is an `InvalidRequest`; what would not survive a crash
    is a `StoreUnavailable`.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def exported(
        self, cwd: str, *, scope: Scope, is_current: bool
    ) -> Iterator[Mapping[str, object]]:
        """Every note, handoff, fact and what was forgotten, as records, or what counts now."""
        if scope is Scope.USER:
            window = await self._notes.user.opened()
        else:
            memory = await self._notes.opened(cwd)
            if is_current:
                with memory.in_use():
                    await memory.checked()
            window = memory.window
        items = items_of(window)
        shown = counting(items, self._notes.now()) if is_current else items
        return map(record_of, shown)

    async def bring(
        self, cwd: str, forms: Sequence[object], *, scope: Scope, is_dry: bool
    ) -> BroughtIn:
        """Take records in, with their own dates and writers; of the same, one is kept.

        All is redacted as what is told here is. With `is_dry` nothing is kept.

        Raises:
            InvalidRequest: there are too many, or learning is paused.
        """
        if len(forms) > MOST_RECORDS:
            raise InvalidRequest(f"more than {MOST_RECORDS} records: send less at once")
        user = await self._notes.user.opened()
        memory = await self._notes.opened(cwd)
        memory.refuse_if_paused()
        window = memory.window if scope is Scope.WORKSPACE else user
        root = memory.identity.root
        arriving = _Arriving(window, self._notes, root=root, scope=scope)
        with memory.in_use():
            await anyio.to_thread.run_sync(arriving.take, forms)
            if scope is Scope.WORKSPACE:
                for named in arriving.nameless:
                    sources = await self._notes.places_of(arriving.notes[named].text, memory)
                    arriving.notes[named] = replace(arriving.notes[named], sources=sources)
            event = arriving.event
            if not is_dry and event != Brought():
                space = memory if scope is Scope.WORKSPACE else self._notes.user
                await space.record(event)
        return arriving.outcome

    async def purge(
        self, cwd: str, ids: Collection[str], *, scope: Scope, is_forgotten: bool = False
    ) -> PurgedIds:
        """Remove these, and with `is_forgotten` all that was withdrawn, from every file.

        An answer that holds a line of them goes too. What was forgotten before is in no file then.

        Raises:
            StoreUnavailable: the disk does not let it: what is gone may still be in a file.
        """
        await self._notes.user.opened()
        memory = await self._notes.opened(cwd)
        space = memory if scope is Scope.WORKSPACE else self._notes.user
        with memory.in_use():
            purging = _Purging(space.window, frozenset(ids), is_forgotten=is_forgotten)
            if purging.told:
                await space.record(Purged(frozenset(purging.told)))
            answers = await anyio.to_thread.run_sync(purging.answers_in, memory.window)
            facts = frozenset(fact.id for fact in purging.facts)
            if answers or facts:
                await memory.record(Forgotten(frozenset(), facts, frozenset(answers)))
            await space.rewrite()
            if answers and space is not memory:
                await memory.rewrite()
        found = purging.found
        unknown = tuple(named for named in dict.fromkeys(ids) if named not in found)
        return PurgedIds(tuple(sorted(found)), unknown, len(answers))

    async def purge_user(self) -> int:
        """Remove all of the user's space from every file; how many notes there were."""
        user = self._notes.user
        ids = frozenset(note.id for note in (await user.opened()).notebook.notes)
        if ids:
            await user.record(Purged(frozenset(ids)))
        await user.rewrite()
        return len(ids)

    async def pause(self, cwd: str) -> WorkspaceIdentity:
        """Learn and keep nothing of a workspace until it is resumed, also after a restart."""
        memory = await self._notes.opened(cwd)
        if not memory.window.is_paused:
            with memory.in_use():
                await memory.record(LearningPaused())
        return memory.identity

    async def resume(self, cwd: str) -> WorkspaceIdentity:
        """Learn and keep again."""
        memory = await self._notes.opened(cwd)
        if memory.window.is_paused:
            with memory.in_use():
                await memory.record(LearningResumed())
        return memory.identity


class _Arriving:
    """Records on their way in; `nameless` are notes whose places are still to be looked for."""

    def __init__(self, window: Window, notes: Notes, *, root: str, scope: Scope) -> None:
        self._window = window
        self._cleaned, self._now = notes.cleaned, notes.now()
        self._root, self._scope = root, scope
        self._characters = sum(len(note.text) for note in window.notebook.notes)
        self._known = {note.id: note for note in window.notebook.notes}
        self._handed = {one.id for one in window.notebook.handoffs}
        opened = window.notebook.open_handoffs(self._now)
        self._open, self._ended = len(opened), len(self._handed) - len(opened)
        self._facts = {fact.id for fact in window.ledger.facts}
        self.notes: dict[str, Note] = {}
        self.nameless: list[str] = []
        self.handoffs: dict[str, Handoff] = {}
        self.facts: dict[str, Fact] = {}
        self.forgotten = set[FactId]()
        self._counts = Counter[str]()
        self._refused: dict[int, str] = {}

    @property
    def event(self) -> Brought:
        """All that is to be kept of it."""
        return Brought(
            tuple(self.notes.values()),
            tuple(self.handoffs.values()),
            tuple(self.facts.values()),
            frozenset(self.forgotten),
        )

    @property
    def outcome(self) -> BroughtIn:
        """What came of it."""
        counts = self._counts
        new = {
            "notes": counts["notes"],
            "handoffs": len(self.handoffs),
            "facts": len(self.facts),
            "forgotten": len(self.forgotten),
        }
        withdrawn, redacted = counts["withdrawn"], counts["redacted"]
        return BroughtIn(new, counts["known"], withdrawn, redacted, self._refused)

    def take(self, forms: Sequence[object]) -> None:
        """Go through records; each is as good as any other."""
        for place, form in enumerate(forms):
            try:
                self._add(incoming_record(form, now=self._now, root=self._root))
            except InvalidRequest as problem:
                self._refused[place] = str(problem)

    def _add(self, incoming: Incoming) -> None:
        item: Item = with_texts(incoming.item, self._clean)
        if self._scope is Scope.USER and not isinstance(item, Note):
            raise InvalidRequest("only notes are kept across projects")
        match item:
            case Note():
                self._add_note(item, wants_places=incoming.wants_places)
            case Handoff():
                self._add_handoff(item)
            case Fact() if item.id not in self._window.ledger.forgotten | self.forgotten:
                self._put(self.facts, item.id, item, is_known=item.id in self._facts)
            case Fact():
                self._counts["known"] += 1
            case _:
                is_known = item in self._window.ledger.forgotten or item in self.forgotten
                self._counts["known"] += is_known
                self.forgotten |= set() if is_known else {item}

    def _add_note(self, said: Note, *, wants_places: bool) -> None:
        note = replace(said, id=note_id(said.text), tags=tuple(dict.fromkeys(said.tags)))
        here = self._known.get(note.id)
        if here is not None:
            is_news = note.withdrawn is not None and here.withdrawn is None
            self._counts["withdrawn" if is_news else "known"] += 1
            if is_news:
                self.notes[note.id] = self._known[note.id] = note
            return
        if len(self._known) >= MOST_NOTES or self._characters >= MOST_CHARACTERS:
            raise InvalidRequest("there is no room for another note: purge what was forgotten")
        self._counts["notes"] += 1
        self._characters += len(note.text)
        self.notes[note.id] = self._known[note.id] = note
        if wants_places:
            self.nameless.append(note.id)

    def _add_handoff(self, one: Handoff) -> None:
        is_open = one.state_at(self._now) is HandoffState.OPEN
        is_full = self._open >= MOST_OPEN_HANDOFFS if is_open else self._ended >= _MOST_BROUGHT
        if one.id not in self._handed and is_full:
            raise InvalidRequest(f"there is no room for one more handoff that is {_state(is_open)}")
        if self._put(self.handoffs, one.id, one, is_known=one.id in self._handed):
            self._handed.add(one.id)
            self._open += is_open
            self._ended += not is_open

    def _put(self, found: dict[str, T], named: str, item: T, *, is_known: bool) -> bool:
        is_known = is_known or named in found
        self._counts["known"] += is_known
        if not is_known:
            found[named] = item
        return not is_known

    def _clean(self, text: str) -> str:
        cleaned, redacted = self._cleaned(text)
        self._counts["redacted"] += redacted
        return cleaned


# Where the last of the open ones ended, so many are kept.
_MOST_BROUGHT = MOST_ENDED + MOST_OPEN_HANDOFFS


def _state(is_open: bool) -> str:
    return "open" if is_open else "ended"


class _Purging:
    """What is to go: notes and handoffs that were `told`, facts, and answers."""

    def __init__(self, window: Window, ids: frozenset[str], *, is_forgotten: bool) -> None:
        notebook = window.notebook
        gone = [n for n in notebook.notes if n.withdrawn is not None] if is_forgotten else []
        dropped = [h for h in notebook.handoffs if h.cancelled is not None] if is_forgotten else []
        gone += [note for note in notebook.notes if note.id in ids]
        dropped += [one for one in notebook.handoffs if one.id in ids]
        self.facts = [fact for fact in window.ledger.facts if fact.id in ids]
        self.told = {*(note.id for note in gone), *(one.id for one in dropped)}
        texts = [note.text for note in gone] + [fact.text for fact in self.facts]
        for one in dropped:
            texts += [one.summary, *one.next_steps, *one.open_questions]
        self._lines = {line for text in texts for line in _telling(text)}
        self._named = {named: asked_at_of(named) for named in ids}
        self._answered = {each.question.asked_at for each in questions(window)}

    @property
    def found(self) -> frozenset[str]:
        """Their ids."""
        asked = {named for named, at in self._named.items() if at in self._answered}
        return frozenset(self.told | {fact.id for fact in self.facts} | asked)

    def answers_in(self, window: Window) -> frozenset[Instant]:
        """When the questions were asked that are meant, or that hold a line of what goes."""
        return frozenset(
            each.question.asked_at
            for each in questions(window)
            if each.question.asked_at in self._named.values() or self._is_held(each)
        )

    def _is_held(self, asked: QuestionAnswered) -> bool:
        if not self.told.isdisjoint(asked.answer.notes):
            return True
        if not self._lines:
            return False
        told = "\n".join(_texts_in(written(asked)))
        return any(line in told for line in self._lines)


def _telling(text: str) -> Iterator[str]:
    """The lines that tell a text from others, as they are kept and as they are shown."""
    lines = [line.strip() for line in text.split("\n")]
    for line in [line for line in lines if len(line) >= _TELLING_LINE] or [text.strip()]:
        yield line
        yield visible(line)


def _texts_in(form: object) -> Iterator[str]:
    match form:
        case str():
            yield form
        case dict():
            for one in form.values():
                yield from _texts_in(one)
        case list():
            for one in form:
                yield from _texts_in(one)
        case _:
            pass
