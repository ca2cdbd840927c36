"""Secrets that can be told by the name they are given to: `password = "…"`, `api_key: …`."""

import re
from collections.abc import Iterator

from live_memory.core.reading.secrets.lookalikes import (
    decoded,
    is_data,
    is_dotted,
    is_marked,
    is_random,
    is_reference,
    is_wordy,
    names_a_secret,
)
from live_memory.core.reading.secrets.spans import Span, sites

__all__ = ["assigned"]

# The name has to end with one of these: `token_count` and `secret_name` hold no secret.
_NAME = re.compile(
    "passphrase|passcode|password|passwort|passwd|pass|pwd|psk|secret|token|credentials?|key|auth"
    "|pepper|salt|session(?:_?id)?|sess(?:ion)?id|mnemonic|phrase|_pat"
)
# What one of them has in it: to find these takes a fifth of the time that the pattern takes.
_MIDDLES = (
    "pass", "pwd", "psk", "_pat", "secret", "token", "credential", "key", "auth", "pepper", "salt",
    "sess", "mnemonic", "phrase",
)  # fmt: skip
_STRONG = frozenset({"secret", "token", "credential", "credentials", "pepper"})
_PASSWORDS = frozenset({"passphrase", "passcode", "password", "passwort", "passwd", "pwd"})
# The other names are words too (`bypass`), so they need a beginning of their own, or an owner.
_PASS_OWNERS = (
    "db", "user", "smtp", "mail", "admin", "root", "ftp", "login", "store", "key", "sql",
)  # fmt: skip
_PHRASE_OWNERS = ("seed", "recovery", "secret", "wallet", "backup")
_OWNERS = (
    "api access secret private auth account encryption signing master shared service app deploy "
    "license subscription hmac session cookie crypto cipher jwt aes webhook admin root storage "
    "function host bot server ingest integration decryption verification presharedkey "
    "consumer wrapping flask django rails"
)
_KEY_OWNERS = tuple(_OWNERS.split())
# What such a key names is no secret.
_NAMED = (
    "public pub cache primary foreign sort partition index object row col column group lookup "
    "translation i18n locale hash idempotency dedup site registry hot map dict json yaml node "
    "react query publishable anon shortcut file path s3 blob item record"
)
_PUBLIC = tuple(_NAMED.split())

_SEPARATOR = re.compile(
    # `SECRET_KEY_BASE`, `TOKEN_PROD`, and the end of a quoted name: `"password"`, `["password"]`.
    r"(?:[_-]?(?i:base|value|val|production|prod|staging|live|dev|test|data|str|string|text|plain"
    r"|plaintext|clear|raw|hex|b64|base64|enc|old|new|previous|current|default|primary|secondary"
    r"|admin|main|[0-9]{1,2})(?![A-Za-z0-9])){0,2}"
    r"(?P<close>\\{0,3}[\"'`])?\]?(?P<separator>"
    # `password: str = "…"`, `let token: &'static str = "…"`
    r"[ \t]{0,40}:[ \t]{0,8}[&A-Za-z_][\w.\[\]<>|&' ]{0,40}=[ \t]{0,40}(?=[bBrRuUfFL@$]{0,2}[\"'`])"
    r"|[ \t]{0,40}(?::=|=>|[?+|]?={1,3}|!={1,2}|[:,(])[ \t]{0,40}"
    r"|[ \t]{1,40}value[ \t]{0,8}=[ \t]{0,8}"  # <add key="password" value="…">
    r"|</(?:key|name|Name|Key)>\s{0,60}<(?:string|value|Value)>|>|[ \t])"
)
# A look-ahead that is then consumed never gives back, like `(?:...)++`, which Python before 3.11.5
# matches wrongly where the group holds alternatives.
_QUOTED = re.compile(
    r"[bBrRuUfFL@$]{0,2}(?P<q>\\{0,3}(?:\"\"\"|'''|[\"'`]))"
    r"(?=(?P<v>(?:(?!(?P=q))(?:\\[^\r\n]|[^\\\r\n])){1,4000}))(?P=v)(?P=q)"
)
# `=` and what encloses or joins values end it, so no character is read for two names.
_BARE = re.compile(
    r"(?=(?P<whole>(?:[^\s\"'`<>(){}\[\],;=|&\\]|&(?!\w+=)){1,4000}))"
    r"(?P<v>(?P=whole)={0,2})(?![(\[{\"'`])"
)
_BRACED = re.compile(r"\{(?P<v>[^{}\s;]{4,100}+)\}(?=[;\"'\s]|\Z)")
# The value on the next line: YAML's block, a continued line, an opened bracket. A bare one ends it.
_NEXT_LINE = re.compile(r"[ \t]{0,8}(?:[|>][+-]?\d?|\\|\()?[ \t]{0,8}\r?\n[ \t]{1,60}")
_LINE_ENDS = re.compile(r"[ \t]{0,8}(?:\r?\n|\Z)")
_OPENED = re.compile(r"[\"'`][\w.-]*\Z")
# What gives the next word to a name: `--password x`, `ENV TOKEN x`, `config set api_key x`.
_GIVES = re.compile(
    r"--?[\w-]{0,40}\Z|\b(?:ENV|ARG|SET|set|setx|setenv|export)[ \t]{1,8}[\w.:/-]{0,60}\Z"
)

