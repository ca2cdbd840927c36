"""Asks again where that can help: a wrapper that is itself a language model."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from live_memory.core.companion.chat import Abilities, ModelReply, ModelRequest
from live_memory.core.errors import ModelOverloaded, ModelSilent, ModelUnavailable, ModelUnreachable
from live_memory.ports import LanguageModel

__all__ = ["MOST_TRIES", "Pace", "Retrying"]

# Calls that are made for one question; so many failures in a row are given up.
MOST_TRIES = 4

# Before an endpoint showed that it works, so many calls may be on their way at once: 20 parallel
# questions at an endpoint that is out of quota cost three calls.
_ROOM_AT_FIRST, _ROOM_AT_MOST = 3, 32
# A question does not wait longer than this for room: what is ahead of it may be a stall.
_LONGEST_QUEUE_S = 5.0
# Pauses without an endpoint's word start here and double.
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 30.0
# An endpoint's word is believed up to here; then one question finds out.
LONGEST_PAUSE_S = 3_600.0
# One question's broken connection is its own affair; this many in a row are the endpoint's.
_BREAKS_IN_A_ROW = 3


class Pace:
    """Room for calls that grows while they work, and quiet times that everybody keeps.

    `random` gives numbers from 0 up to 1.
    """

    def __init__(self, *, random: Callable[[], float]) -> None:
        self._random = random
        self._room = _ROOM_AT_FIRST
        self._inside = 0
        self._queue = 0
        self._left = anyio.Event()
        self._quiet_until = float("-inf")
        self._failures = 0

    def pause_s(self) -> float:
        """How long the endpoint is to be left alone."""
        return max(0.0, self._quiet_until - anyio.current_time())

    @property
    def is_failing(self) -> bool:
        """Whether the last calls failed, as many as are made for one question."""
        return self._failures >= MOST_TRIES

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for room, but not for ever."""
        self._queue += 1
        try:
            with anyio.move_on_after(_LONGEST_QUEUE_S):
                while self._inside >= self._room:
                    await self._left.wait()
        finally:
            self._queue -= 1
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside and not self._queue:
                self._room = _ROOM_AT_FIRST
            self._left.set()
            self._left = anyio.Event()

    def worked(self) -> None:
        """The endpoint served a call; while others wait, more may go at once."""
        self._failures = 0
        if self._queue:
            self._room = min(self._room * 2, _ROOM_AT_MOST)

    def overloaded(self, tries: int, *, asked_s: float | None) -> float:
        """The endpoint refuses for now: everybody waits. Gives how long."""
        self._failures += 1
        self._room = 1
        pause = self._backoff(max(tries, self._failures))
        if asked_s is not None:
            pause = min(asked_s, LONGEST_PAUSE_S) + self._random() * _FIRST_PAUSE_S
        self._quiet_until = max(self._quiet_until, anyio.current_time() + pause)
        return pause

    def broke(self, tries: int) -> float:
        """A call failed; whoever made it waits, and after several in a row everybody."""
        self._failures += 1
        pause = self._backoff(tries)
        if self._failures >= _BREAKS_IN_A_ROW:
            self._room = 1
            self._quiet_until = max(self._quiet_until, anyio.current_time() + pause)
        return pause

    def _backoff(self, tries: int) -> float:
        """Anywhere from one step to the next, so that pauses differ and still grow."""
        step = min(_FIRST_PAUSE_S * 2.0 ** min(tries - 1, 10), _LAST_PAUSE_S)
        return step * (1 + self._random())


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
        """Ask until there is a reply, the tries are used up, or the deadline leaves no time."""
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
