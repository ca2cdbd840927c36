"""How hard an endpoint may be asked: one record for all workspaces and questions."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

__all__ = ["LONGEST_PAUSE_S", "MOST_TRIES", "Pace"]

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
