"""What the code says about itself; adapters turn a signal into a log line or a counter.

A signal never holds file text, a question, an answer or a credential.
"""

from dataclasses import dataclass

from live_memory.core.values import WorkspaceKey

__all__ = [
    "CompactionFailed",
    "CompactionFinished",
    "EventsSkipped",
    "IndexRefreshed",
    "QuestionFinished",
    "SaveFailed",
    "Signal",
    "SnapshotQuarantined",
    "WatchLimited",
    "WorkspaceFailed",
    "WorkspaceOpened",
]


@dataclass(frozen=True, slots=True)
class WorkspaceOpened:
    workspace: WorkspaceKey
    entries: int


@dataclass(frozen=True, slots=True)
class WorkspaceFailed:
    workspace: WorkspaceKey
    problem: str


@dataclass(frozen=True, slots=True)
class IndexRefreshed:
    workspace: WorkspaceKey
    files: int
    updated: int
    gone: int
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class EventsSkipped:
    workspace: WorkspaceKey
    reason: str
    files: int


@dataclass(frozen=True, slots=True)
class QuestionFinished:
    workspace: WorkspaceKey
    mode: str
    grounding: str
    stop: str
    elapsed_s: float
    citations: int


@dataclass(frozen=True, slots=True)
class CompactionFinished:
    workspace: WorkspaceKey
    by_model: bool
    entries: int
    facts: int
    rejected: int
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    workspace: WorkspaceKey
    problem: str


@dataclass(frozen=True, slots=True)
class SaveFailed:
    workspace: WorkspaceKey
    problem: str


@dataclass(frozen=True, slots=True)
class SnapshotQuarantined:
    workspace: WorkspaceKey
    file: str
    problem: str


@dataclass(frozen=True, slots=True)
class WatchLimited:
    workspace: WorkspaceKey
    watched: int
    wanted: int
    problem: str


Signal = (
    WorkspaceOpened
    | WorkspaceFailed
    | IndexRefreshed
    | EventsSkipped
    | QuestionFinished
    | CompactionFinished
    | CompactionFailed
    | SaveFailed
    | SnapshotQuarantined
    | WatchLimited
)
