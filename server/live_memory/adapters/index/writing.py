"""Taking versions of files into the index, and dropping what is gone."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from live_memory.adapters.index.digest import Digest
from live_memory.adapters.index.packing import numbers, packed
from live_memory.core.evidence.places import Definition
from live_memory.core.evidence.words import base_name
from live_memory.core.values import RelPath, StatSignature

__all__ = ["write"]

# Every update adds rows of its own to each word. So many may pile up, or as many units be gone
# as are live, before the rows of a word are joined; joining sphinx's 2,300 files takes 2 s.
_MOST_BATCHES = 256


@dataclass(frozen=True, slots=True)
class _Text:
    """How a file was cut: the number of its first unit, and each one's lines and words."""

    sha: str
    first_unit: int
    starts: Sequence[int]
    ends: Sequence[int]
    lengths: Sequence[int]


Rows = Mapping[str, tuple[list[int], list[int]]]


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
    _forget(db, changed)
    for path, signature in textless.items():
        _insert_file(db, path, signature, None)
    words: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    uses: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for each in digests:
        _insert(db, each, words, uses)
    _insert_rows(db, "word", words)
    _insert_rows(db, "use", uses)
    db.execute("UPDATE counter SET value = value + 1 WHERE name IN ('generation', 'batches')")
    if _counter(db, "batches") > _MOST_BATCHES:
        _join(db)


def _forget(db: sqlite3.Connection, paths: Iterable[RelPath]) -> None:
    for path in paths:
        row = db.execute("SELECT id FROM file WHERE path = ?", (path.text,)).fetchone()
        if row:
            db.execute("DELETE FROM definition WHERE file = ?", row)
            db.execute("DELETE FROM file WHERE id = ?", row)


def _insert(
    db: sqlite3.Connection,
    digest: Digest,
    words: Rows,
    uses: Rows,
) -> None:
    seen = digest.observation
    first = _counter(db, "next_unit")
    text = _Text(
        sha=seen.sha.hex,
        first_unit=first,
        starts=[unit.start for unit in digest.units],
        ends=[unit.end for unit in digest.units],
        lengths=[sum(counts.values()) for counts in digest.words],
    )
    file = _insert_file(db, seen.path, seen.signature, text)
    following = first + len(digest.units)
    db.execute("UPDATE counter SET value = ? WHERE name = 'next_unit'", (following,))
    for number, counts in enumerate(digest.words, first):
        for word, count in counts.items():
            units, repeats = words[word]
            units.append(number)
            repeats.append(count)
    for name, line in digest.uses:
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
    db: sqlite3.Connection,
    path: RelPath,
    signature: StatSignature,
    text: _Text | None,
) -> int:
    # Inode and device may need all 64 bits; SQLite's integers have a sign.
    stat = (signature.size, signature.modified_ns, signature.changed_ns)
    row = (path.text, *stat, str(signature.inode), str(signature.device))
    done = db.execute(
        "INSERT INTO file(path, size, modified_ns, changed_ns, inode, device) VALUES(?,?,?,?,?,?)",
        row,
    )
    assert done.lastrowid is not None
    if text is not None:
        starts, ends, lengths = (packed(row) for row in (text.starts, text.ends, text.lengths))
        db.execute(
            "UPDATE file SET sha = ?, first_unit = ?, starts = ?, ends = ?, lengths = ?"
            " WHERE id = ?",
            (text.sha, text.first_unit, starts, ends, lengths, done.lastrowid),
        )
    return done.lastrowid


def _insert_rows(db: sqlite3.Connection, table: str, rows: Rows) -> None:
    first, second = {"word": ("units", "counts"), "use": ("files", "lines")}[table]
    db.executemany(
        f"INSERT INTO {table}(key, {first}, {second}) VALUES(?,?,?)",
        ((key, packed(left), packed(right)) for key, (left, right) in sorted(rows.items())),
    )


def _counter(db: sqlite3.Connection, name: str) -> int:
    value = db.execute("SELECT value FROM counter WHERE name = ?", (name,)).fetchone()[0]
    assert isinstance(value, int)
    return value


def _join(db: sqlite3.Connection) -> None:
    """Give each word one row again, without what is gone, and number the units from 1."""
    moved = _renumber(db)
    files = {number for (number,) in db.execute("SELECT id FROM file")}
    for table, kept in (("word", moved), ("use", {number: number for number in files})):
        rows: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for _, key, left, right in db.execute(f"SELECT * FROM {table} ORDER BY id"):  # noqa: S608
            pairs = zip(numbers(left), numbers(right), strict=True)
            alive = [(kept[one], other) for one, other in pairs if one in kept]
            if alive:
                rows[key][0].extend(one for one, _ in alive)
                rows[key][1].extend(other for _, other in alive)
        db.execute(f"DELETE FROM {table}")  # noqa: S608
        _insert_rows(db, table, rows)
    db.execute("UPDATE counter SET value = 0 WHERE name = 'batches'")


def _renumber(db: sqlite3.Connection) -> Mapping[int, int]:
    """The new number of each live unit."""
    moved: dict[int, int] = {}
    following = 1
    for file, first, starts in db.execute(
        "SELECT id, first_unit, starts FROM file WHERE sha NOT NULL ORDER BY first_unit"
    ).fetchall():
        size = len(numbers(starts))
        db.execute("UPDATE file SET first_unit = ? WHERE id = ?", (following, file))
        moved.update(
            zip(range(first, first + size), range(following, following + size), strict=True)
        )
        following += size
    db.execute("UPDATE counter SET value = ? WHERE name = 'next_unit'", (following,))
    return moved
