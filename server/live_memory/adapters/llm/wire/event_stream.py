"""Server-sent events out of bytes that arrive in any pieces, within bounds."""

import codecs
import re
from dataclasses import dataclass

__all__ = ["EventReader", "ServerEvent", "StreamBroken"]

_LINE_END = re.compile(r"\r\n|\n|\r")
# A tool call of 5 MB on one line still gets through, to be refused as a bad call.
_LONGEST_LINE = 8 * 1024 * 1024
# A reply of 32,000 tokens is about 10 MB of small events.
_LONGEST_REPLY = 32 * 1024 * 1024
# What is kept of a reply that is no event stream at all.
_LONGEST_BODY = 1024 * 1024


class StreamBroken(Exception):
    """The stream cannot be read on."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; `name` is empty where the stream gave none."""

    name: str
    data: str


class EventReader:
    """Reads one reply. Bytes that are no UTF-8 become replacement characters."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # The unfinished line, in pieces: joining at each chunk would copy a long line n times.
        self._pieces: list[str] = []
        self._length = 0
        self._held = ""
        self._name = ""
        self._data: list[str] = []
        self._bytes = 0
        self._body: list[str] | None = []

    @property
    def body(self) -> str | None:
        """The reply as plain text, where it held no event."""
        return None if self._body is None else "".join((*self._body, *self._pieces))

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take the next bytes and give the events that they complete.

        Raises:
            StreamBroken: a line or the whole reply is too long.
        """
        self._bytes += len(chunk)
        text = self._held + self._decoder.decode(chunk)
        # A final CR may be the first half of CRLF.
        self._held = "\r" if text.endswith("\r") else ""
        *ends, rest = _LINE_END.split(text.removesuffix(self._held))
        events = [event for end in ends if (event := self._take(self._line(end)))]
        self._pieces.append(rest)
        self._length += len(rest)
        if self._bytes > _LONGEST_REPLY or self._length > _LONGEST_LINE:
            raise StreamBroken("the reply is longer than any answer")
        return events

    def _line(self, end: str) -> str:
        line = "".join((*self._pieces, end))
        self._pieces, self._length = [], 0
        return line

    def _take(self, line: str) -> ServerEvent | None:
        if not line:
            return self._flush()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field and self._body is not None and self._bytes <= _LONGEST_BODY:
            self._body.append(line + "\n")
        return None

    def _flush(self) -> ServerEvent | None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        if not data:
            return None
        self._body = None
        return ServerEvent(name, data)
