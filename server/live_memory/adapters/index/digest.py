"""What the index keeps of one observation: definitions, words of units, uses of names."""

import json
import sqlite3
import struct
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import chain
from typing import Any, NamedTuple, Protocol

from live_memory.adapters.index.database import Damaged, File, Files, KnownFiles, numbers
from live_memory.adapters.index.grammars import BY_SUFFIX
from live_memory.core.evidence.file_kinds import family_of
from live_memory.core.evidence.outline import is_code, outline
from live_memory.core.evidence.places import Definition, DefinitionKind, Place
from live_memory.core.evidence.ranking import Collection
from live_memory.core.evidence.units import Unit, cut, headings, weigh
from live_memory.core.evidence.uses import names_used
from live_memory.core.evidence.words import Asks
from live_memory.core.reading.observation import Observation
from live_memory.core.values import RelPath, StatSignature

__all__ = [
    "Digest",
    "Digester",
    "IndexContents",
    "LineWorker",
    "Uses",
    "by_word",
    "digest",
    "holdings",
    "taken_apart",
    "told",
]


class Syntax(Protocol):
    """Knows what a file defines."""

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        """Every definition of a file, in order."""
        ...


class Words(NamedTuple):
    """The words of a file, flat: word n has the next `sizes[n]` of `units`, from 0, and `weights`.

    An object for each unit would take ten times the memory while many files are on the way.
    """

    texts: Sequence[str]
    sizes: Sequence[int]
    units: "array[int]"
    weights: "array[int]"


class Uses(NamedTuple):
    """The names a file uses, each with its line."""

    names: Sequence[str] = ()
    lines: Sequence[int] = ()


class Parts(NamedTuple):
    """What a file is made of."""

    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Words
    uses: Uses


@dataclass(frozen=True, slots=True)
class Digest:
    """One file, ready to be written."""

    observation: Observation
    definitions: Sequence[Definition]
    units: Sequence[Unit]
    words: Words
    uses: Uses


def digest(observation: Observation, syntax: Syntax) -> Digest:
    """Take a file apart."""
    return Digest(observation, *taken_apart(observation.path, observation.lines, syntax))


def taken_apart(path: RelPath, lines: Sequence[str], syntax: Syntax) -> Parts:
    """What these lines are made of."""
    definitions = syntax.definitions_in(path, lines)
    units = cut(path, lines, definitions)
    weights = [
        weigh(path, lines, unit, under=under)
        for unit, under in zip(units, headings(units, definitions), strict=True)
    ]
    uses = [*names_used(lines)] if is_code(path) else []
    used = Uses([name for name, _ in uses], [line for _, line in uses])
    return Parts(definitions, units, by_word(weights), used)


def by_word(weights: Iterable[Mapping[str, int]]) -> Words:
    """Turn what each word weighs in each unit round."""
    rows: dict[str, tuple[list[int], list[int]]] = {}
    for number, of_unit in enumerate(weights):
        for word, weight in of_unit.items():
            units, counts = rows.setdefault(word, ([], []))
            units.append(number)
            counts.append(weight)
    sizes = [len(units) for units, _ in rows.values()]
    flat = (array("I", chain.from_iterable(row[side] for row in rows.values())) for side in (0, 1))
    return Words(list(rows), sizes, *flat)


# Characters a line on average; more is written by a program, and takes seconds to parse.
_WIDEST = 200
# A repository made to be hard is read by the look of its lines after so many attempts.
_MOST_FAILURES = 8
_LARGEST = 2**32 - 1
# A question takes in so many files at most, and does not wait for the batches of a pass.
_FEW = 40


class LineWorker(Protocol):
    """Replies to one line of JSON with one; who is first does not wait for the others."""

    def first(self) -> AbstractContextManager[None]:
        """Be first."""
        ...

    def exchange(self, request: bytes, *, is_first: bool = False) -> bytes:
        """Send a line and receive one.

        Raises:
            OSError: there is no reply: it cannot be started, ended, or takes too long.
        """
        ...


