"""One packet for the head of a reply and its body.

The server library writes them one by one: each is a call of the system, and wakes the client.
"""

import asyncio
from collections.abc import Iterable

__all__ = ["Joined"]

Data = bytes | bytearray | memoryview


class Joined(asyncio.Transport):
    """A connection's transport that keeps a head which announces a body for the moment of that."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._head = b""

    def write(self, data: Data) -> None:
        """Send, together with the head that waits."""
        if self._head:
            data, self._head = self._head + data, b""
        elif isinstance(data, bytes) and _announces_body(data):
            self._head = data
            return
        self._transport.write(data)

    def writelines(self, list_of_data: Iterable[Data]) -> None:
        """Send each."""
        for data in list_of_data:
            self.write(data)

    def flush(self) -> None:
        """Send a head whose body is empty."""
        head, self._head = self._head, b""
        if head:
            self._transport.write(head)

    def close(self) -> None:
        """Send what is left, then close."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what is left is lost."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: object = None) -> object:
        """What the transport knows of itself."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Take nothing for a while."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Take what comes again."""
        self._transport.resume_reading()


def _announces_body(data: bytes) -> bool:
    """Whether it is a head after which a body of known length follows at once, not a stream."""
    return data.startswith(b"HTTP/1.1 ") and b"\r\ncontent-length:" in data.lower()
