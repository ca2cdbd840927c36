"""Compacts one workspace's window in the background: one at a time, never in a question's way.

A compaction that fails, is cancelled or comes to nothing sends no event, and so changes nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import anyio
import anyio.to_thread

from live_memory.core.compacting.plan import CompactionPlan, plan
from live_memory.core.companion.prompt import entry_tokens
from live_memory.core.errors import Busy, LiveMemoryError
from live_memory.core.memory.events import Compacted, EntryNumber, MemoryEvent, QuestionAnswered
from live_memory.core.memory.window import Window
from live_memory.core.signals import CompactionFailed, CompactionFinished
from live_memory.core.values import Instant, WorkspaceKey
from live_memory.flow.compacting.summarising import Summariser
from live_memory.flow.models.lending import Borrowed, Companion
from live_memory.ports import Clock, SignalSink

__all__ = ["Compactor", "LastCompaction"]

# A burst of events is looked at once.
_QUIET_S = 0.5
# So many entries are looked at faster than a thread is found for it.
_FEW = 100
# Lines that are opened for one compaction, in tokens: some thirteen thousand lines.
_MOST_INPUT = 200_000
# A model summarises when this many questions were answered since it last did; what overflows in
# between becomes facts by rule. So learning costs nothing however much is read, and summaries stay
# a small share of what questions cost (benchmark/results/economics.md).
_QUESTIONS_A_SUMMARY = 12
# After a failure no model is asked for this long, doubled each time; what overflows meanwhile
# becomes facts by rule.
_PAUSE_S, _LONGEST_PAUSE_S = 60.0, 3_600.0


@dataclass(frozen=True, slots=True)
class LastCompaction:
    """What the last compaction came to; tokens are of entries, as estimated."""

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
        self.last: LastCompaction | None = None

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
            while await self._once(window, record, borrowed):
                pass

    async def _once(
        self,
        window: Callable[[], Window],
        record: Callable[[MemoryEvent], Awaitable[None]],
        borrowed: Borrowed,
    ) -> bool:
        """Make one compaction, if one is due; whether another may be."""
        seen = window()
        async with borrowed() as companion:
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
        if not planned.needs_summary:
            return Compacted(planned.covers, ())
        if companion is None:
            return await self._summariser.by_rule(planned, window)
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
        self.last = LastCompaction(self._clock.now(), by_model, entries, facts, before, after)
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
