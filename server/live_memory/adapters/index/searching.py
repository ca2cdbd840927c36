"""One search: words, then names, then files, by the rules of `core.evidence`."""

import heapq
import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence

from live_memory.adapters.index.reading import (
    File,
    Holdings,
    definitions_named,
    outline_of,
    postings,
    unit_at,
)
from live_memory.core.evidence import ranking
from live_memory.core.evidence.places import Candidates, RankedFile, RankedUnit, Terms
from live_memory.core.evidence.units import enclosing
from live_memory.core.evidence.words import base_name

__all__ = ["search"]

_UNITS_A_FILE = 6


def search(db: sqlite3.Connection, held: Holdings, terms: Terms, *, limit: int) -> Candidates:
    """Rank files and their units for a question."""
    owners = held.collection.owners
    found = list(postings(db, held, terms))
    scores = dict(ranking.unit_scores(held.collection, found))
    named = _named(db, held, terms)
    if not scores and not named:
        return Candidates()
    top = max(scores.values(), default=1.0)
    for unit, share in named.items():
        scores[unit] = scores.get(unit, 0.0) + share * top * ranking.NAME_SHARE
    files = ranking.file_scores(scores, owners)
    factors = _factors(held, files, ranking.leaning_of(terms), limit=limit)
    totals = {file: files[file] * value for file, value in factors.items()}
    best = sorted(totals, key=lambda file: (-totals[file], held.files[file].path))[:limit]
    ranked = tuple(_ranked(held.files[file], totals[file], found) for file in best)
    units = _units(db, held, scores, {file: factors[file] for file in best})
    worth = {posting.word: ranking.worth(held.collection, posting) for posting in found}
    return Candidates(ranked, units, worth)


def _ranked(file: File, total: float, found: Sequence[ranking.Posting]) -> RankedFile:
    following = file.first_unit + len(file.starts)
    words = (posting.word for posting in found if _has(posting, file.first_unit, following))
    return RankedFile(file.path, file.sha, total, frozenset(words))


def _has(posting: ranking.Posting, first: int, following: int) -> bool:
    """Whether a word occurs in these units; units are numbered in the order they came in."""
    at = bisect_left(posting.units, first)
    return at < len(posting.units) and posting.units[at] < following


def _factors(
    held: Holdings, scores: Mapping[int, float], leaning: ranking.Leaning, *, limit: int
) -> Mapping[int, float]:
    """What speaks for and against the files that can still be among the best `limit`."""
    most = ranking.most_factor(leaning)
    found: dict[int, float] = {}
    best: list[float] = []  # a heap of the best totals so far
    for file in sorted(scores, key=scores.__getitem__, reverse=True):
        if len(best) == limit and scores[file] * most < best[0]:
            break
        found[file] = ranking.factor(held.files[file].path, leaning)
        heapq.heappush(best, scores[file] * found[file])
        if len(best) > limit:
            heapq.heappop(best)
    return found


def _units(
    db: sqlite3.Connection,
    held: Holdings,
    scores: Mapping[int, float],
    factors: Mapping[int, float],
) -> tuple[RankedUnit, ...]:
    owners = held.collection.owners
    by_file: dict[int, list[int]] = defaultdict(list)
    for unit in scores:
        if owners[unit] in factors:
            by_file[owners[unit]].append(unit)
    units = []
    for file, numbers in by_file.items():
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
            unit = unit_at(held.files[file], definition.place.start)
            worth = ranking.name_bonus(len(definitions))
            found[unit] = max(found.get(unit, 0.0), worth)
    return found
