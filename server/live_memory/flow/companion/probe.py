"""Finds out in one or two short calls what a configured model can carry."""

from dataclasses import dataclass

import anyio

from live_memory.core.companion.chat import (
    Block,
    ModelReply,
    ModelRequest,
    ToolChoice,
    ToolSpec,
    UserTurn,
)
from live_memory.core.errors import ModelLacksTools, ModelUnavailable
from live_memory.flow.models.lending import Companion
from live_memory.flow.models.metering import Meter

__all__ = ["Verdict", "probe"]

_TIMEOUT_S = 30.0
_TOOL = ToolSpec(
    "report_ready",
    "Call this once to show that you can call tools.",
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found; `problem` says what to change where the model cannot be used.

    `mode` is how it will answer: `companion` with tools, `single-shot` without.
    """

    model: str | None
    is_reachable: bool
    has_tools: bool = False
    context_tokens: int | None = None
    is_price_known: bool = False
    mode: str = "evidence"
    problem: str | None = None


async def probe(companion: Companion | None) -> Verdict:
    """Ask the model to call a tool, and without tools where it takes none."""
    if companion is None:
        return Verdict(None, is_reachable=False, problem="no model is configured")
    meter = Meter(companion.model, companion.purse)
    try:
        with anyio.fail_after(_TIMEOUT_S):
            reply, has_tools = await _asked(meter)
    except (ModelUnavailable, TimeoutError) as problem:
        why = str(problem) or f"no reply within {_TIMEOUT_S:.0f} seconds (timeout)"
        return Verdict(meter.abilities.model, is_reachable=False, problem=why)
    companion.rest.worked()
    return Verdict(
        meter.abilities.model,
        is_reachable=True,
        has_tools=has_tools,
        context_tokens=meter.abilities.context_tokens,
        is_price_known=reply.cost_usd is not None,
        mode="companion" if has_tools else "single-shot",
    )


async def _asked(meter: Meter) -> tuple[ModelReply, bool]:
    try:
        reply = await meter.complete(_request("Call the tool report_ready.", (_TOOL,)))
    except ModelLacksTools:
        return await meter.complete(_request("Answer with the word ready.", ())), False
    return reply, bool(reply.turn.tool_calls)


def _request(text: str, tools: tuple[ToolSpec, ...]) -> ModelRequest:
    choice = ToolChoice.REQUIRED if tools else ToolChoice.AUTO
    return ModelRequest(
        system=(Block("You are being tested."),),
        messages=(UserTurn((Block(text),)),),
        tools=tools,
        max_output_tokens=256,
        tool_choice=choice,
    )
