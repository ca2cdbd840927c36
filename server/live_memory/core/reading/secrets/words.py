"""Secrets that are one long word: of an issuer's form, or random letters and digits.

One pass finds the long words; what is done with each is bounded.
"""

import re
import string
from collections.abc import Iterator

from live_memory.core.reading.secrets.issuers import AFTER, AFTER_ENDS, HEAD, HEADS, Form
from live_memory.core.reading.secrets.lookalikes import (
    decoded,
    is_data,
    is_marked,
    is_random,
    is_unchosen,
    is_wordy,
)
from live_memory.core.reading.secrets.spans import Span

__all__ = ["long_words"]

_WORD = re.compile(r"[A-Za-z0-9_-]{16,}+")
_DIGIT = re.compile("[0-9]")
_ESCAPES, _JOINTS = frozenset("\\%"), frozenset("./~+$-:!")
# `\n` in a string literal, `%3D` in an address: the word begins after it.
_ESCAPED = re.compile(r"(?<=\\)[nrt]|(?<=%)[0-9A-F]{2}")
# Signed and encrypted tokens; of the latter a part may be empty.
_TOKEN = re.compile(r"eyJ[\w-]{6,}+(?:\.[\w-]*+){2,4}+", re.ASCII)
_DISCORD = re.compile(r"[A-Za-z0-9_-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}+", re.ASCII)
# By the sign before the word: who the token is of, and the token.
_OWNED = {
    ":": (
        ("telegram-token", re.compile(r"\d{8,12}:\Z"), re.compile(r"AA[\w-]{30,}+")),
        (
            "asana-token",
            re.compile(r"(?<!\d)[12]/\d{10,20}(?:/\d{10,20})?:\Z"),
            re.compile(r"[0-9a-f]{32}"),
        ),
    ),
    "!": (
        ("salesforce-token", re.compile(r"00D[A-Za-z0-9]{9,15}!\Z"), re.compile(r"[\w.]{60,}+")),
    ),
    "~": (("azure-secret", re.compile(r"[\w.~]{3}\dQ~\Z"), re.compile(r"[\w.~-]{30,}+")),),
}
# The secret half of a pair, as key lists have it: `AKIA…:secret`, `AKIA…,secret`.
_AWS_SECRET = re.compile(r"[\s,:;|\"']{1,5}(?P<v>[A-Za-z0-9+/]{40})(?![\w+/])")
_MOST_OWNER = 64
_BY_END = re.compile(r"[0-9a-f]{32}-us\d{1,2}|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk")

# A random word under no name. Issuers use 32 characters and more; shorter random words are mostly
# names of things, and what is longer than the last is data.
_SHORTEST, _LONGEST, _AWS_LENGTH = 32, 200, 40
_PATH = re.compile(r"\A/|\A[A-Za-z]{3,10}/|/[a-z]{3,}/|/[A-Z][a-z]{3,}")
_JOINT = re.compile(r"[_=~-]")
_RUN = re.compile(rf"[A-Za-z0-9+/_=~-]{{0,{2 * _LONGEST}}}+")
_LETTERS = string.ascii_letters + string.digits
_RUN_CHARACTERS = f"{_LETTERS}+/_=~-"


def long_words(text: str) -> Iterator[Span]:
    """Long words that are secrets by their own form."""
    done = 0
    for word in _WORD.finditer(text):
        if word.start() < done:
            continue
        found = _found(text, *word.span())
        if found:
            done = found.end
            yield found
            if found.kind == "aws-key-id" and (pair := _AWS_SECRET.match(text, done)):
                yield Span(*pair.span("v"), "aws-secret")


def _found(text: str, at: int, end: int) -> Span | None:
    if text[at - 1 : at] in _ESCAPES and (escaped := _ESCAPED.match(text, at)):
        at = escaped.end()
    if found := _issued(text, at):
        return found
    # Next to none is without a digit; most long words are.
    if not _DIGIT.search(text, at, end):
        return _after(text, at) if text[at - 1 : at] == "." else None
    return _joined(text, at, end) or _by_itself(text, at, end)


