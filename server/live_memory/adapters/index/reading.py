"""What the index holds, kept in memory and brought up to date from the rows that are new."""

import sqlite3
import struct
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from live_memory.adapters.index.database import Damaged
from live_memory.adapters.index.files import File, Files, KnownFiles
from live_memory.adapters.index.packing import numbers
from live_memory.core.evidence.asks import Asks
from live_memory.core.evidence.natures import family_of
from live_memory.core.evidence.places import Definition, Place
from live_memory.core.evidence.ranking import Collection
from live_memory.core.evidence.shapes import is_code
from live_memory.core.values import RelPath, StatSignature

__all__ = ["Holdings", "holdings"]

_COLUMNS = (
    "id, path, size, modified_ns, changed_ns, inode, device, sha, first_unit, starts, ends, traits"
)
_Row = tuple[
    int, str, int, int, int, str, str, str | None, int | None, bytes | None, bytes | None,
    bytes | None,
]  # fmt: skip
_Look = tuple[int, bool, bool]
# Below this share of the lines a language is one that is used beside.
_MAIN_SHARE = 0.1
# What is worked out for places, some ten megabytes, and for questions that ask for other things.
_MOST_FACTORS = 50_000
# As many versions may be gone as are there, and these, before all are read anew.
_MOST_GAPS = 1_000


