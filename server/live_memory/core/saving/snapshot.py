"""The saved form of a whole memory: plain JSON values, versioned, with hashes and no file text.

Reading is strict: a snapshot with a wrong value is refused as a whole, so that half a memory is
never taken for all of it.
"""

import re
from dataclasses import dataclass, field

from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.hosts.notices import Subject
from live_memory.core.memory.window import Window
from live_memory.core.saving.forms import form_of, get, read, written
from live_memory.core.saving.migrations import VERSION, migrated

__all__ = [
    "VERSION",
    "Beginning",
    "Memory",
    "Restored",
    "Snapshot",
    "from_form",
    "root_of",
    "to_form",
]

_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Beginning:
    """A repository's first commit: its id, and its author time in seconds since 1970.

    The time tells a history that was rewritten, which keeps it, from another repository's.
    """

    id: str
    at: float

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError("a commit's id is 40 or 64 hexadecimal digits")

    def is_of(self, other: "Beginning") -> bool:
        """Whether both are the same repository's."""
        return self.id == other.id or self.at == other.at


@dataclass(frozen=True, slots=True)
class Memory:
    """What a workspace keeps: its window, and what it heard and has not learned yet.

    `beginning` tells of which repository, where there is one and it is known.
    """

    window: Window = field(default_factory=Window)
    heard: tuple[Subject, ...] = ()
    beginning: Beginning | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """What was found of a memory, if anything, and what is wrong with it in words for a person.

    It `is_saved` where it is the snapshot as it stands, without anything from a journal. It
    `is_unread` where the system gave no bytes of it: it may be whole, and nothing is kept then.
    """

    memory: Memory | None = None
    problems: tuple[str, ...] = ()
    is_saved: bool = True
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory, whose it is, and its generation: it has everything of the journals before."""

    root: str
    generation: int
    memory: Memory


def to_form(snapshot: Snapshot) -> dict[str, object]:
    """The snapshot as JSON values; file text stays out."""
    form = {"version": VERSION, **written(snapshot)}
    form |= form.pop("memory")
    # Versions before this key read what has it, and it is not there where nothing is known.
    if snapshot.memory.beginning is None:
        del form["beginning"]
    return form


def from_form(form: object) -> Snapshot:
    """The snapshot that was saved, by this version or an earlier one.

    Raises:
        SnapshotTooNew: a newer version wrote it.
        SnapshotUnreadable: it is not what `to_form` writes.
    """
    record = migrated(form_of(form))
    try:
        if "beginning" in record:
            get(record, "beginning", dict)
        snapshot: Snapshot = read(Snapshot, {**record, "memory": record})
    except SnapshotUnreadable as problem:
        raise SnapshotUnreadable(f"the snapshot has a wrong value: {problem}") from problem
    return snapshot


def root_of(form: object) -> str:
    """The workspace root that a record belongs to.

    Raises:
        SnapshotUnreadable: it has none.
    """
    return get(form_of(form), "root", str)
