"""What kind of question it is, and which kinds of files it speaks of."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

__all__ = ["Asks", "Kind", "asks_of", "says_whether"]


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
