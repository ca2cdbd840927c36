"""What a finished draft is worth: a reply, or one of the failures that look like a reply."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.endpoint import EndpointQuirks, PromptRead
from live_memory.adapters.llm.quirks import is_overflow_prose, without_thoughts
from live_memory.adapters.llm.reply_assembly import ReplyDraft
from live_memory.core.companion.chat import (
    AssistantTurn,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolCall,
)
from live_memory.core.errors import ModelSilent, PromptTooLong

__all__ = ["ModelWords", "calls_in", "given_up", "judged"]

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call|tool_code)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
# Keys that a written call may have; an object with others is the model's own example.
_KEYS = {"name", "arguments", "parameters", "id", "type", "function"}


@dataclass(frozen=True, slots=True)
class WrittenCalls:
    """The calls, and the text without them."""

    calls: tuple[ToolCall, ...]
    text: str


def calls_in(text: str, names: Collection[str]) -> WrittenCalls:
    """Find calls of these tools: tagged, in a fence, or as bare JSON."""
    for shape in (_TAGGED, _FENCED):
        found = [(match, _calls(match.group(1).strip(), names)) for match in shape.finditer(text)]
        if any(calls for _, calls in found):
            rest = text
            for match, calls in reversed(found):
                rest = rest[: match.start()] + rest[match.end() :] if calls else rest
            return _numbered([call for _, calls in found for call in calls], rest.strip())
    bare = _calls(text.strip(), names)
    return _numbered(bare, "") if bare else WrittenCalls((), text)


def _numbered(calls: list[tuple[str, str]], rest: str) -> WrittenCalls:
    made = (ToolCall(f"written_{i}", name, text) for i, (name, text) in enumerate(calls, 1))
    return WrittenCalls(tuple(made), rest)


def _calls(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    if not text.startswith(("{", "[")):
        return []
    value = quirks.parse(text)
    candidates = quirks.items(value) or ([value] if value is not None else _lines(text))
    calls = [_call(quirks.mapping(candidate), names) for candidate in candidates]
    return [call for call in calls if call] if all(calls) else []


def _lines(text: str) -> list[object]:
    """Several objects, one a line."""
    values = [quirks.parse(line) for line in text.splitlines() if line.strip()]
    return [value for value in values if value is not None]


def _call(value: Mapping[str, object], names: Collection[str]) -> tuple[str, str] | None:
    if not value or not value.keys() <= _KEYS:
        return None
    inner = quirks.mapping(value.get("function")) or value
    name = quirks.string(inner.get("name")) or quirks.string(value.get("function"))
    if name not in names:
        return None
    return name, next(_arguments(inner), "{}")


def _arguments(value: Mapping[str, object]) -> Iterator[str]:
    for key in ("arguments", "parameters"):
        if key in value:
            found = value[key]
            yield found if isinstance(found, str) else json.dumps(found)


# Short prompts are never cut, and small counts say little: no server has a smaller window.
_LEAST_TOKENS = 1_000
# No tokenizer takes so much code or prose together: the widest takes 4.4 characters of it in the
# median, and what counts four bytes a token takes four.
_MOST_CHARACTERS_A_TOKEN = 8
# What is added to a prompt takes at least a token for so many characters, even where it is blank.
_MOST_ADDED_A_TOKEN = 16
# A count within so much of the highest may be the endpoint's window.
_STILL = 0.1
# Two different prompts of one length may be counted alike; one that is longer by this is not.
_LONGER = 1.1
# For an endpoint that reports no usage, at the finest that tokenizers of local models cut code.
_CHARACTERS_A_TOKEN = 2.4


@dataclass(frozen=True, slots=True)
class ModelWords:
    """What the model said and why it stopped."""

    turn: AssistantTurn
    stop: ReplyStop
    usage: ModelUsage


def judged(draft: ReplyDraft, request: ModelRequest, lessons: EndpointQuirks) -> ModelWords:
    """Decide what came back, and remember what it shows of the endpoint.

    Raises:
        PromptTooLong: the reply says so, or the prompt was silently cut.
        ModelSilent: the reply is empty.
    """
    turn, stop = _turn(draft, request)
    usage = _taken(draft, request)
    if draft.is_overflow or (not turn.tool_calls and is_overflow_prose(turn.text)):
        raise PromptTooLong("The model says that the prompt is too long.")
    _refuse_silent_cut(usage, request, lessons)
    if not turn.text and not turn.tool_calls and stop in (ReplyStop.END, ReplyStop.CUT):
        raise ModelSilent("The endpoint sent an empty reply.")
    if request.reply_schema is not None and stop is ReplyStop.END:
        lessons.enforces_schema = isinstance(quirks.parse(turn.text), dict)
    return ModelWords(turn, stop, usage)


def given_up(draft: ReplyDraft, request: ModelRequest) -> ModelWords:
    """What a reply took that nobody gets."""
    return ModelWords(AssistantTurn(""), ReplyStop.CUT, _taken(draft, request))


def _turn(draft: ReplyDraft, request: ModelRequest) -> tuple[AssistantTurn, ReplyStop]:
    text = without_thoughts(draft.spoken.text)
    stop = draft.stop or ReplyStop.CUT
    calls: tuple[ToolCall, ...] = () if stop is ReplyStop.CUT else draft.tool_calls()
    if not calls and request.tools and stop is not ReplyStop.CUT:
        written = calls_in(text, {tool.name for tool in request.tools})
        calls, text = written.calls, written.text
    if draft.spoken.is_full:
        stop = ReplyStop.LENGTH
    elif stop in (ReplyStop.END, ReplyStop.TOOL_CALLS):
        stop = ReplyStop.TOOL_CALLS if calls else ReplyStop.END
    return AssistantTurn(text.strip(), calls, dict(draft.echo) if calls else {}), stop


def _refuse_silent_cut(usage: ModelUsage, request: ModelRequest, lessons: EndpointQuirks) -> None:
    """Tell a prompt that was cut by what cannot be otherwise, whatever tokenizer counts.

    Counts differ by a factor of two between tokenizers, so an estimate decides nothing.
    """
    if usage.is_estimated or usage.input < _LEAST_TOKENS:
        return
    read = PromptRead(_texts(request), usage.input)
    before, lessons.last_read = lessons.last_read, read
    least = read.characters // _MOST_CHARACTERS_A_TOKEN
    # What was read once can be read again: a lower count leaves out what a cache held.
    is_highest = read.tokens > (1 - _STILL) * lessons.most_tokens
    if is_highest and (least > read.tokens or (before and _stands_still(before, read))):
        lessons.context_tokens = usage.input
        raise PromptTooLong(
            f"The endpoint read {usage.input} tokens of a prompt of {read.characters} characters: "
            "its window is smaller than it seems.",
            limit_tokens=usage.input,
        )
    lessons.most_tokens = max(lessons.most_tokens, read.tokens)


def _stands_still(before: PromptRead, read: PromptRead) -> bool:
    """Whether the prompt grew and the count did not."""
    added = read.characters - before.characters
    if read.texts[: len(before.texts)] == before.texts:
        return read.tokens - before.tokens < added // _MOST_ADDED_A_TOKEN
    return read.tokens == before.tokens and read.characters >= _LONGER * before.characters


def _texts(request: ModelRequest) -> tuple[str, ...]:
    """What a request says, the part that grows last."""
    said = (str(message) for message in request.messages)
    return (*(block.text for block in request.system), *map(str, request.tools), *said)


def _taken(draft: ReplyDraft, request: ModelRequest) -> ModelUsage:
    """What the endpoint reported; of a reply that broke off, what it wrote is counted by us."""
    guess, told = _guessed(draft, request), draft.usage
    if told is None:
        return guess
    if draft.stop is None and guess.output > told.output:
        return replace(told, output=guess.output, is_estimated=True)
    return told


def _guessed(draft: ReplyDraft, request: ModelRequest) -> ModelUsage:
    thoughts = sum(len(str(each)) for each in draft.echo.values())
    written = len(draft.spoken.text) + sum(call.length for call in draft.calls) + thoughts
    characters = sum(map(len, _texts(request)))
    read = request.estimated_tokens or int(characters / _CHARACTERS_A_TOKEN)
    return ModelUsage(read, output=int(written / _CHARACTERS_A_TOKEN), is_estimated=True)
