"""The evidence index in one SQLite file: derived, disposable, only for its owner's eyes."""

import gc
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

import anyio.to_thread

from live_memory.adapters.index import database, search
from live_memory.adapters.index.database import (
    Damaged,
    IndexConnection,
    open_again,
    open_file,
    open_memory,
    packed,
    remove,
)
from live_memory.adapters.index.digest import Digest, Digester, IndexContents, LineWorker, holdings
from live_memory.adapters.index.search import Scored, rank, score
from live_memory.adapters.index.worker_pool import SyntaxWorkers
from live_memory.core.errors import StoreUnavailable
from live_memory.core.evidence.places import Candidates, Definition, Place, Terms
from live_memory.core.evidence.units import loses_words
from live_memory.core.evidence.words import base_name
from live_memory.core.reading.observation import Observation
from live_memory.core.reading.redaction import KnownSignatures
from live_memory.core.values import ContentHash, RelPath, StatSignature

__all__ = ["SqliteIndex", "write"]

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
        database.append(db, {"word": words, "use": uses})
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
    database.join(db, {"word": moved, "use": there})
    counters["next_unit"], counters["joined"] = following, counters["generation"]


_FILE = "index.sqlite"
# A full collection takes 200 ms with 60,000 files held, and nothing else runs meanwhile.
_MANY = 5_000
T = TypeVar("T")
Query = Callable[[sqlite3.Connection, IndexContents], T]


