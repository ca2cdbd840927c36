"""Figures of one workspace, computed when asked for."""

from dataclasses import dataclass

from live_memory.core.memory.window import questions
from live_memory.core.reading.lookup import Listing
from live_memory.core.values import Instant
from live_memory.core.watching import WatchState
from live_memory.flow.compacting.compactor import LastCompaction
from live_memory.flow.workspace import Workspace
from live_memory.ports import WorkspaceIdentity

__all__ = ["WorkspaceStats", "statistics"]


@dataclass(frozen=True, slots=True)
class WorkspaceStats:
    """`known_files` counts the files that are known by the bytes they have.

    `dropped_events` were lost to a bound, here or in a hook's spool. `listing` is the last one,
    and nothing before the first.
    """

    workspace: WorkspaceIdentity
    known_files: int
    entries: int
    facts: int
    stale_facts: int
    rejected_facts: int
    compactions: int
    last_compaction: LastCompaction | None
    questions: int
    window_tokens: int
    window_limit: int
    model_calls: int
    cost_usd: float
    dropped_events: int
    hook_events: int
    hook_events_not_understood: int
    last_hook_at: Instant | None
    listing: Listing | None
    indexed_files: int
    files_waiting: int
    watch: WatchState
    problems: tuple[str, ...]


def statistics(memory: Workspace) -> WorkspaceStats:
    """Count what the workspace holds now."""
    window, state = memory.window, memory.indexer.state
    shown = memory.in_view.of(window)
    current = sum(file.sha is not None for file in shown.values())
    asked = questions(window)
    return WorkspaceStats(
        workspace=memory.identity,
        known_files=current + len(window.settled.keys() - shown.keys()),
        entries=len(window.entries),
        facts=len(window.ledger.facts),
        stale_facts=sum(fact.is_stale for fact in window.ledger.facts),
        rejected_facts=window.ledger.rejected,
        compactions=memory.compactor.count,
        last_compaction=memory.compactor.last,
        questions=len(asked),
        window_tokens=memory.held.of(window).tokens,
        window_limit=memory.max_context_tokens,
        model_calls=sum(q.answer.usage.model_calls for q in asked),
        cost_usd=sum(q.answer.cost_usd or 0.0 for q in asked),
        dropped_events=memory.ingestor.dropped,
        hook_events=memory.ingestor.heard,
        hook_events_not_understood=memory.ingestor.not_understood,
        last_hook_at=memory.ingestor.last_event_at,
        listing=memory.indexer.shelf.listed,
        indexed_files=state.files - state.waiting,
        files_waiting=state.waiting,
        watch=memory.watching.state,
        problems=memory.problems,
    )
