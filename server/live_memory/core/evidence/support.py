"""Whether what was found is about the question at all, what of it is nowhere to be found, and why
each file ranked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType

from live_memory.core.asking.answer import Citation, Why
from live_memory.core.evidence.places import Evidence, RankedFile, Terms
from live_memory.core.evidence.question import joined_forms
from live_memory.core.evidence.ranking import factors, leaning_of
from live_memory.core.evidence.words import base_name, tokens, unique, words_of
from live_memory.core.values import RelPath

__all__ = ["Standing", "Support", "explain", "support"]

# The share of a question, by worth of words, that the best file holds. Of 190 questions (17 words
# that count on average) 4 in 100 stay below the second figure in their own repository, 38 in 100
# in another. In a short question every word counts, so more of them must be there.
_SHORT_QUESTION, _SHORT_ENOUGH = 6, 0.45
_LONG_ENOUGH, _LONG_SOME = 0.3, 0.15
_FILES_JUDGED = 3


# What follows one of these is a thing, not what is done with it, unless it ends as a participle. Of
# 18 short questions about something absent, in lower case, this tells 13, of 16 others none; in
# long questions it also finds adjectives that no code has.
_THING = "a an the any our this that these those is are was were do does did"
_BEFORE_A_THING = frozenset(_THING.split())
_PARTICIPLES = ("ed", "ing")


class Standing(StrEnum):
    """How far the best file is about the question."""

    ENOUGH = "enough"
    THIN = "thin"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Support:
    """What of a question there is, the names in it that occur nowhere, and the words looked for."""

    standing: Standing
    unknown: tuple[str, ...]
    sought: tuple[str, ...] = ()


def support(question: str, terms: Terms, evidence: Evidence) -> Support:
    """Compare what was asked with what the best files hold."""
    worth = evidence.candidates.worth
    rarest = max(worth.values(), default=1.0)
    # How code may write a name is no word of its own where code does not.
    weights = [w for w in terms.weights if w[0] in worth or w[0] not in joined_forms(question)]
    asked = sum(worth.get(word, rarest * weight) for word, weight in weights)
    opened = [file for file in evidence.candidates.files if file.path in evidence.files]
    held = max((_held(file, worth) for file in opened[:_FILES_JUDGED]), default=0.0)
    share = held / asked if asked else 0.0
    standing = _standing(share, len(weights))
    words = words_of(question)
    # Every question has words that no code has; one that is written as a name should be there.
    written = [word for at, word in enumerate(words) if at and word[0].isupper()]
    if len(weights) <= _SHORT_QUESTION:
        written += _things(words)
    named = [*terms.names, *(words if standing is Standing.NONE else written)]
    absent = {word for word, _ in weights if word not in worth}
    weighed = {word for word, _ in terms.weights}
    return Support(
        standing,
        unknown=unique(n for n in named if absent & set(tokens(base_name(n))[:1])),
        sought=unique(word for word in words if weighed & set(tokens(word))),
    )


def explain(
    question: str, terms: Terms, evidence: Evidence, cited: Iterable[Citation]
) -> Mapping[RelPath, Why]:
    """What raised each cited file, best first.

    Files that are cited for what they call, or for who calls them, were not ranked.
    """
    leaning, paths = leaning_of(terms), {citation.path for citation in cited}
    written: dict[str, str] = {}
    for word in words_of(question):
        for token in tokens(word):
            written.setdefault(token, word)
    return MappingProxyType(
        {
            file.path: Why(
                score=file.score,
                words=_words(file, evidence.candidates.worth, written),
                defines=_defined(file, terms, evidence),
                factors=MappingProxyType(factors(file.path, leaning)),
            )
            for file in evidence.candidates.files
            if file.path in paths
        }
    )


def _things(words: Sequence[str]) -> list[str]:
    pairs = ((before.lower(), word) for before, word in pairwise(words))
    return [w for before, w in pairs if before in _BEFORE_A_THING and not w.endswith(_PARTICIPLES)]


def _standing(share: float, words: int) -> Standing:
    if words <= _SHORT_QUESTION:
        return Standing.ENOUGH if share >= _SHORT_ENOUGH else Standing.NONE
    if share >= _LONG_ENOUGH:
        return Standing.ENOUGH
    return Standing.THIN if share >= _LONG_SOME else Standing.NONE


def _held(file: RankedFile, worth: Mapping[str, float]) -> float:
    return sum(worth[word] for word in file.words)


def _words(
    file: RankedFile, worth: Mapping[str, float], written: Mapping[str, str]
) -> tuple[str, ...]:
    """As the question writes them; a name and its parts are one."""
    best = sorted(file.words, key=lambda word: (-worth.get(word, 0.0), word))
    return unique(written.get(word, word) for word in best)


def _defined(file: RankedFile, terms: Terms, evidence: Evidence) -> tuple[str, ...]:
    names = {base_name(name).lower() for name in terms.names}
    opened = evidence.files.get(file.path)
    outline = opened.outline if opened else ()
    return unique(d.name for d in outline if base_name(d.name).lower() in names)
