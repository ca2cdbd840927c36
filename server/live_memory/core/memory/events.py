"""Everything that can happen to a memory; a window is the fold of these, and nothing else."""

from dataclasses import dataclass
from typing import NewType

from live_memory.core.asking.answer import Answer, Question
from live_memory.core.memory.ledger import Fact, FactId
from live_memory.core.values import ContentHash, Instant, Origin, RelPath

__all__ = [
    "Compacted",
    "EntryNumber",
    "FactPinned",
    "FileChanged",
    "FileGone",
    "FileObserved",
    "Forgotten",
    "MemoryEvent",
    "NoteWritten",
    "QuestionAnswered",
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
    """A person wants these gone: entries and facts."""

    entries: frozenset[EntryNumber]
    facts: frozenset[FactId]


MemoryEvent = (
    FileObserved
    | FileChanged
    | FileGone
    | QuestionAnswered
    | Compacted
    | NoteWritten
    | FactPinned
    | Forgotten
)