def _issued(text: str, at: int) -> Span | None:
    for form in HEADS.get(text[at : at + HEAD], ()):
        if text.startswith(form.start, at) and (found := _of(form, text, at)):
            return found
    return None


def _joined(text: str, at: int, end: int) -> Span | None:
    """A secret that goes on beside the word, or is announced there."""
    if text.startswith("eyJ", at) and (token := _TOKEN.match(text, at)):
        return None if is_marked(token[0]) else Span(*token.span(), "jwt")
    if text[end : end + 1] == "." and (token := _DISCORD.match(text, at)) and is_random(token[0]):
        return Span(*token.span(), "bot-token")
    if (token := _BY_END.match(text, at)) and token.end() == end:
        return Span(at, end, "key")
    return _after(text, at) if text[at - 1 : at] in _JOINTS else None


def _by_itself(text: str, at: int, end: int) -> Span | None:
    """A word that nobody can have chosen, or as many characters of base64 as AWS gives."""
    start, run_end = _run_around(text, at)
    if start < at and (found := _issued(text, start)):
        return found
    run = text[start:run_end]
    if _is_of_block(text, start, run_end):
        return None
    if _PATH.search(run) and is_wordy(text[start:at] + text[end:run_end], digits=4):
        start, run_end, run = at, end, text[at:end]  # a name in a path is looked at alone
    is_whole = (start, run_end) == (at, end)
    if is_whole and not _SHORTEST <= len(run) <= _LONGEST:
        return None
    if not is_whole and (len(run) != _AWS_LENGTH or _PATH.search(run) or _JOINT.search(run)):
        return None
    if not is_unchosen(run) or is_marked(run):
        return None
    if is_data(run, before=text[max(0, start - 40) : start]) or decoded(run) is not None:
        return None
    return Span(start, run_end, "secret")


def _after(text: str, at: int) -> Span | None:
    """A secret that is announced by what stands before the word, with a sign between."""
    if text.endswith(AFTER_ENDS, max(0, at - 32), at):
        for form in AFTER:
            if text.endswith(form.start, 0, at) and (
                found := _of(form, text, at - len(form.start))
            ):
                return found
    for kind, owner, secret in _OWNED.get(text[at - 1], ()):
        if owner.search(text[max(0, at - _MOST_OWNER) : at]) and (token := secret.match(text, at)):
            return Span(*token.span(), kind)
    return None


def _of(form: Form, text: str, start: int) -> Span | None:
    before = text[start - 1 : start]
    at = start + len(form.start)
    rest = form.rest.match(text, at)
    is_inside = form.start[0].isalnum() and before.isalnum() and before.isascii()
    if not rest or (is_inside and not _ESCAPED.match(text, start - 1)):
        return None
    if is_marked(text[start : rest.end()]):
        return None
    is_said = not form.is_common and not is_wordy(rest[0], digits=0)
    if form.start.startswith("."):  # what stands before it is of the secret
        start -= len(text[max(0, start - 32) : start]) - len(
            text[max(0, start - 32) : start].rstrip(_LETTERS)
        )
    return Span(start, rest.end(), form.kind) if is_said or is_random(rest[0]) else None


def _run_around(text: str, at: int) -> tuple[int, int]:
    """The ends of the run of base64 that a word stands in; to the left only so far."""
    near = text[max(0, at - _LONGEST) : at]
    start = at - (len(near) - len(near.rstrip(_RUN_CHARACTERS)))
    run = _RUN.match(text, at)
    return start, run.end() if run else at


def _is_of_block(text: str, start: int, end: int) -> bool:
    """Whether the run is a line of several that hold nothing else, as data in base64 are."""
    above = text[max(0, start - _LONGEST) : start].split("\n")
    below = text[end : end + _LONGEST].split("\n")
    if above[-1].strip() or below[0].strip():
        return False
    lines = (*above[-2:-1], *below[1:2])
    return any(len(line.strip()) >= _SHORTEST and _RUN.fullmatch(line.strip()) for line in lines)
