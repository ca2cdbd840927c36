"""Words of code and of English, the same for what is indexed and for what is asked."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import TypeVar

__all__ = [
    "Asks",
    "Kind",
    "asks_of",
    "base_name",
    "holds_data",
    "identifiers",
    "is_compound",
    "says_whether",
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


class Kind(StrEnum):
    """What would answer a question: places of the program, a reason, or how people work on it."""

    PLACES = "places"
    WHY = "why"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Asks:
    """The kind of a question; what files it is on; whether it asks if there is such a thing.

    It `is_on_tested` where it asks for tests and for what they test. A report is a text of several
    lines, as an issue or a log is: it tells what happened, with names that its author made up.
    """

    kind: Kind = Kind.PLACES
    is_on_tests: bool = False
    is_on_tested: bool = False
    is_on_examples: bool = False
    is_on_history: bool = False
    is_on_build: bool = False
    is_on_settings: bool = False
    is_on_ci: bool = False
    is_on_what_it_is: bool = False
    is_english: bool = True
    is_on_existence: bool = False
    is_on_one_thing: bool = False
    is_on_flags: bool = False
    is_report: bool = False


def _says(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_WHY = _says(r"\bwhy\b|\breasons?\b|\bwhat is the point\b|\brationale\b|\bhow come\b")
_HISTORY = _says(
    r"\b(?:since|changed?|changelog|versions?|releases?|history|introduced|removed?|deprecat\w*|"
    r"dropped|drop|added|breaking|used to|anymore|no longer|now|when did)\b"
)
_TESTS = _says(
    r"\b(?:tests?|testing|tested|unittest|pytest|fixtures?|mock\w*|parametrize|specs?)\b"
)
# Who joins one of these to a test asks for both.
_PROGRAM = (
    r"(?:implement\w*|defin(?:ed?|itions?)|declar\w+|written|source|code|handled|lives?|done)"
)
_TEST = r"(?:tests?|tested|specs?|covered)"
_JOINED = r"(?:\s*,)?\s+(?:and|&|as well as|plus|or)\s+"
_TESTED = _says(
    rf"\b{_PROGRAM}{_JOINED}(?:\w+\s+){{0,3}}{_TEST}\b|\b{_TEST}{_JOINED}(?:\w+\s+){{0,3}}{_PROGRAM}\b"
)
_EXAMPLES = _says(r"\b(?:examples?|samples?|demos?)\b")
_BUILD = _says(
    r"\b(?:builds?|built|compil\w+|ci|workflows?|pipeline|releas\w+|deploy\w*|publish\w*|packag\w+|"
    r"lint\w*|install\w*|dependenc\w+|versions?|toolchain|coverage|benchmarks?|docker|makefile|"
    r"contribut\w*|set ?up|supported|minimum)\b"
)
_SETTINGS = _says(
    r"\b(?:defaults?|settings?|options?|config\w*|environment variables?|env|flags?|limits?|"
    r"how (?:many|much|long|large)|turn(?:ed|s)? o(?:n|ff)|switch(?:ed|es)? o(?:n|ff)|"
    r"(?:en|dis)abl(?:e|ed|es|ing))\b"
)
_CI = _says(r"\b(?:ci|workflows?|github actions|continuous integration)\b")
_THIS = r"(?:this|the) (?:project|repo\w*|package|library|tool|codebase|code|program|thing)"
_WHAT_IT_IS = _says(
    rf"\bwhat(?:'s| is| does| are)? (?:{_THIS}|this)(?: (?:about|for|do|all about))?"
    r"\s*(?:[?,;]|$|and\b)"
    rf"|\b(?:purpose|overview|summary) of {_THIS}|\b(?:describe|explain|summari[sz]e) {_THIS}"
)
# A sentence without any of these is in another language, of which code has few words.
_ENGLISH = _says(
    r"\b(?:the|is|are|does|do|how|what|where|which|who|why|when|can|in|of|to|for|a|an|and|it|if|i)\b"
)
_SENTENCE = re.compile(r"\b(?:\w++\W++){3}\w")
_LANGUAGES = (
    r"(?:python|ruby|rust|go|golang|node(?:\.?js)?|java|jdk|jvm|\.net|dotnet|php|perl|compilers?)"
)
_DO = (
    r"(?:run|build|compile|install|test|release|deploy|contribute|publish|lint|format|set ?up|"
    r"develop)"
)
_PROJECT = _says(
    rf"\bhow (?:do|can|should|would|does) (?:i|you|we|one)\b[^.?]{{0,200}}\b{_DO}\b"
    r"|\b(?:cut|make|do|prepare|publish\w*|each|new|next) (?:an? |the )?(?:new )?"
    r"(?:release|version)s?\b"
    r"|\b(?:released?|publish(?:ed|es)?) (?:to|on)\b|\bversion (?:bump|tag|gets?|ends?)\b"
    r"|\b(?:contribut\w+|maintainers?|pull requests?|changelog)\b"
    rf"|\b{_LANGUAGES} versions?\b|\bversions? of {_LANGUAGES}\b|\bmsrv\b"
    r"|\bin ci\b|\bci (?:runs?|tests?|checks?)\b|\bhow often does\b.{0,200}\breleas|\bdeploy\w*\b"
    r"|\bwhat (?:is|does) (?:this|the) (?:project|repo\w*|package|library|tool|codebase)\b"
    r"|\b(?:test suite|tests locally|integration tests)\b|\bwhat do i (?:type|run)\b"
    r"|\bbehind (?:nginx|apache|a reverse proxy)\b"
)
# Names as only code writes them: who gives one asks about the program.
_NAMES_CODE = re.compile(r"\w_\w|\w\(|[a-z][A-Z]")
_EXISTENCE = _says(
    r"(?:^|[.!?,;]\s+|\b(?:and|or|but)\s+)"
    r"(?:(?:is|are) there|can (?:it|i|we|you|one|\w+)|could (?:it|i|we)|does (?:it|the|this|\w+)|"
    r"do (?:we|you|they)|"
    r"is [\w/.-]{1,80}(?: [\w/.-]{1,80}){0,3} (?:supported|possible|available|implemented)|"
    r"supports?|which (?:flag|option|setting|switch|parameter))\b"
)
# Who asks where the thing is, or what it is, asks for one thing.
_ONE_THING = _says(r"^\W*(?:where|what|which\s+\w+)(?:'s|\s+is)\s+(?:the|a|an|our)\b")
# What a flag does and what holds without it is said where it is declared.
_FLAGS = _says(r"--\w.{0,200}\b(?:do|mean|for|defaults?)\b|\bdefaults?\b.{0,200}--\w")

# A text of several lines and so many characters is a report.
_LONG = 300
# What is shown in it, and the questions of the rest.
_SHOWN = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"(?<![^.!?\n])[^.!?\n]*+\?")


def says_whether(text: str) -> bool:
    """Whether it asks if there is such a thing; who asks for a default takes it that there is."""
    return "default" not in text and _EXISTENCE.search(text) is not None


@lru_cache(maxsize=64)
def asks_of(question: str) -> Asks:
    """Tell by the words of a question what it is about; a report asks in its first line, and where
    it has a question mark.
    """
    is_report = len(question) > _LONG and "\n" in question.strip()
    if is_report:
        headline, _, rest = question.strip().partition("\n")
        question = "\n".join([headline, *_QUESTION.findall(_SHOWN.sub("", rest))])
    is_on_project = bool(_PROJECT.search(question)) and not _NAMES_CODE.search(question)
    kind = Kind.WHY if _WHY.search(question) else Kind.PLACES
    return Asks(
        kind=Kind.PROJECT if is_on_project else kind,
        is_on_tests=_TESTS.search(question) is not None,
        is_on_tested=_TESTED.search(question) is not None,
        is_on_examples=_EXAMPLES.search(question) is not None,
        is_on_history=_HISTORY.search(question) is not None,
        is_on_build=_BUILD.search(question) is not None,
        is_on_ci=_CI.search(question) is not None,
        is_on_what_it_is=_WHAT_IT_IS.search(question) is not None,
        is_english=_ENGLISH.search(question) is not None or not _SENTENCE.search(question),
        is_on_settings=_SETTINGS.search(question) is not None,
        # A report tells of what is there.
        is_on_existence=not is_report and says_whether(question),
        is_report=is_report,
        is_on_flags=_FLAGS.search(question) is not None,
        is_on_one_thing=_ONE_THING.search(question) is not None,
    )
