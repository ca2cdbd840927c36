"""Makes facts of what a plan covers: by a model, or by rule from the outline of what was seen.

Sources are opened anew, so that a fact rests on bytes that are there now; what a model proposes is
admitted only where these bytes hold it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from live_memory.core.asking.answer import CitationStatus
from live_memory.core.compacting.admission import Admitted, admitted
from live_memory.core.compacting.plan import CompactionPlan
from live_memory.core.compacting.reply import Proposal, proposals
from live_memory.core.compacting.request import summary_request
from live_memory.core.compacting.rules import facts_by_rule
from live_memory.core.compacting.standing import SourceText
from live_memory.core.companion.chat import ReplyStop
from live_memory.core.errors import ModelTimedOut, ModelUnreachable
from live_memory.core.memory.coverage import Span, merged
from live_memory.core.memory.events import Compacted, QuestionAnswered
from live_memory.core.memory.ledger import Fact, FactOrigin, Ledger
from live_memory.core.memory.window import Window
from live_memory.core.reading.lookup import LogQuery
from live_memory.core.reading.observation import Observation
from live_memory.core.tokens import estimate
from live_memory.core.values import RelPath, StatSignature
from live_memory.flow.models.lending import Companion
from live_memory.flow.models.metering import Meter
from live_memory.flow.reader import Reader
from live_memory.ports import Clock, EvidenceIndex

__all__ = ["Summariser"]

# What a model writes costs five times what it reads, so few facts and the best ones; a summary
# takes a cheap model some ten seconds.
_TIMEOUT_S, _MOST_FACTS = 120.0, 20
# What a model reads for them, in tokens; the rest becomes facts by rule.
_MOST_READ = 8_000
# Facts whose source changed are stated anew along the way: so many at a time, from the lines
# around where they stood.
_MOST_DOUBTFUL, _AROUND = 20, 15
# Files that are held at a time while their lines are picked.
_BATCH = 32


@dataclass(frozen=True, slots=True)
class _Judging:
    """What proposals are held against."""

    sources: Mapping[RelPath, SourceText]
    planned: CompactionPlan
    ledger: Ledger
    since: str | None


class Summariser:
    """Turns a plan into the event that carries it out."""

    def __init__(
        self,
        *,
        reader: Reader,
        index: Callable[[], EvidenceIndex],
        clock: Clock,
    ) -> None:
        self._reader = reader
        self._index = index
        self._clock = clock

    async def by_model(
        self, planned: CompactionPlan, window: Window, companion: Companion
    ) -> Compacted:
        """Let a model state what is worth keeping.

        Raises:
            ModelUnavailable: there is no usable summary, or a cap is reached.
        """
        doubtful = [f for f in window.ledger.facts if f.is_stale and f.origin is FactOrigin.SUMMARY]
        doubtful = doubtful[-_MOST_DOUBTFUL:]
        known = await self._index().known()
        sources = await self._sources(planned, doubtful, indexed=known)
        shown, rest = _divided(sources, planned.answers)
        request = summary_request(shown, planned.answers, doubtful, most_facts=_MOST_FACTS)
        meter = Meter(companion.model, companion.purse, companion.rest)
        with anyio.move_on_after(_TIMEOUT_S):
            async with meter.conversation() as model:
                reply = await model.complete(request)
            if reply.stop in (ReplyStop.CUT, ReplyStop.REFUSED):
                raise ModelUnreachable("the model gave no usable summary")
            proposed = await anyio.to_thread.run_sync(proposals, reply.turn.text)
            judging = _Judging(sources, planned, window.ledger, since=await self._commit())
            judged = await self._judged(proposed, judging, FactOrigin.SUMMARY)
            # What nothing stands on is no summary: these entries stay until one is.
            if sources and not judged.facts and judged.rejected >= len(proposed):
                raise ModelUnreachable("the model's summary states nothing that its sources hold")
            by_rule = await self._ruled(rest, judging)
            facts = (*judged.facts, *by_rule)
            return Compacted(planned.covers, facts, rejected=judged.rejected)
        raise ModelTimedOut("the model did not summarise in time")

    async def by_rule(self, planned: CompactionPlan, window: Window) -> Compacted:
        """Keep what the outline of the covered lines says."""
        known = await self._index().known()
        sources = await self._sources(planned, (), indexed=known)
        judging = _Judging(sources, planned, window.ledger, since=await self._commit())
        return Compacted(planned.covers, await self._ruled([*sources.values()], judging))

    async def _ruled(self, chosen: Sequence[SourceText], judging: "_Judging") -> tuple[Fact, ...]:
        outlines = {each.path: await self._index().outline(each.path) for each in chosen}
        proposed = await anyio.to_thread.run_sync(facts_by_rule, chosen, outlines)
        return (await self._judged(proposed, judging, FactOrigin.RULE)).facts

    async def _commit(self) -> str | None:
        """The commit at which facts are found true, where there is one."""
        history = await self._reader.sandbox.history(LogQuery(limit=1))
        return history.commits[0].id if history.commits else None

    async def _judged(
        self, proposed: Sequence[Proposal], judging: "_Judging", origin: FactOrigin
    ) -> Admitted:
        now = self._clock.now()
        return await anyio.to_thread.run_sync(
            lambda: admitted(
                proposed,
                judging.sources,
                judging.ledger,
                answers=judging.planned.answers,
                origin=origin,
                now=now,
                since=judging.since,
            )
        )

    async def _sources(
        self,
        planned: CompactionPlan,
        doubtful: Sequence[Fact],
        *,
        indexed: Mapping[RelPath, StatSignature],
    ) -> dict[RelPath, SourceText]:
        """The current lines of what the plan covers, of what answers cite, and around old facts.

        What is not `indexed` yet is on the way: nobody may have asked about these files.
        """
        wanted: dict[RelPath, list[Span]] = {view.path: [*view.spans] for view in planned.views}
        for path, span in (*_cited(planned.answers), *_around(doubtful)):
            wanted.setdefault(path, []).append(span)
        found: dict[RelPath, SourceText] = {}
        paths = list(wanted)
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            reads = await self._reader.bytes_of([p.text for p in batch])
            outcomes = await self._reader.observed(reads)
            seen = [each for each in outcomes if isinstance(each, Observation)]
            new = [each for each in seen if indexed.get(each.path) != each.signature]
            if new:
                await self._index().update(new, textless={}, gone=())
            for each in seen:
                found[each.path] = _shown(each, merged(wanted.get(each.path, ())))
        return found


def _divided(
    sources: Mapping[RelPath, SourceText], answers: Sequence[QuestionAnswered]
) -> tuple[list[SourceText], list[SourceText]]:
    """What a model reads, what answers cite before the rest, and what is left for rules."""
    cited = {path for path, _ in _cited(answers)}
    shown: list[SourceText] = []
    rest: list[SourceText] = []
    room = _MOST_READ
    for source in sorted(sources.values(), key=lambda each: each.path not in cited):
        cost = estimate("\n".join(source.lines.values()))
        if cost <= room:
            room -= cost
            shown.append(source)
        else:
            rest.append(source)
    return shown, rest


def _shown(seen: Observation, spans: Iterable[Span]) -> SourceText:
    lines = {
        number: seen.lines[number - 1]
        for start, end in spans
        for number in range(max(1, start), min(end, len(seen.lines)) + 1)
    }
    return SourceText(seen.path, seen.sha, lines)


def _cited(answers: Sequence[QuestionAnswered]) -> Iterable[tuple[RelPath, Span]]:
    for asked in answers:
        for citation in asked.answer.citations:
            if citation.status is CitationStatus.VERIFIED:
                yield citation.path, (citation.start, citation.end)


def _around(facts: Sequence[Fact]) -> Iterable[tuple[RelPath, Span]]:
    for fact in facts:
        for source in fact.sources:
            yield source.path, (max(1, source.start - _AROUND), source.end + _AROUND)
