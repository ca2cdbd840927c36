"""Rows by key, in runs: an update appends one, and those of a size are merged to a larger one.

A run's rows stand together in the order of their keys, so that writing one touches no other, and
merging reads each from its beginning: neither needs memory for more than a row of each run.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter

from live_memory.adapters.index.packing import numbers, packed

__all__ = ["Merge", "Pairs", "append", "begun", "join", "rows_of", "step"]

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
    """Add a run: for each table, what its keys have in it."""
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
