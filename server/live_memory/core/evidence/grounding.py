"""Whether what was found is about the question at all, what of it is nowhere to be found, and why
each file ranked.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import chain, pairwise
from types import MappingProxyType

from live_memory.core.answer import Citation, Why
from live_memory.core.evidence.places import Evidence, RankedFile, Terms
from live_memory.core.evidence.question import asked_for_uses, joined_forms
from live_memory.core.evidence.ranking import factors, leaning_of
from live_memory.core.evidence.words import (
    Kind,
    base_name,
    is_compound,
    tokens,
    unique,
    vocabulary,
    words_of,
)
from live_memory.core.values import RelPath

__all__ = [
    "Sufficiency",
    "Support",
    "explain",
    "held_by",
    "is_of_anything",
    "support",
    "weights_of",
]

# The share of a question, by the rarity of its telling words, that the best place must hold where
# it gives a name that stands nowhere, and otherwise.
_NAMED, _THERE = 0.34, 0.12
# One word that stands nowhere may be said in others; if most of a question is such, that is no lack
# of words.
_UNHEARD = 0.6
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
# What is asked of anything; code does not say it of itself.
_ANYTHING = """
able across add added adding allow allowed along already always another anymore anyone
anything anywhere apart aren available away become becomes begin begins behind called case
choose chosen codebase come comes configure configured decide decided decides declared defined
didn doesn enforce enforced enough even everything fact far found getting going got half hand
handle handled instead isn keep keeps kept know known later let located look looks lot matter
mere multiple myself never next none nothing notice noticed often option options others otherwise
package parameter parameters people person pick picked possible put puts ran really repo say
says see seen set sets setting settings several show shown someone something sometimes
somewhere soon step still support supported supports switch switched take taken tell tells
thing things together told tried try turn turned turns twice unless usual want wanted wasn way
ways while whole without worked yet
"""
_OF_ANYTHING = frozenset(_ANYTHING.split())


class Sufficiency(StrEnum):
    """How far the places that were found are about the question."""

    ENOUGH = "enough"
    THIN = "thin"
    APART = "apart"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Support:
    """How far a question is answered by places, in words as the question writes them.

    `unknown` are names that stand nowhere here, `missing` telling words that the places do not
    hold, `sought` all that was looked for. It `is_scattered` where one thing is asked for and no
    one place holds it; `lacking` are the telling words of it that the best place does not hold. It
    `is_vague` where a reason is asked for by one word. `nearest` says, for unknown names, which is
    much like it and where.
    """

    standing: Sufficiency
    unknown: tuple[str, ...]
    missing: tuple[str, ...] = ()
    sought: tuple[str, ...] = ()
    is_scattered: bool = False
    is_vague: bool = False
    lacking: tuple[str, ...] = ()
    nearest: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def support(
    question: str,
    terms: Terms,
    worth: Mapping[str, float],
    held: Sequence[frozenset[str]],
    *,
    unspelled: Collection[str] = (),
) -> Support:
    """Compare what was asked with the words that each place holds, the best one first.

    Names that are `unspelled` stand nowhere as they are written, though their stems do.
    """
    weights = weights_of(question, terms, worth)
    everything = sum(weights.values()) or 1.0
    everywhere = frozenset().union(*held)
    most = max(weights.values(), default=0.0)
    telling = {word for word, value in weights.items() if value >= _TELLING * most}
    words = words_of(question)
    written = [(w, frozenset(tokens(w)[:1])) for w in words if not is_of_anything(w)]
    is_short = len(weights) <= _SHORT_QUESTION
    written_as_names = _written_as_names(words, terms)
    names = unique((*written_as_names, *(_things(words) if is_short else ())))
    unknown = _unknown(names, terms, worth, unspelled)
    alone = _alone(question, unknown, unspelled, is_short=is_short)
    held_first = (held[0] if held else frozenset()) - _hollow_parts(unknown, worth, alone)
    lead = sum(value for word, value in weights.items() if word in held_first) / everything
    missing = [w for w, own in written if own and own <= telling and not own & everywhere]
    # What a short question asks for by a name has to stand where that does.
    is_elsewhere = is_short and not set(written_as_names).isdisjoint(missing)
    is_unheard = not set(written_as_names).isdisjoint(unknown) or _is_unheard(weights, worth)
    least = _NAMED if (unknown and is_unheard) or is_elsewhere else _THERE
    if terms.asks.is_report or (not is_elsewhere and _has_known_name(terms, worth, unknown)):
        least = 0.0
    if not terms.asks.is_english:
        least, unknown = 0.0, [name for name in unknown if name in terms.names]
    nowhere = [w for w, own in written if own and own <= telling and not own & worth.keys()]
    # Whether there is such a thing is told by what it is called: `XML`.
    called = [word for word in nowhere if word != words[0] and not word.islower()]
    is_named = not (terms.asks.is_on_existence and terms.asks.is_english and called)
    is_there = bool(held) and lead >= least and is_named
    lacking = [w for w, own in written if own and own <= telling and not own & held_first]
    # What is asked for as one thing has to stand in one place.
    is_apart = terms.asks.is_on_one_thing and not any(telling <= place for place in held)
    is_scattered = is_apart or (terms.asks.is_on_existence and lead < _TOGETHER)
    if not is_there:
        # What is denied is looked for beyond the index too; what other places hold is not.
        unknown = [*unknown, *called] or nowhere
    # A reason that is asked for by one word may be that of anything.
    is_vague = terms.asks.kind is Kind.WHY and len(weights) == 1 and not terms.names
    is_thin = missing or unknown or is_scattered or is_vague
    enough = Sufficiency.THIN if is_thin else Sufficiency.ENOUGH
    return Support(
        enough if is_there else Sufficiency.NONE,
        unknown=unique(unknown),
        missing=unique(missing),
        is_scattered=is_scattered,
        is_vague=is_vague,
        lacking=unique(lacking) if is_apart else (),
        sought=unique(w for w, own in written if own & weights.keys()),
    )


def weights_of(question: str, terms: Terms, worth: Mapping[str, float]) -> Mapping[str, float]:
    """What each word of the question is worth; one that stands nowhere as much as the rarest."""
    rarest = max(worth.values(), default=1.0)
    # How code may write a name is no word of its own where code does not.
    forms = joined_forms(question)
    return {
        word: worth.get(word, rarest * weight)
        for word, weight in terms.weights
        if word in worth or word not in forms
    }


def is_of_anything(word: str) -> bool:
    """Whether a word is what may be asked of any thing: `configured`."""
    return word.lower() in _OF_ANYTHING


@lru_cache(maxsize=64)  # a model begins with places that were compared for the answer without it
def held_by(text: str) -> frozenset[str]:
    """The words that a place holds, in its lines and in what is told of it."""
    return frozenset(vocabulary(text))


def _written_as_names(words: Sequence[str], terms: Terms) -> tuple[str, ...]:
    """What a question writes as names."""
    # Every question has words that no code has; one that is written as a name should be there.
    # A word in capitals is a word: `URL`.
    written = (w for at, w in enumerate(words) if at and w[0].isupper() and not w.isupper())
    return unique((*terms.names, *written))


def _unknown(
    names: Iterable[str], terms: Terms, worth: Mapping[str, float], unspelled: Collection[str]
) -> list[str]:
    """The names that stand nowhere."""
    absent = {word for word, _ in terms.weights if word not in worth}
    return [n for n in names if n in unspelled or absent & set(tokens(base_name(n))[:1])]


def _is_unheard(weights: Mapping[str, float], worth: Mapping[str, float]) -> bool:
    """Whether most of a question stands nowhere."""
    nowhere = sum(value for word, value in weights.items() if word not in worth)
    return nowhere >= _UNHEARD * sum(weights.values())


def _has_known_name(terms: Terms, worth: Mapping[str, float], unknown: Collection[str]) -> bool:
    """Whether a name of the question is here: then some place is about it."""
    names = (name for name in terms.names if name not in unknown)
    return any(not worth.keys().isdisjoint(tokens(base_name(name))[:1]) for name in names)


def _alone(
    question: str, unknown: Collection[str], unspelled: Collection[str], *, is_short: bool
) -> Collection[str]:
    """The unknown names that are what is asked for, and not only spoken of."""
    if asked_for_uses(question) in unspelled:
        return unknown
    return unspelled if is_short else ()


def _hollow_parts(
    unknown: Iterable[str], worth: Mapping[str, float], alone: Collection[str]
) -> frozenset[str]:
    """The parts of unknown names that stand for nothing: some other part of the name stands
    nowhere, or it is asked for `alone`, as one that is called or defined.
    """
    parts = {name: tokens(base_name(name)) for name in unknown}
    apart = (own[1:] for own in parts.values() if any(part not in worth for part in own[1:]))
    named = (own for name, own in parts.items() if name in alone and is_compound(base_name(name)))
    return frozenset(chain(*apart, *named))


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
    return [w for w in named if not is_of_anything(w) and not w.endswith(_PARTICIPLES)]


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
