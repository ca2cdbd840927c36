"""One search: words, then names, then files, by the rules of `core.evidence`."""

import heapq
import sqlite3
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from live_memory.adapters.index.asking import definitions_named, outline_of, postings
from live_memory.adapters.index.reading import File, Holdings
from live_memory.core.evidence import ranking
from live_memory.core.evidence.places import Candidates, RankedFile, RankedUnit, Terms
from live_memory.core.evidence.units import enclosing
from live_memory.core.evidence.words import base_name

__all__ = ["Scored", "rank", "score"]

_UNITS_A_FILE = 6
# Units that a score is kept for: three megabytes.
_MOST_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Scored:
    """What the words and names of a question are worth in each unit, and so in each file."""

    held: Holdings
    terms: Terms
    postings: Sequence[ranking.Posting]
    units: Mapping[int, float]
    files: Mapping[int, float]
    factors: dict[int, float] = field(default_factory=dict)  # of the files that were asked for

    @property
    def is_small(self) -> bool:
        """Whether it may be kept."""
        return len(self.units) <= _MOST_KEPT

    def is_of(self, held: Holdings, terms: Terms) -> bool:
        """Whether it is what these terms are worth now."""
        return self.held is held and self.terms == terms


def score(db: sqlite3.Connection, held: Holdings, terms: Terms) -> Scored:
    """Add up what a question is worth everywhere."""
    found = list(postings(db, held, terms))
    scores = dict(ranking.unit_scores(held.collection, found))
    top = max(scores.values(), default=1.0)
    for unit, share in _named(db, held, terms).items():
        scores[unit] = scores.get(unit, 0.0) + share * top * ranking.NAME_SHARE
    return Scored(held, terms, found, scores, ranking.file_scores(scores, held.owners))


def rank(db: sqlite3.Connection, scored: Scored, *, limit: int) -> Candidates:
    """The best files of a question, with the best of their units."""
    held, files = scored.held, scored.files
    if not files:
        return Candidates()
    factors = _factors(scored, limit)
    totals = {file: files[file] * value for file, value in factors.items()}
    best = _best(held, totals, limit)
    found = scored.postings
    ranked = tuple(_ranked(held.files[file], totals[file], found) for file in best)
    units = _units(db, held, scored.units, {file: factors[file] for file in best})
    worth = {posting.word: ranking.worth(held.collection, posting) for posting in found}
    return Candidates(ranked, units, worth)


def _best(held: Holdings, totals: Mapping[int, float], limit: int) -> Sequence[int]:
    """The files with the highest totals; equal ones in the order of their names."""
    least = min(heapq.nlargest(limit, totals.values()), default=0.0)
    found = [file for file, total in totals.items() if total >= least]
    return sorted(found, key=lambda file: (-totals[file], held.files[file].path.text))[:limit]


def _ranked(file: File, total: float, found: Sequence[ranking.Posting]) -> RankedFile:
    following = file.first_unit + file.units
    words = (posting.word for posting in found if _has(posting, file.first_unit, following))
    return RankedFile(file.path, file.hash, total, frozenset(words))


def _has(posting: ranking.Posting, first: int, following: int) -> bool:
    """Whether a word occurs in these units; units are numbered in the order they came in."""
    at = bisect_left(posting.units, first)
    return at < len(posting.units) and posting.units[at] < following


def _factors(scored: Scored, limit: int) -> Mapping[int, float]:
    """What speaks for and against the files that can still be among the best `limit`."""
    files, scores, known = scored.held.files, scored.files, scored.factors
    leaning = ranking.leaning_of(scored.terms)
    most = ranking.most_factor(leaning)
    found: dict[int, float] = {}
    best: list[float] = []  # a heap of the best totals so far
    for file in sorted(scores, key=scores.__getitem__, reverse=True):
        score = scores[file]
        if len(best) == limit and score * most < best[0]:
            break
        factor = known.get(file)
        if factor is None:
            factor = known[file] = ranking.factor(files[file].path, leaning)
        found[file] = factor
        if len(best) < limit:
            heapq.heappush(best, score * factor)
        elif score * factor > best[0]:
            heapq.heapreplace(best, score * factor)
    return found


def _units(
    db: sqlite3.Connection,
    held: Holdings,
    scores: Mapping[int, float],
    factors: Mapping[int, float],
) -> tuple[RankedUnit, ...]:
    units = []
    for file in factors:
        first = held.files[file].first_unit
        numbers = [n for n in range(first, first + held.files[file].units) if n in scores]
        outline = outline_of(db, held, file)
        numbers.sort(key=lambda unit: -scores[unit])
        for unit in numbers[:_UNITS_A_FILE]:
            place = held.place(unit)
            line = next(
                (d.place.start for d in outline if place.start <= d.place.start <= place.end),
                place.start,
            )
            units.append(RankedUnit(place, enclosing(outline, line), scores[unit] * factors[file]))
    return tuple(sorted(units, key=lambda unit: (-unit.score, unit.place.path, unit.place.start)))


def _named(db: sqlite3.Connection, held: Holdings, terms: Terms) -> Mapping[int, float]:
    """Units in which a name of the question is defined, with what that is worth."""
    found: dict[int, float] = {}
    for name in terms.names:
        definitions = definitions_named(db, held, base_name(name))
        for file, definition in definitions:
            unit = held.unit_at(held.files[file], definition.place.start)
            worth = ranking.name_bonus(len(definitions))
            found[unit] = max(found.get(unit, 0.0), worth)
    return found
