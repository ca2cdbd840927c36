"""Question and what was found for it to blocks: instructions, the same always, then the tail.

A prompt shows nothing that is not about its question, so all before the tail stays byte for byte
as it is, and a provider's cache keeps it (ADR 14).

Every line of a file stands behind its number and a bar, other data behind a bar, and a header
begins with `===` or with a place. So no data can forge a header, an end of quotation, or a turn
of the talk.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import assert_never

from live_memory.core.answer import Question
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    Message,
    ModelRequest,
    ToolResults,
    UserTurn,
)
from live_memory.core.companion.tools import SPECS
from live_memory.core.memory.ledger import Fact
from live_memory.core.memory.window import Entry, NoteWritten, QuestionAnswered
from live_memory.core.reading.observation import clean, lines_of, visible
from live_memory.core.tokens import estimate
from live_memory.core.values import RelPath

__all__ = [
    "KNOWN",
    "PromptTail",
    "entry_tokens",
    "excerpt",
    "heading",
    "instructions",
    "known_of",
    "name_of_file",
    "numbered",
    "one_line",
    "opening",
    "prompt_tokens",
    "quoted",
    "recipe",
    "render_fact",
    "single_instructions",
    "stable",
    "told_part",
]

# Longer lines are data; prose and changelogs have a paragraph on a line.
_LONGEST_LINE = 1_000
_LONGEST_ABOUT = 200
# Editors number lines by LF and CR alone; what a reader may take for a line end is more.
_LINE_END = re.compile("[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


def render_fact(fact: Fact) -> str:
    """The fact with its sources and their versions, on one line."""
    sources = ", ".join(f"{s.path}:{s.start}-{s.end} {s.sha.hex[:8]}" for s in fact.sources)
    return f"- {' '.join(clean(fact.text).split())} [{one_line(sources)}]\n"


def one_line(text: str) -> str:
    """Without what could end the line: a file's name may hold a line end, and then is not cited."""
    if text.isascii() and text.isprintable():  # nearly all are: there are no controls
        return visible(text) if "![" in text else text
    return visible(_LINE_END.sub("\ufffd", clean(text)))


def name_of_file(path: RelPath) -> str:
    """A file's name at the start of a line, where it may not look like a header."""
    name = one_line(path.text)
    return f"./{name}" if name.startswith("=") else name


def heading(path: RelPath, first: int, last: int, about: str = "") -> str:
    """`path:first-last about`, which every place stands under."""
    span = f"{first}" if first == last else f"{first}-{last}"
    return f"{name_of_file(path)}:{span} {one_line(about)[:_LONGEST_ABOUT]}".rstrip()


def numbered(lines: Sequence[str], *, start: int) -> str:
    """File lines, each behind its number and a bar: a place is cited as it is read."""
    return "".join(f"{n}|{_clipped(line)}\n" for n, line in enumerate(lines, start))


def excerpt(
    path: RelPath,
    lines: Sequence[str],
    numbers: Iterable[int],
    *,
    about: str = "",
    until: int | None = None,
) -> str:
    """Lines of a file under `path:first-last about`; gaps, also up to `until`, are marked."""
    shown = sorted({number for number in numbers if 1 <= number <= len(lines)})
    if not shown:
        return ""
    text = f"{heading(path, shown[0], shown[-1], about)}\n"
    last = shown[0] - 1
    for number in shown:
        text += _gap(number - last - 1) + numbered([lines[number - 1]], start=number)
        last = number
    return text + _gap((until or last) - last)


def _gap(count: int) -> str:
    return f"\u2026 ({count} line{'s' if count > 1 else ''})\n" if count > 0 else ""


def _clipped(line: str) -> str:
    more = len(line) - _LONGEST_LINE
    shown = line if more <= 0 else f"{line[:_LONGEST_LINE]}\u2026 ({more} characters)"
    return visible(_LINE_END.sub("\ufffd", shown))


