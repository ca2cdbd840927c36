"""Questions to the index, within one transaction."""

import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from live_memory.adapters.index.database import Damaged
from live_memory.adapters.index.packing import numbers
from live_memory.adapters.index.reading import Holdings
from live_memory.adapters.index.runs import rows_of
from live_memory.core.evidence.places import Definition, DefinitionKind, Place, Terms
from live_memory.core.evidence.ranking import Posting
from live_memory.core.values import RelPath

__all__ = ["definitions_named", "outline_of", "postings", "uses_of"]

_KINDS = {kind.value: kind for kind in DefinitionKind}
_MOST_OUTLINES = 1_000  # some ten megabytes
_SPAN = "file, name, kind, start, end, signature"


def postings(db: sqlite3.Connection, held: Holdings, terms: Terms) -> Iterator[Posting]:
    """Where the words of a question occur."""
    for word, weight in terms.weights:
        units, counts = array("I"), array("I")
        for left, right in rows_of(db, "word", word):
            units += numbers(left)
            counts += numbers(right)
        if units:
            if len(units) != len(counts):
                raise Damaged("a word's row is torn")
            _leave_out(held.gone, units, counts)
            if units:
                yield Posting(word, weight, units, counts)


def _leave_out(gone: Sequence[range], units: "array[int]", counts: "array[int]") -> None:
    """Drop these stretches of units, which are in order."""
    for stretch in gone:
        first = bisect_left(units, stretch.start)
        if first < len(units) and units[first] < stretch.stop:
            following = bisect_left(units, stretch.stop, first)
            del units[first:following], counts[first:following]


def definitions_named(
    db: sqlite3.Connection, held: Holdings, base: str
) -> Sequence[tuple[int, Definition]]:
    """Definitions whose last name part is this one, in any case, with their file's number."""
    rows = db.execute(
        f"SELECT {_SPAN} FROM definition WHERE base = ? ORDER BY file, start",  # noqa: S608
        (base.lower(),),
    )
    found = ((held.files.at_row(row[0]), row) for row in rows)
    return [
        (file, _definition(held.files.path(file), row)) for file, row in found if file is not None
    ]


def outline_of(db: sqlite3.Connection, held: Holdings, file: int) -> Sequence[Definition]:
    """The definitions of a file, in order."""
    if file not in held.outlines:
        if len(held.outlines) >= _MOST_OUTLINES:
            held.outlines.clear()
        rows = db.execute(
            f"SELECT {_SPAN} FROM definition WHERE file = ? ORDER BY ordinal",  # noqa: S608
            (held.files.rows[file],),
        )
        path = held.files.path(file)
        held.outlines[file] = tuple(_definition(path, row) for row in rows)
    return held.outlines[file]


def uses_of(db: sqlite3.Connection, held: Holdings, name: str) -> Sequence[Place]:
    """The lines on which a name is used, by path and line."""
    places = []
    for files, lines in rows_of(db, "use", name):
        for row, line in zip(numbers(files), numbers(lines), strict=True):
            file = held.files.at_row(row)
            if file is not None:
                places.append(Place(held.files.path(file), line, line))
    return sorted(places, key=lambda place: (place.path, place.start))


def _definition(path: RelPath, row: tuple[int, str, str, int, int, str]) -> Definition:
    _, name, kind, start, end, signature = row
    return Definition(name, _KINDS[kind], Place(path, start, end), signature)
