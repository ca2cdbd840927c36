"""What a finished draft is worth: a reply, or one of the failures that look like a reply."""

from dataclasses import dataclass, replace

from live_memory.adapters.llm.endpoint import Lessons, PromptRead
from live_memory.adapters.llm.wire import loose
from live_memory.adapters.llm.wire.complaints import is_overflow_prose
from live_memory.adapters.llm.wire.draft import Draft
from live_memory.adapters.llm.wire.spoken import without_thoughts
from live_memory.adapters.llm.wire.text_calls import calls_in
from live_memory.core.companion.chat import (
    AssistantTurn,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolCall,
)
from live_memory.core.errors import ModelSilent, PromptTooLong

__all__ = ["Said", "given_up", "judged"]

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
class Said:
    """What the model said and why it stopped."""

    turn: AssistantTurn
    stop: ReplyStop
    usage: ModelUsage


def judged(draft: Draft, request: ModelRequest, lessons: Lessons) -> Said:
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
        lessons.enforces_schema = isinstance(loose.parse(turn.text), dict)
    return Said(turn, stop, usage)


def given_up(draft: Draft, request: ModelRequest) -> Said:
    """What a reply took that nobody gets."""
    return Said(AssistantTurn(""), ReplyStop.CUT, _taken(draft, request))


def _turn(draft: Draft, request: ModelRequest) -> tuple[AssistantTurn, ReplyStop]:
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


def _refuse_silent_cut(usage: ModelUsage, request: ModelRequest, lessons: Lessons) -> None:
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


def _taken(draft: Draft, request: ModelRequest) -> ModelUsage:
    """What the endpoint reported; of a reply that broke off, what it wrote is counted by us."""
    guess, told = _guessed(draft, request), draft.usage
    if told is None:
        return guess
    if draft.stop is None and guess.output > told.output:
        return replace(told, output=guess.output, is_estimated=True)
    return told


def _guessed(draft: Draft, request: ModelRequest) -> ModelUsage:
    thoughts = sum(len(str(each)) for each in draft.echo.values())
    written = len(draft.spoken.text) + sum(call.length for call in draft.calls) + thoughts
    characters = sum(map(len, _texts(request)))
    read = request.estimated_tokens or int(characters / _CHARACTERS_A_TOKEN)
    return ModelUsage(read, output=int(written / _CHARACTERS_A_TOKEN), is_estimated=True)
