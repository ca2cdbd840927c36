"""From words to places: what each is worth to a question, and which file that makes best."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import compress

from live_memory.core.evidence.file_kinds import (
    COPIES,
    Nature,
    is_aside,
    is_guide,
    is_on_ci,
    is_on_settings,
    is_test,
    nature_of,
)
from live_memory.core.evidence.outline import is_code
from live_memory.core.evidence.places import Terms
from live_memory.core.evidence.units import PARTS, Traits
from live_memory.core.evidence.words import Asks, Kind, tokens
from live_memory.core.values import RelPath

__all__ = [
    "NAME_SHARE",
    "Collection",
    "FileKindWeights",
    "Posting",
    "by_rank",
    "covering",
    "emphasis",
    "factor",
    "factors",
    "file_scores",
    "leaning_of",
    "least_factor",
    "most_factor",
    "name_bonus",
    "place_factor",
    "pointing",
    "unit_scores",
    "worth",
]

# The customary value of BM25; the fields' lengths are taken into account where words are weighed.
_K1 = 1.2
_STEADY = _K1 * PARTS

# Tests and prose repeat the words of the code they are about.
_TEST_FACTOR, _PROSE_FACTOR = 0.6, 0.5
# So does what shows them again: of 190 questions, and of 28 issues, one more has its file first.
_COPY_FACTOR = 0.5
_BASENAME_BONUS = 0.15
# What the only definition of a name of the question adds, as a share of the best unit's score.
NAME_SHARE = 0.75
# Who writes a path out means that file; twice the score puts it first unless it holds nothing.
_NAMED_FACTOR = 2.0
# What was edited lately is asked about again: subjects of 575 commits over six repositories, with
# what their authors had changed in the week before, gain .03 at first place and .02 in recall@10.
# Where the question is on something else, .02 are lost at first place; above this it is more.
_EDITED_FACTOR = 1.3

# What a place is worth by what its file is: first where a place of the program is asked for,
# then where it is asked how people work on the project.
_PRIORS: Mapping[Nature, float] = {
    Nature.CODE: 1.0,
    Nature.TEST: 0.15,
    Nature.EXAMPLE: 0.4,
    Nature.VENDORED: 0.3,
    Nature.GENERATED: 0.2,
    Nature.TRANSLATED: 0.1,
    Nature.CHANGELOG: 0.35,
    Nature.BUILD: 0.5,
    Nature.PROSE: 0.5,
    Nature.DATA: 0.5,
}
_PROJECT_PRIORS: Mapping[Nature, float] = {
    **dict.fromkeys(Nature, 0.4),
    Nature.TEST: 0.2,
    Nature.CHANGELOG: 0.35,
    Nature.BUILD: 1.0,
    Nature.PROSE: 0.6,
    **dict.fromkeys((Nature.VENDORED, Nature.TRANSLATED, Nature.GENERATED, Nature.EXAMPLE), 0.1),
}
_GUIDE_PRIOR, _PROSE_OF_REASONS = 1.5, 0.8
# Programs in a language that is hardly used here, and those that only stand beside.
_ASIDE, _LIST, _IN_TEST = 0.5, 0.4, 0.3
# Files named for what can be set, where a question is on that: of 28 such questions two more are
# answered in full with 1.3 and with 1.6.
_SETTINGS = 1.4
# What is asked of continuous integration stands in its files.
_CI = 2.0
# Half of a score goes with how much of the question is held, of a place's and of a file's.
_COVERED = 0.5
# What the second and the third best place of a file add.
_SECOND, _THIRD = 0.7, 0.5
# What decides leads before what tells of it.
_BRANCHING = 0.3
# Reasons stand in comments.
_COMMENT: Mapping[Kind, float] = {Kind.PLACES: -0.15, Kind.WHY: 0.5, Kind.PROJECT: 0.0}
_RANKS = 20  # as in reciprocal rank fusion


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a word of the question occurs: numbers of live units, and its weight in each."""

    word: str
    weight: float
    units: Sequence[int]
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Collection:
    """All units by number: whose each is (0 for one that is gone), and how many live."""

    owners: Sequence[int]
    live: int


@dataclass(frozen=True, slots=True)
class FileKindWeights:
    """What of a question speaks for one kind of file over another."""

    words: frozenset[str]
    asks: Asks = field(default_factory=Asks)
    paths: frozenset[str] = frozenset()
    edited: frozenset[RelPath] = frozenset()


def unit_scores(collection: Collection, postings: Iterable[Posting]) -> list[float]:
    """BM25F: what the words of a question are worth in each unit, by its number."""
    scores = [0.0] * len(collection.owners)
    for posting in postings:
        rarity = worth(collection, posting) * (_K1 + 1)
        for unit, count in zip(posting.units, posting.counts, strict=True):
            scores[unit] += rarity * count / (count + _STEADY)
    return scores


def worth(collection: Collection, posting: Posting) -> float:
    """The weight of a word times its rarity."""
    having = len(posting.units)
    return posting.weight * math.log(1 + max(0.0, collection.live - having + 0.5) / (having + 0.5))


def leaning_of(terms: Terms) -> FileKindWeights:
    """What a question leans towards."""
    paths = frozenset(name for name in terms.names if "/" in name or "." in name)
    return FileKindWeights(frozenset(dict(terms.weights)), terms.asks, paths, terms.edited)


def file_scores(values: Sequence[float], owners: Sequence[int], *, count: int) -> list[float]:
    """Add up the best places of each of `count` files, by its number; its units are neighbours."""
    totals = [0.0] * count
    current, first, second, third = 0, 0.0, 0.0, 0.0
    for file, value in compress(zip(owners, values, strict=True), values):
        if file != current:
            totals[current] = _in_all(first, second, third)
            current, first, second, third = file, value, 0.0, 0.0
        elif value > first:
            first, second, third = value, first, second
        elif value > second:
            second, third = value, second
        elif value > third:
            third = value
    totals[current] = _in_all(first, second, third)
    return totals


