"""Compacts one workspace's window in the background: one at a time, never in a question's way.

A compaction that fails, is cancelled or comes to nothing sends no event, and so changes nothing.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from live_memory.core.answer import CitationStatus
from live_memory.core.compaction.fact_check import (
    Admitted,
    Proposal,
    SourceText,
    admitted,
    proposals,
)
from live_memory.core.compaction.plan import CompactionPlan, plan, summary_request
from live_memory.core.companion.chat import ReplyStop
from live_memory.core.companion.prompt import entry_tokens
from live_memory.core.errors import Busy, LiveMemoryError, ModelTimedOut, ModelUnreachable
from live_memory.core.memory.learning import Span, merged
from live_memory.core.memory.ledger import Fact, Ledger
from live_memory.core.memory.notebook import Note
from live_memory.core.memory.window import (
    Compacted,
    EntryNumber,
    MemoryEvent,
    QuestionAnswered,
    Window,
)
from live_memory.core.notes.note_relevance import notes_about
from live_memory.core.reading.lookup import LogQuery
from live_memory.core.reading.observation import Observation
from live_memory.core.signals import CompactionFailed, CompactionFinished
from live_memory.core.tokens import estimate
from live_memory.core.values import Author, Instant, RelPath, StatSignature, WorkspaceKey
from live_memory.flow.model_slot import Borrowed, Companion, Meter
from live_memory.flow.reader import Reader
from live_memory.ports import Clock, EvidenceIndex, SignalSink

__all__ = ["Compactor", "PastCompaction", "Summariser"]

# What a model writes costs five times what it reads, so few facts and the best ones; a summary
# takes a cheap model some ten seconds.
_TIMEOUT_S, _MOST_FACTS = 120.0, 20
# What a model reads for them, in tokens.
_MOST_READ = 8_000
# What was told about the same files, in tokens.
_MOST_TOLD_TOKENS = 1_000
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
    """Turns a plan into the event that carries it out.

    Without a model, entries just leave. Sources are opened anew, so that a fact rests on bytes that
    are there now; what a model proposes is admitted only where these bytes hold it.
    """

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
        doubtful = [f for f in window.ledger.facts if f.is_stale and f.author is Author.SUMMARY]
        doubtful = doubtful[-_MOST_DOUBTFUL:]
        known = await self._index().known()
        sources = await self._sources(planned, doubtful, indexed=known)
        shown = _most_worth(sources, planned.answers)
        told = notes_about(window.notebook.notes, [s.path for s in shown], self._clock.now())
        request = summary_request(
            shown,
            planned.answers,
            doubtful,
            most_facts=_MOST_FACTS,
            told=_fitting(told, _MOST_TOLD_TOKENS),
        )
        meter = Meter(companion.model, companion.purse, companion.rest)
        with anyio.move_on_after(_TIMEOUT_S):
            async with meter.conversation() as model:
                reply = await model.complete(request)
            if reply.stop in (ReplyStop.CUT, ReplyStop.REFUSED):
                raise ModelUnreachable("the model gave no usable summary")
            proposed = await anyio.to_thread.run_sync(proposals, reply.turn.text)
            judging = _Judging(sources, planned, window.ledger, since=await self._commit())
            judged = await self._judged(proposed, judging)
            # What nothing stands on is no summary: these entries stay until one is.
            if sources and not judged.facts and judged.rejected >= len(proposed):
                raise ModelUnreachable("the model's summary states nothing that its sources hold")
            return Compacted(planned.covers, judged.facts, rejected=judged.rejected)
        raise ModelTimedOut("the model did not summarise in time")

    async def _commit(self) -> str | None:
        """The commit at which facts are found true, where there is one."""
        history = await self._reader.sandbox.history(LogQuery(limit=1))
        return history.commits[0].id if history.commits else None

    async def _judged(self, proposed: Sequence[Proposal], judging: "_Judging") -> Admitted:
        now = self._clock.now()
        return await anyio.to_thread.run_sync(
            lambda: admitted(
                proposed,
                judging.sources,
                judging.ledger,
                answers=judging.planned.answers,
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


def _most_worth(
    sources: Mapping[RelPath, SourceText], answers: Sequence[QuestionAnswered]
) -> list[SourceText]:
    """What a model reads: what answers cite before the rest, as far as there is room."""
    cited = {path for path, _ in _cited(answers)}
    shown: list[SourceText] = []
    room = _MOST_READ
    for source in sorted(sources.values(), key=lambda each: each.path not in cited):
        cost = estimate("\n".join(source.lines.values()))
        if cost <= room:
            room -= cost
            shown.append(source)
    return shown


def _fitting(notes: Sequence[Note], tokens: int) -> Sequence[Note]:
    """The newest of these notes, as far as they fit."""
    kept: list[Note] = []
    for note in reversed(notes):
        tokens -= estimate(note.text)
        if tokens >= 0:
            kept.append(note)
    return kept


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


# A burst of events is looked at once.
_QUIET_S = 0.5
# So many entries are looked at faster than a thread is found for it.
_FEW = 100
# Lines that are opened for one compaction, in tokens: some thirteen thousand lines.
_MOST_INPUT = 200_000
# A model summarises when this many questions were answered since it last did; what overflows in
# between leaves without a summary, and the files are there. So learning costs nothing however much
# is read, and summaries stay a small share of what questions cost (benchmark/results/economics.md).
_QUESTIONS_A_SUMMARY = 12
# After a failure no model is asked for this long, doubled each time; entries leave meanwhile.
_PAUSE_S, _LONGEST_PAUSE_S = 60.0, 3_600.0
# Of so many compactions it is told what they came to.
_MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class PastCompaction:
    """What a compaction came to; tokens are of entries, as estimated."""

    at: Instant
    by_model: bool
    entries: int
    facts: int
    tokens_before: int
    tokens_after: int


class Compactor:
    """Owner of the compaction in flight."""

    def __init__(
        self,
        workspace: WorkspaceKey,
        *,
        summariser: Summariser,
        clock: Clock,
        signals: SignalSink,
        max_context_tokens: int,
    ) -> None:
        self._workspace = workspace
        self._summariser = summariser
        self._clock = clock
        self._signals = signals
        self._max_context_tokens = max_context_tokens
        self._changed = anyio.Event()
        self._sizes: dict[EntryNumber, int] = {}
        self._pause_s, self._not_before = _PAUSE_S, 0.0
        self._asked_before = 0
        self.count = 0
        # The last ones, the newest last.
        self.lately: tuple[PastCompaction, ...] = ()

    def window_changed(self) -> None:
        """Note that there may be something to compact."""
        self._changed.set()

    async def run(
        self,
        window: Callable[[], Window],
        record: Callable[[MemoryEvent], Awaitable[None]],
        borrowed: Borrowed,
    ) -> None:
        """Compact whenever the window is over its high mark, until cancelled."""
        self._asked_before = _asked(window())
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            await anyio.sleep(_QUIET_S)
            is_more = True
            while is_more:
                async with borrowed() as companion:
                    is_more = await self._once(window(), record, companion)

    async def _once(
        self,
        seen: Window,
        record: Callable[[MemoryEvent], Awaitable[None]],
        companion: Companion | None,
    ) -> bool:
        """Make one compaction, if one is due; whether another may be."""
        budget = companion.window_tokens if companion else self._max_context_tokens
        sizes, planned = await self._looked_at(seen, budget)
        if planned is None:
            return False
        before = sum(sizes.values())
        model = companion if planned.needs_summary and self._may_ask(seen) else None
        if model is not None and model.rest.note is not None:
            model = None
        try:
            compacted = await self._compacted(seen, planned, model)
        except LiveMemoryError as problem:
            self._failed(problem)
            return False
        try:
            await record(compacted)
        except Busy:  # the window's owner is behind, or closing; the next event asks again
            return False
        after = before - sum(sizes[number] for number in compacted.covers)
        self._done(compacted, by_model=model is not None, tokens=(before, after))
        if model is not None:
            self._asked_before = _asked(seen)
        return True

    async def _looked_at(
        self, window: Window, budget: int
    ) -> tuple[Mapping[EntryNumber, int], CompactionPlan | None]:
        if len(window.entries) <= _FEW:
            return self._planned(window, budget)
        return await anyio.to_thread.run_sync(self._planned, window, budget)

    def _planned(
        self, window: Window, budget: int
    ) -> tuple[Mapping[EntryNumber, int], CompactionPlan | None]:
        """Sizes and plan; entries never change, so each is measured once."""
        self._sizes = {
            entry.number: self._sizes.get(entry.number) or entry_tokens(entry)
            for entry in window.entries
        }
        return self._sizes, plan(window, self._sizes, budget=budget, most_input=_MOST_INPUT)

    def _may_ask(self, window: Window) -> bool:
        rested = anyio.current_time() >= self._not_before
        return rested and _asked(window) - self._asked_before >= _QUESTIONS_A_SUMMARY

    async def _compacted(
        self, window: Window, planned: CompactionPlan, companion: Companion | None
    ) -> Compacted:
        if companion is None or not planned.needs_summary:
            return Compacted(planned.covers, ())
        return await self._summariser.by_model(planned, window, companion)

    def _failed(self, problem: LiveMemoryError) -> None:
        self._not_before = anyio.current_time() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        self._signals.emit(CompactionFailed(self._workspace, str(problem)))

    def _done(self, compacted: Compacted, *, by_model: bool, tokens: tuple[int, int]) -> None:
        if by_model:
            self._pause_s = _PAUSE_S
        before, after = tokens
        entries, facts = len(compacted.covers), len(compacted.facts)
        self.count += 1
        done = PastCompaction(self._clock.now(), by_model, entries, facts, before, after)
        self.lately = (*self.lately, done)[-_MOST_TOLD:]
        self._signals.emit(
            CompactionFinished(
                self._workspace,
                by_model=by_model,
                entries=entries,
                facts=facts,
                rejected=compacted.rejected,
                tokens_before=before,
                tokens_after=after,
            )
        )


def _asked(window: Window) -> int:
    """How many questions were ever answered, as far as the window remembers."""
    newer = sum(isinstance(entry.content, QuestionAnswered) for entry in window.entries)
    return len(window.archive) + newer
