"""A model without tools: evidence in, one answer out, in a fixed shape where that is enforced.

A small model phrases well and finds badly (measured: 4 of 4 questions with the evidence in view,
0 of 5 with free tools). So the index finds, the model phrases, and the check keeps it honest.
"""

import json
from collections.abc import Mapping

import anyio

from live_memory.core.asking.answer import Answer, Question, StopReason
from live_memory.core.companion.chat import Block, ModelReply, ModelRequest, ReplyStop, UserTurn
from live_memory.core.companion.prompt import single_instructions
from live_memory.core.companion.rendering import quoted
from live_memory.core.errors import ModelTimedOut, ModelUnreachable
from live_memory.flow.companion.consult import Draft
from live_memory.ports import LanguageModel

__all__ = ["answer_once"]

_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


async def answer_once(
    model: LanguageModel, question: Question, evidence: Answer, *, give_up_at: float
) -> Draft:
    """Ask once, before `give_up_at`.

    Raises:
        ModelUnavailable: there is no answer, and why.
    """
    sources = "".join(f"{citation}\n" for citation in evidence.citations)
    asked = (
        f"=== evidence\n{quoted(evidence.text)}=== places\n{quoted(sources)}"
        f"=== question\n{quoted(question.text)}"
    )
    request = ModelRequest(
        system=(Block(single_instructions(), is_cache_end=True),),
        messages=(UserTurn((Block(asked),)),),
        max_output_tokens=question.budget.answer_tokens,
        reply_schema=_SCHEMA if model.abilities.enforces_schema else None,
    )
    with anyio.move_on_at(give_up_at):
        reply = await model.complete(request)
        is_clipped = reply.stop is ReplyStop.LENGTH
        return Draft(_text(reply), StopReason.ANSWERED, reply.model, is_clipped=is_clipped)
    raise ModelTimedOut("the model did not answer before the deadline")


def _text(reply: ModelReply) -> str:
    """The reply's answer; a model that ignores the shape is taken at its word."""
    text = reply.turn.text.strip()
    if not text or reply.stop in (ReplyStop.CUT, ReplyStop.REFUSED):
        raise ModelUnreachable("the model gave no usable reply")
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, str) and answer.strip() else text
