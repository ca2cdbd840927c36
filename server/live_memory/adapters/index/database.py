"""The index's file: its tables, who may read it, and what happens when it cannot be read.

Words are kept as an unordered bag for each unit, lines as numbers: no text of the workspace can be
read back from it but names and signatures of definitions.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from threading import Lock

from live_memory.core.errors import StoreUnavailable
from live_memory.core.reading.redaction import KnownSignatures
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = [
    "Damaged",
    "File",
    "Files",
    "IndexConnection",
    "KnownFiles",
    "Merge",
    "append",
    "begun",
    "join",
    "numbers",
    "open_again",
    "open_file",
    "open_memory",
    "packed",
    "remove",
    "rows_of",
    "step",
]

# Raised whenever tables, tokens or units change their meaning, or redaction knows more: an older
# file is built anew, and words of a secret that it may hold are gone.
_VERSION = 7
_SCHEMA = """
CREATE TABLE file(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, sha TEXT,
  size INTEGER NOT NULL, modified_ns INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
  inode TEXT NOT NULL, device TEXT NOT NULL, is_whole INTEGER NOT NULL DEFAULT 0,
  first_unit INTEGER, starts BLOB, ends BLOB, traits BLOB);
CREATE TABLE definition(
  file INTEGER NOT NULL, ordinal INTEGER NOT NULL, name TEXT NOT NULL, base TEXT NOT NULL,
  kind TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, signature TEXT NOT NULL,
  PRIMARY KEY(file, ordinal)) WITHOUT ROWID;
CREATE INDEX definition_base ON definition(base);
CREATE TABLE run(id INTEGER PRIMARY KEY AUTOINCREMENT, level INTEGER NOT NULL);
CREATE TABLE word(run INTEGER NOT NULL, key TEXT NOT NULL, units BLOB, counts BLOB,
  PRIMARY KEY(run, key)) WITHOUT ROWID;
CREATE TABLE use(run INTEGER NOT NULL, key TEXT NOT NULL, files BLOB, lines BLOB,
  PRIMARY KEY(run, key)) WITHOUT ROWID;
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO counter VALUES
  ('generation', 0), ('joined', 0), ('files', 0), ('next_unit', 1), ('live_units', 0);
