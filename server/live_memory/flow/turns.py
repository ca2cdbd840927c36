"""Questions of one workspace take turns: so many at a time, so many waiting, the rest refused."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio

from live_memory.core.errors import Busy

__all__ = ["GivingWay", "RightOfWay", "Turns"]


class Turns:
    """Owner of one workspace's queue of questions."""

    def __init__(self, *, at_once: int, queue: int) -> None:
        self._room = anyio.Semaphore(at_once)
        self._queue = queue
        self.waiting = 0

    @asynccontextmanager
    async def turn(self, *, give_up_at: float) -> AsyncIterator[bool]:
        """Wait for a turn until then; whoever got none is told so and may do what is cheap.

        Raises:
            Busy: too many wait already.
        """
        if self.waiting >= self._queue and self._room.value == 0:
            raise Busy(f"{self.waiting} questions wait for this workspace", retry_after_s=5.0)
        if not await self._is_given(give_up_at):
            yield False
            return
        try:
            yield True
        finally:
            self._room.release()

    async def _is_given(self, give_up_at: float) -> bool:
        """Whether there is a turn until then; one that is free is taken however late it is."""
        try:
            self._room.acquire_nowait()
        except anyio.WouldBlock:
            pass
        else:
            return True
        self.waiting += 1
        try:
            with anyio.move_on_at(give_up_at) as waiting:
                await self._room.acquire()
        finally:
            self.waiting -= 1
        return not waiting.cancelled_caught


class RightOfWay:
    """What somebody waits for goes before what goes on behind."""

    def __init__(self) -> None:
        self._holders, self._is_free = 0, anyio.Event()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the others wait."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._is_free.set()
                self._is_free = anyio.Event()

    async def given(self, *, at_most_s: float) -> None:
        """Wait until nobody has it, or for so long."""
        with anyio.move_on_after(at_most_s):
            while self._holders:
                await self._is_free.wait()


class GivingWay:
    """Lets others go first for `a_while_s` at a time, and in all for no longer than that and what
    was worked meanwhile: so questions without end make the work twice as long, and no longer.
    """

    def __init__(self, right_of_way: RightOfWay, *, a_while_s: float) -> None:
        self._right_of_way, self._a_while_s = right_of_way, a_while_s
        self._began, self._waited_s = anyio.current_time(), 0.0

    async def give(self) -> None:
        """Wait while others go first, as far as they may still hold it up."""
        now = anyio.current_time()
        worked_s = now - self._began - self._waited_s
        left_s = self._a_while_s + worked_s - self._waited_s
        if left_s > 0:
            await self._right_of_way.given(at_most_s=min(self._a_while_s, left_s))
        self._waited_s += anyio.current_time() - now
