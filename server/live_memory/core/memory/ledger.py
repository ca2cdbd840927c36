"""Facts with the sources they rest on, and when a fact steps back."""

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NewType, Self

from live_memory.core.values import Author, ContentHash, Instant, RelPath

__all__ = ["Fact", "FactId", "Ledger", "Source"]

FactId = NewType("FactId", str)

_LONG_AGO = Instant(0.0)
# All of them are gone through for each question; some 1.5 kB each. A day of work with an agent
# gives some fifty.
_MOST_FACTS = 4_000


@dataclass(frozen=True, slots=True)
class Source:
    """Lines `start` to `end` of a file whose bytes had this hash.

    `lines` is the hash of these lines alone, redacted: where other lines of the file changed, it
    tells whether these still stand. Earlier versions did not keep it.
    """

    path: RelPath
    sha: ContentHash
    start: int
    end: int
    lines: ContentHash | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence, the sources it rests on, and whether the file of one of them has changed.

    `since` is the commit at which it was found true, where there was one; `questions` are those
    whose answers rested on the same lines, or the task that it was found for. Sentences of one
    text have the same `conclusion`, which is empty for what a model distilled from entries. `uses`
    counts the answers that it led; `novelty` is the share of its words that its lines do not hold.
    """

    id: FactId
    text: str
    sources: tuple[Source, ...]
    author: Author = Author.SUMMARY
    learned_at: Instant = _LONG_AGO
    since: str | None = None
    questions: tuple[str, ...] = ()
    is_pinned: bool = False
    is_stale: bool = False
    session: str = ""
    conclusion: str = ""
    uses: int = 0
    novelty: float = 1.0


@dataclass(frozen=True, slots=True)
class Ledger:
    """All facts, in the order in which they were learned.

    `forgotten` are those that a person does not want back; `rejected` counts what was proposed
    and not admitted.
    """

    facts: tuple[Fact, ...] = ()
    forgotten: frozenset[FactId] = frozenset()
    rejected: int = 0
    # Where the facts that rest on a file stand, once somebody wants to know: going through
    # thousands of facts takes 10 ms.
    _found: Mapping[RelPath, tuple[int, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @property
    def _resting(self) -> Mapping[RelPath, tuple[int, ...]]:
        if self._found is not None:
            return self._found
        places: dict[RelPath, list[int]] = {}
        for n, fact in enumerate(self.facts):
            for path in dict.fromkeys(source.path for source in fact.sources):
                places.setdefault(path, []).append(n)
        found = MappingProxyType({path: tuple(ns) for path, ns in places.items()})
        object.__setattr__(self, "_found", found)
        return found

    def __getitem__(self, fact_id: FactId) -> Fact:
        """The fact with this id.

        Raises:
            KeyError: there is none.
        """
        for fact in self.facts:
            if fact.id == fact_id:
                return fact
        raise KeyError(fact_id)

    @property
    def paths(self) -> Iterable[RelPath]:
        """Every file that a fact rests on."""
        return self._resting.keys()

    def resting_on(self, path: RelPath) -> tuple[Fact, ...]:
        """The facts that rest on a file."""
        return tuple(self.facts[n] for n in self._resting.get(path, ()))

    def with_facts(self, facts: Iterable[Fact]) -> Self:
        """Add these facts; one that is there already, by id, is replaced in place and stays pinned.

        A fact that was forgotten does not come back.
        """
        new = {fact.id: fact for fact in facts if fact.id not in self.forgotten}
        if not new:
            return self
        kept = tuple(_renewed(fact, new.pop(fact.id, None)) for fact in self.facts)
        return replace(self, facts=kept + tuple(new.values()))

    def without(self, ids: frozenset[FactId]) -> Self:
        """Drop the facts with these ids, for good."""
        facts = tuple(fact for fact in self.facts if fact.id not in ids)
        return replace(self, facts=facts, forgotten=self.forgotten | ids)

    def pruned(self) -> Self:
        """Drop what led fewest answers beyond a bound, the oldest first; what is pinned stays."""
        if len(self.facts) <= _MOST_FACTS:
            return self
        loose = sorted(
            (fact for fact in self.facts if not fact.is_pinned),
            key=lambda fact: (fact.uses + len(fact.questions), fact.learned_at),
        )
        gone = {fact.id for fact in loose[: len(self.facts) - _MOST_FACTS]}
        return replace(self, facts=tuple(fact for fact in self.facts if fact.id not in gone))

    def with_uses(self, ids: Collection[str]) -> Self:
        """Count that these led an answer."""
        if not ids:
            return self
        return self._in_place(
            tuple(replace(f, uses=f.uses + 1) if f.id in ids else f for f in self.facts)
        )

    def with_rejected(self, count: int) -> Self:
        """Count what was not admitted."""
        return replace(self, rejected=self.rejected + count) if count else self

    def with_pin(self, fact_id: FactId) -> Self:
        """Pin a fact."""
        pinned = (replace(f, is_pinned=True) if f.id == fact_id else f for f in self.facts)
        return self._in_place(tuple(pinned))

    def checked_against(self, current: Mapping[RelPath, ContentHash | None]) -> Self:
        """Mark what rests on other bytes than the current ones; `None` is a file that is gone.

        A file that is not named stays as it was. Bytes that came back make a fact fresh again.
        """
        concerned = {n for path in current for n in self._resting.get(path, ())}
        judged = {n: _judged(self.facts[n], current) for n in sorted(concerned)}
        changed = {n: fact for n, fact in judged.items() if fact is not self.facts[n]}
        if not changed:
            return self
        facts = list(self.facts)
        for n, fact in changed.items():
            facts[n] = fact
        return self._in_place(tuple(facts))

    def _in_place(self, facts: tuple[Fact, ...]) -> Self:
        """These facts, each resting on what the one in its place rested on."""
        ledger = copy(self)
        object.__setattr__(ledger, "facts", facts)
        return ledger


def _renewed(old: Fact, new: Fact | None) -> Fact:
    if new is None:
        return old
    return replace(new, is_pinned=old.is_pinned or new.is_pinned, uses=old.uses)


def _judged(fact: Fact, current: Mapping[RelPath, ContentHash | None]) -> Fact:
    """A stale fact is fresh again only when each of its files is named: one may say nothing."""
    if any(current.get(s.path, s.sha) != s.sha for s in fact.sources):
        return fact if fact.is_stale else replace(fact, is_stale=True)
    is_whole = all(s.path in current for s in fact.sources)
    return replace(fact, is_stale=False) if fact.is_stale and is_whole else fact
