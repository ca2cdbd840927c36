"""Secrets that can be told by the name they are given to: `password = "…"`, `api_key: …`."""

import re
from collections.abc import Iterator, Mapping, Sequence

from live_memory.core.reading.lookalikes import (
    is_dotted,
    is_marked,
    is_reference,
    is_wordy,
    names_a_secret,
)
from live_memory.core.reading.shapes import Span, sites

__all__ = ["assigned"]

_OWNERS = (
    "api access secret private auth account encryption signing master shared service app deploy "
    "license subscription"
)
# The name has to end with one of these: `token_count` and `secret_name` hold no secret.
_NAMES = {
    **dict.fromkeys(("password", "passwort", "passwd", "passphrase", "pwd", "_pass"), "password"),
    **dict.fromkeys(("secret", "token", "credential", "credentials"), "secret"),
    **{f"{owner}{joint}key": "key" for owner in _OWNERS.split() for joint in ("", "_", "-")},
}

# Names with the same middle are looked for together: every search costs half a millisecond of each
# megabyte, whatever it finds. `secret_key` has two, and is a key.
_MIDDLES = ("key", "pass", "pwd", "secret", "token", "credential")


def _grouped(names: Mapping[str, str]) -> Mapping[str, Sequence[tuple[str, int, str]]]:
    """By middle: each name, how far before the middle it begins, and its kind."""
    groups: dict[str, list[tuple[str, int, str]]] = {}
    for name, kind in names.items():
        middle = next(middle for middle in _MIDDLES if middle in name)
        groups.setdefault(middle, []).append((name, name.index(middle), kind))
    return groups


_GROUPS = _grouped(_NAMES)

_SEPARATOR = re.compile(
    # `SECRET_KEY_BASE`, `TOKEN_PROD`, and the end of a quoted name: `"password"`, `["password"]`.
    r"(?:[_-]?(?i:base|value|production|prod|staging|live|dev|test|[0-9]{1,2})(?![A-Za-z0-9]))?"
    r"(?P<close>\\{0,3}[\"'`])?\]?(?P<separator>"
    # `password: str = "…"`, `let token: &'static str = "…"`
    r"[ \t]{0,40}:[ \t]{0,8}[&A-Za-z_][\w.\[\]<>|&' ]{0,40}=[ \t]{0,40}(?=[bBrRuUfFL@$]{0,2}[\"'`])"
    r"|[ \t]{0,40}(?::=|=>|={1,3}|!={1,2}|[:,(])[ \t]{0,40}"
    r"|[ \t]{1,40}value[ \t]{0,8}=[ \t]{0,8}"  # <add key="password" value="…">
    r"|>|[ \t])"
)
# A look-ahead that is then consumed never gives back, like `(?:...)++`, which Python before 3.11.5
# matches wrongly where the group holds alternatives.
_QUOTED = re.compile(
    r"[bBrRuUfFL@$]{0,2}(?P<q>\\{0,3}(?:\"\"\"|'''|[\"'`]))"
    r"(?=(?P<v>(?:(?!(?P=q))(?:\\[^\r\n]|[^\\\r\n]))+))(?P=v)(?P=q)"
)
# `=` and what encloses or joins values end it, so no character is read for two names.
_BARE = re.compile(
    r"(?=(?P<whole>(?:[^\s\"'`<>(){}\[\],;=|&\\]|&(?!\w+=))+))"
    r"(?P<v>(?P=whole)={0,2})(?![(\[{\"'`])"
)
_OPENED = re.compile(r"[\"'`][\w.-]*\Z")
_FLAG = re.compile(r"--[\w-]*\Z")

_SIGN_INSIDE = re.compile(r"[!@#$%^*~]\w")
_SIZED_TYPE = re.compile(r"[A-Za-z_]+(?:8|16|32|64|128|256|512)(?:_t)?")


def assigned(text: str, lower: str) -> Iterator[Span]:
    """Literals given to a name that says secret; `lower` is the folded text."""
    for middle, group in _GROUPS.items():
        for found in sites(lower, middle):
            for name, before, kind in group:
                at = found - before
                if at < 0 or not lower.startswith(name, at):
                    continue
                separator = _SEPARATOR.match(text, at + len(name))
                value = _value(text, at, separator) if separator else None
                if value and _is_secret(value, kind):
                    yield Span(*value.span("v"), kind)


def _value(text: str, at: int, separator: re.Match[str]) -> re.Match[str] | None:
    sign = separator["separator"].strip()
    quoted = _QUOTED.match(text, separator.end())
    if quoted:
        # `login(password, "…")` gives the literal to something else.
        named = separator["close"] and _OPENED.search(text[max(0, at - 80) : at])
        return quoted if sign and (sign != "," or named) else None
    match sign:
        case "=":
            is_open = True
        case ">":
            bare = _BARE.match(text, separator.end())
            return bare if bare and text.startswith("</", bare.end()) else None
        case ":":
            is_open = separator["separator"][-1] in " \t"
        case "":
            is_open = _FLAG.search(text[max(0, at - 40) : at]) is not None
        case _:
            is_open = False
    return _BARE.match(text, separator.end()) if is_open else None


def _is_secret(match: re.Match[str], kind: str) -> bool:
    value = match["v"]
    if is_marked(value) or is_reference(value) or any(char.isspace() for char in value):
        return False
    if match.re is _QUOTED:
        return _is_password(value) if kind == "password" else _is_key(value, shortest=8)
    value = value.rstrip("?!*.:")
    if is_dotted(value) or _SIZED_TYPE.fullmatch(value):
        return False
    if kind == "password":
        return _is_bare_password(value)
    return _is_key(value, shortest=12) and sum(char.isdigit() for char in value) > 1


def _is_password(value: str) -> bool:
    if is_wordy(value, digits=0) and not _SIGN_INSIDE.search(value):
        # Four words are a passphrase, unless they name a field: `reset-user-password-form`.
        return len(value) >= 20 and value.count("-") > 2 and not names_a_secret(value)
    return len(value) >= 6 and len(set(value)) > 2


def _is_bare_password(value: str) -> bool:
    """Without quotes it may be a variable: `password = other_password2`."""
    if is_wordy(value, digits=4) and ("_" in value or names_a_secret(value)):
        return False
    return _is_password(value) and any(char in "0123456789!@#$%^*+~?" for char in value)


def _is_key(value: str, *, shortest: int) -> bool:
    if len(value) < shortest or len(set(value)) < 5 or is_wordy(value, digits=4):
        return False
    return len(value) >= 16 or not value.isdigit()
