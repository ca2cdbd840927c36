"""One workspace's folder: which files it holds, in which order they are made, and which may go.

    snapshot.json            the memory as it was when generation n began
    snapshot.previous.json   the generation before
    journal.jsonl            what happened and was heard since the highest generation began
    journal.<n>.jsonl        the journals before, as long as a snapshot that is kept needs them

A save begins a new journal, takes the memory, and writes it: so a snapshot of generation n has
everything of the journals before n, and whatever is between two steps when the power fails, the
newest snapshot with the journals from its generation on is the whole memory.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from live_memory.adapters.snapshots.journal_file import JournalFile
from live_memory.adapters.snapshots.loading import (
    LARGEST_SNAPSHOT,
    PREVIOUS,
    SNAPSHOT,
    Kept,
    find,
    old_journals,
)
from live_memory.adapters.snapshots.own_files import (
    keep_beside,
    make_folder,
    sync_folder,
    write_new,
)
from live_memory.core.errors import SnapshotTooNew
from live_memory.core.saving.journal import Begun, Told, line_of
from live_memory.core.saving.sealing import sealed
from live_memory.core.saving.snapshot import VERSION, Memory, Restored, Snapshot, to_form

__all__ = ["APART", "MemoryFolder"]

# Where a server keeps its own memory while the folder belongs to a newer version.
APART = f"version-{VERSION}"


class MemoryFolder:
    """The only writer of one folder; each method blocks, and one runs at a time but for `save`."""

    def __init__(self, folder: Path, kept: Kept) -> None:
        self._folder = folder
        self._saved = kept.saved
        self._current = kept.current
        self._highest = kept.highest
        self._journal: JournalFile | None = None
        self._unsaved: int | None = None
        self._is_broken = False

    @classmethod
    def opened(cls, folder: Path) -> tuple[Self, Restored]:
        """The folder and what it keeps.

        Raises:
            OSError: it cannot be read.
        """
        problems: tuple[str, ...] = ()
        try:
            kept = find(folder)
        except SnapshotTooNew as problem:
            folder = folder / APART
            kept = find(folder)
            problems = (f"{problem} (until then this server remembers in {folder})",)
        return cls(folder, kept), Restored(
            kept.memory, (*problems, *kept.problems), is_saved=kept.is_saved or kept.memory is None
        )

    def append(self, root: str, told: Sequence[Told]) -> None:
        """Add records to the journal, durably.

        Raises:
            OSError: they are not; nothing can be added before the next save then.
        """
        if self._is_broken:
            raise OSError(0, "the journal takes nothing before the next snapshot")
        try:
            journal = self._journal or self._begun(root)
            journal.append(b"".join(map(line_of, told)))
        except OSError:
            self._is_broken, self._unsaved = True, None
            self.close()
            raise

    def turn_page(self, root: str) -> int:
        """Begin a new journal; the generation of the snapshot that has everything before.

        Raises:
            OSError: it cannot be made.
        """
        # A save that failed has left its journal: what came since is in it, without a gap.
        if self._unsaved is None:
            self._begun(root)
            self._unsaved, self._is_broken = self._highest, False
        return self._unsaved

    def save(self, root: str, memory: Memory, *, generation: int) -> None:
        """Write the snapshot of a generation.

        Raises:
            OSError: it cannot be written; the one before is as it was.
        """
        data = sealed(to_form(Snapshot(root, generation, memory)))
        if len(data) > LARGEST_SNAPSHOT:
            raise OSError(0, f"this memory has {len(data)} bytes, more than are ever read")
        current, new = self._folder / SNAPSHOT, self._folder / f"{SNAPSHOT}.new"
        os.close(write_new(new, data))
        try:
            if os.path.lexists(current):
                (self._folder / PREVIOUS).unlink(missing_ok=True)
                keep_beside(current, PREVIOUS)
            new.rename(current)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()
            raise
        sync_folder(self._folder)
        previous, self._saved, self._unsaved = self._saved, generation, None
        for name, number in old_journals(self._folder).items():
            if previous is not None and number < previous:
                (self._folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _begun(self, root: str) -> JournalFile:
        make_folder(self._folder)
        generation = self._highest + 1
        before = self._highest if self._current is None else self._current
        first = line_of(Begun(generation, root))
        journal = JournalFile.begun(self._folder, first, old=f"journal.{before}.jsonl")
        self.close()
        self._journal, self._current, self._highest = journal, generation, generation
        sync_folder(self._folder)
        return journal
