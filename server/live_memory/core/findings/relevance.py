"""Which findings speak of the question at hand, and which of them answer it.

A finding is asked for in other words than it was written in. So the words of all sentences of a
text and of the task it was written for count together, and so does whether the index ranks the
places that they rest on for the question.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from live_memory.core.evidence.places import Candidates, Terms
from live_memory.core.evidence.words import base_name, tokens_of_word, vocabulary
from live_memory.core.memory.ledger import Fact, Ledger

__all__ = ["LEADS", "SETTLES", "SURE", "RecalledFacts", "recalled", "words_in"]

# As measured on conclusions of agents and later questions of others (ADR 19): what scores so much
# leads, answers where a model could be asked in its place, surely answers; the last may help.
LEADS, SETTLES, SURE, _HELPS = 0.35, 0.45, 0.6, 0.2
_MOST = 3
# The first so many places that the index ranks.
_RANKED = 12
# Agents' texts have a fifth and more words that their lines do not hold. What has fewer tells what
# is written there, and the index finds that.
_OWN_WORDS, _LEAST_WORTH = 0.2, 0.3
# A text that rests on what ranks and holds less of the question, or none of the names that it
# gives, speaks of something else there.
_SAID = 0.15
_OF_WORDS, _OF_TASK, _OF_FILES, _OF_PLACES = 0.6, 0.4, 0.25, 1.5
# Facts never change their text, so each is cut up once; some 2 kB each.
_REMEMBERED_TEXTS = 8_192


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """Sentences of one text in order, and how well they fit the question, 0 to 2.6.

    `fits` says of each sentence which share of the question it holds, by what its words are worth.
    """

    facts: tuple[Fact, ...]
    score: float
    fits: tuple[float, ...]

    def only(self, facts: Collection[Fact]) -> "RecalledFacts":
        """These of its sentences alone."""
        pairs = [pair for pair in zip(self.facts, self.fits, strict=True) if pair[0] in facts]
        return RecalledFacts(tuple(f for f, _ in pairs), self.score, tuple(fit for _, fit in pairs))


def recalled(ledger: Ledger, terms: Terms, candidates: Candidates) -> Sequence[RecalledFacts]:
    """The best texts for the question of which the index found `candidates`, best first."""
    asked = frozenset(word for word, _ in terms.weights) | candidates.worth.keys()
    named = {token for name in terms.names for token in tokens_of_word(base_name(name))[:1]}
    texts = [*_texts(ledger)]
    held = [[asked & words_in(fact.text) for fact in facts] for facts in texts]
    tasks = [asked & words_in(" ".join(facts[0].questions)) for facts in texts]
    words = [task.union(*each) for task, each in zip(tasks, held, strict=True)]
    if not any(words):
        return ()
    # What only texts say is as rare as anything here.
    most = max(candidates.worth.values(), default=1.0)
    worth = {**dict.fromkeys(chain.from_iterable(words), most), **candidates.worth}
    # A file that most texts rest on says little of any.
    files = [{source.path for fact in facts for source in fact.sources} for facts in texts]
    resting = Counter(chain.from_iterable(files))
    ranks = {file.path: 1 / (1 + at) for at, file in enumerate(candidates.files)}
    found = []
    for facts, task, said, each, paths in zip(texts, tasks, words, held, files, strict=True):
        if not said:
            continue
        ranked = (ranks[p] * (1 - resting[p] / (len(texts) + 1)) for p in paths if p in ranks)
        held_share = _share(said, worth)
        is_on_it = min(1.0, held_share / _SAID)
        if named and named.isdisjoint(frozenset().union(*(words_in(fact.text) for fact in facts))):
            is_on_it = 0.0
        own = sum(fact.novelty for fact in facts) / len(facts) / _OWN_WORDS
        score = min(1.0, max(_LEAST_WORTH, own)) * (
            _OF_WORDS * held_share
            + _OF_TASK * _share(task, worth)
            + is_on_it * _OF_FILES * max(ranked, default=0.0)
            + is_on_it * _OF_PLACES * _ranked_share(facts, candidates)
        )
        if score >= _HELPS:
            found.append(RecalledFacts(facts, score, tuple(_share(one, worth) for one in each)))
    return sorted(found, key=lambda one: (-one.score, -one.facts[0].learned_at))[:_MOST]


def _texts(ledger: Ledger) -> Iterator[tuple[Fact, ...]]:
    """The facts of each text; what a model distilled from entries is a text for each fact."""
    told: dict[str, list[Fact]] = {}
    for fact in ledger.facts:
        told.setdefault(fact.conclusion or fact.id, []).append(fact)
    yield from map(tuple, told.values())


def _ranked_share(facts: Sequence[Fact], candidates: Candidates) -> float:
    """Which part of what the index ranks first, by its score, the facts rest on."""
    units = candidates.units[:_RANKED]
    sources = [source for fact in facts for source in fact.sources]
    shown = (
        unit.score
        for unit in units
        if any(
            s.path == unit.place.path and s.start <= unit.place.end and unit.place.start <= s.end
            for s in sources
        )
    )
    return sum(shown) / max(sum(unit.score for unit in units), 1e-9)


def _share(words: Iterable[str], worth: Mapping[str, float]) -> float:
    return sum(worth[word] for word in words) / max(sum(worth.values()), 1e-9)


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def words_in(text: str) -> frozenset[str]:
    """The words of a text that never changes."""
    return frozenset(vocabulary(text))
