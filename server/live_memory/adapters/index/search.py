"""One search: words, then names, then files, by the rules of `core.evidence`."""

import heapq
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count

from live_memory.adapters.index.database import Damaged, File, numbers, rows_of
from live_memory.adapters.index.digest import IndexContents
from live_memory.core.evidence import ranking
from live_memory.core.evidence.file_kinds import is_program
from live_memory.core.evidence.outline import enclosing
from live_memory.core.evidence.places import (
    Candidates,
    Definition,
    DefinitionKind,
    Place,
    RankedFile,
    RankedUnit,
    Terms,
)
from live_memory.core.evidence.question import is_on_a_subject
from live_memory.core.evidence.ranking import Posting
from live_memory.core.evidence.units import unpacked
from live_memory.core.evidence.words import Asks, base_name
from live_memory.core.values import RelPath

__all__ = ["Scored", "definitions_named", "outline_of", "rank", "score", "uses_of"]

_KINDS = {kind.value: kind for kind in DefinitionKind}
_MOST_OUTLINES = 1_000  # some ten megabytes
_SPAN = "file, name, kind, start, end, signature"


def postings(db: sqlite3.Connection, held: IndexContents, terms: Terms) -> Iterator[Posting]:
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
    db: sqlite3.Connection, held: IndexContents, base: str
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


def outline_of(db: sqlite3.Connection, held: IndexContents, file: int) -> Sequence[Definition]:
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


def uses_of(db: sqlite3.Connection, held: IndexContents, name: str) -> Sequence[Place]:
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


