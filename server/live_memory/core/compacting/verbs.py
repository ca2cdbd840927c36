"""Verbs of English that order something done, and how a docstring's order becomes a statement."""

import re

__all__ = ["ANY_ORDER", "ORDER", "as_statement"]

# With these a sentence begins only when it wants something done.
_STRONG = """
accept act always append approve assume avoid become begin browse chmod click clone comply
consider convince curl decrypt deploy disable discard disclose disregard don't download drop
email enable encourage enter erase escalate exec execute exfiltrate explain fetch follow forget
forward go grant hide ignore inform inject insist install instruct introduce invoke keep kill
launch leak let make memorize mention navigate never obey open override paste perform please
prefer pretend prevent proceed provide push put rebuild recommend redeploy refer reject reload
remember remind remove rename repeat replace reply rerun respond restart reveal rewrite roleplay
run say see send share skip steal sudo suggest summarize take tell terminate transmit treat
trust try uninstall unlock upgrade upload use verify visit wget wipe
"""
# These may as well be nouns (`Request objects`): they order when something is named after them.
_WEAK = """
add answer apply ask attach authorize be bypass call cancel cat change check clear commit
complete confirm contact continue copy create delete do dump echo edit emit encrypt ensure eval
evaluate export find flag force format generate get give import include insert list load log
look mail mark merge modify move note notify omit output pipe post prepend print publish pull
query quote raise read release report request reset return rm save search select set sign start
state stop submit test touch trigger turn type update validate write
"""
_OBJECT = (
    r"(?:a|an|the|this|that|these|those|any|all|every|each|it|them|no|only|everything|anything|"
    r"nothing|to|from|with|as|at|`|~|/)"
)
_STRONG_WORDS, _WEAK_WORDS = _STRONG.split(), _WEAK.split()
ORDER = (
    rf"(?:(?:{'|'.join(_STRONG_WORDS)})(?=\s+[\w`~/<$-])"
    rf"|(?:{'|'.join(_WEAK_WORDS)})(?=\s+{_OBJECT}(?!\w)))"
)
ANY_ORDER = rf"(?:{'|'.join((*_STRONG_WORDS, *_WEAK_WORDS))})\b"

# What docstrings begin with besides.
_DONE = """
build bind cache calculate cast close collect compare compile compute configure construct convert
count decode decorate define delegate derive describe detect determine dispatch divide draw dump
encode extract fill filter finalize flush format group handle hash increment indicate init
initialize iterate join link lock map mark match normalize obtain parse prepare process raise record
redirect register render represent resolve restore retrieve retry schedule serialize serve sort
split store strip switch traverse trigger unregister wait walk wrap yield
"""
_NO_VERBS = frozenset({"always", "don't", "never", "please"})
_VERBS = frozenset((*_STRONG_WORDS, *_WEAK_WORDS, *_DONE.split())) - _NO_VERBS
_FIRST_WORD = re.compile(r"[A-Z][a-z]+(?=\s)")
_FURTHER = re.compile(r"(?<=\b(?:and) )[a-z]+(?=\s)")
# `Gets`, `Returns`, but not `This` or `Class`.
_THIRD_PERSON = re.compile(r"[a-z]+[^sui\W]s")


def as_statement(text: str) -> str:
    """What a docstring orders as what is done: `Parse and send it.` is `parses and sends it.`"""
    first = _FIRST_WORD.match(text)
    if first is None:
        return text
    verb, rest = first.group().lower(), text[first.end() :]
    if verb in _VERBS:
        return _third_person(verb) + _FURTHER.sub(_further, rest, count=1)
    is_said = _THIRD_PERSON.fullmatch(verb) and _base(verb) in _VERBS
    return verb + rest if is_said else text


def _further(word: re.Match[str]) -> str:
    return _third_person(word.group()) if word.group() in _VERBS else word.group()


def _third_person(verb: str) -> str:
    if verb == "be":
        return "is"
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _base(verb: str) -> str:
    """Of `returns` and `parses`; other forms are rare enough."""
    return verb.removesuffix("s")
