"""How an entry and a fact read in a prompt: a header at the line's start, data behind a bar.

Every line of data stands behind a bar, or a number and a bar, and a header begins with `===` in
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
from live_memory.core.values import Origin

__all__ = ["numbered", "one_line", "quoted", "render_entry", "render_fact"]

# A change makes what is said above of older bytes old. A look says nothing that a question needs:
# its lines are looked up again for the question, and nothing is paid for it in every prompt.
_CHANGES = frozenset({Origin.EDIT, Origin.DISK})


def render_entry(entry: Entry) -> str:
    """The entry's text, ending in a line feed; nothing for a look at a file."""
    content = entry.content
    match content:
        case FileObserved() if content.origin not in _CHANGES:
            return ""
        case FileObserved() | FileChanged():
            return (
                f"=== changed {one_line(content.path.text)} (version {content.sha.hex[:8]}): "
                "what is shown above of other versions is old\n"
            )
        case FileGone():
            return f"=== gone {one_line(content.path.text)}: the file no longer exists\n"
        case NoteWritten():
            return f"=== note\n{quoted(content.text)}"
        case QuestionAnswered():
            answer = content.answer
            doubtful = any(c.status is CitationStatus.UNSUPPORTED for c in answer.citations)
            grade = f"{answer.grounding}{', with unsupported places' if doubtful else ''}"
            cited = {c.path for c in answer.citations}
            known = ((p, sha) for p, sha in answer.evidence.items() if p in cited)
            rests = ", ".join(f"{one_line(p.text)} {sha.hex[:8]}" for p, sha in known)
            return (
                f"=== question\n{quoted(content.question.text)}"
                f"=== answer ({grade}; rests on {rests or 'nothing'})\n{quoted(answer.text)}"
            )
        case _:
            assert_never(content)


def render_fact(fact: Fact) -> str:
    """The fact with its sources and their versions, on one line."""
    sources = ", ".join(f"{s.path}:{s.start}-{s.end} {s.sha.hex[:8]}" for s in fact.sources)
    return f"- {' '.join(clean(fact.text).split())} [{one_line(sources)}]\n"


def one_line(text: str) -> str:
    """Without what could end the line: a file's name may hold a line end, and then is not cited."""
    return clean(text).replace("\r", "\ufffd").replace("\n", "\ufffd")


def numbered(lines: tuple[str, ...], *, start: int) -> str:
    """File lines behind a bar; the first and every fifth have their number before it.

    A number before each line costs half as much again as the code, and a citation that is a line
    off is corrected.
    """
    return "".join(
        f"{n if n == start or n % 5 == 0 else ''}|{line}\n" for n, line in enumerate(lines, start)
    )


def quoted(text: str) -> str:
    """Other data, each line behind a bar."""
    return "".join(f"|{line}\n" for line in lines_of(clean(text)))
