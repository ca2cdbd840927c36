"""Taking versions of files into the index, and dropping what is gone."""

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from live_memory.adapters.index import runs
from live_memory.adapters.index.digest import Digest
from live_memory.adapters.index.packing import packed
from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.units import loses_words
from live_memory.core.evidence.words import base_name
from live_memory.core.values import RelPath, StatSignature

__all__ = ["write"]

# So many units may be gone beyond as many as are live before all are numbered anew. That is half
# the work of building the index, so a small one does it rarely and a large one hardly ever.
_MOST_GONE = 5_000

_Pairs = dict[str, tuple["array[int]", "array[int]"]]
_Counters = dict[str, int]


def write(
    db: sqlite3.Connection,
    digests: Sequence[Digest],
    textless: Mapping[RelPath, StatSignature],
    gone: Collection[RelPath],
) -> None:
    """Apply an update within the caller's transaction."""
    changed = {digest.observation.path for digest in digests} | set(textless) | set(gone)
    if not changed:
        return
    counters: _Counters = dict(db.execute("SELECT name, value FROM counter"))
    _forget(db, changed, counters)
    for path, signature in textless.items():
        _insert_file(db, path, signature, counters)
    if digests:
        words: _Pairs = defaultdict(lambda: (array("I"), array("I")))
        uses: _Pairs = defaultdict(lambda: (array("I"), array("I")))
        for each in digests:
            _insert(db, each, counters, words, uses)
        runs.append(db, {"word": words, "use": uses})
    counters["generation"] += 1
    if counters["next_unit"] - 1 > 2 * counters["live_units"] + _MOST_GONE:
        _join(db, counters)
    db.executemany("UPDATE counter SET value = ?2 WHERE name = ?1", counters.items())


def _forget(db: sqlite3.Connection, paths: Iterable[RelPath], counters: _Counters) -> None:
    for path in paths:
        row = db.execute(
            "SELECT id, coalesce(length(starts), 0) / 4 FROM file WHERE path = ?", (path.text,)
        ).fetchone()
        if row:
            db.execute("DELETE FROM definition WHERE file = ?", row[:1])
            db.execute("DELETE FROM file WHERE id = ?", row[:1])
            counters["files"] -= 1
            counters["live_units"] -= row[1]


def _insert(
    db: sqlite3.Connection, digest: Digest, counters: _Counters, words: _Pairs, uses: _Pairs
) -> None:
    seen, first = digest.observation, counters["next_unit"]
    file = _insert_file(db, seen.path, seen.signature, counters)
    is_whole = not (seen.is_clipped or seen.is_thinned or loses_words(seen.lines))
    spans = (
        packed(unit.start for unit in digest.units),
        packed(unit.end for unit in digest.units),
        packed(unit.traits for unit in digest.units),
    )
    db.execute(
        "UPDATE file SET sha = ?, is_whole = ?, first_unit = ?, starts = ?, ends = ?, traits = ?"
        " WHERE id = ?",
        (seen.sha.hex, is_whole, first, *spans, file),
    )
    counters["next_unit"] += len(digest.units)
    counters["live_units"] += len(digest.units)
    found, at = digest.words, 0
    numbers = array("I", [first + unit for unit in found.units])
    for word, size in zip(found.texts, found.sizes, strict=True):
        units, weights = words[word]
        units += numbers[at : at + size]
        weights += found.weights[at : at + size]
        at += size
    for name, line in zip(*digest.uses, strict=True):
        files, lines = uses[name]
        files.append(file)
        lines.append(line)
    db.executemany(
        "INSERT INTO definition VALUES(?,?,?,?,?,?,?,?)",
        (
            (file, ordinal, *_row_of(definition))
            for ordinal, definition in enumerate(digest.definitions)
        ),
    )


def _row_of(definition: Definition) -> tuple[str, str, str, int, int, str]:
    place, name = definition.place, definition.name
    kind = definition.kind.value
    return (name, base_name(name).lower(), kind, place.start, place.end, definition.signature)


def _insert_file(
    db: sqlite3.Connection, path: RelPath, signature: StatSignature, counters: _Counters
) -> int:
    # Inode and device may need all 64 bits; SQLite's integers have a sign.
    stat = (signature.size, signature.modified_ns, signature.changed_ns)
    row = (path.text, *stat, str(signature.inode), str(signature.device))
    done = db.execute(
        "INSERT INTO file(path, size, modified_ns, changed_ns, inode, device) VALUES(?,?,?,?,?,?)",
        row,
    )
    counters["files"] += 1
    assert done.lastrowid is not None
    return done.lastrowid


def _join(db: sqlite3.Connection, counters: _Counters) -> None:
    """Leave out what is gone, and number the units from 1."""
    moved = array("I", bytes(4 * counters["next_unit"]))
    following = 1
    files = db.execute(
        "SELECT id, first_unit, length(starts) / 4 FROM file WHERE sha NOT NULL ORDER BY first_unit"
    ).fetchall()
    (last,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()
    there = array("I", bytes(4 * (last + 1)))
    firsts = []
    for file, first, size in files:
        there[file] = file
        moved[first : first + size] = array("I", range(following, following + size))
        firsts.append((following, file))
        following += size
    db.executemany("UPDATE file SET first_unit = ? WHERE id = ?", firsts)
    runs.join(db, {"word": moved, "use": there})
    counters["next_unit"], counters["joined"] = following, counters["generation"]
