"""What looks like a secret and is none: placeholders, references to one, words."""

import re

__all__ = ["is_dotted", "is_marked", "is_reference", "is_wordy", "names_a_secret"]

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


def names_a_secret(value: str) -> bool:
    """Whether the text speaks about a credential, as a field name does, instead of being one."""
    return _VOCABULARY.search(value) is not None