class SqliteIndex:
    """One writer and one reader, so that searching goes on while an update runs."""

    def __init__(
        self,
        file: Path | None,
        reader: IndexConnection,
        writer: IndexConnection,
        parsing: LineWorker,
    ) -> None:
        self._file = file
        self._reader, self._writer = reader, writer
        self._held: IndexContents | None = None
        # How many updates there were, and how many of them `_held` has for certain.
        self._updates = self._held_updates = 0
        self._scored: Scored | None = None
        self._spared = 0
        self._repair = Lock()
        self._merging = Lock()
        self._merge: database.Merge | None = None
        self._digester = Digester(parsing)

    @classmethod
    async def open(cls, folder: Path, *, parsing: LineWorker | None = None) -> Self:
        """Open the index in a folder that exists; a file that cannot be read is built anew.

        Raises:
            StoreUnavailable: the folder cannot be written.
        """
        file = folder / _FILE
        opened = await anyio.to_thread.run_sync(_open_twice, file)
        return cls(file, *opened, parsing or SyntaxWorkers())

    @classmethod
    def in_memory(cls, *, parsing: LineWorker | None = None) -> Self:
        """An empty index in this process's memory: the same rules, the same tables, no file."""
        connection = open_memory()
        return cls(None, connection, connection, parsing or SyntaxWorkers())

    async def known(self) -> KnownSignatures:
        """Every file that was offered, also those that gave no text, as it was then."""
        held = self._held
        if held is not None and self._held_updates == self._updates:
            # Asked before each question, and a thread costs more than all that it would do.
            return held.known
        return await self._ask(lambda _, held: held.known)

    async def hashes(
        self, signatures: Mapping[RelPath, StatSignature]
    ) -> Mapping[RelPath, ContentHash]:
        """The hash of each of these files that has text and was read with this very signature."""

        def find(_: sqlite3.Connection, held: IndexContents) -> Mapping[RelPath, ContentHash]:
            found = {}
            for path, signature in signatures.items():
                number = held.files.number_of(path)
                if number is not None and held.files.signature(number) == signature:
                    file = held.files.text(number)
                    if file is not None:
                        found[path] = file.sha
            return found

        return await self._ask(find)

    async def unlearned(self) -> Collection[RelPath]:
        """The files whose words are not all in here, among those that were offered."""

        def find(db: sqlite3.Connection, _: IndexContents) -> Collection[RelPath]:
            rows = db.execute("SELECT path FROM file WHERE NOT is_whole")
            return frozenset(RelPath(path) for (path,) in rows)

        return await self._ask(find)

    async def update(
        self,
        observed: Sequence[Observation],
        *,
        textless: Mapping[RelPath, StatSignature],
        gone: Collection[RelPath],
    ) -> None:
        """Take in new versions, remember files without text, drop what is gone; all or nothing."""

        def apply() -> None:
            digests = self._digester.digest_all(observed)
            with self._writer.transaction() as db:
                write(db, digests, textless, gone)
            # Only now: who reads meanwhile must not take what it has for newer than it is.
            with self._repair:
                self._updates += 1

        await self._repairing(apply)

    async def settle(self) -> bool:
        """Take a step of merging what updates left; whether there may be another."""

        def take_step() -> bool:
            if not self._merging.acquire(blocking=False):
                return False  # someone does so already
            merge, self._merge = self._merge, None
            try:
                with self._writer.transaction() as db:
                    merge = merge or database.begun(db)
                    is_over = merge is None or database.step(db, merge)
                self._merge = None if is_over else merge
            finally:
                self._merging.release()
            return merge is not None

        return await self._repairing(take_step)

    async def search(self, terms: Terms, *, limit: int) -> Candidates:
        """Rank places for a question: at most `limit` files, and the best units in them."""
        return await self._ask(lambda db, held: self._search(db, held, terms, limit))

    async def definitions(self, name: str) -> Sequence[Definition]:
        """Where a name is defined: by its last part, and by the whole where it is qualified."""

        def find(db: sqlite3.Connection, held: IndexContents) -> Sequence[Definition]:
            found = [d for _, d in search.definitions_named(db, held, base_name(name))]
            exact = [d for d in found if d.name == name or d.name.endswith(f".{name}")]
            return tuple(exact or found)

        return await self._ask(find)

    async def references(self, name: str) -> Sequence[Place]:
        """The lines on which a name is used, its definitions aside."""
        return await self._ask(lambda db, held: tuple(search.uses_of(db, held, base_name(name))))

    async def outline(self, path: RelPath) -> Sequence[Definition]:
        """The definitions in a file, in order."""
        held = self._held
        if held is not None and self._held_updates == self._updates:
            # A search has asked for those of what it found; a thread costs as much as ten of them.
            number = held.files.number_of(path)
            if number in held.outlines:
                return held.outlines[number]

        def find(db: sqlite3.Connection, held: IndexContents) -> Sequence[Definition]:
            number = held.files.number_of(path)
            return () if number is None else search.outline_of(db, held, number)

        return await self._ask(find)

    async def aclose(self) -> None:
        """Close the files on disk."""
        await anyio.to_thread.run_sync(self._close)

    def _search(
        self, db: sqlite3.Connection, held: IndexContents, terms: Terms, limit: int
    ) -> Candidates:
        """Rank; a question to a model is searched for twice, with other limits."""
        scored = self._scored
        if scored is None or not scored.is_of(held, terms):
            scored = score(db, held, terms)
            self._scored = scored if scored.is_small else None
        return rank(db, scored, limit=limit)

    async def _ask(self, query: Query[T]) -> T:
        def run() -> T:
            updates = self._updates
            with self._reader.transaction() as db:
                held = holdings(db, self._held)
                self._held, self._held_updates = held, updates
                self._spare_the_collector(held)
                return query(db, held)

        return await self._repairing(run)

    def _spare_the_collector(self, held: IndexContents) -> None:
        """Keep what lives as long as this from being looked through again and again."""
        if held.files.count >= self._spared + _MANY:
            self._spared = held.files.count
            # Garbage would be set apart with the rest, and never go.
            gc.collect(1)
            gc.freeze()

    async def _repairing(self, work: Callable[[], T]) -> T:
        """Run blocking work; when the file turns out damaged, once more on an empty one."""

        def attempt() -> T:
            before = self._writer
            try:
                return work()
            except (Damaged, StoreUnavailable) as problem:
                self._start_anew(before, problem)
                return work()

        return await anyio.to_thread.run_sync(attempt)

    def _start_anew(self, before: IndexConnection, problem: Damaged | StoreUnavailable) -> None:
        """Replace a damaged file, unless somebody has done so since."""
        with self._repair:
            if self._writer is not before:
                return
            if not isinstance(problem, Damaged):
                raise problem
            self._close()
            self._updates += 1
            if self._file is None:
                self._reader = self._writer = open_memory()
            else:
                remove(self._file)
                self._reader, self._writer = _open_twice(self._file)

    def _close(self) -> None:
        self._reader.close()
        self._writer.close()
        self._held = self._scored = self._merge = None


def _open_twice(file: Path) -> tuple[IndexConnection, IndexConnection]:
    try:
        writer = open_file(file)
    except Damaged:
        remove(file)
        writer = open_file(file)
    return open_again(file), writer
