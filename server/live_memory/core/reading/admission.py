"""Whether a path and its content are worth remembering and safe to show."""

import re
from itertools import takewhile

from live_memory.core.reading.observation import (
    LONGEST_LINE,
    FileRead,
    Observation,
    Skipped,
    SkipReason,
    cells_of,
    decode,
    decode_head,
    lines_of,
    refusal_of_name,
)
from live_memory.core.reading.redaction import DEFAULT, Redactor

__all__ = ["observe"]

# Generators announce themselves in comments above the first code; below it, a template of a
# generator may say the same.
_HEADER_LINES, _HEADER_CHARACTERS = 20, 2_000
_COMMENT = re.compile(r"[ \t\ufeff]*(?://|/?\*+|#+|--|;+|<!--|%+|\"\"\"|')[/!]?[ \t]*(?P<said>.*)")
_CODE = re.compile(
    r"(?:import|from|package|use|using|const|let|var|#include)\b|[A-Za-z_$][\w.]*\s*[=({]"
)
_GENERATED_MARK = re.compile(r"@generated\b|<auto-?generated", re.IGNORECASE)
_GENERATED_NOTE = re.compile(
    r"generated\b.{0,120}?\bdo\s+not\s+(?:edit|modify|change)"
    r"|\bdo\s+not\s+(?:edit|modify|change)\b.{0,40}?\b(?:auto|automatically |is )generated",
    re.IGNORECASE,
)
# Lines that people write are on average under 80 characters, in code and data alike; bundlers and
# dumps write thousands. Prose may put a paragraph on a line.
_MINIFIED_FROM, _LONGEST_AVERAGE, _LONGEST_PROSE_AVERAGE = 4_000, 400, 2_000
_PROSE = frozenset({".md", ".mdx", ".rst", ".txt", ".adoc", ".org", ".tex"})


def observe(read: FileRead, *, redactor: Redactor = DEFAULT) -> Observation | Skipped:
    """Turn raw bytes into an observation, or say why not.

    The head of a longer file ends with its last whole line: half a line is no evidence, and could
    be half a secret that no rule knows. Lines of data in a program are cut, a notebook is the
    sources of its cells.
    """
    refusal = refusal_of_name(read.path)
    if refusal:
        return Skipped(read.path.text, refusal)
    decoded = decode_head(read.data) if read.is_clipped else decode(read.data)
    if decoded is None:
        return Skipped(read.path.text, SkipReason.BINARY)
    text = _whole_lines(decoded) if read.is_clipped else decoded
    cells = cells_of(lines_of(text)) if read.path.suffix == ".ipynb" else None
    text = text if cells is None else "\n".join([*cells, ""])
    is_long = _has_long_lines(text, read.path.suffix)
    if _is_generated(decoded) or (is_long and not _is_written(text, read.path.suffix)):
        return Skipped(read.path.text, SkipReason.GENERATED)
    redacted = redactor.redact(text).text
    shown = redacted.shortened() if is_long else redacted
    return Observation(
        path=read.path,
        signature=read.signature,
        sha=read.sha,
        text=shown,
        lines=lines_of(shown.text),
        is_clipped=read.is_clipped,
        is_thinned=is_long or cells is not None,
    )


def _is_generated(text: str) -> bool:
    top = lines_of(text[:_HEADER_CHARACTERS])[:_HEADER_LINES]
    comments = map(_COMMENT.match, takewhile(lambda line: not _CODE.match(line), top))
    said = [comment["said"] for comment in comments if comment]
    marked = any(_GENERATED_MARK.match(line) for line in said)
    return marked or _GENERATED_NOTE.search(" ".join(said)) is not None


def _has_long_lines(text: str, suffix: str) -> bool:
    longest = _LONGEST_PROSE_AVERAGE if suffix in _PROSE else _LONGEST_AVERAGE
    return len(text) >= _MINIFIED_FROM and len(text) > longest * len(lines_of(text))


def _is_written(text: str, suffix: str) -> bool:
    """Whether people wrote more beside the longest lines than a comment, as a licence."""
    rest = [line for line in lines_of(text) if len(line) <= LONGEST_LINE]
    is_more = any(line.strip() and not _COMMENT.match(line) for line in rest)
    return is_more and not _has_long_lines("\n".join(rest), suffix)


def _whole_lines(text: str) -> str:
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
