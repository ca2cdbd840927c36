"""Figures of one workspace, computed when asked for."""

from dataclasses import dataclass

from live_memory.core.companion.prompt import window_tokens
from live_memory.core.memory.coverage import in_view
from live_memory.core.memory.window import questions
from live_memory.core.values import Instant, TokenCount
from live_memory.flow.workspace import Workspace
from live_memory.ports import WorkspaceIdentity

__all__ = ["WorkspaceStats", "statistics"]

# The largest window product.md section 5 allows.
_WINDOW_LIMIT = TokenCount(128_000)


@dataclass(frozen=True, slots=True)
class WorkspaceStats:
    """`known_files` counts the files whose current bytes are in memory.

    `dropped_events` were lost to a bound, here or in a hook's spool.
    """

    workspace: WorkspaceIdentity
    known_files: int
    entries: int
    facts: int
    stale_facts: int
    questions: int
    window_tokens: int
    window_limit: int
    model_calls: int
    cost_usd: float
    dropped_events: int
    last_hook_at: Instant | None
    indexed_files: int
    files_waiting: int
    problems: tuple[str, ...]


def statistics(memory: Workspace) -> WorkspaceStats:
    """Count what the workspace holds now."""
    window, state = memory.window, memory.indexer.state
    asked = questions(window)
    return WorkspaceStats(
        workspace=memory.identity,
        known_files=sum(file.is_observed for file in in_view(window).values()),
        entries=len(window.entries),
        facts=len(window.ledger.facts),
        stale_facts=sum(fact.is_stale for fact in window.ledger.facts),
        questions=len(asked),
        window_tokens=window_tokens(window),
        window_limit=_WINDOW_LIMIT,
        model_calls=sum(q.answer.usage.model_calls for q in asked),
        cost_usd=sum(q.answer.cost_usd or 0.0 for q in asked),
        dropped_events=memory.ingestor.dropped,
        last_hook_at=memory.ingestor.last_event_at,
        indexed_files=state.files - state.waiting,
        files_waiting=state.waiting,
        problems=memory.problems,
    )
