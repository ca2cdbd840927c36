"""Which facts are looked up for the question at hand."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from math import log

from live_memory.core.companion.prompt import render_fact
from live_memory.core.evidence.places import Terms
from live_memory.core.evidence.words import base_name, identifiers, is_compound, tokens
from live_memory.core.memory.ledger import Fact, Ledger
from live_memory.core.tokens import estimate
from live_memory.core.values import RelPath

__all__ = ["relevant"]

# A fact of a file that evidence did not rank needs a name of the question, or this share of its
# words: one common word is no reason.
_ENOUGH_WORDS = 0.25
# Facts never change their text, so each is cut up once; some 2 kB each.
_REMEMBERED_TEXTS = 12_288
_CODE, _NAME = re.compile(r"`([^`]+)`"), "="


def relevant(
    ledger: Ledger, terms: Terms, near: Sequence[RelPath], *, most: int, budget_tokens: int
) -> tuple[Fact, ...]:
    """The facts for a question, best first: by its names, by its words, by files near it.

    `near` are the files that evidence ranked, best first.
    """
    weights = dict(terms.weights)
    names = {f"{_NAME}{base_name(name)}" for name in terms.names}
    rank = {f.id: at for at, path in reversed([*enumerate(near)]) for f in ledger.resting_on(path)}
    wanted = frozenset((*weights, *names))
    hits = [
        (n, fact, matched)
        for n, fact in enumerate(ledger.facts)
        if not fact.is_stale and ((matched := wanted & _words(fact.text)) or fact.id in rank)
    ]
    alike = Counter(matched for _, _, matched in hits)  # most facts match in the same few ways
    counts: Counter[str] = Counter()
    for matched, times in alike.items():
        counts.update(dict.fromkeys(matched, times))
    # A word's worth is its weight times its rarity in the facts.
    worth = {w: weights[w] * log(1 + len(ledger.facts) / counts[w]) for w in weights if counts[w]}
    enough = _ENOUGH_WORDS * sum(worth.values())
    scores = {
        matched: (-len(matched & names), -sum(worth[w] for w in worth if w in matched))
        for matched in alike
    }
    found = [
        (*scores[matched], rank.get(fact.id, len(near)), -n, fact)
        for n, fact, matched in hits
        if scores[matched][0] or -scores[matched][1] >= enough or fact.id in rank
    ]
    best = nsmallest(most, found)  # -n tells all apart, so that facts are not compared
    return tuple(_fitting([each[-1] for each in best], budget_tokens))


def _fitting(facts: Sequence[Fact], budget_tokens: int) -> Iterator[Fact]:
    room = budget_tokens
    for fact in facts:
        room -= estimate(render_fact(fact))
        if room < 0:
            return
        yield fact


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def _words(text: str) -> frozenset[str]:
    """The stems of a text, and with a mark the names in it as they are written."""
    coded = (name for code in _CODE.findall(text) for name in identifiers(code))
    written = (word for word in identifiers(text) if is_compound(word))
    return frozenset((*tokens(text), *(f"{_NAME}{name}" for name in (*coded, *written))))
