"""Questions to the index, within one transaction."""

import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.adapters.index.database import Damaged
from live_memory.adapters.index.packing import numbers
from live_memory.core.evidence.places import Definition, DefinitionKind, Place, Terms
from live_memory.core.evidence.ranking import Collection, Posting
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = ["File", "Holdings", "definitions_named", "holdings", "known", "outline_of", "postings"]

_KINDS = {kind.value: kind for kind in DefinitionKind}
_MOST_OUTLINES = 1_000  # some ten megabytes
_SPAN = "file, name, kind, start, end, signature"


@dataclass(frozen=True, slots=True)
class File:
    """A file with text, and the units it was cut into."""

    id: int
    path: RelPath
    sha: ContentHash
    first_unit: int
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the index holds as of a generation, small enough to keep in memory."""

    generation: int
    files: Mapping[int, File]
    numbers: Mapping[RelPath, int]  # of the files
    collection: Collection
    has_gone: bool  # some units belong to versions of files that are gone
    outlines: dict[int, Sequence[Definition]]  # those that were asked for, by file

    def place(self, unit: int) -> Place:
        """The lines of a live unit."""
        file = self.files[self.collection.owners[unit]]
        at = unit - file.first_unit
        return Place(file.path, file.starts[at], file.ends[at])


def known(db: sqlite3.Connection) -> Mapping[RelPath, StatSignature]:
    """Every file that was offered, with its signature."""
    rows = db.execute("SELECT path, size, modified_ns, changed_ns, inode, device FROM file")
    return {
        RelPath(path): StatSignature(size, modified, changed, int(inode), int(device))
        for path, size, modified, changed, inode, device in rows
    }


def holdings(db: sqlite3.Connection, before: Holdings | None) -> Holdings:
    """The current holdings; those from before when nothing has changed."""
    counters = dict(db.execute("SELECT name, value FROM counter"))
    if before is not None and before.generation == counters["generation"]:
        return before
    owners = array("I", bytes(4 * counters["next_unit"]))
    sizes = array("I", bytes(4 * counters["next_unit"]))
    files: dict[int, File] = {}
    rows = db.execute(
        "SELECT id, path, sha, first_unit, starts, ends, lengths FROM file WHERE sha NOT NULL"
    )
    for number, path, sha, first, starts, ends, lengths in rows:
        row = numbers(lengths)
        if first + len(row) > len(owners):
            raise Damaged("a unit is beyond the last one")
        owners[first : first + len(row)] = array("I", [number]) * len(row)
        sizes[first : first + len(row)] = row
        files[number] = File(
            number, RelPath(path), ContentHash(sha), first, numbers(starts), numbers(ends)
        )
    live = len(owners) - owners.count(0)
    collection = Collection(owners, sizes, live, sum(sizes) / max(1, live))
    has_gone = live + 1 < len(owners)  # no unit has number 0
    paths = {file.path: number for number, file in files.items()}
    # A version of a file has a number of its own, so an outline never changes.
    outlines = {} if before is None else {n: o for n, o in before.outlines.items() if n in files}
    return Holdings(counters["generation"], files, paths, collection, has_gone, outlines)


def postings(db: sqlite3.Connection, held: Holdings, terms: Terms) -> Iterator[Posting]:
    """Where the words of a question occur."""
    for word, weight in terms.weights:
        units, counts = array("I"), array("I")
        for left, right in db.execute("SELECT units, counts FROM word WHERE key = ?", (word,)):
            units += numbers(left)
            counts += numbers(right)
        if units:
            if len(units) != len(counts) or max(units) >= len(held.collection.owners):
                raise Damaged("a word's row is torn")
            alive = _alive(held, Posting(word, weight, units, counts))
            if alive.units:
                yield alive


def _alive(held: Holdings, posting: Posting) -> Posting:
    """Without the units of versions that are gone."""
    if not held.has_gone:
        return posting
    owners = held.collection.owners
    pairs = zip(posting.units, posting.counts, strict=True)
    kept = [(unit, count) for unit, count in pairs if owners[unit]]
    units, counts = [unit for unit, _ in kept], [count for _, count in kept]
    return Posting(posting.word, posting.weight, units, counts)


def definitions_named(
    db: sqlite3.Connection, held: Holdings, base: str
) -> Sequence[tuple[int, Definition]]:
    """Definitions whose last name part is this one, in any case, with their file's number."""
    rows = db.execute(
        f"SELECT {_SPAN} FROM definition WHERE base = ? ORDER BY file, start",  # noqa: S608
        (base.lower(),),
    )
    return [(row[0], _definition(held, row)) for row in rows if row[0] in held.files]


def outline_of(db: sqlite3.Connection, held: Holdings, file: int) -> Sequence[Definition]:
    """The definitions of a file, in order."""
    if file not in held.outlines:
        if len(held.outlines) >= _MOST_OUTLINES:
            held.outlines.clear()
        rows = db.execute(
            f"SELECT {_SPAN} FROM definition WHERE file = ? ORDER BY ordinal",  # noqa: S608
            (file,),
        )
        held.outlines[file] = tuple(_definition(held, row) for row in rows)
    return held.outlines[file]


def uses_of(db: sqlite3.Connection, held: Holdings, name: str) -> Sequence[Place]:
    """The lines on which a name is used, by path and line."""
    places = []
    for files, lines in db.execute("SELECT files, lines FROM use WHERE key = ?", (name,)):
        for file, line in zip(numbers(files), numbers(lines), strict=True):
            if file in held.files:
                places.append(Place(held.files[file].path, line, line))
    return sorted(places, key=lambda place: (place.path, place.start))


def unit_at(file: File, line: int) -> int:
    """The number of the unit that holds a line, or of the last before it."""
    return file.first_unit + max(0, bisect_right(file.starts, line) - 1)


def _definition(held: Holdings, row: tuple[int, str, str, int, int, str]) -> Definition:
    file, name, kind, start, end, signature = row
    path = held.files[file].path
    return Definition(name, _KINDS[kind], Place(path, start, end), signature)
