"""Finds what a folder keeps: the newest snapshot that is good, brought up to date by its journals.

Nothing that cannot be read is ever overwritten: it is set aside, or kept under a second name.
"""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from live_memory.adapters.snapshots.journal_file import JOURNAL, LARGEST_JOURNAL
from live_memory.adapters.snapshots.own_files import keep_beside, read_file, set_aside
from live_memory.core.errors import SnapshotUnreadable
from live_memory.core.saving.journal import Broken, begun_in, records_in, replayed
from live_memory.core.saving.migrations import VERSION, version_of
from live_memory.core.saving.sealing import unsealed
from live_memory.core.saving.snapshot import Memory, Snapshot, from_form

__all__ = ["LARGEST_SNAPSHOT", "PREVIOUS", "SNAPSHOT", "Kept", "find", "old_journals"]

SNAPSHOT, PREVIOUS = "snapshot.json", "snapshot.previous.json"
# A memory of 2,000 files with 1,000 answers has some 6 MB.
LARGEST_SNAPSHOT = 64 * 1024 * 1024
_OLD = re.compile(r"journal\.([0-9]{1,18})\.jsonl")


@dataclass(frozen=True, slots=True)
class Kept:
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


def find(folder: Path) -> Kept:
    """Read everything.

    Raises:
        SnapshotTooNew: a newer version keeps its memory here; nothing was touched.
        OSError: the system gives no bytes, or the unreadable cannot be set aside.
    """
    problems: list[str] = []
    snapshots = _snapshots(folder, problems)
    journals = _journals(folder, problems)
    for leftover in (f"{SNAPSHOT}.new", f"{JOURNAL}.new"):
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
    return Kept(
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
