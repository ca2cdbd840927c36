"""Asks again where that can help: a wrapper that is itself a language model."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from live_memory.adapters.llm.pace import MOST_TRIES, Pace
from live_memory.core.companion.chat import Abilities, ModelReply, ModelRequest
from live_memory.core.errors import ModelOverloaded, ModelSilent, ModelUnavailable, ModelUnreachable
from live_memory.ports import LanguageModel

__all__ = ["MOST_TRIES", "Retrying"]

# Without a deadline nobody waits longer than this for another try.
_PATIENCE_S = 60.0
# A try that starts later than this before the deadline cannot end in time.
_SHORTEST_TRY_S = 1.0


class Retrying:
    """Repeats calls that met an overloaded or unreachable endpoint; nothing else is repeated."""

    def __init__(self, model: LanguageModel, *, pace: Pace) -> None:
        self._model = model
        self._pace = pace

    @property
    def abilities(self) -> Abilities:
        """What is known of the model."""
        return self._model.abilities

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[LanguageModel]:
        """Repeat calls within one conversation of the model."""
        async with self._model.conversation() as model:
            yield Retrying(model, pace=self._pace)

    async def complete(
        self,
        request: ModelRequest,
        *,
        heard: Callable[[str], None] | None = None,
        lost: Callable[[ModelReply], None] | None = None,
    ) -> ModelReply:
        """Ask until there is a reply, the tries are used up, or the deadline leaves no time.

        Raises:
            ModelUnavailable: there is no usable reply; the subclass says what helps.
        """
        problem: ModelUnavailable | None = None
        own_pause_s, tries = 0.0, 0
        # Whoever finds out whether an endpoint is back asks once.
        most = 1 if self._pace.is_failing else MOST_TRIES
        while True:
            pause_s = max(own_pause_s, self._pace.pause_s())
            if tries == most or not _is_worth_waiting(pause_s):
                raise problem or ModelOverloaded(
                    f"The endpoint asked to be left alone for {pause_s:.0f} s more.",
                    retry_after_s=pause_s,
                )
            await anyio.sleep(pause_s)
            own_pause_s = 0.0
            async with self._pace.turn():
                if self._pace.pause_s():
                    continue
                tries += 1
                try:
                    reply = await self._model.complete(request, heard=heard, lost=lost)
                except ModelOverloaded as busy:
                    problem = busy
                    own_pause_s = self._pace.overloaded(tries, asked_s=busy.retry_after_s)
                except ModelUnreachable as broken:
                    problem = broken
                    own_pause_s = self._pace.broke(tries)
                    # A model that says nothing to a prompt mostly says it again, and is paid.
                    most = min(most, tries + 1) if isinstance(broken, ModelSilent) else most
                except ModelUnavailable:
                    self._pace.worked()
                    raise
                else:
                    self._pace.worked()
                    return reply

    async def aclose(self) -> None:
        """Close connections."""
        await self._model.aclose()


def _is_worth_waiting(pause_s: float) -> bool:
    left_s = anyio.current_effective_deadline() - anyio.current_time()
    return not pause_s or pause_s <= min(
        left_s - _SHORTEST_TRY_S, _PATIENCE_S if left_s == float("inf") else left_s
    )