def _row(values: bytes = b"") -> "array[int]":
    return array("I", values)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the index holds as of a generation, small enough to keep in memory.

    Units are numbered through all files; a number has its lines in `starts` and `ends`, and what
    it looks like in `traits`. `owners` and all that is asked say a file by its number in `files`;
    `families` says how many lines there are of each language; a main one has `main_lines`. `gone`
    are stretches of units that belong to no file any more.
    """

    generation: int = 0
    joined: int = 0  # the generation in which units were numbered anew
    files: Files = field(default_factory=Files)
    known: KnownFiles = field(default_factory=lambda: KnownFiles(Files(), 0))
    owners: "array[int]" = field(default_factory=_row)
    traits: "array[int]" = field(default_factory=_row)
    starts: "array[int]" = field(default_factory=_row)
    ends: "array[int]" = field(default_factory=_row)
    collection: Collection = field(default_factory=lambda: Collection(_row(), 0))
    families: Mapping[str, int] = field(default_factory=dict)
    main_lines: float = 0.0
    gone: Sequence[range] = ()
    outlines: dict[int, Sequence[Definition]] = field(default_factory=dict)  # asked for, by file
    _factors: dict[Asks, "dict[_Look, float]"] = field(default_factory=dict)

    def place(self, unit: int) -> Place:
        """The lines of a live unit."""
        return Place(self.files.path(self.owners[unit]), self.starts[unit], self.ends[unit])

    def is_main(self, path: RelPath) -> bool:
        """Whether much of the programs here is written in the language of a file."""
        return self.families.get(family_of(path), 0) >= self.main_lines

    def factors_of(self, asks: Asks) -> "dict[_Look, float]":
        """What was worked out for questions that ask for this, by file and what a place looks like:
        whether it is a list, and a test; to add to.
        """
        if sum(map(len, self._factors.values())) > _MOST_FACTORS:
            self._factors.clear()
        return self._factors.setdefault(asks, {})

    def unit_at(self, file: File, line: int) -> int:
        """The number of the unit that holds a line, or of the last before it."""
        at = bisect_right(self.starts, line, file.first_unit, file.following)
        return max(file.first_unit, at - 1)


def holdings(db: sqlite3.Connection, before: Holdings | None) -> Holdings:
    """The current holdings; those from before when nothing has changed."""
    counters = dict(db.execute("SELECT name, value FROM counter"))
    generation, joined = counters["generation"], counters["joined"]
    if before is not None and before.generation == generation:
        return before
    if before is None or before.joined != joined or _is_full_of_gaps(before.files):
        before = Holdings(joined=joined)
    growing = _Growing(before, counters["next_unit"])
    last = before.files.rows[-1]
    for row in db.execute(f"SELECT {_COLUMNS} FROM file WHERE id > ? ORDER BY id", (last,)):  # noqa: S608
        growing.take(row)
    if counters["files"] != growing.files.count:
        growing.keep(db.execute("SELECT id FROM file ORDER BY id"))
    return growing.done(generation, joined)


def _is_full_of_gaps(files: Files) -> bool:
    return files.end > 2 * files.count + _MOST_GAPS


class _Growing:
    """Holdings in the making: those from before are in use elsewhere, and stay as they are."""

    def __init__(self, before: Holdings, units: int) -> None:
        self.files = before.files.copy()
        self._live, self._families = before.collection.live, Counter(before.families)
        self._outlines, self._gone = dict(before.outlines), [*before.gone]
        self._end = max(1, len(before.owners))  # no unit has number 0
        more = _row(bytes(4 * max(0, units - len(before.owners))))
        rows = before.owners, before.traits, before.starts, before.ends
        self._rows = [row + more for row in rows]

    def take(self, row: _Row) -> None:
        """Take in a version of a file, in place of the one before it."""
        at, name, size, modified, changed, inode, device, sha, first, *packed = row
        path = RelPath(name)
        signature = StatSignature(size, modified, changed, int(inode), int(device))
        self._drop(self.files.number_of(path))
        try:
            if sha is None:
                self.files.add(at, path, signature, sha=None)
                return
            spans = [numbers(one or b"") for one in packed]
            first, units = first or 0, len(spans[0])
            number = self.files.add(at, path, signature, sha=sha, first_unit=first, units=units)
        except (struct.error, ValueError) as problem:
            raise Damaged("the row of a file is torn") from problem
        self._fill(number, first, spans)

    def keep(self, rows: sqlite3.Cursor) -> None:
        """Drop all files but those of these rows."""
        for number in [*self.files.dropped(row for (row,) in rows)]:
            self._drop(number)

    def done(self, generation: int, joined: int) -> Holdings:
        """What came of it."""
        owners, traits, starts, ends = self._rows
        self._leave_out(range(self._end, len(owners)))
        return Holdings(
            generation,
            joined,
            files=self.files,
            known=KnownFiles(self.files, generation),
            owners=owners,
            traits=traits,
            starts=starts,
            ends=ends,
            collection=Collection(owners, self._live),
            families=self._families,
            main_lines=sum(self._families.values()) * _MAIN_SHARE,
            gone=self._gone,
            outlines=self._outlines,
        )

    def _fill(self, number: int, first: int, spans: "list[array[int]]") -> None:
        """Write down the units of a file."""
        starts, ends, traits = spans
        count, following = len(starts), first + len(starts)
        is_next = self._end <= first and following <= len(self._rows[0])
        if not is_next or not count == len(ends) == len(traits):
            raise Damaged("the units of a file are torn")
        self._leave_out(range(self._end, first))
        self._end = following
        owner = array("I", [number]) * count
        for row, own in zip(self._rows, (owner, traits, starts, ends), strict=True):
            row[first:following] = own
        self._live += count
        self._count_lines(number, sum(ends) - sum(starts) + count)

    def _drop(self, number: int | None) -> None:
        if number is None:
            return
        file = self.files.text(number)
        # A version of a file has a number of its own, so an outline never changes.
        self._outlines.pop(number, None)
        if file is None:
            self.files.drop(number)
            return
        starts, ends = (row[file.first_unit : file.following] for row in self._rows[2:])
        self._count_lines(number, sum(starts) - sum(ends) - file.units)
        for row in self._rows[:1]:
            row[file.first_unit : file.following] = _row(bytes(4 * file.units))
        self._live -= file.units
        self._leave_out(range(file.first_unit, file.following))
        self.files.drop(number)

    def _count_lines(self, number: int, lines: int) -> None:
        path = self.files.path(number)
        if is_code(path):
            self._families[family_of(path)] += lines

    def _leave_out(self, units: range) -> None:
        """These belong to no file."""
        if units:
            self._gone.append(units)
