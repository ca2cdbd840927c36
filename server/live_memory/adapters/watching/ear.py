"""Where a watching thread puts what it hears, for a task that takes it from there."""

import threading
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio import RunFinishedError, from_thread, lowlevel

from live_memory.core.watching import Noticed

__all__ = ["Ear"]

# As many as may wait to be learned; of more, all that is in view is compared with the disk anyway.
_MOST_NAMES = 1_000


class Ear:
    """Gathers names; wakes its task once for any number of them. Made in the task's event loop."""

    def __init__(self, *, is_followed: Callable[[str], bool]) -> None:
        """Names outside of the folders for which `is_followed` are not heard."""
        self._is_followed = is_followed
        self._loop = lowlevel.current_token()
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._is_cut = False
        self._has_woken = False
        self._is_closed = False
        self._something = anyio.Event()

    def hear(self, name: str) -> None:
        """Note a change of a file or folder; from any thread but the loop's."""
        if not self._is_followed(name.rpartition("/")[0]):
            return
        self._note(name)

    def lose(self) -> None:
        """Note that changes were lost; from any thread but the loop's."""
        self._note(None)

    async def wait(self) -> None:
        """Wait until there is something to take."""
        await self._something.wait()

    def take(self) -> Noticed:
        """What was heard since the last time."""
        with self._lock:
            taken = Noticed(frozenset(self._names), self._is_cut)
            self._names, self._is_cut, self._has_woken = set(), False, False
            self._something = anyio.Event()
        return taken

    def close(self) -> None:
        """Hear nothing any more."""
        with self._lock:
            self._is_closed = True

    def _note(self, name: str | None) -> None:
        with self._lock:
            if self._is_closed:
                return
            if name is None or len(self._names) >= _MOST_NAMES:
                self._is_cut = True
            else:
                self._names.add(name)
            is_first, self._has_woken = not self._has_woken, True
        if is_first:
            with suppress(RunFinishedError):  # nobody is left to wake
                from_thread.run_sync(self._wake, token=self._loop)

    def _wake(self) -> None:
        self._something.set()