_SIGN_INSIDE = re.compile(r"[!@#$%^*~]\w")
_SIZED_TYPE = re.compile(r"[A-Za-z_]+(?:8|16|32|64|128|256|512)(?:_t)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HASH = re.compile(r"[0-9a-f]{32,128}|[0-9A-F]{32,128}")
_TOKEN = re.compile(r"[\w.+/=~:-]+")
_WORDS = re.compile(r"[a-z]{2,12}(?: [a-z]{2,12}){11,23}")
# A random value under a name that says little of it.
_WEAK_FROM = 16


def assigned(text: str, lower: str) -> Iterator[Span]:
    """Literals given to a name that says secret; `lower` is the folded text."""
    for name in _names(lower):
        separator = _SEPARATOR.match(text, name.end())
        kind = _kind(text, lower, name) if separator else None
        if separator is None or kind is None:
            continue
        value = _value(text, name.start(), separator)
        if value and _is_secret(value, kind, text[name.start() : name.end()]):
            yield Span(*value.span("v"), kind.removeprefix("weak "))


def _names(lower: str) -> Iterator[re.Match[str]]:
    for middle in _MIDDLES:
        for at in sites(lower, middle):
            name = _NAME.match(lower, at)
            if name:
                yield name


def _kind(text: str, lower: str, name: re.Match[str]) -> str | None:
    """What a value of this name may be; `weak` where the name alone says too little."""
    word, at = name[0], name.start()
    before = lower[max(0, at - 24) : at]
    is_begun = not before[-1:].isalpha() or (text[at].isupper() and text[at - 1].islower())
    if word in _PASSWORDS:
        return "password"
    if word in _STRONG:
        return "secret"
    if word in ("mnemonic", "phrase"):
        is_one = word == "mnemonic" or before.rstrip("_- ").endswith(_PHRASE_OWNERS)
        return "phrase" if is_one else None
    if word == "key":
        owner = before.rstrip("_- .")
        if owner.endswith(_PUBLIC):
            return None
        return "key" if owner.endswith(_KEY_OWNERS) else "weak key"
    if word != "_pat" and not is_begun and not before.endswith(_PASS_OWNERS):
        return None
    return "password" if word in ("pass", "psk") else "weak secret"


def _value(text: str, at: int, separator: re.Match[str]) -> re.Match[str] | None:
    sign, end = separator["separator"].strip(), separator.end()
    is_given = not sign and _GIVES.search(text[max(0, at - 70) : at]) is not None
    quoted = _QUOTED.match(text, end)
    if quoted:
        # `login(password, "…")` gives the literal to something else.
        named = separator["close"] and _OPENED.search(text[max(0, at - 80) : at])
        return quoted if is_given or (sign and (sign != "," or named)) else None
    if sign in ("=", ":", "=>", ":=", "(") and (below := _NEXT_LINE.match(text, end)):
        return _below(text, below.end())
    if sign.endswith(">") and sign != "=>":
        bare = _BARE.match(text, end)
        return bare if bare and text.startswith("</", bare.end()) else None
    match sign:
        case "=" | "?=" | "+=":
            if text.startswith("{", end):
                return _BRACED.match(text, end) if text[at:end].lower().startswith("pwd") else None
            is_open = True
        case ":":
            is_open = separator["separator"][-1] in " \t"
        case "":
            is_open = is_given
        case _:
            is_open = False
    return _BARE.match(text, end) if is_open else None


def _below(text: str, at: int) -> re.Match[str] | None:
    quoted = _QUOTED.match(text, at)
    if quoted:
        return quoted
    bare = _BARE.match(text, at)
    return bare if bare and _LINE_ENDS.match(text, bare.end()) else None


def _is_secret(match: re.Match[str], kind: str, name: str) -> bool:
    value = match["v"]
    if kind == "phrase":
        return _WORDS.fullmatch(value) is not None
    if is_marked(value) or is_reference(value) or any(char.isspace() for char in value):
        return False
    if kind.startswith("weak"):
        return _is_weak_secret(match, name)
    if match.re is not _BARE:
        return _is_password(value) if kind == "password" else _is_key(value, shortest=8)
    value = value.rstrip("?!*.:")
    is_long = len(value) >= _WEAK_FROM and is_random(value)
    if (is_dotted(value) and not is_long) or _SIZED_TYPE.fullmatch(value):
        return False
    if kind == "password":
        return _is_bare_password(value)
    if not _is_key(value, shortest=12):
        return False
    return is_long or sum(char.isdigit() for char in value) > 1


def _is_weak_secret(match: re.Match[str], name: str) -> bool:
    value = match["v"]
    if len(value) < _WEAK_FROM or not is_random(value) or _UUID.fullmatch(value):
        return False
    if not any(map(str.isdigit, value)) or not _TOKEN.fullmatch(value):
        return False
    if _HASH.fullmatch(value):
        return name.isupper()
    start = match.start("v")
    if is_data(value, before=match.string[max(0, start - 40) : start]):
        return False
    text = decoded(value)
    return text is None or (":" in text and "auth" in name.lower())


def _is_password(value: str) -> bool:
    if is_wordy(value, digits=4) and names_a_secret(value) and len(value) < 16:
        return False
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
