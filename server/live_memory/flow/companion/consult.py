"""The companion's loop: the model answers, or calls read-only tools and is asked again.

It ends with a draft, or with what there is of one when steps or time run out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from live_memory.core.asking.answer import StopReason
from live_memory.core.checking.written import cites
from live_memory.core.companion.chat import ModelReply, ReplyStop
from live_memory.core.companion.rendering import one_line
from live_memory.core.companion.talk import Talk
from live_memory.core.companion.tools import SPECS
from live_memory.core.errors import (
    ModelTimedOut,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)
from live_memory.flow.companion.toolbox import Toolbox
from live_memory.flow.progress import Progress
from live_memory.ports import LanguageModel

__all__ = ["Draft", "consult"]

# Replies that may call tools, so that no model goes on for ever.
_STEPS = 8
_LOOK_FIRST = (
    "Nothing that supports an answer is in view. Look with your tools before you answer, "
    "or say that it is not in this workspace and what you looked for."
)
_CONCLUDE = "Answer now with what you have, without further tool calls. Say what is missing."
# What is told of a tool that a model calls, whether there is such a one or not.
_LONGEST_NAME = 40
# What a cut reply must hold to be worth showing: about two sentences.
_WORTH_SHOWING = 160


@dataclass(frozen=True, slots=True)
class Draft:
    """The companion's words before their citations are checked."""

    text: str
    stop: StopReason
    model: str
    is_clipped: bool = False


async def consult(
    model: LanguageModel,
    opening: Callable[[int | None], Talk],
    tools: Toolbox,
    *,
    conclude_at: float,
    give_up_at: float,
    answer_tokens: int,
    is_cold: bool,
    progress: Progress,
) -> Draft:
    """Talk until there is an answer.

    `opening` makes the first turn for a window of so many tokens, or for the model's own.

    Raises:
        ModelUnavailable: there is no answer, and why.
    """
    loop = _Loop(model, tools, answer_tokens, is_cold, progress)
    loop.talk = opening(None)
    with anyio.move_on_at(conclude_at):
        try:
            return await loop.until_answered()
        except PromptTooLong as problem:
            loop.talk = opening(problem.limit_tokens or model.abilities.context_tokens // 2)
            return await loop.until_answered()
    return await loop.concluded(StopReason.DEADLINE, give_up_at=give_up_at)


class _Loop:
    """The talk as it grows; it outlives a cancelled step, so that a conclusion can build on it."""

    def __init__(
        self,
        model: LanguageModel,
        tools: Toolbox,
        answer_tokens: int,
        is_cold: bool,
        progress: Progress,
    ) -> None:
        self.talk: Talk
        self._model = model
        self._tools = tools
        self._answer_tokens = answer_tokens
        self._is_cold = is_cold
        self._progress = progress
        self._partial = ""

    async def until_answered(self) -> Draft:
        while self.talk.replies < _STEPS:
            reply = await self._next()
            calls = reply.turn.tool_calls
            if calls:
                names = sorted({one_line(call.name)[:_LONGEST_NAME] for call in calls})
                await self._progress(f"reading: {', '.join(names[:_STEPS])}")
                results = await self._tools.run(calls)
                self.talk = self.talk.heard(reply).saw(results)
            elif self._is_unfounded(reply):
                self._is_cold = False
                self.talk = self.talk.heard(reply).told(_LOOK_FIRST)
            else:
                return self._draft(reply, StopReason.ANSWERED)
        return await self.concluded(StopReason.STEPS, give_up_at=anyio.current_effective_deadline())

    async def concluded(self, why: StopReason, *, give_up_at: float) -> Draft:
        partial = self._partial
        self.talk = self.talk.told(_CONCLUDE)
        with anyio.move_on_at(give_up_at):
            reply = await self._next()
            if reply.turn.text.strip():
                return self._draft(reply, why)
        partial = max(partial, self._partial, key=len).strip()
        if len(partial) < _WORTH_SHOWING:
            raise ModelTimedOut("the model did not answer before the deadline")
        return Draft(partial, why, self._model.abilities.model, is_clipped=True)

    async def _next(self) -> ModelReply:
        self._partial = ""
        request = self.talk.request(SPECS, max_output_tokens=self._answer_tokens)
        reply = await self._model.complete(request, heard=self._hear)
        if reply.stop is ReplyStop.REFUSED:
            raise ModelUnavailable("the model declined to answer")
        if reply.stop is ReplyStop.CUT:
            raise ModelUnreachable("the model's reply was cut off")
        if not reply.turn.text.strip() and not reply.turn.tool_calls:
            raise ModelUnreachable("the model's reply was empty")
        return reply

    def _hear(self, text: str) -> None:
        self._partial += text

    def _is_unfounded(self, reply: ModelReply) -> bool:
        return self._is_cold and not self._tools.calls and not cites(reply.turn.text)

    def _draft(self, reply: ModelReply, stop: StopReason) -> Draft:
        return Draft(reply.turn.text, stop, reply.model, is_clipped=reply.stop is ReplyStop.LENGTH)
