"""Secrets that can be told by their shape in a text: key blocks, addresses, headers.

Every search is linear: a literal is found first, and what is matched there is possessive or
bounded. No match but a key block crosses a line end.
"""

import re
from collections.abc import Iterator

from live_memory.core.reading.secrets.lookalikes import (
    decoded,
    is_marked,
    is_random,
    is_reference,
    is_wordy,
    names_a_secret,
)
from live_memory.core.reading.secrets.spans import Span, sites

__all__ = ["key_blocks", "shaped"]

# The user may be empty or an e-mail address; a password may hold any sign.
_URL = re.compile(
    r"://[^\s:/\"'<>\[\]]{0,128}+:(?P<v>[^\s\"'<>@]{1,256}+(?:@[^\s\"'<>@/]{1,64}+(?=@))?)@(?=[\w\[.-])"
)
_TOKEN_URL = re.compile(r"://(?P<v>[^\s:/@\"'<>]{8,256}+)(?::x-oauth-basic|:)?@(?=[\w\[.-])")
# `8080/path@2x.png` is a port and a path.
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_SLASH = re.compile(r"[/?#@]")
_HOST = re.compile(r"[\w-]{1,63}(?:[./:]|\Z)|localhost")
# As documentation writes it: `user:pass@`, `user:PASSWORD@`.
_URL_DUMMY = re.compile(r"(?i:pass|x+|x-oauth-basic)|[*.]+|[A-Z_]{3,}|\[\w+\]|.{1,3}")
# Without a scheme before: Go's `user:password@tcp(…)`, Oracle's `thin:user/password@`.
_DRIVER = re.compile(r"(?<![\w.-])[\w.-]{1,64}:(?P<v>[^\s:\"'`<>]{1,128})\Z")
_ORACLE = re.compile(r"thin:[\w.-]{1,64}/(?P<v>[^\s\"'@]{1,128})@")
_HEADER = re.compile(
    r"authorization\\{0,3}[\"'`]?\]?[ \t]{0,8}(?:=>|[:=,])[ \t]{0,8}[a-z]?\\{0,3}[\"'`]?"
    r"(?:[a-z][a-z0-9-]{1,30}[ \t]{1,8})?(?P<v>[\w.~+/:-]{6,4000}+={0,2})(?![({\[])",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"authorization.{1,400}?(?:signature|response)=\"?(?P<v>[A-Za-z0-9+/]{32,128}+=?)", re.I
)
_BEARER = re.compile(r"bearer[ \t]{1,8}(?P<v>[\w.~+/-]{16,4000}+={0,2})(?![({\[])", re.IGNORECASE)
_HOOK = re.compile(
    r"(?:hooks?|webhooks?|webhookb2)(?:\.[a-z0-9.-]{2,40})?/(?P<v>[\w./@+-]{20,300}+)",
    re.IGNORECASE,
)
_AZURE_KEY = re.compile(r"Key=(?P<v>[A-Za-z0-9+/]{32,128}+={0,2})")
_AZURE_SIGNATURE = re.compile(r"sig=(?P<v>[A-Za-z0-9%+/]{40,128}+={0,2})")
_JWK_VALUE = re.compile(r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,8}:\s{0,8}\"(?P<v>[\w-]{16,1400}+)\"")
_MOST_JWK = 4_000

_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# Between the marks of a real block stand base64, armour headers, and what a string literal or a
# comment adds to each line; program text between two marks has brackets, `_` or ` = `.
_BODY = re.compile(r"[A-Za-z0-9+/=\s\\\"',:.|>#*-]*+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}+")
# A block whose end is missing ends with its last line of base64.
_OPEN_BODY = re.compile(
    r"(?:\s*+[A-Z][\w-]*+: [^\r\n]*+)*+(?:(?:\\[rn]|[\s\"'+,#*>|])*+[A-Za-z0-9+/]{16,}+={0,2})++"
)
_PUTTY = re.compile(r"Private-Lines: \d{1,4}(?:\r?\n[A-Za-z0-9+/]{1,80}+={0,2}){1,200}+")


def shaped(text: str, lower: str) -> Iterator[Span]:
    """Secrets with a known shape; `lower` is the folded text."""
    yield from _in_urls(text)
    for literal, pattern in (("Key=", _AZURE_KEY), ("sig=", _AZURE_SIGNATURE)):
        for at in sites(text, literal):
            match = pattern.match(text, at)
            if match and not is_marked(match["v"]):
                yield Span(*match.span("v"), "azure-key")
    for literal, patterns in (("authorization", (_HEADER, _SIGNED)), ("bearer", (_BEARER,))):
        for at in sites(lower, literal):
            for pattern in patterns:
                match = pattern.match(text, at)
                if match and not _is_harmless_header(match["v"]):
                    yield Span(*match.span("v"), "authorization-header")
    yield from _hooks(text, lower)
    yield from _private_jwks(text)


