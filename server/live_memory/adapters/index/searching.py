"""One search: words, then names, then files, by the rules of `core.evidence`."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping

from live_memory.adapters.index.reading import (
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
    leaning = ranking.leaning_of(terms)
    factors = {file: ranking.factor(held.files[file].path, leaning) for file in files}
    totals = {file: files[file] * factors[file] for file in files}
    best = sorted(totals, key=lambda file: (-totals[file], held.files[file].path))[:limit]
    ranked = tuple(RankedFile(held.files[f].path, held.files[f].sha, totals[f]) for f in best)
    units = _units(db, held, scores, {file: factors[file] for file in best})
    worth = {posting.word: ranking.worth(held.collection, posting) for posting in found}
    return Candidates(ranked, units, worth)


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