class Digester:
    """Takes apart the files of one workspace, in workers or here; some are made to be hard."""

    def __init__(self, worker: LineWorker) -> None:
        self._worker = worker
        self._failures = 0

    def digest_all(self, observations: Sequence[Observation]) -> Sequence[Digest]:
        """Take files apart; a few go first."""
        if len(observations) > _FEW:
            return [self.digest(each) for each in observations]
        with self._worker.first():
            return [self.digest(each, is_first=True) for each in observations]

    def digest(self, observation: Observation, *, is_first: bool = False) -> Digest:
        """Take a file apart; one that no worker can is read by the look of its lines."""
        if self._failures < _MOST_FAILURES:
            request = [observation.path.text, observation.lines, _has_grammar(observation)]
            try:
                line = json.dumps(request).encode() + b"\n"
                reply = self._worker.exchange(line, is_first=is_first)
                return Digest(observation, *_parts(observation.path, json.loads(reply)))
            except (OSError, ValueError, TypeError, LookupError):
                self._failures += 1
        return digest(observation, _ByLook())


class _ByLook:
    """Definitions without a grammar."""

    def definitions_in(self, path: RelPath, lines: Sequence[str]) -> tuple[Definition, ...]:
        return outline(path, lines)


def _has_grammar(observation: Observation) -> bool:
    wheel, lines = BY_SUFFIX.get(observation.path.suffix), observation.lines
    is_written = sum(map(len, lines)) <= _WIDEST * len(lines)
    return wheel is not None and is_written and _is_there(wheel.module)


@cache
def _is_there(module: str) -> bool:
    return find_spec("tree_sitter") is not None and find_spec(module) is not None


def told(parts: Parts) -> Sequence[object]:
    """What a worker tells of a file."""
    at = {id(definition): number for number, definition in enumerate(parts.definitions)}
    rows = [
        (each.name, each.kind, each.place.start, each.place.end, each.signature)
        for each in parts.definitions
    ]
    units = [
        (unit.start, unit.end, at.get(id(unit.definition)), unit.traits) for unit in parts.units
    ]
    words = parts.words
    flat = words.texts, words.sizes, words.units.tolist(), words.weights.tolist()
    return rows, units, flat, parts.uses


def _parts(path: RelPath, told: Sequence[Sequence[Sequence[object]]]) -> Parts:
    """What a worker told, which is data.

    Raises:
        LookupError, TypeError, ValueError: these are no parts of a file.
    """
    rows, units, words, uses = told
    definitions = [_definition(path, row) for row in rows]
    names, lines = uses
    used = Uses(_texts(names), [_number(line) for line in _list(lines)])
    if len(used.names) != len(used.lines):
        raise ValueError(lines)
    cut = [_unit(row, definitions) for row in units]
    return Parts(definitions, cut, _words(*words, among=len(cut)), used)


def _definition(path: RelPath, row: Sequence[object]) -> Definition:
    name, kind, start, end, signature = row
    place = Place(path, _number(start), _number(end, least=_number(start)))
    return Definition(str(name), DefinitionKind(str(kind)), place, str(signature))


def _unit(row: Sequence[object], definitions: Sequence[Definition]) -> Unit:
    start, end, at, traits = row
    owner = None if at is None else definitions[_number(at, least=0)]
    last = _number(end, least=_number(start))
    return Unit(_number(start), last, owner, _number(traits, least=0))


def _words(texts: object, sizes: object, units: object, weights: object, *, among: int) -> Words:
    words = Words(
        _texts(texts),
        [_number(size) for size in _list(sizes)],
        array("I", [_number(unit, least=0) for unit in _list(units)]),
        array("I", [_number(weight) for weight in _list(weights)]),
    )
    if not len(words.units) == len(words.weights) == sum(words.sizes):
        raise ValueError(sizes)
    if len(words.texts) != len(words.sizes) or max(words.units, default=-1) >= among:
        raise ValueError(texts)
    return words