"""
_DAMAGE = frozenset(
    (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA)
)


class Damaged(Exception):
    """The file is not what we wrote; it is derived, so it is thrown away and built anew."""


class IndexConnection:
    """One SQLite connection, used by one thread at a time."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        self._lock = Lock()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements on one state of the file; all of them count, or none.

        Raises:
            Damaged: the file is not a readable index.
            StoreUnavailable: the file cannot be read or written now.
        """
        with self._lock, _translated():
            self._raw.execute("BEGIN")
            try:
                yield self._raw
            except BaseException:
                self._raw.rollback()
                raise
            self._raw.commit()

    def close(self) -> None:
        """Close it; harmless when it is closed already."""
        with self._lock:
            self._raw.close()


def open_memory() -> IndexConnection:
    """An index that ends with the process."""
    raw = _connect(":memory:")
    with _translated():
        _create(raw)
    return IndexConnection(raw)


def open_file(file: Path) -> IndexConnection:
    """Open an index, or make an empty one; nobody but the owner can read the file.

    Raises:
        Damaged: there is a file, and it is not an index of this version.
        StoreUnavailable: the folder cannot be written.
    """
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except OSError as problem:
        raise StoreUnavailable(_unwritable(problem.strerror or "unknown")) from problem
    return _opened(file, _check_or_create)


def open_again(file: Path) -> IndexConnection:
    """Another connection to an index that `open_file` has just found sound.

    Reading all of it takes as long again: some 0.1 s for 100 MB.

    Raises:
        Damaged: it is no database any more.
        StoreUnavailable: it cannot be opened.
    """
    return _opened(file, lambda _: None)


def _opened(file: Path, begin: Callable[[sqlite3.Connection], object]) -> IndexConnection:
    raw = _connect(os.fspath(file))
    try:
        with _translated():
            raw.execute("PRAGMA journal_mode=WAL")
            # Losing the last update in a power cut costs reading some files again.
            raw.execute("PRAGMA synchronous=NORMAL")
            begin(raw)
    except BaseException:
        raw.close()
        raise
    return IndexConnection(raw)


def remove(file: Path) -> None:
    """Delete an index with its side files.

    Raises:
        StoreUnavailable: they cannot be deleted.
    """
    try:
        for ending in ("", "-wal", "-shm"):
            Path(f"{file}{ending}").unlink(missing_ok=True)
    except OSError as problem:
        raise StoreUnavailable(_unwritable(problem.strerror or "unknown")) from problem


def _connect(name: str) -> sqlite3.Connection:
    with _translated():
        return sqlite3.connect(name, isolation_level=None, check_same_thread=False, timeout=10)


def _check_or_create(raw: sqlite3.Connection) -> None:
    version = raw.execute("PRAGMA user_version").fetchone()[0]
    if version == 0 and raw.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        _create(raw)
    elif version != _VERSION:
        raise Damaged("another version")
    elif raw.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise Damaged("quick check failed")


def _create(raw: sqlite3.Connection) -> None:
    raw.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version={_VERSION};COMMIT;")


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as problem:
        if getattr(problem, "sqlite_errorcode", None) in _DAMAGE:
            raise Damaged(str(problem)) from problem
        raise StoreUnavailable(_unwritable(str(problem))) from problem


def _unwritable(why: str) -> str:
    return f"The index cannot be used ({why}). Check the data folder's space and permissions."


def packed(values: Iterable[int]) -> bytes:
    """Four bytes a number, little-endian."""
    row = array("I", values)
    if sys.byteorder == "big":
        row.byteswap()
    return row.tobytes()


def numbers(data: bytes) -> array[int]:
    """Undo `packed`.

    Raises:
        Damaged: these are not such bytes.
    """
    row = array("I")
    try:
        row.frombytes(data)
    except (ValueError, TypeError) as problem:
        raise Damaged("a row of numbers is torn") from problem
    if sys.byteorder == "big":
        row.byteswap()
    return row


# The signature, the hash, and the number of the first unit and how many there are. Without text
# the last three are zero, which is the number of no unit.
_RECORD = struct.Struct("=qqqQQ32sII")
_SIGNATURE, _HASH, _UNITS = struct.Struct("=qqqQQ"), 32, struct.Struct("=II")


@dataclass(frozen=True, slots=True)
class File:
    """A version of a file that has text, and the units it was cut into."""

    path: RelPath
    sha: ContentHash
    first_unit: int
    units: int

    @property
    def following(self) -> int:
        """The number after its last unit."""
        return self.first_unit + self.units


class Files:
    """Versions of files by number from 1, and by path; a version that is gone leaves a gap.

    Versions come in the order of their rows in the database, so a row is found by bisection.
    Packed, because an object for each would take ten times the memory.
    """

    def __init__(self) -> None:
        self.rows = array("q", [0])
        self._paths: list[RelPath | None] = [None]
        self._records = bytearray(_RECORD.size)
        self._numbers: dict[str, int] = {}

    def copy(self) -> Files:
        """The same files, to be changed apart."""
        other = Files()
        other.rows = self.rows[:]
        other._paths = self._paths[:]
        other._records = self._records[:]
        other._numbers = dict(self._numbers)
        return other

    @property
    def count(self) -> int:
        """How many there are, also without text."""
        return len(self._numbers)

    @property
    def end(self) -> int:
        """The number that the next version gets."""
        return len(self._paths)

    def add(
        self,
        row: int,
        path: RelPath,
        signature: StatSignature,
        *,
        sha: str | None,
        first_unit: int = 0,
        units: int = 0,
    ) -> int:
        """Take in a version, and give its number; the one before it has been dropped.

        Raises:
            struct.error: these are no numbers of a file.
        """
        s = signature
        digest = bytes.fromhex(sha) if sha is not None else b""
        stat = s.size, s.modified_ns, s.changed_ns, s.inode, s.device
        self._records += _RECORD.pack(*stat, digest, first_unit, units)
        number = self._numbers[path.text] = len(self._paths)
        self._paths.append(path)
        self.rows.append(row)
        return number

    def drop(self, number: int) -> None:
        """Forget a version."""
        del self._numbers[self.path(number).text]
        self._paths[number] = None

    def dropped(self, kept: Iterable[int]) -> Iterator[int]:
        """The versions whose rows are not among these, which are in order and all known."""
        rows = iter(kept)
        following = next(rows, None)
        for number, (row, path) in enumerate(zip(self.rows, self._paths, strict=True)):
            if path is None:
                continue
            if row == following:
                following = next(rows, None)
            else:
                yield number

    def number_of(self, path: RelPath) -> int | None:
        """The number of a path's version."""
        return self._numbers.get(path.text)

    def at_row(self, row: int) -> int | None:
        """The number of the version with this row, if it is still there and has text."""
        number = bisect_left(self.rows, row)
        if number == len(self.rows) or self.rows[number] != row or self._paths[number] is None:
            return None
        return number if self._units(number)[0] else None

    def path(self, number: int) -> RelPath:
        """The path of a version that is there."""
        path = self._paths[number]
        assert path is not None
        return path

    def signature(self, number: int) -> StatSignature:
        """The signature of a version."""
        return StatSignature(*_SIGNATURE.unpack_from(self._records, number * _RECORD.size))

    def text(self, number: int) -> File | None:
        """A version that is there; nothing where it has no text."""
        first, units = self._units(number)
        if not first:
            return None
        start = number * _RECORD.size + _SIGNATURE.size
        sha = ContentHash(self._records[start : start + _HASH].hex())
        return File(self.path(number), sha, first, units)

    def __iter__(self) -> Iterator[RelPath]:
        """Every path, as they came in."""
        return (path for path in self._paths if path is not None)

    def _units(self, number: int) -> tuple[int, int]:
        """The number of a version's first unit, and how many it has."""
        end = (number + 1) * _RECORD.size
        first, units = _UNITS.unpack_from(self._records, end - _UNITS.size)
        return first, units


