"""What a person looks at in one workspace's memory: places as they are now, why a fact stands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import anyio.to_thread

from live_memory.core.errors import InvalidRequest
from live_memory.core.evidence.places import Place
from live_memory.core.findings.standing import StandingFact, standing_facts
from live_memory.core.memory.ledger import Fact, FactId
from live_memory.core.memory.window import QuestionAnswered, questions
from live_memory.core.savings import Saving, saving_of
from live_memory.core.values import Author, Instant, RelPath
from live_memory.flow.reader import QuestionFiles
from live_memory.flow.workspace import Workspace, known_signatures

__all__ = [
    "MOST_PLACES",
    "FactReasons",
    "Learned",
    "OpenedPlace",
    "asked_with_savings",
    "learned_lately",
    "open_places",
    "reasons_of",
]

# Places that are opened at a time, lines that are shown of each, and lines around it.
MOST_PLACES, _MOST_LINES, _AROUND = 24, 80, 3


@dataclass(frozen=True, slots=True)
class OpenedPlace:
    """Lines of a file as they are now, the first of them number `first`; or why there are none.

    `start` and `end` are what was asked for. `is_cut` where more lines follow than are shown.
    """

    path: RelPath
    start: int
    end: int
    first: int = 1
    lines: tuple[str, ...] = ()
    is_cut: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FactReasons:
    """A fact, how it stands now if it does, and the lines that it rests on."""

    fact: Fact
    standing: StandingFact | None
    places: tuple[OpenedPlace, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """What was understood at one time: how many facts, by whom, for which task and session."""

    at: Instant
    author: Author
    facts: int
    task: str
    session: str


async def open_places(memory: Workspace, places: Sequence[Place]) -> tuple[OpenedPlace, ...]:
    """Open the files of places and show their lines, without secrets.

    Raises:
        InvalidRequest: there are too many.
    """
    if len(places) > MOST_PLACES:
        raise InvalidRequest(f"more than {MOST_PLACES} places: send less at once")
    seen = await memory.indexer.shelf.read(dict.fromkeys(place.path for place in places))
    lines = {each.path: each.lines for each in seen}
    return tuple(_shown(place, lines.get(place.path)) for place in places)


async def reasons_of(memory: Workspace, fact_id: FactId) -> FactReasons:
    """Hold a fact against the files as they are now.

    Raises:
        InvalidRequest: there is no such fact.
    """
    try:
        fact = memory.window.ledger[fact_id]
    except KeyError:
        raise InvalidRequest("there is no such fact any more: it was forgotten") from None
    desk = QuestionFiles(memory.indexer.shelf, memory.index)
    files = await desk.current(dict.fromkeys(source.path for source in fact.sources))
    standing = await anyio.to_thread.run_sync(standing_facts, [fact], files)
    now = standing[0].places if standing else ()
    before = [Place(source.path, source.start, source.end) for source in fact.sources]
    places = await open_places(memory, [*dict.fromkeys(now or before)][:MOST_PLACES])
    return FactReasons(fact, next(iter(standing), None), places)


async def asked_with_savings(memory: Workspace) -> Sequence[tuple[QuestionAnswered, Saving]]:
    """All questions that are kept, the newest first."""
    sizes = await known_signatures(memory)
    return [(each, saving_of(each.answer, sizes)) for each in reversed(questions(memory.window))]


def learned_lately(memory: Workspace, *, most: int) -> Sequence[Learned]:
    """What was understood last, the newest first: facts of one text or summary together."""
    return list(_together(memory.window.ledger.facts, most=most))


def _together(facts: Sequence[Fact], *, most: int) -> Iterator[Learned]:
    last: Learned | None = None
    of: object = None
    for fact in reversed(facts):
        belongs_to = fact.conclusion or fact.learned_at
        if last is not None and belongs_to == of:
            last = replace(last, facts=last.facts + 1)
            continue
        if last is not None:
            yield last
            most -= 1
            if most <= 0:
                return
        of, task = belongs_to, " ".join(fact.questions[:1])
        last = Learned(fact.learned_at, fact.author, 1, task, fact.session)
    if last is not None:
        yield last


def _shown(place: Place, lines: Sequence[str] | None) -> OpenedPlace:
    if lines is None:
        return OpenedPlace(
            place.path, place.start, place.end, problem="it is gone, or is no text that may be read"
        )
    first = max(1, place.start - _AROUND)
    if place.start > len(lines):
        why = f"it has {len(lines)} lines now"
        return OpenedPlace(place.path, place.start, place.end, problem=why)
    last = min(place.end + _AROUND, len(lines))
    shown = tuple(lines[first - 1 : min(last, first + _MOST_LINES - 1)])
    is_cut = first + len(shown) - 1 < min(place.end, len(lines))
    return OpenedPlace(place.path, place.start, place.end, first, shown, is_cut)
