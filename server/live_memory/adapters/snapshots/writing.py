"""One thread that writes, kept for the next time.

A journal is written thousands of times a second, and then finding a thread for each takes longer
than all else that a line needs.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import anyio

__all__ = ["WritingThread"]


class WritingThread:
    """Does one thing after the other in its thread, which ends with this."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")

    async def run(self, work: Callable[[], None]) -> None:
        """Wait until it is done, also while being cancelled; raises what it raises."""
        loop = asyncio.get_running_loop()
        # Two who write to one file at once would spoil it.
        with anyio.CancelScope(shield=True):
            await loop.run_in_executor(self._thread, work)
