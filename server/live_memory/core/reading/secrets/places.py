"""Secrets that can be told by where they stand: cookies, logins, statements, manifests."""

import re
from collections.abc import Iterator

from live_memory.core.reading.secrets.lookalikes import (
    is_marked,
    is_random,
    is_reference,
    is_wordy,
    names_a_secret,
)
from live_memory.core.reading.secrets.spans import Span, sites

__all__ = ["placed"]

# `.netrc`, also where its parts stand on lines of their own.
_LOGIN = re.compile(
    r"login[ \t]{1,8}[^\s=:]{1,100}\s{1,20}(?:account[ \t]{1,8}\S{1,100}\s{1,20})?"
    r"password[ \t]{1,8}(?P<v>[^\s=:]\S{1,200})"
)
_IDENTIFIED = re.compile(
    r"identified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,40}[ \t]{1,4})?(?:by|as)[ \t]{1,4}"
    r"(?:password[ \t])?(?P<q>['\"])(?P<v>[^'\"\r\n]{1,200})(?P=q)",
    re.IGNORECASE,
)
_STATED = re.compile(r"password[ \t]{1,4}(?P<q>['\"])(?P<v>[^'\"\r\n]{1,200})(?P=q)", re.IGNORECASE)
_STATEMENT = re.compile(r"\b(?:with|encrypted|login|user|role)\b", re.IGNORECASE)

_CAPITALS = re.compile(r"[A-Z_]{3,}+(?![A-Za-z0-9])")

_COOKIES = re.compile(
    r"cookie\\{0,2}[\"'`]?\]?[ \t]{0,4}[:=,(][ \t]{0,4}\\{0,2}[\"'`]?"
    r"(?P<pairs>[\w.%-]{1,100}=[^\r\n\"'`]{1,4000})",
    re.IGNORECASE,
)
_COOKIE = re.compile(r"(?P<n>[\w.%-]{1,100}+)=(?P<v>[^;\s\\]{8,4000}+)")
_SESSION = re.compile(r"sess|sid|auth|token|csrf|xsrf|jwt|login|remember", re.IGNORECASE)

_KIND = re.compile(r"kind[\"']?:[ \t]{0,8}[\"']?\Z")
_KIND_ENDS = re.compile(r"[\"']?[ \t]{0,8}(?:[\r\n,}]|\Z)")
_MOST_MANIFEST = 20_000
_DATA = re.compile(r"(?:data|stringData):[ \t]{0,8}")
_ENTRY = re.compile(r"[\"']?[\w.-]{1,200}+[\"']?:[ \t]{0,8}(?P<v>[^\r\n]{0,8000}+)")
_JSON_DATA = re.compile(r"\"(?:data|stringData)\"\s{0,8}:\s{0,8}\{(?P<in>[^{}]{1,8000}+)\}")
_JSON_ENTRY = re.compile(r"\"[^\"\r\n]{1,200}+\"\s{0,8}:\s{0,8}\"(?P<v>[^\"\r\n]{1,4000}+)\"")


def placed(text: str, lower: str) -> Iterator[Span]:
    """Secrets that are told by their place; `lower` is the folded text."""
    for literal, pattern in (("login", _LOGIN), ("identified", _IDENTIFIED)):
        for at in sites(lower, literal):
            match = pattern.match(text, at)
            if match and not is_filled_in(match["v"]):
                yield Span(*match.span("v"), "password")
    for at in sites(lower, "password '"):
        match = _STATED.match(text, at)
        if match and _STATEMENT.search(text, max(0, at - 80), at) and not is_filled_in(match["v"]):
            yield Span(*match.span("v"), "password")
    yield from _cookies(text, lower)
    yield from _manifests(text)


def is_filled_in(value: str) -> bool:
    """Whether what stands where a secret belongs only says so."""
    is_name = is_wordy(value, digits=0) and (len(value) < 9 or names_a_secret(value))
    is_said = (
        is_name or value.startswith(("$", "<", "%", "{")) or _CAPITALS.match(value) is not None
    )
    return is_said or is_marked(value) or is_reference(value)


def _cookies(text: str, lower: str) -> Iterator[Span]:
    done = 0
    for at in sites(lower, "cookie"):
        pairs = _COOKIES.match(text, at) if at >= done else None
        if not pairs:
            continue
        done = pairs.end()
        for pair in _COOKIE.finditer(text, *pairs.span("pairs")):
            value = pair["v"]
            is_session = _SESSION.search(pair["n"]) is not None and any(map(str.isdigit, value))
            if (is_session or len(value) >= 20) and is_random(value) and not is_marked(value):
                yield Span(*pair.span("v"), "cookie")


def _manifests(text: str) -> Iterator[Span]:
    """Values of Kubernetes secrets, whatever their names."""
    done = 0
    for at in sites(text, "Secret"):
        if at < done or not _KIND.search(text, max(0, at - 24), at):
            continue
        if not _KIND_ENDS.match(text, at + len("Secret")):
            continue
        least = max(done, at - _MOST_MANIFEST)
        start = max(text.rfind("\n---", least, at), least)
        end = text.find("\n---", at, at + _MOST_MANIFEST)
        done = end if end >= 0 else min(len(text), at + _MOST_MANIFEST)
        yield from _entries(text, start, done)
        for data in _JSON_DATA.finditer(text, start, done):
            for entry in _JSON_ENTRY.finditer(text, *data.span("in")):
                if not is_filled_in(entry["v"]):
                    yield Span(*entry.span("v"), "secret")


def _entries(text: str, start: int, end: int) -> Iterator[Span]:
    """The values below `data:`, those of blocks line by line."""
    inside: int | None = None  # how far `data:` is indented
    block: int | None = None  # how far the name of a block is indented
    at = start
    for line in text[start:end].splitlines(keepends=True):
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        begin = at + indent
        at += len(line)
        if not bare:
            continue
        if inside is None or indent <= inside:
            inside = indent if _DATA.fullmatch(bare) else None
            block = None
            continue
        if block is not None and indent > block:
            if not is_filled_in(bare):
                yield Span(begin, begin + len(bare), "secret")
            continue
        block = None
        entry = _ENTRY.match(bare)
        if entry and entry["v"][:1] in ("|", ">"):
            block = indent
        elif entry and (value := entry["v"].strip("\"' \t")) and not is_filled_in(value):
            first = begin + bare.index(value, entry.start("v"))
            yield Span(first, first + len(value), "secret")