def _hooks(text: str, lower: str) -> Iterator[Span]:
    done = 0
    for at in sites(lower, "hook"):
        match = _HOOK.match(text, at) if at >= done else None
        if match:
            done = match.end()
            if _is_capability(match["v"]):
                yield Span(*match.span("v"), "webhook")


def _private_jwks(text: str) -> Iterator[Span]:
    done = 0
    for at in sites(text, '"kty"'):
        if at < done:
            continue
        start = max(text.rfind("{", max(0, at - _MOST_JWK), at), done)
        end = text.find("}", at, at + _MOST_JWK)
        done = end if end > 0 else at + _MOST_JWK
        for match in _JWK_VALUE.finditer(text, start, done):
            yield Span(*match.span("v"), "private-key")


def key_blocks(text: str) -> Iterator[Span]:
    """Private keys between their marks, or from the first mark on where the last is missing."""
    places = sorted(
        {at - (text[at - 1 : at] == "-") for at in sites(text, "---- BEGIN ")}
        | {*sites(text, "-----BEGIN ")}
    )
    begins = [match for at in places if (match := _BEGIN.match(text, at))]
    limits = [*(match.start() for match in begins[1:]), len(text)]
    for begin, limit in zip(begins, limits, strict=False):
        end = _END.search(text, begin.end(), limit)
        if end and _is_key_body(text[begin.end() : end.start()]):
            yield Span(begin.start(), end.end(), "private-key")
        elif not end and (rest := _OPEN_BODY.match(text, begin.end(), limit)):
            yield Span(begin.start(), rest.end(), "private-key")
    for at in sites(text, "Private-Lines: "):
        if lines := _PUTTY.match(text, at):
            yield Span(at, lines.end(), "private-key")


def _in_urls(text: str) -> Iterator[Span]:
    for at in sites(text, "://"):
        match = _URL.match(text, at)
        if match and not _is_path(match):
            if not _is_harmless_in_url(match["v"]):
                yield Span(*match.span("v"), "url-password")
            continue
        match = _TOKEN_URL.match(text, at)
        if match and _is_capability(match["v"]):
            yield Span(*match.span("v"), "url-token")
    for driver in ("@tcp(", "@unix(", "@cloudsql("):
        for at in sites(text, driver):
            match = _DRIVER.search(text, max(0, at - 200), at)
            if match and not _is_harmless_in_url(match["v"]):
                yield Span(*match.span("v"), "url-password")
    for at in sites(text, "thin:"):
        match = _ORACLE.match(text, at)
        if match and not _is_harmless_in_url(match["v"]):
            yield Span(*match.span("v"), "url-password")


def _is_path(match: re.Match[str]) -> bool:
    """Whether a path stands where a password may, as in `ssh://git@host:owner/name@v1`."""
    value, text = match["v"], match.string
    if _PORT.match(value):
        return True
    if not _SLASH.search(value):
        return False
    is_host = _HOST.match(text, match.end()) is not None
    return "@" in text[match.start() : match.start("v")] or is_wordy(value, digits=4) or not is_host


def _is_capability(value: str) -> bool:
    """Whether who knows this part of an address may do something."""
    if is_marked(value) or is_reference(value) or is_wordy(value, digits=4):
        return False
    parts = [part for part in value.split("/") if len(part) >= 16]
    return any(map(is_random, parts or [value])) or sum(map(str.isdigit, value)) > 7


def _is_harmless_in_url(value: str) -> bool:
    is_name = is_wordy(value, digits=0) and names_a_secret(value)
    is_dummy = is_name or _URL_DUMMY.fullmatch(value) is not None
    return is_dummy or is_marked(value) or is_reference(value)


def _is_harmless_header(value: str) -> bool:
    if pair := decoded(value):
        return _is_harmless_in_url(pair.partition(":")[2] or pair)
    return is_marked(value) or is_reference(value) or is_wordy(value, digits=4)


def _is_key_body(body: str) -> bool:
    return (
        _BODY.fullmatch(body) is not None
        and _BASE64.search(body) is not None
        and not is_marked(body)
    )
