"""One packet for what one turn of the loop writes: the head of a reply and its body travel together.

The server library writes them one by one, and each is a call of the system and wakes the client.
"""

import asyncio
from collections.abc import Iterable

__all__ = ["Joined"]

# More than this is not held back: what the loop keeps for slow clients is bounded further down.
_MOST_BYTES = 64 * 1024


class Joined(asyncio.Transport):
    """A connection's transport that sends at the end of the turn, and always before it closes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes | bytearray | memoryview] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send with what else is written now."""
        if not data:
            return
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _MOST_BYTES:
            self._send()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send each with what else is written now."""
        for data in list_of_data:
            self.write(data)

    def close(self) -> None:
        """Send what is left, then close."""
        self._send()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what is left is lost."""
        self._parts.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    # The type of what a name stands for is the library's, which is any.
    def get_extra_info(self, name: str, default: object = None) -> object:
        """What the transport knows of itself."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take nothing for a while."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take what comes again."""
        self._transport.resume_reading()

    def _send(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))
