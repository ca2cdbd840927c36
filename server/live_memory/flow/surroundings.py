"""What a workspace is made of: the adapters it is given, and the parts that are built on them."""

from collections.abc import Callable
from dataclasses import dataclass

from live_memory.flow.compacting.compactor import Compactor
from live_memory.flow.compacting.summarising import Summariser
from live_memory.flow.freshness import Freshness
from live_memory.flow.indexing import Indexer
from live_memory.flow.ingesting.ingestor import Ingestor
from live_memory.flow.reader import Reader
from live_memory.ports import (
    Clock,
    EvidenceIndex,
    SignalSink,
    SnapshotStore,
    Watcher,
    WorkspaceIdentity,
)

__all__ = ["Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The world of one workspace; without a watcher, changes are found when a question comes in."""

    reader: Reader
    index: EvidenceIndex
    spare_index: Callable[[], EvidenceIndex]
    store: SnapshotStore
    signals: SignalSink
    clock: Clock
    max_context_tokens: int
    watcher: Watcher | None = None
    updates_at_once: int = 2

    def freshness(self, *, index: Callable[[], EvidenceIndex]) -> Freshness:
        """What compares memory with the disk."""
        return Freshness(sandbox=self.reader.sandbox, index=index, clock=self.clock)

    def indexer(self, identity: WorkspaceIdentity) -> Indexer:
        """What keeps the index equal to the disk."""
        return Indexer(
            identity.key,
            reader=self.reader,
            index=self.index,
            spare=self.spare_index,
            signals=self.signals,
            at_once=self.updates_at_once,
        )

    def ingestor(
        self, identity: WorkspaceIdentity, indexer: Indexer, freshness: Freshness
    ) -> Ingestor:
        """What learns from the host's events."""
        return Ingestor(
            identity,
            reader=self.reader,
            indexer=indexer,
            freshness=freshness,
            clock=self.clock,
            signals=self.signals,
        )

    def compactor(
        self, identity: WorkspaceIdentity, *, index: Callable[[], EvidenceIndex]
    ) -> Compactor:
        """What makes facts of entries."""
        summariser = Summariser(reader=self.reader, index=index, clock=self.clock)
        return Compactor(
            identity.key,
            summariser=summariser,
            clock=self.clock,
            signals=self.signals,
            max_context_tokens=self.max_context_tokens,
        )
