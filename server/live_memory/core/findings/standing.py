"""Whether a fact still stands on the lines that are there now, and how that is told.

A fact stands where each of its places has the lines that it had, there or elsewhere in the file,
and the check of citations finds in them what the sentence states.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.answer import Citation, CitationStatus, Grounding
from live_memory.core.checking.citations import check
from live_memory.core.checking.claim_check import SourceFile
from live_memory.core.compaction.fact_wording import without_places
from live_memory.core.companion.prompt import excerpt, one_line
from live_memory.core.evidence.places import Place, RankedFileText
from live_memory.core.findings.conclusions import lines_hash
from live_memory.core.findings.relevance import RecalledFacts
from live_memory.core.memory.ledger import Fact, Source
from live_memory.core.values import Author, Instant, RelPath

__all__ = [
    "StandingFact",
    "about_the_same",
    "ago",
    "established",
    "is_as_it_was",
    "standing_facts",
]

# Hashing so many lines, to find those that moved, takes some 10 ms.
_MOST_HASHED = 200_000
# Of the first 600 tokens of an answer, what its sentences may take, and of a short answer which
# part; then some of their lines.
_SENTENCES, _PART, _LONGEST_TASK = 1_900, 0.6, 90
_MOST_SHOWN, _SHOWN_LINES = 3, 8
_BARE_NUMBER = re.compile(r"[(,;/] ?\d{2,6}(?: ?[-–] ?\d+)?(?=[),;/])")
_BY = {
    Author.AGENT: "the agent",
    Author.SUBAGENT: "a sub-agent",
    Author.COMPANION: "the companion",
    Author.PERSON: "a person",
    Author.SUMMARY: "a summary",
}
_UNITS = ((86_400 * 7, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class StandingFact:
    """A fact with its sentence as it is true now, every place in it."""

    fact: Fact
    text: str
    places: tuple[Place, ...]

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The places, which were opened."""
        return tuple(Citation(p.path, p.start, p.end, CitationStatus.VERIFIED) for p in self.places)


def standing_facts(
    facts: Iterable[Fact], files: Mapping[RelPath, RankedFileText]
) -> Sequence[StandingFact]:
    """Those that stand in `files`, as they are now."""
    sources = {path: SourceFile(path, f.lines, f.outline) for path, f in files.items()}
    found = (_standing_fact(fact, files, sources) for fact in facts)
    return [each for each in found if each is not None]


def _standing_fact(
    fact: Fact,
    files: Mapping[RelPath, RankedFileText],
    sources: Mapping[RelPath, SourceFile],
) -> StandingFact | None:
    text, places = fact.text, []
    moved: dict[str, str] = {}
    for source in fact.sources:
        file = files.get(source.path)
        place = _place_now(source, file) if file else None
        if place is None:
            return None
        before = str(Place(source.path, source.start, source.end))
        if before != str(place):
            moved[before] = str(place)
        places.append(place)
    # A bare number may be another line, and nobody knows where that is now.
    if moved and _BARE_NUMBER.search(without_places(text)):
        return None
    # All at once, and whole: `a.py:1` is no part of `a.py:12`, nor what another one moved to.
    if moved:
        old = "|".join(map(re.escape, moved))
        text = re.sub(rf"(?<![\w./-])(?:{old})(?!-?\d)", lambda each: moved[each[0]], text)
    missing = [str(place) for place in places if str(place) not in text]
    text = f"{text} ({', '.join(missing)})" if missing else text
    is_held = check(text, sources).grounding is Grounding.VERIFIED
    return StandingFact(fact, text, tuple(dict.fromkeys(places))) if is_held else None


def is_as_it_was(source: Source, files: Mapping[RelPath, RankedFileText]) -> bool:
    """Whether the lines of a source are there as they were."""
    file = files.get(source.path)
    if file is None or len(file.lines) < source.end:
        return False
    place = Place(source.path, source.start, source.end)
    return file.sha == source.sha or lines_hash(file.lines, place) == source.lines


def _place_now(source: Source, file: RankedFileText) -> Place | None:
    """Where the lines of a source are; nothing where they changed or are in several places."""
    if file.sha == source.sha:
        return Place(source.path, source.start, source.end)
    count = source.end - source.start + 1
    if source.lines is None or count * len(file.lines) > _MOST_HASHED:
        return None
    starts = range(1, len(file.lines) - count + 2)
    found = [
        place
        for start in starts
        if lines_hash(file.lines, place := Place(source.path, start, start + count - 1))
        == source.lines
    ]
    return found[0] if len(found) == 1 else None


