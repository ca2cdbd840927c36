"""What the authors say: docstrings and comments, told apart from the lines that do something."""

import re
from collections.abc import Sequence

from live_memory.core.evidence.places import Definition

__all__ = ["doc_of", "first_sentence", "spoken_lines"]

_QUOTES = re.compile(r"^\s*[rRbBuUfF]?(\"\"\"|''')")
_QUOTE_END = {quote: re.compile(quote) for quote in ('"""', "'''")}
_COMMENT = re.compile(
    r"^\s*(?:#(?!\s*(?:define|include|if|ifn?def|else|endif)\b)#*!?|///?!?|/\*+|\*+/|\*(?=\s|$)|--|;+)\s?"
)
_BLOCK_END = re.compile(r"\*/\s*$")
_DECORATION = re.compile(r"^\s*(?:@|#\[|\[[A-Z])")
# Where prose about parameters, examples or versions begins.
_TAG = re.compile(
    r"^(?:@\w+|:(?:param|arg|keyword|returns?|rtype|type|raises?|var|ivar|cvar)\b|"
    r"\.\. |>>>|---|===|"
    r"(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?|See Also)\b:?\s*$)"
)
_SENTENCE = re.compile(r"(.+?(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?])(?=\s+\W?[A-Z0-9]|\s*$)")
_ROLE = re.compile(r":\w+(?::\w+)?:`[~!]?([^`<]+?)(?:\s*<[^>`]*>)?`")
_MOST_LINES = 8
_LONGEST = 220


def doc_of(lines: Sequence[str], definition: Definition) -> str | None:
    """The first paragraph of a definition's docstring, or of the comment above; else nothing."""
    return _docstring(lines, definition) or _comment_above(lines, definition.place.start - 2)


def first_sentence(text: str) -> str:
    """Up to the first full stop, on one line, without markup."""
    flat = _ROLE.sub(r"`\1`", " ".join(text.split())).replace("``", "`")
    found = _SENTENCE.match(flat)
    sentence = found.group(1) if found else flat
    return sentence if len(sentence) <= _LONGEST else f"{sentence[:_LONGEST].rstrip()}…"


def spoken_lines(lines: Sequence[str], first: int, last: int) -> frozenset[int]:
    """The numbers, of `first` to `last`, of lines that are comment or docstring.

    `first` should be where a definition begins: no comment is taken to be open above it.
    """
    found: set[int] = set()
    closing: re.Pattern[str] | None = None  # what ends the docstring or comment we are in
    for number in range(first, min(last, len(lines)) + 1):
        line = lines[number - 1]
        if closing is not None:
            found.add(number)
            closing = None if closing.search(line) else closing
        elif _COMMENT.match(line):
            found.add(number)
            is_open = line.lstrip().startswith("/*") and not _BLOCK_END.search(line)
            closing = _BLOCK_END if is_open else None
        elif opened := _QUOTES.match(line):
            found.add(number)
            end = _QUOTE_END[opened.group(1)]
            closing = None if end.search(line, opened.end()) else end
    return frozenset(found)


def _docstring(lines: Sequence[str], definition: Definition) -> str | None:
    first, last = definition.place.start, min(definition.place.end, definition.place.start + 15)
    for at in range(first, min(last, len(lines))):
        opened = _QUOTES.match(lines[at])
        if opened:
            return _until(lines, at, opened)
        if lines[at - 1].rstrip().endswith(":") and lines[at].strip():
            return None
    return None


def _until(lines: Sequence[str], at: int, opened: re.Match[str]) -> str | None:
    rest = [lines[at][opened.end() :], *lines[at + 1 : at + _MOST_LINES]]
    said: list[str] = []
    for line in rest:
        text, quotes, _ = line.partition(opened.group(1))
        if (not text.strip() and said) or _TAG.match(text.strip()):
            break
        if text.strip():
            said.append(text.strip())
        if quotes:
            break
    return " ".join(said) or None


def _comment_above(lines: Sequence[str], at: int) -> str | None:
    while at >= 0 and _DECORATION.match(lines[at]):
        at -= 1
    if at > 0 and not lines[at].strip() and _BLOCK_END.search(lines[at - 1]):
        at -= 1
    said: list[str] = []
    while at >= 0 and _COMMENT.match(lines[at]):
        said.append(_BLOCK_END.sub("", _COMMENT.sub("", lines[at], count=1)).strip())
        at -= 1
    kept: list[str] = []
    for text in reversed(said):
        if (not text and kept) or _TAG.match(text):
            break
        if text and any(c.isalnum() for c in text):
            kept.append(text)
    return " ".join(kept[:_MOST_LINES]) or None
