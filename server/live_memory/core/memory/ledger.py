"""Facts with the sources they rest on, and when a fact steps back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NewType, Self

from live_memory.core.values import ContentHash, RelPath

__all__ = ["Fact", "FactId", "Ledger", "Source"]

FactId = NewType("FactId", str)


@dataclass(frozen=True, slots=True)
class Source:
    """Lines `start` to `end` of a file whose bytes had this hash."""

    path: RelPath
    sha: ContentHash
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A distilled sentence, the sources it rests on, and whether one of them has changed."""

    id: FactId
    text: str
    sources: tuple[Source, ...]
    is_pinned: bool = False
    is_stale: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """All facts, in the order in which they were learned."""

    facts: tuple[Fact, ...] = ()

    def with_facts(self, facts: tuple[Fact, ...]) -> Self:
        """Add these facts; one that is there already, by id, is replaced in place."""
        new = {fact.id: fact for fact in facts}
        kept = tuple(new.pop(fact.id, fact) for fact in self.facts)
        return replace(self, facts=kept + tuple(new.values()))

    def without(self, ids: frozenset[FactId]) -> Self:
        """Drop the facts with these ids."""
        return replace(self, facts=tuple(fact for fact in self.facts if fact.id not in ids))

    def with_pin(self, fact_id: FactId) -> Self:
        """Pin a fact."""
        pinned = (replace(f, is_pinned=True) if f.id == fact_id else f for f in self.facts)
        return replace(self, facts=tuple(pinned))

    def checked_against(self, current: Mapping[RelPath, ContentHash | None]) -> Self:
        """Mark what rests on other bytes than the current ones; `None` is a file that is gone.

        A file that is not named stays as it was. Bytes that came back make a fact fresh again.
        """

        def judged(fact: Fact) -> Fact:
            if not any(source.path in current for source in fact.sources):
                return fact
            stale = any(current.get(s.path, s.sha) != s.sha for s in fact.sources)
            return fact if stale == fact.is_stale else replace(fact, is_stale=stale)

        return replace(self, facts=tuple(judged(fact) for fact in self.facts))
