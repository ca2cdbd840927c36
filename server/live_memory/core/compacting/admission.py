"""What becomes a fact of what was proposed: only what stands on the bytes that were shown.

Neither a model nor the text of a file is believed. What fails is dropped and counted.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from live_memory.core.asking.answer import CitationStatus
from live_memory.core.compacting.reply import Proposal
from live_memory.core.compacting.standing import SourceText, clipped, standing
from live_memory.core.compacting.stating import stated, without_places
from live_memory.core.compacting.wording import statement
from live_memory.core.evidence.places import Place
from live_memory.core.evidence.words import vocabulary
from live_memory.core.memory.events import QuestionAnswered
from live_memory.core.memory.ledger import Fact, FactId, FactOrigin, Ledger, Source
from live_memory.core.values import Instant, RelPath

__all__ = ["Admitted", "admitted"]

_MOST_QUESTIONS = 3
_QUOTES, _STOPS = re.compile("[`\"'“”‘’]"), re.compile(r"(?<![.,;:!?])[.,;:!?]++(?=\s|\Z)")
# Two sentences about the same names are one when so much of their other words is shared.
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class Admitted:
    """The new facts, and how many proposals nothing stands behind."""

    facts: tuple[Fact, ...]
    rejected: int


def admitted(
    proposals: Sequence[Proposal],
    sources: Mapping[RelPath, SourceText],
    ledger: Ledger,
    *,
    answers: Sequence[QuestionAnswered],
    origin: FactOrigin,
    now: Instant,
    since: str | None,
) -> Admitted:
    """Judge each proposal by the lines of its sources; what is known already is not counted."""
    known = _Known(ledger, sources)
    facts: list[Fact] = []
    rejected = 0
    for proposal in proposals:
        found = _standing(proposal, sources)
        if found is None:
            rejected += 1
            continue
        text, places = found
        fact = Fact(
            id=_id_of(text, places),
            text=text,
            sources=tuple(Source(p.path, sources[p.path].sha, p.start, p.end) for p in places),
            kind=proposal.kind,
            origin=origin,
            learned_at=now,
            since=since,
            questions=tuple(_questions(places, answers)),
        )
        if known.is_new(fact):
            facts.append(fact)
    return Admitted(tuple(facts), rejected)


def _standing(
    proposal: Proposal, pages: Mapping[RelPath, SourceText]
) -> tuple[str, tuple[Place, ...]] | None:
    """The text as it is kept, and the places it stands on."""
    said = statement(proposal.text)
    text = said and statement(without_places(said))
    places: list[Place] = []
    for place in proposal.places:
        page = pages.get(place.path)
        shown = page and clipped(place, page)
        if not shown:
            return None
        places.append(shown)
    found = standing(text, places, pages) if text else None
    return (text, found) if text and found else None


class _Known:
    """What needs no second fact: what the ledger holds and is current, and what was just added."""

    def __init__(self, ledger: Ledger, sources: Mapping[RelPath, SourceText]) -> None:
        self._forgotten = ledger.forgotten
        self._ids: set[FactId] = set()
        self._near: dict[RelPath, list[str]] = {}
        for path in sources:
            for fact in ledger.resting_on(path):
                seen = (sources[s.path].sha == s.sha for s in fact.sources if s.path in sources)
                if not fact.is_stale and all(seen):
                    self._add(fact)

    def is_new(self, fact: Fact) -> bool:
        """Whether nothing like it is known; from now on it is."""
        if fact.id in self._ids or fact.id in self._forgotten:
            return False
        near = (text for source in fact.sources for text in self._near.get(source.path, ()))
        if any(_says_the_same(fact.text, text) for text in near):
            return False
        self._add(fact)
        return True

    def _add(self, fact: Fact) -> None:
        if fact.id not in self._ids:
            self._ids.add(fact.id)
            for path in {source.path for source in fact.sources}:
                self._near.setdefault(path, []).append(fact.text)


def _says_the_same(text: str, other: str) -> bool:
    """Whether two texts state the same names and values, and the same of them.

    What gives values says what it says by them; names and quotes need some words besides.
    """
    one, two = stated(text), stated(other)
    if (one.names, one.values, one.quotes, one.settings, one.numbers) != (
        two.names, two.values, two.quotes, two.settings, two.numbers,
    ):  # fmt: skip
        return False
    if one.values or one.settings:
        return True
    words, others = vocabulary(text), vocabulary(other)
    return len(words & others) >= _ALIKE * len(words | others)


def _id_of(text: str, places: Sequence[Place]) -> FactId:
    """The same for the same sentence about the same files, whatever their bytes and lines are."""
    plain = " ".join(_STOPS.sub("", _QUOTES.sub("", text.casefold())).split())
    paths = sorted({place.path.text for place in places})
    return FactId(
        hashlib.sha256("\n".join((plain, *paths)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    )


def _questions(places: Sequence[Place], answers: Sequence[QuestionAnswered]) -> Iterator[str]:
    """The newest questions whose answers rest on these lines, oldest first."""
    resting = [asked.question.text for asked in answers if _rests(asked, places)]
    yield from dict.fromkeys(resting[-_MOST_QUESTIONS:])


def _rests(asked: QuestionAnswered, places: Sequence[Place]) -> bool:
    return any(
        cited.path == place.path and cited.start <= place.end and place.start <= cited.end
        for cited in asked.answer.citations
        if cited.status is CitationStatus.VERIFIED
        for place in places
    )
