"""A reply's bytes as an event stream that the SDKs can read, whatever the endpoint sent.

The SDKs' readers bound nothing, stop at bytes that are no UTF-8, at events without data and at
replies that came whole, and one of them copies an event again at each of its lines.
"""

import re
from collections.abc import AsyncIterable, AsyncIterator

import httpx2

__all__ = ["readable_events"]

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_DATA = re.compile(rb"(?:\A|[\r\n])data:[^\S\r\n]*\S")
_IS_JSON = re.compile(rb"\s{0,64}\{")
_IS_NO_EVENT = re.compile(rb"(?:\A|[\r\n])(?!event|data|id|retry)[^:\s]")
# A tool call of 5 MB on one line still gets through, to be refused as a bad call.
_LONGEST_EVENT = 8 * 1024 * 1024
# Each API writes an event's JSON on one line.
_MOST_LINES = 256
# A reply of 32,000 tokens is about 10 MB of small events.
_LONGEST_REPLY = 32 * 1024 * 1024
_TOO_LONG = "the reply is longer than any answer"


async def readable_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Give whole events with data, in UTF-8; a JSON object in place of a stream is one event.

    Raises:
        httpx2.DecodingError: an event or the reply is too long, or it is something else.
    """
    held, read, is_stream, is_odd = bytearray(), 0, False, False
    async for chunk in chunks:
        # An end may have come in part.
        look_from = max(0, len(held) - 3)
        read += len(chunk)
        held += chunk
        start = 0
        if is_stream or not _IS_JSON.match(held):
            for end in [found.end() for found in _EVENT_END.finditer(held, look_from)]:
                event, start = bytes(held[start:end]), end
                if _DATA.search(event):
                    is_stream = True
                    yield _readable(event)
                elif not is_stream:
                    is_odd = is_odd or _IS_NO_EVENT.search(event) is not None
            del held[:start]
        if read > _LONGEST_REPLY or len(held) > _LONGEST_EVENT:
            raise httpx2.DecodingError(_TOO_LONG)
    rest = bytes(held)
    if not is_stream and _IS_JSON.match(rest):
        yield _readable(b"data: " + b" ".join(rest.splitlines()))
    elif _DATA.search(rest):
        yield _readable(rest)
    elif not is_stream and (is_odd or _IS_NO_EVENT.search(rest)):
        raise httpx2.DecodingError(
            "the reply is neither an event stream nor JSON; check 'base_url'"
        )


def _readable(event: bytes) -> bytes:
    if event.count(b"\n") + event.count(b"\r") > _MOST_LINES:
        raise httpx2.DecodingError(_TOO_LONG)
    return event.strip(b"\r\n").decode("utf-8", "replace").encode() + b"\n\n"
