"""The window: the ordered entries a workspace holds, folded from events.

Entries are only appended. `Compacted` removes the ones it names and `Forgotten` the ones a person
names; nothing else removes or edits any. So what arrives while a question or a compaction runs is
simply next in line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NewType, assert_never

from live_memory.core.answer import Answer, Question
from live_memory.core.memory.ledger import Fact, FactId, Ledger
from live_memory.core.memory.notebook import Claim, Handoff, HandoffId, Note, Notebook, Withdrawal
from live_memory.core.values import ContentHash, Instant, Origin, RelPath

__all__ = [
    "Brought",
    "Compacted",
    "Concluded",
    "Entry",
    "EntryContent",
    "EntryNumber",
    "FactPinned",
    "FileChanged",
    "FileGone",
    "FileObserved",
    "Forgotten",
    "HandoffCancelled",
    "HandoffClaimed",
    "HandoffLeft",
    "LearningPaused",
    "LearningResumed",
    "MemoryEvent",
    "NoteTold",
    "NoteWritten",
    "NotesWithdrawn",
    "Purged",
    "QuestionAnswered",
    "Telling",
    "Window",
    "apply",
    "current_hashes",
    "questions",
    "told_by",
]

EntryNumber = NewType("EntryNumber", int)


@dataclass(frozen=True, slots=True)
class FileObserved:
    """Lines `start` to `end` of a file's `total` were seen, when its bytes had this hash.

    The lines themselves are not kept: whoever needs them opens the file again. An empty file has
    `start` 1, `end` 0.
    """

    path: RelPath
    sha: ContentHash
    start: int
    end: int
    total: int
    origin: Origin
    at: Instant


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A file has other bytes now; its new text was not read."""

    path: RelPath
    sha: ContentHash
    at: Instant


@dataclass(frozen=True, slots=True)
class FileGone:
    """A file no longer exists."""

    path: RelPath
    at: Instant


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A question with its answer, given while the window had revision `based_on`."""

    question: Question
    answer: Answer
    based_on: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """A summary replaced exactly the entries it `covers` by facts.

    `rejected` counts what was proposed and not admitted.
    """

    covers: frozenset[EntryNumber]
    facts: tuple[Fact, ...]
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class Concluded:
    """What holds of a text that an agent wrote; `rejected` counts its sentences that do not."""

    facts: tuple[Fact, ...]
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class NoteWritten:
    """Something worth keeping that is no file and no answer."""

    text: str
    at: Instant


@dataclass(frozen=True, slots=True)
class FactPinned:
    """A person wants this fact kept in view."""

    fact: FactId


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A person wants these gone: entries, facts, and the answers to what was asked at a time."""

    entries: frozenset[EntryNumber]
    facts: frozenset[FactId]
    asked_at: frozenset[Instant] = frozenset()


@dataclass(frozen=True, slots=True)
class NoteTold:
    """Somebody told something to be remembered."""

    note: Note


@dataclass(frozen=True, slots=True)
class NotesWithdrawn:
    """Somebody says that these notes no longer count."""

    notes: frozenset[str]
    withdrawal: Withdrawal


@dataclass(frozen=True, slots=True)
class HandoffLeft:
    """Somebody leaves work to the next one."""

    handoff: Handoff


@dataclass(frozen=True, slots=True)
class HandoffClaimed:
    """Somebody wants to take over work that was left; the first one does."""

    handoff: HandoffId
    claim: Claim


@dataclass(frozen=True, slots=True)
class HandoffCancelled:
    """Work that was left is not to be taken over any more."""

    handoff: HandoffId
    withdrawal: Withdrawal


@dataclass(frozen=True, slots=True)
class Purged:
    """A person wants no trace of these notes and handoffs."""

    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Brought:
    """A person brings what was kept elsewhere, with its own dates and writers.

    The facts that are `forgotten` there are not learned here either.
    """

    notes: tuple[Note, ...] = ()
    handoffs: tuple[Handoff, ...] = ()
    facts: tuple[Fact, ...] = ()
    forgotten: frozenset[FactId] = frozenset()