# So many units are looked at closely, and so many of them are places that may be shown.
_MOST_LIKELY, _MOST_PLACES = 600, 60
# The files of so many places are opened, beside the best files.
_MOST_OPENED = 16
# So many times the files that are wanted are looked at for how much of the question they hold.
_MORE = 2
# So many units of a word are gone through in the time in which one of them is looked for.
_FEW_TIMES = 20
# With 100,000 files a question's common words are in a million units: four megabytes, and as much
# for the scores. That is not kept after the answer.
_MOST_KEPT = 200_000


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that was found: what it is worth, and in which units it is."""

    text: str
    worth: float
    units: Sequence[int]

    def is_at(self, unit: int) -> bool:
        """Whether it is in a unit."""
        at = bisect_left(self.units, unit)
        return at < len(self.units) and self.units[at] == unit

    def is_in(self, file: File) -> bool:
        """Whether it is in a file, whose units are neighbours."""
        at = bisect_left(self.units, file.first_unit)
        return at < len(self.units) and self.units[at] < file.following


@dataclass(frozen=True, slots=True)
class Scored:
    """What the words and names of a question are worth in each unit, and so in each file.

    Both are by number, and zero where nothing of the question is.
    """

    held: IndexContents
    terms: Terms
    words: Sequence[_Word]
    units: Sequence[float]
    files: Sequence[float]
    meant: frozenset[int] = frozenset()

    @property
    def is_small(self) -> bool:
        """Whether it may be kept."""
        return sum(len(word.units) for word in self.words) <= _MOST_KEPT

    def is_of(self, held: IndexContents, terms: Terms) -> bool:
        """Whether it is what these terms are worth now."""
        return self.held is held and self.terms == terms


def score(db: sqlite3.Connection, held: IndexContents, terms: Terms) -> Scored:
    """Add up what a question is worth everywhere.

    Raises:
        Damaged: the index names units that there are not.
    """
    words: list[_Word] = []

    def found() -> Iterator[ranking.Posting]:
        for posting in postings(db, held, terms):
            worth = ranking.worth(held.collection, posting)
            words.append(_Word(posting.word, worth, posting.units))
            yield posting

    try:
        scores = ranking.unit_scores(held.collection, found())
    except IndexError as problem:
        raise Damaged("a word is in units that there are not") from problem
    top = max(scores, default=0.0) or 1.0
    named, meant = _named(db, held, terms)
    for unit, share in named.items():
        scores[unit] += share * top * ranking.NAME_SHARE
    files = ranking.file_scores(scores, held.owners, count=held.files.end)
    return Scored(held, terms, words, array("d", scores), array("d", files), meant)


def rank(db: sqlite3.Connection, scored: Scored, *, limit: int) -> Candidates:
    """The best files of a question, and the best places of all."""
    held, files = scored.held, scored.files
    if not any(files):
        return Candidates()
    factors = _factors(scored, limit)
    totals: Mapping[int, float] = {file: files[file] * each for file, each in factors.items()}
    if not scored.terms.asks.is_report:
        totals = _covering(scored, totals, _best(held, totals, _MORE * limit))
    best = _best(held, totals, limit)
    places = _places(scored, best)
    there = {held.owners[unit] for unit, _ in places}
    places += [(_best_unit(scored, file), 0.0) for file in best if file not in there]
    chosen = dict.fromkeys(best)
    chosen.update(dict.fromkeys(held.owners[unit] for unit, _ in places[:_MOST_OPENED]))
    ranked = tuple(
        _ranked(_text(held, file), totals.get(file, 0.0), scored.words) for file in chosen
    )
    for file in chosen:  # who opens them asks for their outlines next
        outline_of(db, held, file)
    units = [_unit(db, held, unit, score) for unit, score in places if held.owners[unit] in chosen]
    worth = {word.text: word.worth for word in scored.words}
    return Candidates(ranked, tuple(units), worth)


def _covering(
    scored: Scored, totals: Mapping[int, float], files: Sequence[int]
) -> Mapping[int, float]:
    """The totals of these files by how much of the question each holds."""
    everything = sum(word.worth for word in scored.words) or 1.0
    found: dict[int, float] = {}
    for file in files:
        text = _text(scored.held, file)
        share = sum(word.worth for word in scored.words if word.is_in(text)) / everything
        found[file] = ranking.covering(totals[file], held=share)
    return found


def _best_unit(scored: Scored, file: int) -> int:
    """The unit of a file that is worth most."""
    text = _text(scored.held, file)
    return max(range(text.first_unit, text.following), key=scored.units.__getitem__)


def _places(scored: Scored, best: Sequence[int]) -> list[tuple[int, float]]:
    """The units that are worth most, with how much, best first."""
    held, leaning = scored.held, ranking.leaning_of(scored.terms)
    everything = sum(word.worth for word in scored.words) or 1.0
    likely = _likely(scored.units)
    traits = {unit: unpacked(held.traits[unit]) for unit in likely}
    shares = _shares(scored.words, likely)
    valued: dict[int, float] = {}
    factors = held.factors_of(leaning.asks)
    is_pointing = bool(leaning.paths or leaning.edited)
    for unit, look in traits.items():
        key = held.owners[unit], look.is_list, look.is_test
        factor = factors.get(key)
        if factor is None:
            factor = factors[key] = _factor(held, key, leaning.asks)
        if is_pointing:
            factor *= ranking.pointing(held.files.path(key[0]), leaning)
        if unit in scored.meant:
            factor = max(1.0, factor)
        share = shares[unit] / everything
        valued[unit] = ranking.covering(scored.units[unit], held=share) * factor
    # Of equal ones the first, as sorting keeps their order.
    order = sorted(sorted(valued), key=valued.__getitem__, reverse=True)[:_MOST_PLACES]
    found = [
        (unit, ranking.by_rank(at) * ranking.emphasis(traits[unit], leaning.asks))
        for at, unit in enumerate(order)
    ]
    found.sort(key=lambda pair: -pair[1])
    if is_on_a_subject(scored.terms):
        lead = next((pair for pair in found if held.owners[pair[0]] == best[0]), None)
        found = [lead, *(pair for pair in found if pair is not lead)] if lead else found
    return found


def _factor(held: IndexContents, key: tuple[int, bool, bool], asks: Asks) -> float:
    file, is_list, is_test = key
    path = held.files.path(file)
    return ranking.place_factor(
        path, asks, is_list=is_list, is_test=is_test, is_main=held.is_main(path)
    )


def _shares(words: Sequence[_Word], units: Sequence[int]) -> Mapping[int, float]:
    """What the words that are in each of these units are worth."""
    shares = dict.fromkeys(units, 0.0)
    for word in words:
        if len(word.units) <= _FEW_TIMES * len(shares):
            there = shares.keys() & word.units
        else:
            there = {unit for unit in units if word.is_at(unit)}
        for unit in there:
            shares[unit] += word.worth
    return shares


def _likely(values: Sequence[float]) -> Sequence[int]:
    """The units with the highest values above zero, best first; of equal ones the first."""
    units = [*compress(count(), values)]
    if len(units) > _MOST_LIKELY:
        # Comparing values alone takes half the time, of which a large tree has a million.
        least = heapq.nlargest(_MOST_LIKELY, filter(None, values))[-1]
        units = [unit for unit in units if values[unit] >= least]
    return sorted(units, key=values.__getitem__, reverse=True)[:_MOST_LIKELY]


def _best(held: IndexContents, totals: Mapping[int, float], limit: int) -> Sequence[int]:
    """The files with the highest totals; equal ones in the order of their names."""
    least = min(heapq.nlargest(limit, totals.values()), default=0.0)
    found = [file for file, total in totals.items() if total >= least]
    return sorted(found, key=lambda file: (-totals[file], held.files.path(file).text))[:limit]


def _text(held: IndexContents, file: int) -> File:
    """A file that has units."""
    text = held.files.text(file)
    assert text is not None
    return text


def _ranked(file: File, total: float, words: Sequence[_Word]) -> RankedFile:
    there = frozenset(word.text for word in words if word.is_in(file))
    return RankedFile(file.path, file.sha, total, there)


def _factors(scored: Scored, limit: int) -> Mapping[int, float]:
    """What speaks for and against the files that can still be among the best `limit`."""
    files, scores = scored.held.files, scored.files
    leaning = ranking.leaning_of(scored.terms)
    most = ranking.most_factor(leaning)
    # At least so much the last of the best has, whatever is found out about it.
    enough = heapq.nlargest(limit, scores)[-1] * ranking.least_factor() / most
    likely = [file for file, score in enumerate(scores) if score and score >= enough]
    found: dict[int, float] = {}
    best: list[float] = []  # a heap of the best totals so far
    for file in sorted(likely, key=scores.__getitem__, reverse=True):
        score = scores[file]
        if len(best) == limit and score * most < best[0]:
            break
        factor = ranking.factor(files.path(file), leaning)
        total = score * factor
        if len(best) < limit:
            heapq.heappush(best, total)
        elif total < best[0]:
            continue
        else:
            heapq.heapreplace(best, total)
        found[file] = factor
    return found


def _unit(db: sqlite3.Connection, held: IndexContents, unit: int, score: float) -> RankedUnit:
    """A unit as the answer knows it."""
    place, outline = held.place(unit), outline_of(db, held, held.owners[unit])
    begun = (d.place.start for d in outline if place.start <= d.place.start <= place.end)
    line = next(begun, place.start)
    return RankedUnit(place, enclosing(outline, line), score)


def _named(
    db: sqlite3.Connection, held: IndexContents, terms: Terms
) -> tuple[Mapping[int, float], frozenset[int]]:
    """Units in which a name of the question is defined, with what that is worth; and those of them
    whose name no program defines, so that they are meant, whatever they are.
    """
    found: dict[int, float] = {}
    meant: set[int] = set()
    for name in terms.names:
        definitions = definitions_named(db, held, base_name(name))
        units = [held.unit_at(_text(held, file), d.place.start) for file, d in definitions]
        worth = ranking.name_bonus(len(definitions))
        for unit in units:
            found[unit] = max(found.get(unit, 0.0), worth)
        if not any(is_program(held.files.path(file)) for file, _ in definitions):
            meant.update(units)
    return found, frozenset(meant)
