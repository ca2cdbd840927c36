"""Question and what was found for it to blocks: instructions, the same always, then the tail.

A prompt shows nothing that is not about its question, so all before the tail stays byte for byte
as it is, and a provider's cache keeps it (ADR 14).
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import assert_never

from live_memory.core.asking.answer import Question
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    Message,
    ModelRequest,
    ToolResults,
    UserTurn,
)
from live_memory.core.companion.rendering import quoted
from live_memory.core.companion.tools import SPECS
from live_memory.core.memory.events import NoteWritten, QuestionAnswered
from live_memory.core.memory.window import Entry
from live_memory.core.tokens import estimate

__all__ = [
    "KNOWN",
    "Held",
    "Tail",
    "entry_tokens",
    "instructions",
    "known_of",
    "opening",
    "prompt_tokens",
    "recipe",
    "single_instructions",
    "stable",
]

# A line's worth of text is not worth counting token by token.
_SHORT, _CHARACTERS_A_TOKEN = 300, 3
# An entry without text is 200 bytes of memory; some thousands of them are enough.
_TEXTLESS_TOKENS = 4
# What stands before the facts that were found for a question.
KNOWN = "\n\nKnown from earlier work:\n"


@dataclass(slots=True)
class Held:
    """About how many tokens the entries of a window take, each measured once."""

    tokens: int = 0

    def take(self, entry: Entry) -> None:
        """Add the next entry."""
        self.tokens += entry_tokens(entry)


@dataclass(frozen=True, slots=True)
class Tail:
    """What is new with each question: what is known and was found for it, what is left to use.

    What was `found` are places under headers of their own.
    """

    known: str
    found: str
    seconds_left: int
    answer_tokens: int


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


def opening(question: Question, tail: Tail) -> UserTurn:
    """The first turn: what was found for the question, then the question."""
    told = (
        (f"=== known from earlier work\n{quoted(tail.known)}" if tail.known else "")
        + f"=== found for the question just now\n{tail.found}\n"
        + f"=== question\n{quoted(question.text)}"
        f"=== limits\nAnswer within {tail.answer_tokens} tokens. "
        f"{tail.seconds_left} seconds are left.\n"
    )
    # Half of the questions call tools: what follows then reads all of this from the cache.
    return UserTurn((Block(told, is_cache_end=True),))


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
