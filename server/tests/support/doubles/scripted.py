"""A language model that plays a script: for tests without a key."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field

import anyio

from live_memory.core.companion.chat import (
    Abilities,
    AssistantTurn,
    ModelReply,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolCall,
)
from live_memory.core.errors import ModelUnavailable, ModelUnreachable
from live_memory.ports import LanguageModel

__all__ = ["Calls", "Fails", "Says", "Scripted", "Stalls", "Turn"]

_ABILITIES = Abilities("scripted", context_tokens=200_000, has_tools=True, enforces_schema=True)


@dataclass(frozen=True, slots=True)
class Says:
    """Text, in pieces with a pause before each."""

    pieces: Sequence[str]
    pause_s: float = 0.0
    stop: ReplyStop = ReplyStop.END
    usage: ModelUsage | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """Tool calls: names with arguments, which may be raw text that is no JSON."""

    calls: Sequence[tuple[str, Mapping[str, object] | str]]
    text: str = ""
    echo: Mapping[str, object] = field(default_factory=dict)
    usage: ModelUsage | None = None


@dataclass(frozen=True, slots=True)
class Fails:
    """A failure."""

    error: ModelUnavailable
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stalls:
    """Some text, and then nothing for ever."""

    text: str = ""


Turn = Says | Calls | Fails | Stalls


class Scripted:
    """Plays one turn a call, in order, or asks a rule what to play; keeps every request."""

    def __init__(
        self,
        script: Sequence[Turn] | Callable[[ModelRequest], Turn],
        *,
        abilities: Abilities = _ABILITIES,
    ) -> None:
        self._rule = script if callable(script) else _in_order(script)
        self._abilities = abilities
        self.requests: list[ModelRequest] = []

    @property
    def abilities(self) -> Abilities:
        """What the script pretends to be."""
        return self._abilities

    def conversation(self) -> AbstractAsyncContextManager[LanguageModel]:
        """A script holds nothing for a question."""
        return nullcontext(self)

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Play the next turn.

        Raises:
            ModelUnavailable: the script says so, or has ended.
        """
        self.requests.append(request)
        turn = self._rule(request)
        await anyio.lowlevel.checkpoint()
        match turn:
            case Fails(error, delay_s):
                await anyio.sleep(delay_s)
                raise error
            case Stalls(text):
                _tell(heard, text)
                try:
                    await anyio.sleep_forever()
                    raise AssertionError("for ever has ended")
                finally:
                    if text and lost is not None:
                        said = AssistantTurn(text)
                        lost(self._reply(request, said, stop=ReplyStop.CUT, usage=None))
            case Says(pieces, pause_s, stop, usage):
                for piece in pieces:
                    await anyio.sleep(pause_s)
                    _tell(heard, piece)
                said = AssistantTurn("".join(pieces))
                return self._reply(request, said, stop=stop, usage=usage)
            case Calls(calls, text, echo, usage):
                _tell(heard, text)
                made = tuple(
                    ToolCall(
                        f"call_{number}",
                        name,
                        given if isinstance(given, str) else json.dumps(given),
                    )
                    for number, (name, given) in enumerate(calls, 1)
                )
                said = AssistantTurn(text, made, dict(echo))
                return self._reply(request, said, stop=ReplyStop.TOOL_CALLS, usage=usage)

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _reply(
        self,
        request: ModelRequest,
        turn: AssistantTurn,
        *,
        stop: ReplyStop,
        usage: ModelUsage | None,
    ) -> ModelReply:
        read = sum(len(block.text) for block in request.system) + len(str(request.messages))
        counted = usage or ModelUsage(read // 4, output=max(1, len(turn.text) // 4))
        return ModelReply(turn, stop, counted, self._abilities.model, cost_usd=0.0)


def _in_order(script: Sequence[Turn]) -> Callable[[ModelRequest], Turn]:
    turns = iter(tuple(script))
    ended = Fails(ModelUnreachable("The script has ended."))
    return lambda _request: next(turns, ended)


def _tell(heard: Callable[[str], None] | None, text: str) -> None:
    if heard is not None and text:
        heard(text)
