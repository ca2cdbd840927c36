"""Whether what was found is beside the question: words that stand apart are no trace of a thing.

Only who asks whether there is such a thing, or where it is, may be told that there is none: who
asks how it works has seen it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from live_memory.core.evidence.asks import Asks, says_whether
from live_memory.core.evidence.natures import Nature, nature_of
from live_memory.core.evidence.places import Terms
from live_memory.core.evidence.support import Standing, Support, is_of_anything, weights_of
from live_memory.core.evidence.words import tokens, unique, words_of
from live_memory.core.values import RelPath

__all__ = ["Held", "asking_part", "doubted", "is_in_one_place"]

# What of the telling words, by their rarity, the leading place and the best one hold, added up,
# where it is asked whether there is such a thing, also where one of these words stands nowhere; and
# these two and all places together, where it is asked where the thing is. Of 81 everyday questions
# on something absent from 24 repositories this tells 46, and 2 of 310 on something present are
# taken for such: `dead hyperlinks` are broken links there.
_WHETHER, _UNHEARD, _WHERE = 0.9, 1.2, 1.35
# Or the leading place holds hardly any of them.
_HARDLY = 0.12
# One or two words may be said in others, and so many describe what somebody has read.
_FEW, _MANY = 2, 8
# What one place holds that answers a question without its story.
_IN_ONE = 0.75
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_ASKS_WHERE = re.compile(
    r"(?:^|[.!?;,:]\s+|\b(?:and|or|but)\s+)where(?:'s|\s+(?:is|are|was|do|does|did|can|would)\b)",
    re.IGNORECASE,
)
# What was told before is there, and so is what the program is seen to do.
_IS_SEEN = re.compile(
    r"(?<!\bso )\b(?:that|those|these|such)\b|\b(?:told|turn\w*|whether)\b"
    r"|\b(?:decid|notic|becom)\w+",
    re.IGNORECASE,
)
# Tests, examples, copies and data may speak of anything.
_SPEAKS_FOR_THE_PROGRAM = (Nature.CODE, Nature.PROSE, Nature.BUILD, Nature.CHANGELOG)


@dataclass(frozen=True, slots=True)
class Held:
    """The words that a place holds, and the file it is in."""

    path: RelPath
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Shares:
    """What of the telling words, by their rarity, places hold: 0 to 1."""

    lead: float
    best: float
    together: float


def asking_part(question: str) -> str:
    """The sentence that asks, without the story around it; all of it where none is told apart."""
    sentences = _SENTENCE.split(question.strip())
    asking = (s for s in sentences if says_whether(s) or _ASKS_WHERE.search(s))
    return next(asking, question)


def doubted(
    support: Support,
    question: str,
    terms: Terms,
    worth: Mapping[str, float],
    held: Sequence[Held],
) -> Support:
    """Say so where the words of what is asked for stand apart in what was found, the best place
    first, or where one of them stands nowhere.
    """
    if support.standing is Standing.NONE or not terms.asks.is_english or not held:
        return support
    part = asking_part(question)
    stems = _stems(part)
    if not terms.asks.is_on_existence:
        # Who gives a name that is here has seen it; a guessed one is said to stand nowhere.
        guessed = set(terms.names).intersection(support.unknown)
        stems = {word: own for word, own in stems.items() if word not in guessed}
        if guessed != set(terms.names):
            return support
    weights = _telling(stems, weights_of(question, terms, worth))
    places = _telling_places(held, terms.asks)
    shares = _shares(weights, places)
    stems = {word: own for word, own in stems.items() if own in weights}
    nowhere = unique(word for word, own in stems.items() if own not in worth)
    if terms.asks.is_on_existence:
        first, everywhere = words_of(part)[0], frozenset().union(*places)
        called = {own for w, own in stems.items() if w != first and not w.islower()}
        least = _UNHEARD if nowhere or called - everywhere else _WHETHER
        is_beside = shares.lead + shares.best < least
    else:
        is_beside = _is_nowhere(part, weights, shares)
    if not is_beside or shares.best == 1 or len(weights) > _MANY:
        return support
    if nowhere and terms.asks.is_on_existence:
        return replace(support, standing=Standing.NONE, unknown=nowhere)
    lacking = unique(word for word, own in stems.items() if own not in places[0])
    return replace(support, standing=Standing.APART, lacking=lacking, is_scattered=True)


def is_in_one_place(
    question: str, terms: Terms, worth: Mapping[str, float], held: Sequence[Held]
) -> bool:
    """Whether one place holds nearly all that a question names."""
    weights = _telling(_stems(question), weights_of(question, terms, worth))
    return bool(held) and _shares(weights, _telling_places(held, terms.asks)).best >= _IN_ONE


def _stems(part: str) -> Mapping[str, str]:
    return {word: tokens(word)[0] for word in words_of(part) if tokens(word)}


def _telling(stems: Mapping[str, str], weights: Mapping[str, float]) -> Mapping[str, float]:
    """The weights of these words and their parts, without what is said of anything."""
    told = {token for word in stems if not is_of_anything(word) for token in tokens(word)}
    return {token: value for token, value in weights.items() if token in told}


def _telling_places(held: Sequence[Held], asks: Asks) -> list[frozenset[str]]:
    """The words of the leading place, and of those that speak for what is asked about."""
    rest = held[1:]
    if not (asks.is_on_tests or asks.is_on_examples):
        rest = [each for each in rest if nature_of(each.path) in _SPEAKS_FOR_THE_PROGRAM]
    return [each.words for each in (held[0], *rest)]


def _shares(weights: Mapping[str, float], held: Sequence[frozenset[str]]) -> _Shares:
    everything = sum(weights.values())

    def share(words: frozenset[str]) -> float:
        if weights.keys() <= words:
            return 1.0
        return sum(value for word, value in weights.items() if word in words) / everything

    return _Shares(share(held[0]), max(map(share, held)), share(frozenset().union(*held)))


def _is_nowhere(part: str, weights: Mapping[str, float], shares: _Shares) -> bool:
    """Whether what is asked for by its place is hardly there."""
    if not _ASKS_WHERE.search(part) or _IS_SEEN.search(part) or len(weights) <= _FEW:
        return False
    held = shares.lead + shares.best + shares.together
    return held < _WHERE or shares.lead < _HARDLY