def _texts(value: object) -> Sequence[str]:
    texts = _list(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(value)
    return texts


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _number(value: object, *, least: int = 1) -> int:
    if not isinstance(value, int) or not least <= value <= _LARGEST:
        raise ValueError(value)
    return value


_COLUMNS = (
    "id, path, size, modified_ns, changed_ns, inode, device, sha, first_unit, starts, ends, traits"
)
_Row = tuple[
    int, str, int, int, int, str, str, str | None, int | None, bytes | None, bytes | None,
    bytes | None,
]  # fmt: skip
_Look = tuple[int, bool, bool]
# Below this share of the lines a language is one that is used beside.
_MAIN_SHARE = 0.1
# What is worked out for places, some ten megabytes, and for questions that ask for other things.
_MOST_FACTORS = 50_000
# As many versions may be gone as are there, and these, before all are read anew.
_MOST_GAPS = 1_000


def _row(values: bytes = b"") -> "array[int]":
    return array("I", values)


@dataclass(frozen=True, slots=True)
class IndexContents:
    """What the index holds as of a generation, small enough to keep in memory.

    Units are numbered through all files; a number has its lines in `starts` and `ends`, and what
    it looks like in `traits`. `owners` and all that is asked say a file by its number in `files`;
    `families` says how many lines there are of each language; a main one has `main_lines`. `gone`
    are stretches of units that belong to no file any more.
    """

    generation: int = 0
    joined: int = 0  # the generation in which units were numbered anew
    files: Files = field(default_factory=Files)
    known: KnownFiles = field(default_factory=lambda: KnownFiles(Files(), 0))
    owners: "array[int]" = field(default_factory=_row)
    traits: "array[int]" = field(default_factory=_row)
    starts: "array[int]" = field(default_factory=_row)
    ends: "array[int]" = field(default_factory=_row)
    collection: Collection = field(default_factory=lambda: Collection(_row(), 0))
    families: Mapping[str, int] = field(default_factory=dict)
    main_lines: float = 0.0
    gone: Sequence[range] = ()
    outlines: dict[int, Sequence[Definition]] = field(default_factory=dict)  # asked for, by file
    _factors: dict[Asks, "dict[_Look, float]"] = field(default_factory=dict)

    def place(self, unit: int) -> Place:
        """The lines of a live unit."""
        return Place(self.files.path(self.owners[unit]), self.starts[unit], self.ends[unit])

    def is_main(self, path: RelPath) -> bool:
        """Whether much of the programs here is written in the language of a file."""
        return self.families.get(family_of(path), 0) >= self.main_lines

    def factors_of(self, asks: Asks) -> "dict[_Look, float]":
        """What was worked out for questions that ask for this, by file and what a place looks like:
        whether it is a list, and a test; to add to.
        """
        if sum(map(len, self._factors.values())) > _MOST_FACTORS:
            self._factors.clear()
        return self._factors.setdefault(asks, {})

    def unit_at(self, file: File, line: int) -> int:
        """The number of the unit that holds a line, or of the last before it."""
        at = bisect_right(self.starts, line, file.first_unit, file.following)
        return max(file.first_unit, at - 1)


def holdings(db: sqlite3.Connection, before: IndexContents | None) -> IndexContents:
    """The current holdings; those from before when nothing has changed."""
    counters = dict(db.execute("SELECT name, value FROM counter"))
    generation, joined = counters["generation"], counters["joined"]
    if before is not None and before.generation == generation:
        return before
    if before is None or before.joined != joined or _is_full_of_gaps(before.files):
        before = IndexContents(joined=joined)
    growing = _Growing(before, counters["next_unit"])
    last = before.files.rows[-1]
    for row in db.execute(f"SELECT {_COLUMNS} FROM file WHERE id > ? ORDER BY id", (last,)):  # noqa: S608
        growing.take(row)
    if counters["files"] != growing.files.count:
        growing.keep(db.execute("SELECT id FROM file ORDER BY id"))
    return growing.done(generation, joined)


def _is_full_of_gaps(files: Files) -> bool:
    return files.end > 2 * files.count + _MOST_GAPS


class _Growing:
    """Holdings in the making: those from before are in use elsewhere, and stay as they are."""

    def __init__(self, before: IndexContents, units: int) -> None:
        self.files = before.files.copy()
        self._live, self._families = before.collection.live, Counter(before.families)
        self._outlines, self._gone = dict(before.outlines), [*before.gone]
        self._end = max(1, len(before.owners))  # no unit has number 0
        more = _row(bytes(4 * max(0, units - len(before.owners))))
        rows = before.owners, before.traits, before.starts, before.ends
        self._rows = [row + more for row in rows]

    def take(self, row: _Row) -> None:
        """Take in a version of a file, in place of the one before it."""
        at, name, size, modified, changed, inode, device, sha, first, *packed = row
        path = RelPath(name)
        signature = StatSignature(size, modified, changed, int(inode), int(device))
        self._drop(self.files.number_of(path))
        try:
            if sha is None:
                self.files.add(at, path, signature, sha=None)
                return
            spans = [numbers(one or b"") for one in packed]
            first, units = first or 0, len(spans[0])
            number = self.files.add(at, path, signature, sha=sha, first_unit=first, units=units)
        except (struct.error, ValueError) as problem:
            raise Damaged("the row of a file is torn") from problem
        self._fill(number, first, spans)

    def keep(self, rows: sqlite3.Cursor) -> None:
        """Drop all files but those of these rows."""
        for number in [*self.files.dropped(row for (row,) in rows)]:
            self._drop(number)

    def done(self, generation: int, joined: int) -> IndexContents:
        """What came of it."""
        owners, traits, starts, ends = self._rows
        self._leave_out(range(self._end, len(owners)))
        return IndexContents(
            generation,
            joined,
            files=self.files,
            known=KnownFiles(self.files, generation),
            owners=owners,
            traits=traits,
            starts=starts,
            ends=ends,
            collection=Collection(owners, self._live),
            families=self._families,
            main_lines=sum(self._families.values()) * _MAIN_SHARE,
            gone=self._gone,
            outlines=self._outlines,
        )

    def _fill(self, number: int, first: int, spans: "list[array[int]]") -> None:
        """Write down the units of a file."""
        starts, ends, traits = spans
        count, following = len(starts), first + len(starts)
        is_next = self._end <= first and following <= len(self._rows[0])
        if not is_next or not count == len(ends) == len(traits):
            raise Damaged("the units of a file are torn")
        self._leave_out(range(self._end, first))
        self._end = following
        owner = array("I", [number]) * count
        for row, own in zip(self._rows, (owner, traits, starts, ends), strict=True):
            row[first:following] = own
        self._live += count
        self._count_lines(number, sum(ends) - sum(starts) + count)

    def _drop(self, number: int | None) -> None:
        if number is None:
            return
        file = self.files.text(number)
        # A version of a file has a number of its own, so an outline never changes.
        self._outlines.pop(number, None)
        if file is None:
            self.files.drop(number)
            return
        starts, ends = (row[file.first_unit : file.following] for row in self._rows[2:])
        self._count_lines(number, sum(starts) - sum(ends) - file.units)
        for row in self._rows[:1]:
            row[file.first_unit : file.following] = _row(bytes(4 * file.units))
        self._live -= file.units
        self._leave_out(range(file.first_unit, file.following))
        self.files.drop(number)

    def _count_lines(self, number: int, lines: int) -> None:
        path = self.files.path(number)
        if is_code(path):
            self._families[family_of(path)] += lines

    def _leave_out(self, units: range) -> None:
        """These belong to no file."""
        if units:
            self._gone.append(units)
