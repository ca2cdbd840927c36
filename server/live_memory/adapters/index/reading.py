"""What the index holds, kept in memory and brought up to date from the rows that are new."""

import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from live_memory.adapters.index.database import Damaged
from live_memory.adapters.index.packing import numbers
from live_memory.core.evidence.places import Definition, Place
from live_memory.core.evidence.ranking import Collection
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = ["File", "Holdings", "holdings"]

_COLUMNS = (
    "id, path, size, modified_ns, changed_ns, inode, device, sha, first_unit, starts, ends, lengths"
)
_Row = tuple[
    int, str, int, int, int, str, str, str | None, int | None, bytes | None, bytes | None,
    bytes | None,
]  # fmt: skip


def _row(values: bytes = b"") -> "array[int]":
    return array("I", values)


@dataclass(frozen=True, slots=True)
class File:
    """A version of a file, and the units it was cut into where it has text."""

    id: int
    path: RelPath
    signature: StatSignature
    sha: str | None = None
    first_unit: int = 0
    units: int = 0

    @property
    def hash(self) -> ContentHash:
        """Of a file with text."""
        assert self.sha is not None
        return ContentHash(self.sha)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the index holds as of a generation, small enough to keep in memory.

    Units are numbered through all files; a number has its lines in `starts` and `ends`.
    """

    generation: int = 0
    joined: int = 0  # the generation in which units were numbered anew
    last: int = 0  # the number of the last file that was taken in
    files: Mapping[int, File] = field(default_factory=dict)  # those with text
    numbers: Mapping[RelPath, int] = field(default_factory=dict)
    known: Mapping[RelPath, StatSignature] = field(default_factory=lambda: MappingProxyType({}))
    owners: "array[int]" = field(default_factory=_row)
    lengths: "array[int]" = field(default_factory=_row)
    starts: "array[int]" = field(default_factory=_row)
    ends: "array[int]" = field(default_factory=_row)
    collection: Collection = field(default_factory=lambda: Collection(_row(), _row(), 0, 0.0))
    outlines: dict[int, Sequence[Definition]] = field(default_factory=dict)  # asked for, by file

    @property
    def has_gone(self) -> bool:
        """Whether some units belong to versions of files that are gone; no unit has number 0."""
        return self.collection.live + 1 < len(self.owners)

    def place(self, unit: int) -> Place:
        """The lines of a live unit."""
        return Place(self.files[self.owners[unit]].path, self.starts[unit], self.ends[unit])

    def unit_at(self, file: File, line: int) -> int:
        """The number of the unit that holds a line, or of the last before it."""
        first, following = file.first_unit, file.first_unit + file.units
        return max(first, bisect_right(self.starts, line, first, following) - 1)


def holdings(db: sqlite3.Connection, before: Holdings | None) -> Holdings:
    """The current holdings; those from before when nothing has changed."""
    counters = dict(db.execute("SELECT name, value FROM counter"))
    generation = counters["generation"]
    if before is not None and before.generation == generation:
        return before
    joined = generation - counters["batches"]
    if before is None or before.joined != joined:
        before = Holdings(joined=joined)
    growing = _Growing(before, counters["next_unit"])
    rows = db.execute(f"SELECT {_COLUMNS} FROM file WHERE id > ? ORDER BY id", (before.last,))  # noqa: S608
    for row in rows:
        growing.take(row)
    if db.execute("SELECT count(*) FROM file").fetchone()[0] != len(growing.numbers):
        growing.keep({number for (number,) in db.execute("SELECT id FROM file")})
    return growing.done(generation, joined)


class _Growing:
    """Holdings in the making: those from before are in use elsewhere, and stay as they are."""

    def __init__(self, before: Holdings, units: int) -> None:
        self._last, self._live, self._outlines = (
            before.last,
            before.collection.live,
            before.outlines,
        )
        self._files, self._known = dict(before.files), dict(before.known)
        self.numbers = dict(before.numbers)
        more = _row(bytes(4 * max(0, units - len(before.owners))))
        rows = before.owners, before.lengths, before.starts, before.ends
        self._rows = [row + more for row in rows]

    def take(self, row: _Row) -> None:
        """Take in a version of a file, in place of the one before it."""
        number, path, size, modified, changed, inode, device, sha, first, *packed = row
        self._last = number
        signature = StatSignature(size, modified, changed, int(inode), int(device))
        file = File(number, RelPath(path), signature)
        self._drop(self.numbers.get(file.path))
        if sha is not None:
            file = self._with_text(file, sha, first or 0, [numbers(one or b"") for one in packed])
            self._files[number] = file
        self.numbers[file.path] = number
        self._known[file.path] = signature

    def keep(self, kept: set[int]) -> None:
        """Drop all files but these."""
        for path, number in [*self.numbers.items()]:
            if number not in kept:
                self._drop(number)
                del self.numbers[path], self._known[path]

    def done(self, generation: int, joined: int) -> Holdings:
        """What came of it."""
        # A version of a file has a number of its own, so an outline never changes.
        outlines = {n: o for n, o in [*self._outlines.items()] if n in self._files}
        owners, lengths, starts, ends = self._rows
        mean = sum(lengths) / max(1, self._live)
        return Holdings(
            generation,
            joined,
            self._last,
            files=self._files,
            numbers=self.numbers,
            known=MappingProxyType(self._known),
            owners=owners,
            lengths=lengths,
            starts=starts,
            ends=ends,
            collection=Collection(owners, lengths, self._live, mean),
            outlines=outlines,
        )

    def _with_text(self, file: File, sha: str, first: int, spans: "list[array[int]]") -> File:
        starts, ends, lengths = spans
        count, following = len(starts), first + len(starts)
        if following > len(self._rows[0]) or not count == len(ends) == len(lengths):
            raise Damaged("the units of a file are torn")
        owner = array("I", [file.id]) * count
        for row, own in zip(self._rows, (owner, lengths, starts, ends), strict=True):
            row[first:following] = own
        self._live += count
        return File(file.id, file.path, file.signature, sha, first, count)

    def _drop(self, number: int | None) -> None:
        file = None if number is None else self._files.pop(number, None)
        if file is None:
            return
        following = file.first_unit + file.units
        for row in self._rows[:2]:
            row[file.first_unit : following] = _row(bytes(4 * file.units))
        self._live -= file.units
