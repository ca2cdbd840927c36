"""What a finished draft is worth: a reply, or one of the failures that look like a reply."""

from dataclasses import dataclass

from live_memory.adapters.llm.endpoint import Lessons
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
from live_memory.core.errors import ModelUnreachable, PromptTooLong

__all__ = ["Said", "judged"]

# An endpoint that counts fewer tokens than this share of our estimate has dropped some of the
# prompt. Estimates of the right tokenizer are within 15 %, of the wrong one within 1.7
# (local-models.md section 3): so half at first, and three quarters of what it showed before.
_SHARE_AT_FIRST, _SHARE_OF_SEEN = 0.5, 0.75
# Short prompts are never cut, and small counts say little: no server has a smaller window.
_LEAST_TOKENS = 1_000
# For an endpoint that reports no usage; the row of local-models.md that counts most.
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
        ModelUnreachable: the reply is empty.
    """
    turn, stop = _turn(draft, request)
    usage = draft.usage or _guessed(request, turn)
    if draft.is_overflow or (not turn.tool_calls and is_overflow_prose(turn.text)):
        raise PromptTooLong("The model says that the prompt is too long.")
    _refuse_silent_cut(usage, request, lessons)
    if not turn.text and not turn.tool_calls and stop in (ReplyStop.END, ReplyStop.CUT):
        raise ModelUnreachable("The endpoint sent an empty reply.")
    if request.reply_schema is not None and stop is ReplyStop.END:
        lessons.enforces_schema = isinstance(loose.parse(turn.text), dict)
    return Said(turn, stop, usage)


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
    estimate = request.estimated_tokens
    if not estimate or usage.is_estimated or usage.input < _LEAST_TOKENS:
        return
    share = usage.input / estimate
    seen = lessons.tokens_per_estimated
    if share < (_SHARE_AT_FIRST if seen is None else min(1.0, seen) * _SHARE_OF_SEEN):
        lessons.context_tokens = usage.input
        raise PromptTooLong(
            f"The endpoint read {usage.input} tokens of a prompt of about {estimate}: its window "
            "is smaller than it seems.",
            limit_tokens=usage.input,
        )
    lessons.tokens_per_estimated = max(share, seen or 0.0)


def _guessed(request: ModelRequest, turn: AssistantTurn) -> ModelUsage:
    written = len(turn.text) + sum(len(call.arguments) for call in turn.tool_calls)
    read = request.estimated_tokens or int(_prompt_characters(request) / _CHARACTERS_A_TOKEN)
    return ModelUsage(read, output=int(written / _CHARACTERS_A_TOKEN), is_estimated=True)


def _prompt_characters(request: ModelRequest) -> int:
    return sum(len(block.text) for block in request.system) + len(str(request.messages))