class KnownFiles(KnownSignatures):
    """Every file of an index with its signature, made when it is asked for."""

    def __init__(self, files: Files, revision: int) -> None:
        self._files = files
        self._revision = revision

    @property
    def revision(self) -> int:
        """How many updates led to this."""
        return self._revision

    def __getitem__(self, path: RelPath) -> StatSignature:
        """The signature of a file."""
        number = self._files.number_of(path)
        if number is None:
            raise KeyError(path)
        return self._files.signature(number)

    def __iter__(self) -> Iterator[RelPath]:
        """Every path."""
        return iter(self._files)

    def __len__(self) -> int:
        """How many files there are."""
        return self._files.count


_TABLES = {"word": "units, counts", "use": "files, lines"}
# So many runs of a size become one of the next: a key of 100,000 files has some thirty rows, and
# each row is written three times.
_FAN = 16
# Who waits to write waits for so many keys, which takes a tenth of a second.
_STRETCH = 2_000

Pairs = Mapping[str, tuple[Sequence[int], Sequence[int]]]
_Row = tuple[str, int, bytes, bytes]  # key, run, and two rows of numbers, one beside the other


def rows_of(db: sqlite3.Connection, table: str, key: str) -> Iterator[tuple[bytes, bytes]]:
    """What each run has of a key, oldest first."""
    return db.execute(
        f"SELECT {_TABLES[table]} FROM run CROSS JOIN {table} ON {table}.run = run.id"  # noqa: S608
        " WHERE key = ? ORDER BY run.id",
        (key,),
    )


