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
from live_memory.core.evidence.words import base_name, tokens, unique, vocabulary, words_of
from live_memory.core.values import RelPath

__all__ = ["Standing", "Support", "explain", "held_by", "support"]

# The share of a question, by the rarity of its telling words, that the best place must hold where
# it asks whether there is such a thing, where it gives a name that stands nowhere, and where it
# asks for what should be there. Of 30 everyday questions on something absent this owns 14, and
# denies none of 198 on something present; words alone tell no more.
_EXISTS, _NAMED, _THERE = 0.45, 0.34, 0.12
# Two or three words name one thing.
_FEW, _SHORT_EXISTS = 3, 0.75
_TOGETHER = 0.9
# A word that is worth this share of the most telling one is telling.
_TELLING = 0.3


# What follows one of these is a thing, not what is done with it, unless it ends as a participle. Of
# 18 short questions about something absent, in lower case, this tells 13, of 16 others none; in
# long questions it also finds adjectives that no code has.
_THING = "a an the any our this that these those is are was were do does did"
_BEFORE_A_THING = frozenset(_THING.split())
_PARTICIPLES = ("ed", "ing")
_SHORT_QUESTION = 6
# What is asked of anything that has a name; code does not say it of itself.
_OF_ANYTHING = frozenset(
    [
        "called",
        "codebase",
        "declared",
        "defined",
        "found",
        "located",
        "option",
        "package",
        "parameter",
        "repo",
        "set",
        "setting",
        "supported",
        "switch",
        "way",
    ]
)


class Standing(StrEnum):
    """How far the places that were found are about the question."""

    ENOUGH = "enough"
    THIN = "thin"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Support:
    """How far a question is answered by places, in words as the question writes them.

    `unknown` are names that stand nowhere here, `missing` telling words that the places do not
    hold, `sought` all that was looked for. It `is_scattered` where one thing is asked for and no
    one place holds it.
    """

    standing: Standing
    unknown: tuple[str, ...]
    missing: tuple[str, ...] = ()
    sought: tuple[str, ...] = ()
    is_scattered: bool = False


def support(
    question: str, terms: Terms, worth: Mapping[str, float], held: Sequence[frozenset[str]]
) -> Support:
    """Compare what was asked with the words that each place holds, the best one first."""
    rarest = max(worth.values(), default=1.0)
    # How code may write a name is no word of its own where code does not.
    forms = joined_forms(question)
    weights = {
        word: worth.get(word, rarest * weight)
        for word, weight in terms.weights
        if word in worth or word not in forms
    }
    everything = sum(weights.values()) or 1.0
    lead = sum(value for word, value in weights.items() if held and word in held[0]) / everything
    everywhere = frozenset().union(*held)
    most = max(weights.values(), default=0.0)
    telling = {word for word, value in weights.items() if value >= _TELLING * most}
    words = words_of(question)
    said = (word for word in words if word not in _OF_ANYTHING)
    written = [(word, frozenset(tokens(word)[:1])) for word in said]
    unknown = [*_unknown(words, terms, worth, count=len(weights))]
    missing = [w for w, own in written if own and own <= telling and not own & everywhere]
    least = _NAMED if unknown else _THERE
    if terms.asks.is_on_existence:
        least = _SHORT_EXISTS if len(telling) <= _FEW else _EXISTS
    if not terms.asks.is_english:
        least, unknown = 0.0, [name for name in unknown if name in terms.names]
    nowhere = [w for w, own in written if own and own <= telling and not own & worth.keys()]
    # Whether there is such a thing is told by what it is called: `XML`.
    called = [word for word in nowhere if word != words[0] and not word.islower()]
    is_named = not (terms.asks.is_on_existence and terms.asks.is_english and called)
    is_there = bool(held) and lead >= least and is_named
    # What is asked for as one thing has to stand in one place.
    is_scattered = terms.asks.is_on_existence and lead < _TOGETHER
    if not is_there:
        # What is denied is looked for beyond the index too; what other places hold is not.
        unknown = [*unknown, *called] or nowhere
    is_thin = missing or unknown or is_scattered
    enough = Standing.THIN if is_thin else Standing.ENOUGH
    return Support(
        enough if is_there else Standing.NONE,
        unknown=unique(unknown),
        missing=unique(missing),
        is_scattered=is_scattered,
        sought=unique(w for w, own in written if own & weights.keys()),
    )


def held_by(text: str) -> frozenset[str]:
    """The words that a place holds, in its lines and in what is told of it."""
    return frozenset(vocabulary(text))


def _unknown(
    words: Sequence[str], terms: Terms, worth: Mapping[str, float], *, count: int
) -> tuple[str, ...]:
    """What a question writes as a name, and nothing here is called."""
    # Every question has words that no code has; one that is written as a name should be there.
    # A word in capitals is a word: `URL`.
    written = [w for at, w in enumerate(words) if at and w[0].isupper() and not w.isupper()]
    if count <= _SHORT_QUESTION:
        written += _things(words)
    absent = {word for word, _ in terms.weights if word not in worth}
    named = [*terms.names, *written]
    return unique(name for name in named if absent & set(tokens(base_name(name))[:1]))


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
    named = (word for before, word in pairs if before in _BEFORE_A_THING)
    return [w for w in named if w not in _OF_ANYTHING and not w.endswith(_PARTICIPLES)]


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
