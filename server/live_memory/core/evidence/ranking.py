"""From words to places: what a unit is worth to a question, and which file that makes best."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

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
    "factors",
    "file_scores",
    "is_test",
    "leaning_of",
    "least_factor",
    "most_factor",
    "name_bonus",
    "unit_scores",
    "worth",
]

# The customary values of BM25; nothing gained by others here.
_K1, _B = 1.2, 0.75

# Tests and prose repeat the words of the code they are about.
_TEST_FACTOR, _PROSE_FACTOR = 0.6, 0.5
_BASENAME_BONUS = 0.15
# What the only definition of a name of the question adds, as a share of the best unit's score.
NAME_SHARE = 0.75
_TEST_FOLDERS = frozenset(
    ("test", "tests", "testing", "__tests__", "spec", "testdata", "benchmarks")
)
# `Shop.Tests/`, `gson-test/`; `CartTest.java`, `CartTests.swift`, `CartSpec.kt`
_FOLDER_WORDS = re.compile(r"[a-z_]+").findall
_TEST_FILE = re.compile(r"[a-z](?:Tests?|Spec)\.\w+$")
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
    """All units by number: whose each is (0 for one that is gone), its length; how many live."""

    owners: Sequence[int]
    lengths: Sequence[int]
    live: int
    mean_length: float


# Who writes a path out means that file; twice the score puts it first unless it holds nothing.
_NAMED_FACTOR = 2.0
# What was edited lately is asked about again: subjects of 575 commits over six repositories, with
# what their authors had changed in the week before, gain .03 at first place and .02 in recall@10.
# Where the question is on something else, .02 are lost at first place; above this it is more.
_EDITED_FACTOR = 1.3


@dataclass(frozen=True, slots=True)
class Leaning:
    """What of a question speaks for one kind of file over another."""

    words: frozenset[str]
    is_on_tests: bool
    paths: frozenset[str] = frozenset()
    edited: frozenset[RelPath] = frozenset()


def unit_scores(collection: Collection, postings: Iterable[Posting]) -> list[float]:
    """Okapi BM25: what the words of a question are worth in each unit, by its number."""
    lengths = collection.lengths
    scores = [0.0] * len(lengths)
    steady, per_length = _K1 * (1 - _B), _K1 * _B / max(1.0, collection.mean_length)
    for posting in postings:
        rarity = worth(collection, posting) * (_K1 + 1)
        for unit, count in zip(posting.units, posting.counts, strict=True):
            scores[unit] += rarity * count / (count + steady + per_length * lengths[unit])
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
        any(not _TEST_FOLDERS.isdisjoint(_FOLDER_WORDS(folder)) for folder in folders)
        or stem.startswith(("test_", "conftest"))
        or stem.endswith(("_test", "_spec"))
        or _TEST_FILE.search(path.name) is not None
        or ".test." in name
        or ".spec." in name
    )


def leaning_of(terms: Terms) -> Leaning:
    """What a question leans towards."""
    words = frozenset(word for word, _ in terms.weights)
    is_on_tests = any(word in _TEST_WORDS or word.startswith("test_") for word in words)
    paths = frozenset(name for name in terms.names if "/" in name)
    return Leaning(words, is_on_tests, paths, terms.edited)


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
    return first + 0.5 * second + 0.25 * third


def factor(path: RelPath, leaning: Leaning) -> float:
    """How far what a file is, its name, and what was done to it, speak for or against it."""
    of_a_test, of_a_kind, own = _nature(path)
    value = of_a_kind if leaning.is_on_tests else of_a_test * of_a_kind
    if leaning.paths and _is_named(path, leaning):
        value *= _NAMED_FACTOR
    if leaning.edited and path in leaning.edited:
        value *= _EDITED_FACTOR
    return value * _name_factor(own, leaning)


def factors(path: RelPath, leaning: Leaning) -> Mapping[str, float]:
    """What `factor` is the product of, by name; what changes nothing is left out."""
    of_a_test, of_a_kind, own = _nature(path)
    found = {
        "test": 1.0 if leaning.is_on_tests else of_a_test,
        "prose": of_a_kind,
        "path": _NAMED_FACTOR if _is_named(path, leaning) else 1.0,
        "edited": _EDITED_FACTOR if path in leaning.edited else 1.0,
        "name": _name_factor(own, leaning),
    }
    return {name: value for name, value in found.items() if value != 1}


def _is_named(path: RelPath, leaning: Leaning) -> bool:
    return any(f"/{path}".endswith(f"/{named.lstrip('./')}") for named in leaning.paths)


def _name_factor(own: Sequence[str], leaning: Leaning) -> float:
    shared = sum(map(leaning.words.__contains__, own))
    return 1 + _BASENAME_BONUS * shared / max(1, len(own))


# A question on what nearly every file says asks for as many: some ten megabytes.
@lru_cache(32_768)
def _nature(path: RelPath) -> tuple[float, float, tuple[str, ...]]:
    """The factors for being a test and for what it holds, and the words of its name."""
    words = tuple(set(tokens(path.name.partition(".")[0])))
    of_a_test = _TEST_FACTOR if is_test(path) else 1.0
    return of_a_test, 1.0 if is_code(path) else _PROSE_FACTOR, words


def least_factor() -> float:
    """What no factor is below."""
    return _TEST_FACTOR * _PROSE_FACTOR


def most_factor(leaning: Leaning) -> float:
    """What no factor for this leaning is above."""
    of_paths = _NAMED_FACTOR if leaning.paths else 1.0
    return of_paths * (_EDITED_FACTOR if leaning.edited else 1.0) * (1 + _BASENAME_BONUS)


def name_bonus(sharing: int) -> float:
    """What it is worth to define a name of the question that `sharing` definitions carry."""
    return 1 / math.sqrt(max(1, sharing))
