"""What the authors say: docstrings, comments and texts, told apart from lines that do something."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from live_memory.core.evidence.places import Definition

__all__ = ["directive", "doc_of", "first_sentence", "silent_lines", "spoken_lines", "told_lines"]

_QUOTES = re.compile(r"^\s*[rRbBuUfF]?(\"\"\"|''')")
_QUOTE_END = {quote: re.compile(quote) for quote in ('"""', "'''")}
_COMMENT = re.compile(
    r"^\s*(?:#(?!\s*(?:define|include|if|ifn?def|else|endif)\b)#*!?|///?!?|/\*+|\*+/|\*(?=\s|$)|--|;+)\s?"
)
_BLOCK_END = re.compile(r"\*/\s*$")
# What is said to a tool, not to a reader.
_DIRECTIVE = re.compile(
    r"(?:#|//|/\*|--)[\s!]*(?:pylint|mypy|pyright|ruff|flake8|isort|yapf|fmt|pragma|eslint|tslint|prettier|"
    r"istanbul|c8|rubocop|nolint|noqa|NOLINT|NOSONAR|clang-format|type:\s*ignore|@ts|go:|swiftlint|phpcs|"
    r"luacheck|shellcheck|checkstyle|codespell|cspell)(?![\w ]).*"
)
_DECORATION = re.compile(r"^\s*(?:@|#\[|\[[A-Z]|template\s*<)")
# Where prose about parameters, examples or versions begins.
_TAG = re.compile(
    r"^(?:[@\\](?!brief\b)\w+|:(?:param|arg|keyword|returns?|rtype|type|raises?|var|ivar|cvar)\b|"
    r"<(?:param|typeparam|returns|exception|example|pre|code)\b|- [Pp]arameters?\b|```|"
    r"\.\. |>>>|---|===|#+ |"
    r"(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?|See Also)\b:?\s*$)"
)
_SENTENCE = re.compile(r"(.+?(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?])(?=\s+\W?[A-Z0-9]|\s*$)")
_MOST_LINES, _MOST_READ = 8, 400
_LONGEST, _MOST_CHARACTERS = 220, 8_000
# Markup of the languages' documentation, and what is left of it.
_MARKUP: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\{@(?:code|literal|value)\s++([^{}]*+)\}"), r"`\1`"),
    (re.compile(r"\{@link(?:plain)?\s++[^\s{}]++\s++([^{}]++)\}"), r"\1"),
    (re.compile(r"\{@\w++\s*+#?([^{}]*+)\}"), r"`\1`"),
    (re.compile(r"<see(?:also)?\s+\w+=\"(?:\w:)?([^\"]*)\"\s*/>"), r"`\1`"),
    (re.compile(r"<(?:paramref|typeparamref)\s+name=\"([^\"]*)\"\s*/>"), r"`\1`"),
    (re.compile(r"</?(?:code|c|tt)>"), "`"),
    (re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?/?>"), " "),
    (re.compile(r"\[([^\[\]]+)\](?:\([^()\s]*\)|\[[^\[\]]*\])"), r"\1"),
    (re.compile(r"\[(`[^`]+`)\]"), r"\1"),
    (re.compile(r"[@\\]brief\s+"), ""),
    (re.compile(r"[@\\](?:c|p|a|ref)\s+([\w:.]+)"), r"`\1`"),
    (
        re.compile(r":\w{1,40}(?::\w{1,40})?:`[~!]?([^`<]{1,200}?)(?:\s{0,9}<[^>`]{0,200}>)?`"),
        r"`\1`",
    ),
    (re.compile("``"), "`"),
    (re.compile("&lt;"), "<"),
    (re.compile("&gt;"), ">"),
    (re.compile("&amp;"), "&"),
)
# Five words of prose in a row; a program seldom has as many on three lines close together.
_PROSE = re.compile(r"(?:\b[A-Za-z][a-z'’-]{0,40}+[,.;:!?]?[\"')]?\s++){4}[\"'(]?[A-Za-z][a-z]")
_DOES = re.compile(r"\w[(\[](?!s\))|[{;=]\s*$|^\s*(?:[\])}]++[;,)]*+|return\b.*|end)\s*$")
_LONGEST_LINE = 1_000  # longer ones are data
_PROSE_WORDS, _PROSE_LINES, _PROSE_GAP = 4, 3, 2


