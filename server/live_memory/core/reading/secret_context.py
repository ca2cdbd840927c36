"""What looks like a secret and is none: placeholders, references to one, words, data."""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple

__all__ = [
    "SecretSpan",
    "decoded",
    "folded",
    "is_data",
    "is_dotted",
    "is_marked",
    "is_random",
    "is_reference",
    "is_unchosen",
    "is_wordy",
    "names_a_secret",
    "placed",
    "sites",
]

# Marks that documentation puts into an example key. Words such as "fake" or "test" are no marks:
# live keys carry them too (`sk_test_`). Six x in a row occur once in ten million random keys.
_MARKED = re.compile(
    r"example|placeholder|change[-_]?me|(?<![a-z0-9])your|x{6}|\*{3}|\.{3}|…|<[^<>]*>|redacted",
    re.IGNORECASE,
)
# A value that is filled in elsewhere: template fields, variables, environment look-ups, URLs.
_REFERENCE = re.compile(
    r"\$\{|\$\(|\{\{|\{[A-Za-z_][\w.]*\}|%\(\w|%[sdv](?!\w)|\#\{|<%|::|://|\|"
    r"|\A\$\{?[A-Za-z_]\w*\}?\Z|\A%\w+%\Z|\Aarn:|process\.env|os\.environ|import\.meta|getenv"
)
_DOTTED = re.compile(r"[A-Za-z_]\w{0,24}(?:\.[A-Za-z_]\w{0,24})+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\x00-\x7f]+")
_VOCABULARY = re.compile(
    r"pass|pwd|secret|token|key|user|name|auth|login|credential|value|string|none|null|true|false",
    re.IGNORECASE,
)
# No word of a name is longer; a run of letters that is, is random.
_LONGEST_WORD = 16

# Random letters and digits change their kind after 1.6 (hexadecimal) to 2.5 characters on average
# (lower case and digits); names and words after 3.5 and more.
_MOST_A_PART = 2.9
_LEAST_MIXED = 18
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_JOINTS = re.compile(r"[^A-Za-z0-9]")
# Five consonants in a row stand in no word but "lengths" and a few like it.
_NO_WORD = re.compile(r"[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{5}")
_ALPHABET = re.compile(r"abcdefg|ABCDEFG|0123456|1234567890|(.)\1{5}")
# What says before a run that it is a digest, a public key or data; and how data begin: pictures,
# fonts, archives, certificates and public keys in base64.
_SAID_DATA = re.compile(
    r"(?:sha-?\d{1,3}|md5|base64|integrity|checksum|digest|etag|fingerprint|ssh-\w{1,12})"
    r"[\"']?[ \t]{0,2}\W{0,3}\Z",
    re.IGNORECASE,
)
_DATA = (
    "AAAA", "AAEAA", "AgAA", "ECDSA", "H4sI", "JVBER", "MII", "PD94", "PHN2", "R0lGOD", "SUkq",
    "T2dnU", "T1RUT", "UEsDB", "UklGR", "d09GR", "d09GM", "iVBOR", "/9j/", "data:", "Qk0",
)  # fmt: skip


def is_marked(value: str) -> bool:
    """Whether it says of itself that it is an example or was redacted before."""
    return _MARKED.search(value) is not None


def is_reference(value: str) -> bool:
    """Whether it only says where the secret comes from."""
    return _REFERENCE.search(value) is not None


def is_dotted(value: str) -> bool:
    """Whether it is an attribute of something: `settings.api_key`."""
    return _DOTTED.fullmatch(value) is not None


def is_wordy(value: str, *, digits: int) -> bool:
    """Whether it reads as words: `currentPassword`, `auth/reset-form`, `uint256`.

    A number of up to `digits` digits may end it; random text breaks into short parts.
    """
    words = value.rstrip("0123456789")
    if len(value) - len(words) > digits or not words:
        return False
    parts = _PARTS.findall(words)
    longest = max(map(len, parts), default=0)
    if longest > _LONGEST_WORD or any(part.isdigit() for part in parts):
        return False
    return sum(map(len, parts)) >= 3 * len(parts)


def is_random(value: str) -> bool:
    """Whether letters and digits change as often as chance changes them, or cannot be spoken."""
    parts = _PARTS.findall(value)
    if not parts or _ALPHABET.search(value):
        return False
    mean = sum(map(len, parts)) / len(parts)
    return mean < _MOST_A_PART or (
        any(map(str.isdigit, parts)) and (_hexadecimal(value) or any(map(_NO_WORD.search, parts)))
    )


