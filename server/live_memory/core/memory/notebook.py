"""Notes and handoffs as they are kept, and what may happen to them.

What is told here is believed by nobody: it is quoted with who told it and when. Nothing rewrites
it, and a model never does.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NewType, Self

from live_memory.core.errors import InvalidRequest
from live_memory.core.memory.ledger import Source
from live_memory.core.values import Author, Instant

__all__ = [
    "AUTOMATIC_S",
    "EXPLICIT_S",
    "LARGEST_HANDOFF",
    "LARGEST_NOTE",
    "MOST_CHARACTERS",
    "MOST_ENDED",
    "MOST_NOTES",
    "MOST_OPEN_HANDOFFS",
    "Claim",
    "Handoff",
    "HandoffId",
    "HandoffState",
    "Note",
    "NoteCategory",
    "NoteId",
    "Notebook",
    "Withdrawal",
    "Writer",
    "handoff_id",
    "note_id",
]

NoteId = NewType("NoteId", str)
HandoffId = NewType("HandoffId", str)

# Bytes of UTF-8.
LARGEST_NOTE, LARGEST_HANDOFF = 16 * 1024, 8 * 1024
# All of them are gone through for each question.
MOST_NOTES = 20_000
# Of all notes of a space: a snapshot, which may take six times as many bytes, stays below what is
# ever read then.
MOST_CHARACTERS = 8_000_000
MOST_OPEN_HANDOFFS = 20
# How long a handoff can be claimed: one that nobody wrote, and one that somebody did.
AUTOMATIC_S, EXPLICIT_S = 7 * 86_400.0, 30 * 86_400.0
# What was claimed, cancelled or ran out is kept to be looked at.
MOST_ENDED = 200
_MOST_TAGS, _LONGEST_TAG = 16, 64


class NoteCategory(StrEnum):
    """What a note is about."""

    DECISION = "decision"
    TODO = "todo"
    INSIGHT = "insight"
    QUESTION = "question"
    PROGRESS = "progress"
    ISSUE = "issue"
    OBSERVATION = "observation"
    PREFERENCE = "preference"


@dataclass(frozen=True, slots=True)
class Writer:
    """Who tells something: what they are, by which token, in which host and session.

    What is not known is empty.
    """

    author: Author
    name: str = ""
    host: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """That something no longer counts, said by whom, when and why."""

    by: Writer
    at: Instant
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody told. Its id follows from its text, so that the same is never kept twice.

    `sources` are the places that it names, as they were when it was told. With `expires_at` it
    counts until then only. Where it was `withdrawn` it stays, and is told to nobody.
    """

    id: NoteId
    text: str
    category: NoteCategory
    writer: Writer
    told_at: Instant
    tags: tuple[str, ...] = ()
    is_pinned: bool = False
    expires_at: Instant | None = None
    sources: tuple[Source, ...] = ()
    withdrawn: Withdrawal | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InvalidRequest("text is empty: say what is to be remembered")
        size = len(self.text.encode("utf-8", "surrogatepass"))
        if size > LARGEST_NOTE:
            raise InvalidRequest(
                f"text has {size} bytes, at most {LARGEST_NOTE} are kept: say it shorter, or put "
                "it into a file of the project and name that"
            )
        if len(self.tags) > _MOST_TAGS or any(not 0 < len(t) <= _LONGEST_TAG for t in self.tags):
            raise InvalidRequest(
                f"tags must be at most {_MOST_TAGS} words of at most {_LONGEST_TAG} characters"
            )

    def counts_at(self, now: Instant) -> bool:
        """Whether it is told to whoever asks then."""
        return self.withdrawn is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who took a handoff over, and when; `call` tells claims of the same claimer apart."""

    by: Writer
    at: Instant
    call: str


class HandoffState(StrEnum):
    """What became of a handoff."""

    OPEN = "open"
    CLAIMED = "claimed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Handoff:
    """Work that somebody leaves to whoever takes it over: one, who claims it.

    It is for everybody who asks; `to_agent` only says to whom it is offered. `files` are places as
    they were written, `path` or `path:first-last`.
    """

    id: HandoffId
    summary: str
    writer: Writer
    left_at: Instant
    expires_at: Instant
    next_steps: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    to_agent: str = ""
    is_automatic: bool = False
    claim: Claim | None = None
    cancelled: Withdrawal | None = None

    def __post_init__(self) -> None:
        if not self.summary.strip():
            raise InvalidRequest("summary is empty: say what was done and what is left")
        parts = (self.summary, *self.next_steps, *self.open_questions, *self.files)
        size = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
        if size > LARGEST_HANDOFF:
            raise InvalidRequest(
                f"the handoff has {size} bytes, at most {LARGEST_HANDOFF} are kept: say it shorter"
            )

    def state_at(self, now: Instant) -> HandoffState:
        """What became of it by then."""
        if self.claim is not None:
            return HandoffState.CLAIMED
        if self.cancelled is not None:
            return HandoffState.CANCELLED
        return HandoffState.OPEN if now < self.expires_at else HandoffState.EXPIRED


def note_id(text: str) -> NoteId:
    """The id of the note that says this."""
    return NoteId(f"n{_hash(text)}")


def handoff_id(call: str, root: str) -> HandoffId:
    """The id of the handoff that one call leaves in the workspace with this root."""
    return HandoffId(f"h{_hash(f'{call} {root}')}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Notebook:
    """All notes and handoffs of one space, in the order in which they came."""

    notes: tuple[Note, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    # Where each note stands, once somebody wants to know. Notes are only added behind the others,
    # so later revisions add to the same table.
    _places: dict[NoteId, int] | None = field(default=None, init=False, repr=False, compare=False)

    def note(self, named: str) -> Note | None:
        """The note with this id, also one that was withdrawn."""
        at = self._standing().get(NoteId(named))
        is_here = at is not None and at < len(self.notes) and self.notes[at].id == named
        return self.notes[at] if is_here and at is not None else None

    @property
    def is_full(self) -> bool:
        """Whether there is room for no other note."""
        texts = sum(len(note.text) for note in self.notes)
        return len(self.notes) >= MOST_NOTES or texts >= MOST_CHARACTERS

    def handoff(self, named: str) -> Handoff | None:
        """The handoff with this id, whatever became of it."""
        return next((one for one in self.handoffs if one.id == named), None)

    def open_handoffs(self, now: Instant) -> tuple[Handoff, ...]:
        """Those that can be claimed, oldest first."""
        return tuple(one for one in self.handoffs if one.state_at(now) is HandoffState.OPEN)

    def with_note(self, note: Note) -> Self:
        """Add a note; one that says the same is there already, and stays as it is."""
        if self.note(note.id) is not None:
            return self
        grown = self._with_notes((*self.notes, note))
        grown._standing()[note.id] = len(self.notes)
        return grown

    def without(self, ids: Collection[str], withdrawal: Withdrawal) -> Self:
        """Withdraw these notes; one that was withdrawn before stays so."""
        notes = list(self.notes)
        for named in ids:
            note = self.note(named)
            if note is not None and note.withdrawn is None:
                notes[self._standing()[note.id]] = replace(note, withdrawn=withdrawal)
        return self._with_notes(tuple(notes))

    def with_handoff(self, handoff: Handoff) -> Self:
        """Add a handoff, unless it is there; of those that ended, the oldest make room.

        Where too many are open, an automatic one, the oldest first, ends then.
        """
        if self.handoff(handoff.id) is not None:
            return self
        handoffs = [*self.handoffs, handoff]
        now = handoff.left_at
        opened = [one for one in handoffs if one.state_at(now) is HandoffState.OPEN]
        loose = [one for one in opened if one.is_automatic]
        dropped = {one.id for one in loose[: max(0, len(opened) - MOST_OPEN_HANDOFFS)]}
        ended = [one.id for one in handoffs if one.state_at(now) is not HandoffState.OPEN]
        dropped |= set(ended[: max(0, len(ended) - MOST_ENDED)])
        return replace(self, handoffs=tuple(one for one in handoffs if one.id not in dropped))

    def with_claim(self, named: HandoffId, claim: Claim) -> Self:
        """Give a handoff to who claims it, if it is open then: of many, to the first alone."""

        def claimed(one: Handoff) -> Handoff:
            return replace(one, claim=claim)

        return self._where_open(named, claim.at, claimed)

    def with_cancelled(self, named: HandoffId, withdrawal: Withdrawal) -> Self:
        """End a handoff that is open."""

        def cancelled(one: Handoff) -> Handoff:
            return replace(one, cancelled=withdrawal)

        return self._where_open(named, withdrawal.at, cancelled)

    def brought(self, notes: Iterable[Note], handoffs: Iterable[Handoff]) -> Self:
        """Add what was kept elsewhere; what is here stays, and a withdrawal there counts here."""
        new = {note.id: note for note in notes}
        here = tuple(_as_withdrawn(note, new.pop(note.id, None)) for note in self.notes)
        known = {one.id for one in self.handoffs}
        more = {one.id: one for one in handoffs if one.id not in known}
        handed = (*self.handoffs, *more.values())
        return replace(self, notes=(*here, *new.values()), handoffs=handed)

    def erased(self, ids: Iterable[str]) -> Self:
        """Without these, and without a trace of them."""
        gone = frozenset(ids)
        return replace(
            self,
            notes=tuple(note for note in self.notes if note.id not in gone),
            handoffs=tuple(one for one in self.handoffs if one.id not in gone),
        )

    def _standing(self) -> dict[NoteId, int]:
        if self._places is None:
            places = {note.id: n for n, note in enumerate(self.notes)}
            object.__setattr__(self, "_places", places)
            return places
        return self._places

    def _with_notes(self, notes: tuple[Note, ...]) -> Self:
        """With these notes, each in its place."""
        grown = replace(self, notes=notes)
        object.__setattr__(grown, "_places", self._places)
        return grown

    def _where_open(
        self, named: HandoffId, at: Instant, change: Callable[[Handoff], Handoff]
    ) -> Self:
        handoffs = tuple(
            change(one) if one.id == named and one.state_at(at) is HandoffState.OPEN else one
            for one in self.handoffs
        )
        return replace(self, handoffs=handoffs)


def _as_withdrawn(here: Note, there: Note | None) -> Note:
    if there is None or there.withdrawn is None or here.withdrawn is not None:
        return here
    return replace(here, withdrawn=there.withdrawn)