def _in_all(first: float, second: float, third: float) -> float:
    """A file is as good as its best places; more of them add less."""
    return first + _SECOND * second + _THIRD * third


def covering(score: float, *, held: float) -> float:
    """What a place or a file is worth that holds such a share of the question, 0 to 1."""
    return score * (1 - _COVERED + _COVERED * held)


def place_factor(
    path: RelPath, asks: Asks, *, is_list: bool, is_test: bool, is_main: bool
) -> float:
    """How far what a place is, and what its file is, speak for or against it.

    `is_main` says whether the file is in a language that much here is written in.
    """
    nature = nature_of(path)
    value = _prior(path, nature, asks)
    if is_list:
        value *= _LIST
    if is_test and nature is Nature.CODE and not asks.is_on_tests:
        value *= _IN_TEST
    if nature is Nature.CODE and (not is_main or is_aside(path)):
        value *= _ASIDE
    if asks.is_on_settings and is_on_settings(path):
        value *= _SETTINGS
    if asks.is_on_ci and is_on_ci(path):
        value *= _CI
    return value


def pointing(path: RelPath, leaning: FileKindWeights) -> float:
    """How far it speaks for a file that a question names it, or that it was edited lately."""
    value = _NAMED_FACTOR if leaning.paths and _is_named(path, leaning) else 1.0
    return value * _EDITED_FACTOR if leaning.edited and path in leaning.edited else value


def emphasis(traits: Traits, asks: Asks) -> float:
    """How far a place decides something, and how far it tells."""
    return 1 + _BRANCHING * traits.branching + _COMMENT[asks.kind] * traits.comment


def by_rank(at: int) -> float:
    """What a rank, from 0, is worth."""
    return 1 / (_RANKS + at)


def _prior(path: RelPath, nature: Nature, asks: Asks) -> float:
    if asks.kind is Kind.PROJECT:
        is_told = nature in (Nature.PROSE, Nature.CHANGELOG) and is_guide(path)
        return _GUIDE_PRIOR if is_told else _PROJECT_PRIORS[nature]
    is_why = asks.kind is Kind.WHY
    turned = {
        Nature.TEST: asks.is_on_tests,
        Nature.EXAMPLE: asks.is_on_examples,
        Nature.BUILD: asks.is_on_build,
        Nature.CHANGELOG: is_why and asks.is_on_history,
    }
    if turned.get(nature):
        return 1.0
    return _PROSE_OF_REASONS if is_why and nature is Nature.PROSE else _PRIORS[nature]


def factor(path: RelPath, leaning: FileKindWeights) -> float:
    """How far what a file is, its name, and what was done to it, speak for or against it."""
    of_a_test, of_a_kind, own = _nature(path)
    value = of_a_kind if leaning.asks.is_on_tests else of_a_test * of_a_kind
    if _is_copy(path, leaning):
        value *= _COPY_FACTOR
    return value * pointing(path, leaning) * _name_factor(own, leaning)


def factors(path: RelPath, leaning: FileKindWeights) -> Mapping[str, float]:
    """What `factor` is the product of, by name; what changes nothing is left out."""
    of_a_test, of_a_kind, own = _nature(path)
    found = {
        "test": 1.0 if leaning.asks.is_on_tests else of_a_test,
        "prose": of_a_kind,
        "copy": _COPY_FACTOR if _is_copy(path, leaning) else 1.0,
        "path": _NAMED_FACTOR if _is_named(path, leaning) else 1.0,
        "edited": _EDITED_FACTOR if path in leaning.edited else 1.0,
        "name": _name_factor(own, leaning),
    }
    return {name: value for name, value in found.items() if value != 1}


def _is_copy(path: RelPath, leaning: FileKindWeights) -> bool:
    """Whether a file shows what others are, and is not asked for."""
    nature = nature_of(path)
    return nature in COPIES and not (nature is Nature.EXAMPLE and leaning.asks.is_on_examples)


def _is_named(path: RelPath, leaning: FileKindWeights) -> bool:
    return any(f"/{path}".endswith(f"/{named.lstrip('./')}") for named in leaning.paths)


def _name_factor(own: Sequence[str], leaning: FileKindWeights) -> float:
    return 1 + _BASENAME_BONUS * len(leaning.words.intersection(own)) / max(1, len(own))


# A question on what nearly every file says asks for as many: some ten megabytes.
@lru_cache(32_768)
def _nature(path: RelPath) -> tuple[float, float, tuple[str, ...]]:
    """The factors for being a test and for what it holds, and the words of its name."""
    words = tuple(set(tokens(path.name.partition(".")[0])))
    of_a_test = _TEST_FACTOR if is_test(path) else 1.0
    return of_a_test, 1.0 if is_code(path) else _PROSE_FACTOR, words


def least_factor() -> float:
    """What no factor is below."""
    return _TEST_FACTOR * _PROSE_FACTOR * _COPY_FACTOR


def most_factor(leaning: FileKindWeights) -> float:
    """What no factor for this leaning is above."""
    of_paths = _NAMED_FACTOR if leaning.paths else 1.0
    return of_paths * (_EDITED_FACTOR if leaning.edited else 1.0) * (1 + _BASENAME_BONUS)


def name_bonus(sharing: int) -> float:
    """What it is worth to define a name of the question that `sharing` definitions carry."""
    return 1 / math.sqrt(max(1, sharing))