def doc_of(lines: Sequence[str], definition: Definition) -> str | None:
    """The first paragraph of a definition's docstring, or of the comment above; else nothing."""
    said: list[str] = []
    for text in _docstring(lines, definition) or _comment_above(lines, definition.place.start - 2):
        if (not text and said) or _TAG.match(text) or len(said) == _MOST_LINES:
            break
        said += [text] if text else []
    return " ".join(said) or None


def directive(line: str) -> re.Match[str] | None:
    """Where a line orders a tool to do something: `# noqa: E501`."""
    return _DIRECTIVE.search(line)


def first_sentence(text: str) -> str:
    """Up to the first full stop, on one line, without markup."""
    text = text[:_MOST_CHARACTERS]
    for pattern, instead in _MARKUP:
        text = pattern.sub(instead, text)
    said = " ".join(text.split())
    found = _SENTENCE.match(said)
    sentence = found.group(1) if found else said
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


def told_lines(
    lines: Sequence[str], first: int, last: int, *, spoken: Collection[int]
) -> frozenset[int]:
    """The lines of texts in strings, as help and templates have them; those `spoken` are not."""
    found: set[int] = set()
    prose: list[int] = []
    for number in range(first, min(last, len(lines)) + 1):
        if number in spoken or not _is_prose(lines[number - 1]):
            continue
        if prose and number - prose[-1] > _PROSE_GAP + 1:
            found.update(_text(lines, prose))
            prose = []
        prose.append(number)
    found.update(_text(lines, prose))
    return frozenset(found)


# A question looks at the same lines for several reasons, and the next one at many of them again.
@lru_cache(16_384)
def _is_prose(line: str) -> bool:
    is_long = len(line) <= _LONGEST_LINE and line.strip().count(" ") >= _PROSE_WORDS
    return is_long and bool(_PROSE.search(line)) and not _DOES.search(line)


def silent_lines(lines: Sequence[str], first: int, last: int) -> frozenset[int]:
    """All that is spoken or told; `first` should be where a definition begins."""
    spoken = spoken_lines(lines, first, last)
    return spoken | told_lines(lines, first, last, spoken=spoken)


def _text(lines: Sequence[str], prose: Sequence[int]) -> Iterator[int]:
    """The lines of a text that has these lines of prose; few are none."""
    if len(prose) >= _PROSE_LINES:
        between = range(prose[0], prose[-1] + 1)
        yield from (number for number in between if not _DOES.search(lines[number - 1]))


def _docstring(lines: Sequence[str], definition: Definition) -> list[str] | None:
    first, last = definition.place.start, min(definition.place.end, definition.place.start + 15)
    for at in range(first, min(last, len(lines))):
        opened = _QUOTES.match(lines[at])
        if opened:
            return _until(lines, at, opened)
        if lines[at - 1].rstrip().endswith(":") and lines[at].strip():
            return None
    return None


def _until(lines: Sequence[str], at: int, opened: re.Match[str]) -> list[str]:
    rest = [lines[at][opened.end() :], *lines[at + 1 : at + _MOST_READ]]
    said: list[str] = []
    for line in rest:
        text, quotes, _ = line.partition(opened.group(1))
        said.append(text.strip())
        if quotes:
            break
    return said


def _comment_above(lines: Sequence[str], at: int) -> list[str]:
    while at >= 0 and _DECORATION.match(lines[at]):
        at -= 1
    if at > 0 and not lines[at].strip() and _BLOCK_END.search(lines[at - 1]):
        at -= 1
    said: list[str] = []
    while at >= 0 and len(said) < _MOST_READ and _COMMENT.match(lines[at]):
        text = _BLOCK_END.sub("", _COMMENT.sub("", lines[at], count=1)).strip()
        said.append(text if any(c.isalnum() for c in text) else "")
        at -= 1
    return said[::-1]