def about_the_same(
    facts: Sequence[StandingFact], others: Sequence[StandingFact]
) -> Sequence[StandingFact]:
    """Those that rest on lines which others rest on too."""
    theirs = [place for other in others for place in other.places]
    return [
        fact
        for fact in facts
        if any(
            mine.path == place.path and mine.start <= place.end and place.start <= mine.end
            for mine in fact.places
            for place in theirs
        )
    ]


def established(
    recalled: RecalledFacts,
    standing: Sequence[StandingFact],
    files: Mapping[RelPath, RankedFileText],
    now: Instant,
    *,
    room: int,
) -> str:
    """What was found out before, when and by whom, and the lines of it as they are now.

    At most about `room` characters, but for one sentence.
    """
    fact = recalled.facts[0]
    when = f"{ago(now - fact.learned_at)} by {_BY[fact.author]}"
    task = one_line(" ".join(" ".join(fact.questions).split()))
    cut = task if len(task) <= _LONGEST_TASK else f"{task[:_LONGEST_TASK].rstrip()}\u2026"
    asked = f' (asked: "{cut}")' if cut else ""
    rows = []
    if standing:
        told = _fitting(recalled, standing, room=min(_SENTENCES, int(_PART * room)))
        rows = [f"Established {when}, still true{asked}:", *(f"- {one_line(f.text)}" for f in told)]
        best = sorted(told, key=lambda f: -recalled.fits[recalled.facts.index(f.fact)])
        shown = dict.fromkeys(place for f in best for place in f.places)
        rows = _with_lines(rows, [*shown][:_MOST_SHOWN], files, room=room)
    changed = [*_changed(recalled, standing)]
    if changed:
        that = "More of it" if standing else f"What was established {when}{asked}"
        rows.append(f"{that} rests on lines that changed since, and is left out. There is now:")
        rows += [_now_at(source, files) for source in changed[:_MOST_SHOWN]]
    return "\n".join(rows)


def _with_lines(
    rows: Sequence[str],
    places: Sequence[Place],
    files: Mapping[RelPath, RankedFileText],
    *,
    room: int,
) -> list[str]:
    """The rows, and the lines of the places that there is room for."""
    found, left = [*rows], room - sum(len(row) + 1 for row in rows)
    for place in places:
        lines = _lines_of(place, files)
        left -= len(lines) + 1
        if left >= 0:
            found.append(lines)
    return found


def _fitting(
    recalled: RecalledFacts, standing: Sequence[StandingFact], *, room: int
) -> Sequence[StandingFact]:
    """The sentences that hold most of the question, as far as there is room, in their order."""
    fits = dict(zip((fact.id for fact in recalled.facts), recalled.fits, strict=True))
    chosen = set()
    for each in sorted(standing, key=lambda one: -fits[one.fact.id]):
        if len(each.text) + 3 <= room:
            room -= len(each.text) + 3
            chosen.add(each.fact.id)
    return [each for each in standing if each.fact.id in chosen] or standing[:1]


def _changed(recalled: RecalledFacts, standing: Sequence[StandingFact]) -> Iterator[Source]:
    held = {each.fact.id for each in standing}
    yield from dict.fromkeys(
        source for fact in recalled.facts if fact.id not in held for source in fact.sources
    )


def _lines_of(place: Place, files: Mapping[RelPath, RankedFileText]) -> str:
    numbers = range(place.start, min(place.end, place.start + _SHOWN_LINES - 1) + 1)
    return excerpt(place.path, files[place.path].lines, numbers, until=place.end).rstrip()


def _now_at(source: Source, files: Mapping[RelPath, RankedFileText]) -> str:
    if source.path not in files:
        return f"{one_line(source.path.text)}: the file is gone."
    last = len(files[source.path].lines)
    if source.start > last:
        return f"{one_line(source.path.text)}: it has {last} lines."
    return _lines_of(Place(source.path, source.start, min(source.end, last)), files)


def ago(seconds: float) -> str:
    """So many seconds in words: `2 days ago`."""
    for unit, name in _UNITS:
        count = int(seconds // unit)
        if count > 0:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "a moment ago"