@dataclass(frozen=True, slots=True)
class LearningPaused:
    """A person wants nothing learned from now on."""


@dataclass(frozen=True, slots=True)
class LearningResumed:
    """A person wants things learned again."""


_Noting = NoteTold | NotesWithdrawn | HandoffLeft | HandoffClaimed | HandoffCancelled | Purged
Telling = _Noting | Brought | LearningPaused | LearningResumed
MemoryEvent = (
    FileObserved
    | FileChanged
    | FileGone
    | QuestionAnswered
    | Compacted
    | Concluded
    | NoteWritten
    | FactPinned
    | Forgotten
    | Telling
)


_FIRST = EntryNumber(1)
# Answers that are kept after their entries were compacted: some 5 kB each.
_MOST_ARCHIVED = 1_000

EntryContent = FileObserved | FileChanged | FileGone | QuestionAnswered | NoteWritten


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the window; numbers rise and are never used twice."""

    number: EntryNumber
    content: EntryContent


@dataclass(frozen=True, slots=True)
class Window:
    """An immutable revision of a workspace's memory.

    `archive` has the answers whose entries are compacted, `settled` the last known hash of each
    file that is known beyond the entries. While it `is_paused`, nothing is learned.
    """

    revision: int = 0
    next_number: EntryNumber = _FIRST
    ledger: Ledger = field(default_factory=Ledger)
    entries: tuple[Entry, ...] = ()
    archive: tuple[QuestionAnswered, ...] = ()
    settled: Mapping[RelPath, ContentHash] = field(default_factory=lambda: MappingProxyType({}))
    notebook: Notebook = field(default_factory=Notebook)
    is_paused: bool = False


def apply(window: Window, event: MemoryEvent) -> Window:
    """Fold one event into the window; total, pure, and the only way to make a new revision."""
    seen = replace(window, revision=window.revision + 1)
    match event:
        case FileObserved() | FileChanged():
            return _appended(replace(seen, ledger=_checked(window, event.path, event.sha)), event)
        case FileGone():
            return _appended(replace(seen, ledger=_checked(window, event.path, None)), event)
        case QuestionAnswered():
            ledger = window.ledger.with_uses(event.answer.facts)
            return _appended(replace(seen, ledger=ledger), event)
        case NoteWritten():
            return _appended(seen, event)
        case Compacted():
            return _compacted(seen, event)
        case Concluded():
            return _with_facts(seen, event)
        case FactPinned():
            return replace(seen, ledger=seen.ledger.with_pin(event.fact))
        case Forgotten():
            return _forgotten(seen, event)
        case _:
            return _told(seen, event)


def _told(window: Window, event: Telling) -> Window:
    match event:
        case Brought():
            return _brought(window, event)
        case LearningPaused():
            return replace(window, is_paused=True)
        case LearningResumed():
            return replace(window, is_paused=False)
        case _:
            return replace(window, notebook=_noted(window.notebook, event))


def _brought(window: Window, event: Brought) -> Window:
    notebook = window.notebook.brought(event.notes, event.handoffs)
    ledger = window.ledger.without(event.forgotten) if event.forgotten else window.ledger
    grown = replace(window, notebook=notebook, ledger=ledger)
    return _with_facts(grown, Concluded(event.facts)) if event.facts else grown


def _noted(notebook: Notebook, event: _Noting) -> Notebook:
    match event:
        case NoteTold(note):
            return notebook.with_note(note)
        case NotesWithdrawn(ids, withdrawal):
            return notebook.without(ids, withdrawal)
        case HandoffLeft(handoff):
            return notebook.with_handoff(handoff)
        case HandoffClaimed(named, claim):
            return notebook.with_claim(named, claim)
        case HandoffCancelled(named, withdrawal):
            return notebook.with_cancelled(named, withdrawal)
        case Purged(ids):
            return notebook.erased(ids)
        case _:
            assert_never(event)


def current_hashes(window: Window) -> dict[RelPath, ContentHash | None]:
    """The last known hash of every file that was ever seen; `None` is a file that is gone."""
    hashes: dict[RelPath, ContentHash | None] = {**window.settled}
    for entry in window.entries:
        hashes.update(told_by(entry.content))
    return hashes


def told_by(content: EntryContent) -> tuple[tuple[RelPath, ContentHash | None], ...]:
    """The file that an entry tells of with the hash it had then; `None` is a file that is gone."""
    match content:
        case FileObserved() | FileChanged():
            return ((content.path, content.sha),)
        case FileGone():
            return ((content.path, None),)
        case _:
            return ()


def questions(window: Window) -> tuple[QuestionAnswered, ...]:
    """All questions that are kept, with their answers, oldest first."""
    newer = (e.content for e in window.entries if isinstance(e.content, QuestionAnswered))
    return (*window.archive, *newer)


def _with_facts(window: Window, event: Compacted | Concluded) -> Window:
    hashes = current_hashes(window)
    # A fact whose source changed while the summary was written is born stale. Those that were there
    # were judged at each look, and no look at a file is news to them.
    born = Ledger(event.facts).checked_against(hashes).facts
    ledger = window.ledger.with_rejected(event.rejected).with_facts(born).pruned()
    # What a fact rests on is compared with the disk from now on, also where no entry tells of it.
    new = {s.path: s.sha for fact in event.facts for s in fact.sources if s.path not in hashes}
    settled = MappingProxyType({**window.settled, **new}) if new else window.settled
    return replace(window, ledger=ledger, settled=settled)


def _compacted(window: Window, event: Compacted) -> Window:
    covered = [e.content for e in window.entries if e.number in event.covers]
    answers = [content for content in covered if isinstance(content, QuestionAnswered)]
    grown = _with_facts(window, event)
    settled = {path: sha for path, sha in current_hashes(grown).items() if sha is not None}
    return replace(
        grown,
        entries=_without(window, event.covers),
        archive=(*window.archive, *answers)[-_MOST_ARCHIVED:],
        settled=MappingProxyType(settled),
    )


def _forgotten(window: Window, event: Forgotten) -> Window:
    # The bytes of a file outlive the entry that told them: else older ones would be current again.
    hashes = current_hashes(window)
    settled = {path: sha for path in window.settled if (sha := hashes[path]) is not None}
    answered = {
        entry.number
        for entry in window.entries
        if isinstance(entry.content, QuestionAnswered)
        and entry.content.question.asked_at in event.asked_at
    }
    return replace(
        window,
        ledger=window.ledger.without(event.facts),
        entries=_without(window, event.entries | answered),
        archive=tuple(a for a in window.archive if a.question.asked_at not in event.asked_at),
        settled=MappingProxyType(settled),
    )


def _checked(window: Window, path: RelPath, sha: ContentHash | None) -> Ledger:
    """The ledger after a look at one file."""
    ledger = window.ledger.checked_against({path: sha})
    doubtful = (fact for fact in ledger.resting_on(path) if fact.is_stale)
    if any(source.path != path for fact in doubtful for source in fact.sources):
        # Whether a fact of several files is fresh again depends on the others too.
        return ledger.checked_against({**current_hashes(window), path: sha})
    return ledger


def _appended(window: Window, content: EntryContent) -> Window:
    entry = Entry(window.next_number, content)
    number = EntryNumber(window.next_number + 1)
    return replace(window, next_number=number, entries=(*window.entries, entry))


def _without(window: Window, numbers: frozenset[EntryNumber]) -> tuple[Entry, ...]:
    return tuple(entry for entry in window.entries if entry.number not in numbers)
