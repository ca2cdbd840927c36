"""From words to places: what a unit is worth to a question, and which file that makes best."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from live_memory.core.evidence.places import Terms
from live_memory.core.evidence.shapes import is_code
from live_memory.core.evidence.words import tokens
from live_memory.core.values import RelPath

__all__ = [
    "NAME_SHARE",
    "Collection",
    "Leaning",
    "Posting",
    "factor",
    "file_scores",
    "is_test",
    "leaning_of",
    "most_factor",
    "name_bonus",
    "unit_scores",
    "worth",
]

# The customary values of BM25; nothing gained by others here.
_K1, _B = 1.2, 0.75


# A file is as good as its best places; more of them add less.
_PLACES = (1.0, 0.5, 0.25)
# Tests and prose repeat the words of the code they are about.
_TEST_FACTOR, _PROSE_FACTOR = 0.6, 0.5
_BASENAME_BONUS = 0.15
# What the only definition of a name of the question adds, as a share of the best unit's score.
NAME_SHARE = 0.75
_TEST_FOLDERS = frozenset(("test", "tests", "testing", "__tests__", "spec", "testdata"))
_TEST_WORDS = frozenset(tokens("test tests testing fixture pytest unittest parametrize mock"))


@dataclass(frozen=True, slots=True)
class Posting:
    """Where a word of the question occurs: numbers of live units, and how often in each."""

    word: str
    weight: float
    units: Sequence[int]
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class Collection:
    """All units: whose each is (0 for one that is gone), its length, and how many there are."""

    owners: Sequence[int]
    lengths: Sequence[int]
    live: int
    mean_length: float


# Who writes a path out means that file; twice the score puts it first unless it holds nothing.
_NAMED_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Leaning:
    """What of a question speaks for one kind of file over another."""

    words: frozenset[str]
    is_on_tests: bool
    paths: frozenset[str] = frozenset()


def unit_scores(collection: Collection, postings: Iterable[Posting]) -> Mapping[int, float]:
    """Okapi BM25: add up what the words of a question are worth in each unit."""
    scores: dict[int, float] = {}
    lengths = collection.lengths
    steady, per_length = _K1 * (1 - _B), _K1 * _B / max(1.0, collection.mean_length)
    for posting in postings:
        rarity = worth(collection, posting) * (_K1 + 1)
        each = (
            rarity * count / (count + steady + per_length * length)
            for count, length in zip(
                posting.counts, map(lengths.__getitem__, posting.units), strict=True
            )
        )
        if not scores:
            scores = dict(zip(posting.units, each, strict=True))
            continue
        for unit, value in zip(posting.units, each, strict=True):
            scores[unit] = scores.get(unit, 0.0) + value
    return scores


def worth(collection: Collection, posting: Posting) -> float:
    """The weight of a word times its rarity."""
    having = len(posting.units)
    return posting.weight * math.log(1 + max(0.0, collection.live - having + 0.5) / (having + 0.5))


def is_test(path: RelPath) -> bool:
    """Whether a path is that of a test."""
    *folders, name = path.text.lower().split("/")
    stem = name.partition(".")[0]
    return (
        not _TEST_FOLDERS.isdisjoint(folders)
        or stem.startswith(("test_", "conftest"))
        or stem.endswith(("_test", "_spec"))
        or ".test." in name
        or ".spec." in name
    )


def leaning_of(terms: Terms) -> Leaning:
    """What a question leans towards."""
    words = frozenset(word for word, _ in terms.weights)
    is_on_tests = any(word in _TEST_WORDS or word.startswith("test_") for word in words)
    return Leaning(words, is_on_tests, frozenset(n for n in terms.names if "/" in n))


def file_scores(values: Mapping[int, float], owners: Sequence[int]) -> dict[int, float]:
    """Add up the best places of each file."""
    best: dict[int, list[float]] = defaultdict(list)
    for file, value in zip(map(owners.__getitem__, values), values.values(), strict=True):
        best[file].append(value)
    first, second, third = _PLACES
    totals = {}
    for file, scores in best.items():
        scores.sort(reverse=True)
        total = first * scores[0]
        if len(scores) > 1:
            total += second * scores[1]
        if len(scores) > 2:
            total += third * scores[2]
        totals[file] = total
    return totals


def factor(path: RelPath, leaning: Leaning) -> float:
    """How far what a file is, and its name, speak for or against it."""
    of_a_test, of_a_kind, own = _nature(path)
    value = of_a_kind if leaning.is_on_tests else of_a_test * of_a_kind
    if leaning.paths and any(f"/{path}".endswith(f"/{n.lstrip('./')}") for n in leaning.paths):
        value *= _NAMED_FACTOR
    shared = sum(map(leaning.words.__contains__, own))
    return value * (1 + _BASENAME_BONUS * shared / max(1, len(own)))


# A question on what nearly every file says asks for as many: some ten megabytes.
@lru_cache(32_768)
def _nature(path: RelPath) -> tuple[float, float, tuple[str, ...]]:
    """The factors for being a test and for what it holds, and the words of its name."""
    words = tuple(set(tokens(path.name.partition(".")[0])))
    of_a_test = _TEST_FACTOR if is_test(path) else 1.0
    return of_a_test, 1.0 if is_code(path) else _PROSE_FACTOR, words


def most_factor(leaning: Leaning) -> float:
    """What no factor for this leaning is above."""
    return (_NAMED_FACTOR if leaning.paths else 1.0) * (1 + _BASENAME_BONUS)


def name_bonus(sharing: int) -> float:
    """What it is worth to define a name of the question that `sharing` definitions carry."""
    return 1 / math.sqrt(max(1, sharing))
