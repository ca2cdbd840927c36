"""A question's conversation with its model: what the model holds for it is let go with it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from live_memory.core.companion.chat import (
    Abilities,
    Block,
    Caps,
    ModelReply,
    ModelRequest,
    UserTurn,
)
from live_memory.flow.model_slot import Meter, SpendLimiter
from live_memory.ports import LanguageModel
from tests.support.doubles.scripted import Says, Scripted
from tests.support.memory import House

ASKED = ModelRequest((Block("You answer."),), (UserTurn((Block("Why?"),)),))


class Held:
    """A model that holds something for each conversation, and cannot be asked without it."""

    def __init__(self) -> None:
        self.held = 0

    @property
    def abilities(self) -> Abilities:
        return Scripted([]).abilities

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[LanguageModel]:
        self.held += 1
        try:
            yield Scripted([Says(("It is so.",))])
        finally:
            self.held -= 1

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        raise AssertionError("asked outside a conversation")

    async def aclose(self) -> None:
        """There is nothing to close."""


async def test_a_meter_counts_what_is_asked_within_a_conversation_of_its_model() -> None:
    held = Held()
    meter = Meter(held, SpendLimiter(Caps(), clock=House()))
    async with meter.conversation() as model:
        assert held.held == 1
        reply = await model.complete(ASKED)

    assert held.held == 0
    assert reply.turn.text == "It is so."
    assert meter.calls == 1
    assert meter.usage == reply.usage