def quoted(text: str) -> str:
    """Other data, each line behind a bar."""
    return "".join(f"|{one_line(line)}\n" for line in lines_of(clean(text)))


# A line's worth of text is not worth counting token by token.
_SHORT, _CHARACTERS_A_TOKEN = 300, 3
# An entry without text is 200 bytes of memory; some thousands of them are enough.
_TEXTLESS_TOKENS = 4
# What stands before the facts that were found for a question.
KNOWN = "\n\nKnown from earlier work:\n"
_TOLD = "=== told, not checked; where a note and a fact differ the note wins; say who told it"


@dataclass(frozen=True, slots=True)
class PromptTail:
    """What is new with each question: what is known and was found for it, what is left to use.

    What was `found` are places under headers of their own; what is `told` are lines of notes.
    """

    known: str
    found: str
    seconds_left: int
    answer_tokens: int
    told: str = ""


def instructions() -> str:
    """What the companion is told, which ships with the package."""
    return _page("instructions.md")


def single_instructions() -> str:
    """What a model without tools is told."""
    return _page("single.md")


def recipe(model: str) -> str:
    """Names how an answer is made: by which model, told what, with which tools."""
    told = f"{model}\n{instructions()}\n{single_instructions()}\n{SPECS}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@lru_cache
def _page(name: str) -> str:
    page = resources.files("live_memory.core.companion").joinpath(name)
    return page.read_text(encoding="utf-8")


def stable() -> tuple[Block, ...]:
    """The part that is the same in every prompt."""
    return (Block(instructions(), is_cache_end=True),)


def known_of(evidence: str) -> str:
    """The facts of an answer without a model; its places are shown on their own."""
    return evidence.partition(KNOWN)[2]


def opening(question: Question, tail: PromptTail) -> UserTurn:
    """The first turn: what was found for the question, then the question."""
    told = (
        told_part(tail.told)
        + (f"=== known from earlier work\n{quoted(tail.known)}" if tail.known else "")
        + f"=== found for the question just now\n{tail.found}\n"
        + f"=== question\n{quoted(question.text)}"
        f"=== limits\nAnswer within {tail.answer_tokens} tokens. "
        f"{tail.seconds_left} seconds are left.\n"
    )
    # Half of the questions call tools: what follows then reads all of this from the cache.
    return UserTurn((Block(told, is_cache_end=True),))


def told_part(told: str) -> str:
    """What agents and people told, before what is known: where they differ, it is they who win."""
    return f"{_TOLD}\n{quoted(told)}" if told else ""


def entry_tokens(entry: Entry) -> int:
    """About how many tokens the text of an entry takes; what has none still takes memory."""
    match entry.content:
        case QuestionAnswered(question, answer):
            return _size(question.text) + _size(answer.text)
        case NoteWritten(text):
            return _size(text)
        case _:
            return _TEXTLESS_TOKENS


def prompt_tokens(request: ModelRequest) -> int:
    """About how many tokens a whole request takes."""
    total = sum(_tokens(block.text) for block in request.system)
    for tool in request.tools:
        total += _tokens(f"{tool.name} {tool.description} {tool.schema}")
    return total + sum(sum(map(_tokens, _texts(message))) for message in request.messages)


def _texts(message: Message) -> list[str]:
    match message:
        case UserTurn(blocks):
            return [block.text for block in blocks]
        case AssistantTurn(text, calls):
            return [text, *(f"{call.name} {call.arguments}" for call in calls)]
        case ToolResults(results):
            return [result.text for result in results]
        case _:
            assert_never(message)


def _size(text: str) -> int:
    return len(text) // _CHARACTERS_A_TOKEN + 1 if len(text) <= _SHORT else _tokens(text)


@lru_cache(maxsize=2_048)
def _tokens(text: str) -> int:
    """Entries are estimated again with each question, and never change."""
    return estimate(text)
