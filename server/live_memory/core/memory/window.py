"""The window: the ordered entries a workspace holds, folded from events.

Entries are only appended. `Compacted` removes the ones it names and `Forgotten` the ones a person
names; nothing else removes or edits any. So what arrives while a question or a compaction runs is
simply next in line.
"""

from dataclasses import dataclass, field, replace
from typing import assert_never

from live_memory.core.memory.events import (
    Compacted,
    EntryNumber,
    FactPinned,
    FileChanged,
    FileGone,
    FileObserved,
    Forgotten,
    MemoryEvent,
    NoteWritten,
    QuestionAnswered,
)
from live_memory.core.memory.ledger import Ledger
from live_memory.core.values import ContentHash, RelPath

__all__ = ["Entry", "EntryContent", "Window", "apply", "current_hashes", "questions"]

_FIRST = EntryNumber(1)

EntryContent = FileObserved | FileChanged | FileGone | QuestionAnswered | NoteWritten


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the window; numbers rise and are never used twice."""

    number: EntryNumber
    content: EntryContent


@dataclass(frozen=True, slots=True)
class Window:
    """An immutable revision of a workspace's memory."""

    revision: int = 0
    next_number: EntryNumber = _FIRST
    ledger: Ledger = field(default_factory=Ledger)
    entries: tuple[Entry, ...] = ()


def apply(window: Window, event: MemoryEvent) -> Window:
    """Fold one event into the window; total, pure, and the only way to make a new revision."""
    seen = replace(window, revision=window.revision + 1)
    match event:
        case FileObserved() | FileChanged():
            fresh = seen.ledger.checked_against({event.path: event.sha})
            return _appended(replace(seen, ledger=fresh), event)
        case FileGone():
            fresh = seen.ledger.checked_against({event.path: None})
            return _appended(replace(seen, ledger=fresh), event)
        case QuestionAnswered() | NoteWritten():
            return _appended(seen, event)
        case Compacted():
            # A fact whose source changed while the summary was written is born stale.
            ledger = seen.ledger.with_facts(event.facts).checked_against(current_hashes(window))
            return replace(seen, ledger=ledger, entries=_without(window, event.covers))
        case FactPinned():
            return replace(seen, ledger=seen.ledger.with_pin(event.fact))
        case Forgotten():
            ledger = seen.ledger.without(event.facts)
            return replace(seen, ledger=ledger, entries=_without(window, event.entries))
        case _:
            assert_never(event)


def current_hashes(window: Window) -> dict[RelPath, ContentHash | None]:
    """The last known hash of every file in the entries; `None` is a file that is gone."""
    hashes: dict[RelPath, ContentHash | None] = {}
    for entry in window.entries:
        match entry.content:
            case FileObserved() | FileChanged():
                hashes[entry.content.path] = entry.content.sha
            case FileGone():
                hashes[entry.content.path] = None
            case _:
                pass
    return hashes


def questions(window: Window) -> tuple[QuestionAnswered, ...]:
    """The questions in the window with their answers, oldest first."""
    return tuple(e.content for e in window.entries if isinstance(e.content, QuestionAnswered))


def _appended(window: Window, content: EntryContent) -> Window:
    entry = Entry(window.next_number, content)
    number = EntryNumber(window.next_number + 1)
    return replace(window, next_number=number, entries=(*window.entries, entry))


def _without(window: Window, numbers: frozenset[EntryNumber]) -> tuple[Entry, ...]:
    return tuple(entry for entry in window.entries if entry.number not in numbers)
