"""Window and question to blocks: stable · ledger · entries · volatile tail, with cache marks.

Between compactions everything before the tail is a byte-for-byte extension of the prompt before,
so that a provider's cache reads it instead of us paying for it again.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from itertools import groupby
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
from live_memory.core.companion.rendering import one_line, quoted, render_entry, render_fact
from live_memory.core.companion.start import PromptStart
from live_memory.core.companion.tools import SPECS
from live_memory.core.memory.events import EntryNumber
from live_memory.core.memory.window import Entry, Window
from live_memory.core.tokens import estimate

__all__ = [
    "KNOWN",
    "LEDGER_SHARE",
    "Page",
    "Pages",
    "Tail",
    "entry_tokens",
    "instructions",
    "known_of",
    "opening",
    "pages_of",
    "recipe",
    "render_tree",
    "single_instructions",
    "stable",
    "window_text",
]

# The directory tree may take a tenth of the window (product.md section 5), the ledger 12 %.
_TREE_SHARE, LEDGER_SHARE = 0.10, 0.12
# When entries pass the high mark, the oldest leave the prompt down to the low mark in one step:
# equal marks would move the prompt's start, and so lose the cache, at every question.
_HIGH, _LOW = 0.85, 0.60
# A provider looks for a prefix it has written at the marks of this prompt: one ends the entries,
# one stands where the prompt before this one ended.
_MARKS = 2
# A line's worth of text is not worth counting token by token.
_SHORT, _CHARACTERS_A_TOKEN = 300, 3
# An entry that no prompt shows is 200 bytes of memory; some thousands of them are enough.
_UNSHOWN_TOKENS = 4
# What stands before the facts that were found for a question.
KNOWN = "\n\nKnown from earlier work:\n"


@dataclass(frozen=True, slots=True)
class Page:
    """An entry as prompts show it, and about how many tokens that takes."""

    number: EntryNumber
    text: str
    tokens: int


@dataclass(slots=True)
class Pages:
    """The entries that prompts show, in order, and what all entries take, each written once."""

    shown: list[Page] = field(default_factory=list)
    tokens: int = 0

    def take(self, entry: Entry) -> None:
        """Add the next entry."""
        text = render_entry(entry)
        tokens = _size(text) if text else _UNSHOWN_TOKENS
        self.tokens += tokens
        if text:
            self.shown.append(Page(entry.number, text, tokens))


@dataclass(frozen=True, slots=True)
class Tail:
    """What is new with each question: what was found for it, what changed, what is left to use.

    What was `found` are places under headers of their own.
    """

    known: str
    found: str
    changed: tuple[str, ...]
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


def stable(tree: str) -> tuple[Block, ...]:
    """The part that changes only at a compaction."""
    return (Block(f"{instructions()}\n=== files of this workspace\n{tree}", is_cache_end=True),)


def pages_of(window: Window) -> Pages:
    """The pages of a window, all written anew."""
    pages = Pages()
    for entry in window.entries:
        pages.take(entry)
    return pages


def window_text(
    window: Window, pages: Pages, *, start: PromptStart, budget_tokens: int
) -> tuple[Block, ...]:
    """Ledger, and the `pages` that fit the budget, in one block for each earlier prompt.

    A provider finds what it keeps at the ends of blocks; those of earlier prompts stay ends.
    """
    ledger = "=== facts\n"
    room = budget_tokens * LEDGER_SHARE
    for fact in window.front:
        line = render_fact(fact)
        room -= estimate(line)
        if room < 0:
            break
        ledger += line
    shown = [page for page in pages.shown if page.number >= start.first]
    pieces = _pieces(_fitting(shown, budget_tokens), start.ends)
    last = len(pieces) - _MARKS
    entries = (Block(text, is_cache_end=n >= last) for n, text in enumerate(pieces))
    return (Block(ledger, is_cache_end=last < 0), *entries)


def known_of(evidence: str) -> str:
    """The facts of an answer without a model; its places are shown on their own."""
    return evidence.partition(KNOWN)[2]


def opening(known: Sequence[Block], question: Question, tail: Tail) -> UserTurn:
    """The first turn: what is known, then the question with what was found for it."""
    changed = "".join(f"- {one_line(path)}\n" for path in tail.changed)
    volatile = (
        (f"=== known from earlier work\n{quoted(tail.known)}" if tail.known else "")
        + f"=== found for the question just now\n{tail.found}\n"
        + (f"=== changed since they were shown above\n{changed}" if changed else "")
        + f"=== question\n{quoted(question.text)}"
        f"=== limits\nAnswer within {tail.answer_tokens} tokens. "
        f"{tail.seconds_left} seconds are left.\n"
    )
    # Half of the questions call tools: what follows then reads the tail from the cache too.
    return UserTurn((*known, Block(volatile, is_cache_end=True)))


def render_tree(paths: Sequence[str], *, budget_tokens: int) -> str:
    """Folders with their files, as deep as a tenth of the budget allows."""
    room = int(budget_tokens * _TREE_SHARE)
    for depth in (8, 6, 4, 3, 2, 1):
        text = _tree(paths, depth)
        if estimate(text) <= room:
            return text
    lines = text.splitlines(keepends=True)
    while lines and estimate("".join(lines)) > room:
        lines = lines[: len(lines) * 9 // 10]
    return "".join(lines) + "...\n"


def window_tokens(window: Window, pages: Pages) -> int:
    """About how many tokens the whole window would take in a prompt; `pages` are its own."""
    return sum(_tokens(render_fact(fact)) for fact in window.front) + pages.tokens


def entry_tokens(entry: Entry) -> int:
    """About how many tokens an entry takes in a prompt; what takes none still takes memory."""
    return _size(text) if (text := render_entry(entry)) else _UNSHOWN_TOKENS


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


def _tree(paths: Sequence[str], depth: int) -> str:
    folders: dict[str, list[str]] = {}
    for path in paths:
        *parents, name = one_line(path).split("/")
        if len(parents) < depth:
            folders.setdefault("/".join(parents) or ".", []).append(name)
        else:
            folders.setdefault("/".join(parents[:depth]), [])
    return "".join(
        f"{folder}/ {' '.join(names)}\n" if names else f"{folder}/ ...\n"
        for folder, names in sorted(folders.items())
    )


def _fitting(pages: Sequence[Page], budget_tokens: int) -> Sequence[Page]:
    """The newest entries; the oldest leave in one step at the high mark, down to the low mark."""
    first, held = 0, 0
    for n, page in enumerate(pages):
        held += page.tokens
        if held > budget_tokens * _HIGH:
            while first < n and held > budget_tokens * _LOW:
                held -= pages[first].tokens
                first += 1
    return pages[first:]


def _pieces(pages: Sequence[Page], ends: Sequence[EntryNumber]) -> list[str]:
    """The entries' text, cut where an earlier prompt ended."""
    cut = groupby(pages, key=lambda page: bisect_right(ends, page.number))
    return ["".join(page.text for page in piece) for _, piece in cut]
