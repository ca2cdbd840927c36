"""Words and tokens of text, by rules of the harness's own, equal for every server."""

import re

__all__ = ["STOPWORDS", "clipped", "estimate_tokens", "keywords", "words"]

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|\n[ \t\n]*|[ \t]+|[^\w\s]+|_+|[^\x00-\x7f]+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Question words that name nothing in any program.
STOPWORDS = frozenset(
    [
        "a",
        "about",
        "above",
        "after",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "between",
        "both",
        "but",
        "by",
        "can",
        "case",
        "cases",
        "class",
        "code",
        "could",
        "did",
        "do",
        "does",
        "done",
        "each",
        "every",
        "explain",
        "file",
        "files",
        "for",
        "from",
        "function",
        "get",
        "give",
        "given",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "like",
        "method",
        "methods",
        "more",
        "most",
        "my",
        "no",
        "not",
        "of",
        "on",
        "one",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "purpose",
        "same",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "two",
        "under",
        "up",
        "us",
        "use",
        "used",
        "uses",
        "using",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "within",
        "without",
        "would",
        "you",
        "your",
    ]
)


def estimate_tokens(text: str) -> int:
    """About how many tokens of a current general vocabulary (o200k) a text has, within 5 %."""
    total = 0.0
    for piece in _PIECE.findall(text):
        total += _weight(piece)
    return round(total)


def _weight(piece: str) -> float:
    first = piece[0]
    if first == "\n":
        return 0.993 + 0.046 * (len(piece) - 1)
    if first in " \t":
        return 1.489 if len(piece) > 1 else 0.0
    if not piece.isascii():
        return 0.5 * len(piece)
    if first.isalpha():
        return 1.049 + (0.046 * len(piece) if piece.isupper() and len(piece) > 1 else 0.0)
    if first.isdigit():
        return 0.762 * len(piece)
    return 0.335 if first == "_" else 0.755 + 0.064 * (len(piece) - 1)


def clipped(text: str, tokens: int) -> str:
    """The lines from the start that fit into so many tokens."""
    room, kept = tokens, []
    for line in text.splitlines(keepends=True):
        room -= estimate_tokens(line)
        if room < 0:
            break
        kept.append(line)
    return "".join(kept)


def words(text: str) -> list[str]:
    """Every identifier whole and in its parts, in lower case."""
    found = []
    for name in _IDENTIFIER.findall(text):
        whole = name.lower()
        found.append(whole)
        found += [part for part in map(str.lower, _PART.findall(name)) if part != whole]
    return found


def keywords(question: str) -> list[str]:
    """The words of a question that could stand in a program, each once, in order."""
    seen = dict.fromkeys(word for word in words(question) if len(word) > 2)
    return [word for word in seen if word not in STOPWORDS]
