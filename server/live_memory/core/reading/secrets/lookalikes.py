"""What looks like a secret and is none: placeholders, references to one, words, data."""

import binascii
import re
from base64 import b64decode

__all__ = [
    "decoded",
    "is_data",
    "is_dotted",
    "is_marked",
    "is_random",
    "is_reference",
    "is_unchosen",
    "is_wordy",
    "names_a_secret",
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
