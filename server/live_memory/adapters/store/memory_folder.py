"""One workspace's folder: which files it holds, in which order they are made, and which may go.

    snapshot.json            the memory as it was when generation n began
    snapshot.previous.json   the generation before
    journal.jsonl            what happened and was heard since the highest generation began
    journal.<n>.jsonl        the journals before, as long as a snapshot that is kept needs them
    sessions.json            what sessions did whose end may leave a handoff
    handoffs.json            until when each open handoff counts, for a session that begins

A save begins a new journal, takes the memory, and writes it: so a snapshot of generation n has
everything of the journals before n, and whatever is between two steps when the power fails, the
newest snapshot with the journals from its generation on is the whole memory.
"""

import contextlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from live_memory.adapters.store.journal_file import (
    JOURNAL,
    LARGEST_JOURNAL,
    JournalFile,
    keep_beside,
    make_folder,
    read_file,
    set_aside,
    sync_folder,
    write_new,
)
from live_memory.core.errors import SnapshotTooNew, SnapshotUnreadable
from live_memory.core.saving.journal import (
    Broken,
    JournalHeader,
    JournalRecord,
    begun_in,
    line_of,
    records_in,
    replayed,
)
from live_memory.core.saving.snapshot import (
    VERSION,
    Memory,
    Restored,
    Snapshot,
    from_form,
    sealed,
    to_form,
    unsealed,
    version_of,
)
from live_memory.core.saving.snapshot import VERSION as FORMAT_VERSION

__all__ = [
    "APART",
    "LARGEST_SNAPSHOT",
    "OPEN_HANDOFFS",
    "PREVIOUS",
    "SESSIONS",
    "SNAPSHOT",
    "MemoryFolder",
]

SNAPSHOT, PREVIOUS = "snapshot.json", "snapshot.previous.json"
# The latter is read by `client/session_start.py`.
SESSIONS, OPEN_HANDOFFS = "sessions.json", "handoffs.json"
# A memory of 2,000 files with 1,000 answers has some 6 MB.
LARGEST_SNAPSHOT = 64 * 1024 * 1024
_LARGEST_BESIDE = 4 * 1024 * 1024
_INDEX = "index.sqlite"
_OLD = re.compile(r"journal\.([0-9]{1,18})\.jsonl")


@dataclass(frozen=True, slots=True)
class LoadedMemory:
    """What was found, what was wrong, and the generations that are taken.

    `saved` is the generation of the snapshot, `current` that of the journal that is there, and
    `highest` the highest of all.
    """

    memory: Memory | None = None
    problems: tuple[str, ...] = ()
    is_saved: bool = True
    saved: int | None = None
    current: int | None = None
    highest: int = 0