def append(db: sqlite3.Connection, pairs: Mapping[str, Pairs]) -> None:
    """Add a run: for each table, what its keys have in it.

    A run's rows stand together in the order of their keys, so that writing one touches no other,
    and merging reads each from its beginning: neither needs memory for more than a row of each run.
    """
    run = _begin(db, level=0)
    for table, of_keys in pairs.items():
        rows = ((key, run, packed(left), packed(right)) for key, (left, right) in of_keys.items())
        _write(db, table, iter(sorted(rows)))


@dataclass(slots=True)
class Merge:
    """Runs of a size on their way into one of the next: `left` tables hold rows of theirs.

    Until all are over, each row is in just one run, and the new one counts as of their size. So
    whoever reads or writes in between, or starts again after a crash, finds all that there is.
    """

    runs: Sequence[int]
    into: int
    level: int
    left: list[str] = field(default_factory=lambda: [*_TABLES])


def begun(db: sqlite3.Connection) -> Merge | None:
    """Begin to merge the newest runs, if there are too many of their size."""
    runs: list[int] = []
    level = 0
    for run, size in db.execute("SELECT id, level FROM run ORDER BY id DESC").fetchall():
        if runs and size != level:
            break
        runs.append(run)
        level = size
    return Merge(runs[::-1], _begin(db, level=level), level + 1) if len(runs) >= _FAN else None


def step(db: sqlite3.Connection, merge: Merge) -> bool:
    """Move a stretch of keys; whether that was the last."""
    table = merge.left[0]
    rows = list(islice(_of_each_key(db, table, merge.runs, merge.into), _STRETCH))
    _write(db, table, iter(rows))
    for run in merge.runs if rows else ():
        db.execute(f"DELETE FROM {table} WHERE run = ? AND key <= ?", (run, rows[-1][0]))  # noqa: S608
    if len(rows) == _STRETCH:
        return False
    merge.left.pop(0)
    if merge.left:
        return False
    db.executemany("DELETE FROM run WHERE id = ?", [(run,) for run in merge.runs])
    db.execute("UPDATE run SET level = ? WHERE id = ?", (merge.level, merge.into))
    return True


def join(db: sqlite3.Connection, kept: Mapping[str, Sequence[int]]) -> None:
    """Make one run of all; `kept` gives each number of a table its new one, or zero."""
    levels = dict(db.execute("SELECT id, level FROM run ORDER BY id").fetchall())
    into = _begin(db, level=max(levels.values(), default=0))
    for table in _TABLES:
        _write(db, table, _alive(_of_each_key(db, table, list(levels), into), kept[table]))
        db.executemany(f"DELETE FROM {table} WHERE run = ?", [(run,) for run in levels])  # noqa: S608
    db.executemany("DELETE FROM run WHERE id = ?", [(run,) for run in levels])


def _of_each_key(
    db: sqlite3.Connection, table: str, runs: Sequence[int], into: int
) -> Iterator[_Row]:
    """The rows of each key one after the other: numbers rise from run to run."""
    sql = f"SELECT key, run, {_TABLES[table]} FROM {table} WHERE run = ? ORDER BY key"  # noqa: S608
    each = [db.execute(sql, (run,)) for run in runs]
    for key, rows in groupby(merge(*each), key=itemgetter(0)):
        parts = [*rows]
        yield key, into, b"".join(row[2] for row in parts), b"".join(row[3] for row in parts)


def _alive(rows: Iterator[_Row], kept: Sequence[int]) -> Iterator[_Row]:
    """With new numbers, without what is gone."""
    for key, run, left, right in rows:
        pairs = zip(numbers(left), numbers(right), strict=True)
        alive = [(kept[one], other) for one, other in pairs if kept[one]]
        if alive:
            yield key, run, packed(one for one, _ in alive), packed(other for _, other in alive)


def _begin(db: sqlite3.Connection, *, level: int) -> int:
    run = db.execute("INSERT INTO run(level) VALUES(?)", (level,)).lastrowid
    assert run is not None
    return run


def _write(db: sqlite3.Connection, table: str, rows: Iterator[_Row]) -> None:
    columns = f"key, run, {_TABLES[table]}"
    db.executemany(f"INSERT INTO {table}({columns}) VALUES(?,?,?,?)", rows)
