"""Words of code and of English, the same for what is indexed and for what is asked."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TypeVar

__all__ = [
    "base_name",
    "holds_data",
    "identifiers",
    "is_compound",
    "stem",
    "tokens",
    "tokens_of_word",
    "unique",
    "vocabulary",
    "words_of",
]

T = TypeVar("T")

# Scripts written without spaces: Han, kana and Hangul. Two neighbours together are a word.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_IS_CJK = re.compile(rf"[{_CJK}]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]{2,}|[^\W\d_a-zA-Z]+")
# Settings, flags, headers and messages are called so: `max-size`.
_HYPHENATED = re.compile(r"(?<![\w-])[A-Za-z]\w+(?:-[A-Za-z]\w+)+(?![\w-])")
_BASE = re.compile(r"(?<![\w$])[\w$]++(?=[^\w$]*$)")

# A word of code is seen again and again, so each is cut up once.
_REMEMBERED_WORDS = 65_536
# Longer runs are data (base64, minified text), not words.
_LONGEST_WORD = 80
_DATA = re.compile(rf"\w{{{_LONGEST_WORD + 1}}}")
# Light: they may only bring the forms of one word together. Inflections, then what makes a doer
# or a deed of a verb: `validated`, `validator` and `validation` meet `validate`.
_INFLECTIONS = ("ing", "ed", "e")
_DERIVATIONS = ("ion", "er", "or")
# `user`, `order`, `inner` and `owner` are no doers of anything.
_SHORTEST_ROOT = 4
_VOWEL = re.compile("[aeiouy]")


def stem(word: str) -> str:
    """Cut the endings of a lower-case word, so that `registered` and `registers` are one."""
    if not word.isascii():
        return word
    word = _cut(_singular(word), _INFLECTIONS)
    word = _cut(word, _DERIVATIONS, least=_SHORTEST_ROOT)
    word = f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word
    return word.removesuffix("at") if word.endswith("izat") else word


def _singular(word: str) -> str:
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}i"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word.removesuffix("s")


def _cut(word: str, endings: tuple[str, ...], *, least: int = 2) -> str:
    for ending in endings:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= least and _VOWEL.search(rest) and not word.endswith("eed"):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "sl"
            return rest[:-1] if doubled else rest
    return word


def words_of(text: str) -> list[str]:
    """The words of a text as they are written."""
    return _WORD.findall(text)


def tokens(text: str) -> list[str]:
    """Every word whole and in its parts, stemmed, in order; then what hyphens join, as one word."""
    return [*chain.from_iterable(map(tokens_of_word, _WORD.findall(text))), *_joined(text)]


def vocabulary(text: str) -> set[str]:
    """All tokens of a text, each once."""
    found: set[str] = set()
    for word in set(_WORD.findall(text)):
        found.update(tokens_of_word(word))
    found.update(_joined(text))
    return found


def _joined(text: str) -> Iterator[str]:
    if "-" in text:
        for name in _HYPHENATED.findall(text):
            yield from tokens_of_word(name.replace("-", "_"))[:1]


@lru_cache(_REMEMBERED_WORDS)
def tokens_of_word(word: str) -> tuple[str, ...]:
    """`getItems` gives `getitems`, `get` and `item`, `step_3` itself and `step`."""
    if len(word) > _LONGEST_WORD:
        return ()
    if _IS_CJK.match(word):
        pairs = tuple(word[at : at + 2] for at in range(len(word) - 1))
        return pairs or (word,)
    parts = _PARTS.findall(word)
    stems = tuple(stem(part.lower()) for part in parts if len(part) > 1)
    whole = stem(word.strip("_").lower())
    if len(whole) > 1 and stems != (whole,):
        return (whole, *stems)
    return stems


def holds_data(line: str) -> bool:
    """Whether a run on a line is too long to be a word."""
    return len(line) > _LONGEST_WORD and _DATA.search(line) is not None


def identifiers(text: str) -> Iterator[str]:
    """The identifiers of a text as they are written, in order."""
    return (found.group() for found in _IDENTIFIER.finditer(text))


def is_compound(word: str) -> bool:
    """Whether a word is written as only code writes one: `save_session`, `HTTPError`, `doGet`."""
    return "_" in word.strip("_") or (any(c.isupper() for c in word[1:]) and not word.isupper())


@lru_cache(_REMEMBERED_WORDS)
def base_name(qualified: str) -> str:
    """`save_session` of `SecureCookie.save_session`; `handle` of `(*Engine).handle`."""
    found = _BASE.search(qualified)
    return found.group() if found else qualified


def unique(words: Iterable[T]) -> tuple[T, ...]:
    """Each once, in the order of the first appearance."""
    return tuple(dict.fromkeys(words))
