"""Rows by key, in runs: an update appends one, and those of a size are merged to a larger one.

A run's rows stand together in the order of their keys, so that writing one touches no other, and
merging reads each from its beginning: neither needs memory for more than a row of each run.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from operator import itemgetter

from live_memory.adapters.index.packing import numbers, packed

__all__ = ["Pairs", "append", "join", "rows_of", "settle"]

_TABLES = {"word": "units, counts", "use": "files, lines"}
# So many runs of a size become one of the next: a key of 100,000 files has some thirty rows, and
# each row is written three times.
_FAN = 16

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
    """Add a run: for each table, what its keys have in it."""
    run = _begin(db, level=0)
    for table, of_keys in pairs.items():
        rows = ((key, run, packed(left), packed(right)) for key, (left, right) in of_keys.items())
        _write(db, table, iter(sorted(rows)))


def settle(db: sqlite3.Connection) -> None:
    """Merge the newest runs for as long as there are too many of their size."""
    while True:
        newest = db.execute("SELECT id, level FROM run ORDER BY id DESC LIMIT ?", (_FAN,))
        runs = dict(newest.fetchall())
        if len(runs) < _FAN or len(set(runs.values())) > 1:
            return
        _merge(db, sorted(runs), level=max(runs.values()) + 1)


def join(db: sqlite3.Connection, kept: Mapping[str, Sequence[int]]) -> None:
    """Make one run of all; `kept` gives each number of a table its new one, or zero."""
    runs = dict(db.execute("SELECT id, level FROM run ORDER BY id").fetchall())
    _merge(db, list(runs), level=max(runs.values(), default=0), kept=kept)


def _merge(
    db: sqlite3.Connection,
    runs: Sequence[int],
    *,
    level: int,
    kept: Mapping[str, Sequence[int]] | None = None,
) -> None:
    into = _begin(db, level=level)
    for table in _TABLES:
        rows = _of_each_key(db, table, runs, into)
        _write(db, table, rows if kept is None else _alive(rows, kept[table]))
    for run in runs:
        for table in _TABLES:
            db.execute(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608
        db.execute("DELETE FROM run WHERE id = ?", (run,))


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
