"""How an entry and a fact read in a prompt: a header at the line's start, data behind a bar.

Every line of data stands behind a number or a blank and a bar, and a header begins with `===` in
the first column. So no data can forge a header, an end of quotation, or a turn of the talk
(cases C21). A rendering depends on nothing but its entry, which keeps prompts extending.
"""

from typing import assert_never

from live_memory.core.asking.answer import CitationStatus
from live_memory.core.memory.events import (
    FileChanged,
    FileGone,
    FileObserved,
    NoteWritten,
    QuestionAnswered,
)
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.window import Entry
from live_memory.core.reading.text import clean, lines_of

__all__ = ["numbered", "quoted", "render_entry", "render_fact"]


def render_entry(entry: Entry) -> str:
    """The entry's text, ending in a line feed."""
    content = entry.content
    match content:
        case FileObserved():
            name = f"=== file {content.path} (version {content.sha.hex[:8]})"
            if content.text is None:
                return f"{name}, seen before a restart; read it again\n"
            if content.end < content.start:
                return f"{name}, empty\n"
            shown = f"lines {content.start}-{content.end} of {content.total}"
            body = numbered(lines_of(content.text.text + "\n"), start=content.start)
            return f"{name}, {shown}\n{body}"
        case FileChanged():
            return (
                f"=== changed {content.path} (version {content.sha.hex[:8]}): "
                "what is shown above of other versions is old\n"
            )
        case FileGone():
            return f"=== gone {content.path}: the file no longer exists\n"
        case NoteWritten():
            return f"=== note\n{quoted(content.text)}"
        case QuestionAnswered():
            answer = content.answer
            doubtful = any(c.status is CitationStatus.UNSUPPORTED for c in answer.citations)
            grade = f"{answer.grounding}{', with unsupported places' if doubtful else ''}"
            rests = ", ".join(f"{p} {sha.hex[:8]}" for p, sha in answer.evidence.items())
            return (
                f"=== question\n{quoted(content.question.text)}"
                f"=== answer ({grade}; rests on {rests or 'nothing'})\n{quoted(answer.text)}"
            )
        case _:
            assert_never(content)


def render_fact(fact: Fact) -> str:
    """The fact with its sources, on one line."""
    sources = ", ".join(f"{s.path}:{s.start}-{s.end}" for s in fact.sources)
    return f"- {' '.join(clean(fact.text).split())} [{sources}]\n"


def numbered(lines: tuple[str, ...], *, start: int) -> str:
    """File lines, each behind its number and a bar."""
    return "".join(f"{n:5}| {line}\n" for n, line in enumerate(lines, start))


def quoted(text: str) -> str:
    """Other data, each line behind a bar."""
    return "".join(f"     | {line}\n" for line in lines_of(clean(text)))