def is_unchosen(value: str) -> bool:
    """Whether its longest part mixes small letters, capitals and digits as only chance does."""
    longest = max(_JOINTS.split(value), key=len)
    parts = _PARTS.findall(longest)
    kinds = (sum(map(kind, longest)) for kind in (str.isupper, str.islower, str.isdigit))
    is_mixed = len(longest) >= _LEAST_MIXED and min(kinds) >= 2
    return is_mixed and len(longest) < _MOST_A_PART * len(parts) and not _ALPHABET.search(longest)


def _hexadecimal(value: str) -> bool:
    longest = max(_JOINTS.split(value), key=len)
    return len(longest) >= 16 and _HEX.fullmatch(longest) is not None


def is_data(run: str, *, before: str) -> bool:
    """Whether a random run is a digest, a picture or a public key; `before` stands before it."""
    return run.startswith(_DATA) or _SAID_DATA.search(before) is not None


def decoded(run: str) -> str | None:
    """The text that a run is in base64, if it is one."""
    bare = run.rstrip("=")
    try:
        found = b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return found if found.isprintable() else None


def names_a_secret(value: str) -> bool:
    """Whether the text speaks about a credential, as a field name does, instead of being one."""
    return _VOCABULARY.search(value) is not None


class SecretSpan(NamedTuple):
    """Where a secret stands and what kind it is."""

    start: int
    end: int
    kind: str


def folded(text: str) -> str:
    """Lower case with every position kept: only the dotted capital I would grow."""
    return text.replace("\u0130", "I").lower()


def sites(text: str, literal: str) -> Iterator[int]:
    """Where a literal stands, without overlaps."""
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + len(literal))


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
_DATA_PATH = re.compile(r"(?:data|stringData):[ \t]{0,8}")
_ENTRY = re.compile(r"[\"']?[\w.-]{1,200}+[\"']?:[ \t]{0,8}(?P<v>[^\r\n]{0,8000}+)")
_JSON_DATA = re.compile(r"\"(?:data|stringData)\"\s{0,8}:\s{0,8}\{(?P<in>[^{}]{1,8000}+)\}")
_JSON_ENTRY = re.compile(r"\"[^\"\r\n]{1,200}+\"\s{0,8}:\s{0,8}\"(?P<v>[^\"\r\n]{1,4000}+)\"")


def placed(text: str, lower: str) -> Iterator[SecretSpan]:
    """Secrets that are told by their place; `lower` is the folded text."""
    for literal, pattern in (("login", _LOGIN), ("identified", _IDENTIFIED)):
        for at in sites(lower, literal):
            match = pattern.match(text, at)
            if match and not is_filled_in(match["v"]):
                yield SecretSpan(*match.span("v"), "password")
    for at in sites(lower, "password '"):
        match = _STATED.match(text, at)
        if match and _STATEMENT.search(text, max(0, at - 80), at) and not is_filled_in(match["v"]):
            yield SecretSpan(*match.span("v"), "password")
    yield from _cookies(text, lower)
    yield from _manifests(text)


def is_filled_in(value: str) -> bool:
    """Whether what stands where a secret belongs only says so."""
    is_name = is_wordy(value, digits=0) and (len(value) < 9 or names_a_secret(value))
    is_said = (
        is_name or value.startswith(("$", "<", "%", "{")) or _CAPITALS.match(value) is not None
    )
    return is_said or is_marked(value) or is_reference(value)


def _cookies(text: str, lower: str) -> Iterator[SecretSpan]:
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
                yield SecretSpan(*pair.span("v"), "cookie")


def _manifests(text: str) -> Iterator[SecretSpan]:
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
                    yield SecretSpan(*entry.span("v"), "secret")


def _entries(text: str, start: int, end: int) -> Iterator[SecretSpan]:
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
            inside = indent if _DATA_PATH.fullmatch(bare) else None
            block = None
            continue
        if block is not None and indent > block:
            if not is_filled_in(bare):
                yield SecretSpan(begin, begin + len(bare), "secret")
            continue
        block = None
        entry = _ENTRY.match(bare)
        if entry and entry["v"][:1] in ("|", ">"):
            block = indent
        elif entry and (value := entry["v"].strip("\"' \t")) and not is_filled_in(value):
            first = begin + bare.index(value, entry.start("v"))
            yield SecretSpan(first, first + len(value), "secret")