def find(folder: Path) -> LoadedMemory:
    """Read the newest snapshot that is good, brought up to date by its journals.

    Nothing that cannot be read is ever overwritten: it is set aside, or kept under a second name.

    Raises:
        SnapshotTooNew: a newer version keeps its memory here; nothing was touched.
        OSError: the system gives no bytes, or the unreadable cannot be set aside.
    """
    problems: list[str] = []
    snapshots = _snapshots(folder, problems)
    journals = _journals(folder, problems)
    for leftover in (f"{name}.new" for name in (SNAPSHOT, JOURNAL, SESSIONS, OPEN_HANDOFFS)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            (folder / leftover).unlink()
    newest = snapshots[0] if snapshots else None
    memory = newest.memory if newest else Memory()
    for name, (generation, data) in journals.items():
        if newest is not None and generation < newest.generation:
            continue
        try:
            memory = replayed(memory, records_in(data))
        except Broken as problem:
            memory = problem.so_far
            aside = f"journal.{generation}.unreadable"
            keep_beside(folder / name, aside)
            problems.append(
                f"{folder / name} cannot be read to its end: {problem} (kept as {aside})"
            )
    found = [generation for generation, _ in journals.values()]
    return LoadedMemory(
        memory if snapshots or journals else None,
        tuple(problems),
        is_saved=newest is not None and memory is newest.memory,
        saved=newest.generation if newest else None,
        current=journals[JOURNAL][0] if JOURNAL in journals else None,
        highest=max([0, *found, *(one.generation for one in snapshots)]),
    )


def old_journals(folder: Path) -> dict[str, int]:
    """The journals that are not written any more, with their generations, in order."""
    found = {name: int(match[1]) for name in _names(folder) if (match := _OLD.fullmatch(name))}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _snapshots(folder: Path, problems: list[str]) -> list[Snapshot]:
    """The newest that is good, or none; all are looked at for one that is too new."""
    found: list[Snapshot] = []
    for name in (SNAPSHOT, PREVIOUS):
        path = folder / name
        try:
            form = unsealed(read_file(path, most=LARGEST_SNAPSHOT))
            if found:
                continue
            snapshot = from_form(form)
            if version_of(form) < VERSION:
                keep_beside(path, f"snapshot.v{version_of(form)}.json")
            found.append(snapshot)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except SnapshotUnreadable as problem:
            problems.append(f"{path} cannot be read: {problem} (kept as {set_aside(path)})")
    return found


def _journals(folder: Path, problems: list[str]) -> dict[str, tuple[int, bytes]]:
    """Generation and bytes of each journal, oldest first."""
    found: dict[str, tuple[int, bytes]] = {}
    for name in (*old_journals(folder), JOURNAL):
        path = folder / name
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            try:
                data = read_file(path, most=LARGEST_JOURNAL + 1024 * 1024)
                found[name] = (begun_in(data).generation, data)
            except SnapshotUnreadable as problem:
                problems.append(f"{path} cannot be read: {problem} (kept as {set_aside(path)})")
    return found


# Where a server keeps its own memory while the folder belongs to a newer version.
APART = f"version-{FORMAT_VERSION}"


class MemoryFolder:
    """The only writer of one folder; each method blocks, and one runs at a time but for `save`."""

    def __init__(self, folder: Path, kept: LoadedMemory) -> None:
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

    def append(self, root: str, told: Sequence[JournalRecord]) -> None:
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

    def put(self, name: str, data: bytes) -> None:
        """Keep a small file beside the memory; without data there is none.

        Raises:
            OSError: it cannot be written; the one before is as it was.
        """
        file = self._folder / name
        if not data:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                file.unlink()
            return
        make_folder(self._folder)
        new = file.with_name(f"{name}.new")
        os.close(write_new(new, data))
        new.rename(file)

    def got(self, name: str) -> bytes:
        """A small file that is kept beside the memory; nothing where there is none.

        Raises:
            SnapshotUnreadable: it is none of ours.
            OSError: the system gives no bytes.
        """
        try:
            return read_file(self._folder / name, most=_LARGEST_BESIDE)
        except (FileNotFoundError, NotADirectoryError):
            return b""

    def set_aside(self, name: str) -> None:
        """Give a small file that cannot be read another name.

        Raises:
            OSError: it keeps its own.
        """
        set_aside(self._folder / name)

    def turn_over(self, root: str) -> int:
        """Begin a new journal as `turn_page` does, also where a save that failed left one."""
        self._unsaved = None
        return self.turn_page(root)

    def remove_older(self) -> None:
        """Remove all beside the last snapshot, the journal, the index, and what is open.

        Raises:
            OSError: it cannot be removed.
        """
        for path in self._folder.iterdir():
            if path.name in (SNAPSHOT, JOURNAL, OPEN_HANDOFFS) or path.name.startswith(_INDEX):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        sync_folder(self._folder)

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _begun(self, root: str) -> JournalFile:
        make_folder(self._folder)
        generation = self._highest + 1
        before = self._highest if self._current is None else self._current
        first = line_of(JournalHeader(generation, root))
        journal = JournalFile.begun(self._folder, first, old=f"journal.{before}.jsonl")
        self.close()
        self._journal, self._current, self._highest = journal, generation, generation
        sync_folder(self._folder)
        return journal
