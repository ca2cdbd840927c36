"""What a question is about: weighted words, and the names, paths and texts it mentions."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from live_memory.core.evidence.file_kinds import Nature, nature_of
from live_memory.core.evidence.places import Evidence, RankedUnit, Terms
from live_memory.core.evidence.words import (
    asks_of,
    identifiers,
    is_compound,
    tokens,
    unique,
    words_of,
)

__all__ = [
    "asked_for_a_way",
    "asked_for_uses",
    "asked_of_impact",
    "asks_nothing",
    "flags_first",
    "hyphenated",
    "is_on_a_subject",
    "is_plain",
    "joined_forms",
    "terms_of",
]

# Words of English and words for asking about code: they are everywhere and point nowhere.
_ENGLISH = """
a about above after all also an and any are as at be because been before being below between both
but by can could did do does doing done down during each either else etc ever every few for from
further get gets give given gives go goes had has have having he her here hers him his how i if in
into is it its itself just kind let like made make makes many may me might more most much must my
need needs neither no nor not now of off on once one only or other our out over own part per please
rather same shall she should show since so some such take takes tell than that the their them then
there these they this those through to too two under until up upon us use used uses using very via
was we were what when where whether which while who whom whose why will with within without would
you your
"""
_ASKING = """
actual architectural architecture aspect behavior behaviour codebase concern decision design
determine different ensure ensures exactly exist exists explain find happen happens implication
implications involved kind mechanism mechanisms project purpose question reason relate related
relationship relationships repository responsibility role serve serves significance specific
specifically work works code implement implemented implementation describe difference
"""
_STOPWORDS = frozenset((_ENGLISH + _ASKING).split())
# What may end such a word: it is compared as it is written, for `user` is not `use`. Shorter ones
# are listed in all their forms, for `noted` is not `not`.
_ENDINGS = (("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("ies", "y"), ("s", ""))
_SHORTEST_WITH_ENDING = 4

# Such words in capitals are stressed; others are a constant's name.
_STRESSED = frozenset(
    ("all", "and", "any", "both", "every", "must", "never", "not", "only", "same", "the", "why")
)
_GREETINGS = frozenset(
    ("bye", "hallo", "hello", "hey", "hi", "hola", "no", "ok", "okay", "please", "thanks", "yes")
)

_QUOTED = re.compile(
    r"(?<!`)`++([^`\n]{1,80})`++|\"([^\"\n]{0,80})\"|(?<!\w)'([^'\n]{0,80})'(?!\w)"
)
_ABBREVIATIONS = ("e.g", "i.e")
_DOTTED = re.compile(
    r"\b[A-Za-z_$][\w$]{1,80}+(?:(?:\.|::|#)[A-Za-z_$][\w$]{1,80}+)++|\b[a-z]\.[A-Z]\w+"
)
_HYPHENATED = re.compile(r"(?<![\w/.-])[A-Za-z]\w+(?:-[A-Za-z]\w+)+(?![\w/-])")
_PATH = re.compile(
    r"(?<![\w.-])[\w.-]++(?:/[\w.-]++)++|\b[\w-]{1,80}+\.(?:[a-z]{1,4}|toml|yaml|json|lock)\b"
)
# What a file is called, and its ending.
_FILE = re.compile(r"(?<![\w.-])((?:[\w-]{1,80}+\.){1,8})([A-Za-z]\w{0,15}+)")
_NAME = r"[`'\"]?(?P<name>[A-Za-z_$][\w$.:]{0,80}\w)(?:\(\))?[`'\"]?"
_ASKS_FOR_USES = (
    re.compile(
        rf"\b(?:what|who|which|where)\b(?:(?!\b(?:happens?|when|if)\b).){{0,40}}\b(?:calls?|invokes?|uses|imports?)\s+{_NAME}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:callers?|users?|usages?|uses|references?|calls)\s+(?:of|to)\s+{_NAME}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:where|from where|by whom)\s+(?:is|are|does)\s+{_NAME}\s+(?:\w+\s+)?"
        r"(?:called|used|invoked|referenced|imported)\b",
        re.IGNORECASE,
    ),
)
# Who asks what a change would break asks for the users of what is changed.
_IMPACT = re.compile(
    r"\b(?:who|what|which(?:\s+\w+){0,5}?)\s+(?:else\s+)?(?:(?:would|will|could|does|do|might)\s+)?"
    r"(?:be\s+affected|is\s+affected|are\s+affected|calls?|invokes?|uses|imports?|rel(?:y|ies)\s+on|"
    r"depends?\s+on|breaks?|changes|ends?\s+up\s+in|go(?:es)?\s+through|have\s+to\s+follow|(?:I|we)\s+affect)"
    r"|\bcallers?\b|\bif\s+(?:I|we|you|someone)\s+chang(?:e|ed)\b|\bwant\s+to\s+change\b",
    re.IGNORECASE,
)
_START, _END = _NAME.replace("<name>", "<start>"), _NAME.replace("<name>", "<end>")
_ASKS_FOR_A_WAY = (
    re.compile(
        rf"\b(?:from|between)\s+(?:the\s+)?{_START}(?:\s.{{0,60}}?)?\s(?:to|into|until|and)\s+"
        rf"(?:the\s+)?{_END}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\bhow\s+(?:does|do|is|are)\s+(?:an?\s+|the\s+)?{_START}\s(?:.{{0,60}}?\s)?"
        rf"(?:reach|get\s+to|end\s+up\s+in|lead\s+to|arrive\s+at|call|invoke)\s+(?:the\s+)?{_END}",
        re.IGNORECASE,
    ),
)
# The first line of an issue says what it is about, and so does the name of a file that is an
# everyday word.
_TOPIC_COUNTS = 3
_SHORT, _MOST_TERMS = 12, 120
# So many names of a question are looked up.
_MOST_NAMES = 12


@lru_cache(maxsize=2_048)  # a question is compared with every one that was answered before
def terms_of(question: str) -> Terms:
    """Weigh the words of a question and list the names it mentions."""
    counts: Counter[str] = Counter()
    for word in _words(question):
        counts[word] += 1
    for word in _names_of_files(question):
        counts[word] += _TOPIC_COUNTS
    asks = asks_of(question)
    if asks.is_report:
        for word in _words(question.partition("\n")[0]):
            counts[word] += _TOPIC_COUNTS - 1
    weighted = [(word, 1 + math.log(count)) for word, count in counts.items()]
    # What is said often is what it is about; the cap bounds the work a pasted log can cause.
    strongest = sorted(weighted, key=lambda pair: -pair[1])[:_MOST_TERMS]
    return Terms(tuple(strongest), unique(_names(question)), asks=asks)


def is_on_a_subject(terms: Terms) -> bool:
    """Whether a question is so long that it is on a subject, which a file holds together."""
    return len(terms.weights) > _SHORT


def asked_for_uses(question: str) -> str | None:
    """The name whose callers, users or importers are asked for, if that is the question."""
    for pattern in _ASKS_FOR_USES:
        found = pattern.search(question)
        if found and not is_plain(found["name"]):
            return found["name"]
    return None


def asked_of_impact(question: str) -> tuple[str, ...]:
    """The names of which one may be what is called or changed, those as code writes them first;
    nothing where the question is on something else.
    """
    asked = asked_for_uses(question)
    if asked is None and not _IMPACT.search(question):
        return ()
    written = [name for name in _names(question) if " " not in name]
    return unique([*([asked] if asked else []), *written, *_changed(question)])[:_MOST_NAMES]


def _changed(question: str) -> Iterator[str]:
    """Words of which one may name what is changed, where that is short to say."""
    said = words_of(_IMPACT.sub(" ", question))
    words = [word for word in said if not is_plain(word) and len(word) > 2]
    yield from words if len(words) <= _MOST_NAMES else ()


def asked_for_a_way(question: str) -> tuple[str, str] | None:
    """The names of where a way through the code begins and ends, if that is the question."""
    for pattern in _ASKS_FOR_A_WAY:
        found = pattern.search(question)
        if found:
            return found["start"], found["end"]
    return None


def _words(text: str) -> Iterator[str]:
    is_shouted = text.isupper()
    for word in words_of(text):
        if not is_plain(word) or (not is_shouted and _is_constant(word)):
            yield from (token for token in tokens(word) if len(token) > 1)
    yield from joined_forms(text)


def _is_constant(word: str) -> bool:
    return len(word) > 2 and word.isupper() and word.lower() not in _STRESSED


def _names_of_files(text: str) -> Iterator[str]:
    """The words that say nothing by themselves and call a file: `where.ts`, `is.go`, `a.go`."""
    for stem, ending in _FILE.findall(text):
        calling = [word for word in words_of(stem) if len(word) > 1]
        for word in calling or [ending]:
            if is_plain(word):
                yield from (token for token in tokens(word) if len(token) > 1)


@lru_cache(maxsize=8_192)
def is_plain(word: str) -> bool:
    """Whether a word says nothing of what code it is about."""
    lower = word.lower()
    if lower in _STOPWORDS:
        return True
    forms = (lower.removesuffix(end) + more for end, more in _ENDINGS if lower.endswith(end))
    return any(len(form) >= _SHORTEST_WITH_ENDING and form in _STOPWORDS for form in forms)


def asks_nothing(question: str) -> bool:
    """Whether there is no more than a letter, a greeting or one word that is everywhere.

    Two such words may ask about the project: `what is this?`.
    """
    words = [word for word in words_of(question) if len(word) > 1 or not word.isascii()]
    telling = [word for word in words if word.lower() not in _GREETINGS]
    is_empty = not telling or (len(telling) == 1 and is_plain(telling[0]))
    return is_empty and not terms_of(question).names


def hyphenated(text: str) -> tuple[str, ...]:
    """The names that a text joins by hyphens, as settings, flags and headers are called."""
    return unique(_HYPHENATED.findall(text))


def joined_forms(text: str) -> tuple[str, ...]:
    """How code writes the hyphenated names of a text: `max-size` is `max_size` and `maxSize`."""
    return unique(
        form
        for name in hyphenated(text)
        for joint in ("_", "")
        for form in tokens(name.replace("-", joint))[:1]
    )


def _names(question: str) -> Iterator[str]:
    """What is written as a name: in code's spelling, quoted, dotted, or as a path."""
    for found in _QUOTED.finditer(question):
        # One letter is matched too, for what stands between two of them is not quoted: `"x", "y"`.
        quoted = next(filter(None, found.groups()), "")
        if len(quoted) > 1:
            yield quoted
    yield from (path for path in _PATH.findall(question) if path not in _ABBREVIATIONS)
    yield from _DOTTED.findall(question)
    for word in identifiers(question):
        if is_compound(word):
            yield word
    for word in re.findall(r"\b[A-Za-z_]\w{2,}(?=\()", question):
        yield word


_FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]{1,60})(?![\w-])")
# What is said of a flag where it is declared, so many lines below its name.
_TOLD = re.compile(r"\b(?:help|default(?:s|_value)?|desc\w*|metavar|usage|about)\b", re.IGNORECASE)
_BELOW = 12


def flags_first(question: str, evidence: Evidence) -> Evidence:
    """Lead with the program that declares a flag of the question: there it says what it does and
    what it is without it.
    """
    for flag in _FLAG.findall(question):
        name = re.escape(flag)
        # In quotes, with its short form or its value, as an argument: `"-j, --jobs <n>",`
        literal = re.compile(
            rf"""(["'`])(?:-\w\W{{1,9}})?(?:--)?{name}(?:[ =]\W\w+\W)?\1\s*(?:[,:)\]}}]|$)"""
        )
        units = evidence.units
        found = [u for u in units if _declares(_lines(u, evidence), literal, u)]
        if found:
            rest = [unit for unit in units if unit is not found[0]]
            candidates = replace(evidence.candidates, units=(found[0], *rest))
            return replace(evidence, candidates=candidates)
    return evidence


def _lines(unit: RankedUnit, evidence: Evidence) -> Sequence[str]:
    return evidence.files[unit.place.path].lines[unit.place.start - 1 : unit.place.end]


def _declares(lines: Sequence[str], literal: re.Pattern[str], unit: RankedUnit) -> bool:
    if nature_of(unit.place.path) is not Nature.CODE:
        return False
    at = (n for n, line in enumerate(lines) if literal.search(line))
    return any(_TOLD.search("\n".join(lines[n : n + _BELOW])) for n in at)
