"""Questions to the index, within one transaction."""

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from itertools import compress

from live_memory.adapters.index.database import Damaged
from live_memory.adapters.index.packing import numbers
from live_memory.adapters.index.reading import Holdings
from live_memory.core.evidence.places import Definition, DefinitionKind, Place, Terms
from live_memory.core.evidence.ranking import Posting

__all__ = ["definitions_named", "outline_of", "postings", "uses_of"]

_KINDS = {kind.value: kind for kind in DefinitionKind}
_MOST_OUTLINES = 1_000  # some ten megabytes
_SPAN = "file, name, kind, start, end, signature"


def postings(db: sqlite3.Connection, held: Holdings, terms: Terms) -> Iterator[Posting]:
    """Where the words of a question occur."""
    for word, weight in terms.weights:
        units, counts = array("I"), array("I")
        for left, right in db.execute("SELECT units, counts FROM word WHERE key = ?", (word,)):
            units += numbers(left)
            counts += numbers(right)
        if units:
            if len(units) != len(counts) or max(units) >= len(held.owners):
                raise Damaged("a word's row is torn")
            alive = _alive(held, Posting(word, weight, units, counts))
            if alive.units:
                yield alive


def _alive(held: Holdings, posting: Posting) -> Posting:
    """Without the units of versions that are gone."""
    if not held.has_gone:
        return posting
    owners = held.owners
    alive = [*map(owners.__getitem__, posting.units)]
    if all(alive):
        return posting
    units, counts = [*compress(posting.units, alive)], [*compress(posting.counts, alive)]
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


def _definition(held: Holdings, row: tuple[int, str, str, int, int, str]) -> Definition:
    file, name, kind, start, end, signature = row
    path = held.files[file].path
    return Definition(name, _KINDS[kind], Place(path, start, end), signature)
