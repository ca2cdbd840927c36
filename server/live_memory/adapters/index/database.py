"""The index's file: its tables, who may read it, and what happens when it cannot be read.

Words are kept as an unordered bag for each unit, lines as numbers: no text of the workspace can be
read back from it but names and signatures of definitions.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock

from live_memory.core.errors import StoreUnavailable

__all__ = ["Connection", "Damaged", "open_again", "open_file", "open_memory", "remove"]

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


class Connection:
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


def open_memory() -> Connection:
    """An index that ends with the process."""
    raw = _connect(":memory:")
    with _translated():
        _create(raw)
    return Connection(raw)


def open_file(file: Path) -> Connection:
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


def open_again(file: Path) -> Connection:
    """Another connection to an index that `open_file` has just found sound.

    Reading all of it takes as long again: some 0.1 s for 100 MB.

    Raises:
        Damaged: it is no database any more.
        StoreUnavailable: it cannot be opened.
    """
    return _opened(file, lambda _: None)


def _opened(file: Path, begin: Callable[[sqlite3.Connection], object]) -> Connection:
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
    return Connection(raw)


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
