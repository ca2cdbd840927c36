"""Puts what a question needs into the window before the companion is asked, each line once.

So it stands where a provider's cache keeps it: the next question about the same places finds them
there at a tenth of the price, and only lines that are new are paid for.
"""

from collections.abc import Iterator, Sequence

from live_memory.core.asking.answer import Question
from live_memory.core.errors import Busy
from live_memory.core.evidence.head_start import viewed_in
from live_memory.core.evidence.places import Place
from live_memory.core.memory.coverage import Shown, Span, merged, missing, quoted
from live_memory.core.memory.events import FileObserved
from live_memory.core.memory.window import questions
from live_memory.core.reading.observation import Observation
from live_memory.core.values import Instant, Origin, RelPath
from live_memory.flow.answer_from_evidence import head_start
from live_memory.flow.workspace import Workspace
from live_memory.ports import Clock

__all__ = ["prepared"]

# Whole definitions of the best places: above this, twice the price brings three hundredths more
# of the lines that a question needs (benchmark/results/economics.md). A small window gives a part.
_TOKENS, _SHARE = 8_000, 0.35
# Lines that are left out between two pieces cost more as another header than as lines.
_GAP = 2


async def prepared(
    memory: Workspace, question: Question, *, clock: Clock, budget_tokens: int
) -> Sequence[Place]:
    """Record what the question's best places hold and no prompt shows yet; gives those places."""
    start = await head_start(
        question,
        shelf=memory.indexer.shelf,
        index=memory.index,
        past=questions(memory.window),
        viewed=viewed_in(memory.window),
        budget_tokens=min(_TOKENS, int(budget_tokens * _SHARE)),
    )
    wanted: dict[RelPath, list[Span]] = {}
    for place in start.places:
        wanted.setdefault(place.path, []).append((place.start, place.end))
    async with memory.freshness.turn:
        shown = quoted(memory.window, first=memory.prompt.first)
        for seen in await memory.indexer.shelf.read(wanted):
            for event in _events(seen, wanted[seen.path], shown.get(seen.path), now=clock.now()):
                try:
                    await memory.record(event)
                except Busy:  # the tail names the places, and the companion can read them
                    return start.places
            memory.freshness.note_read(seen)
    return start.places


def _events(
    seen: Observation, spans: Sequence[Span], shown: Shown | None, *, now: Instant
) -> Iterator[FileObserved]:
    """What of these lines the window does not show as they are now."""
    before = shown.spans if shown is not None and shown.sha == seen.sha else ()
    total = len(seen.lines)
    for start, end in merged(missing(spans, before), gap=_GAP):
        last = min(end, total)
        if start <= last:
            text = seen.excerpt(start, last - start + 1)
            yield FileObserved(seen.path, seen.sha, start, last, total, text, Origin.TOOL, now)
