"""A reply while it arrives, before anyone judged it."""

import re
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass, field

import httpx2

from live_memory.adapters.llm.quirks import SpokenText
from live_memory.core.companion.chat import ModelUsage, ReplyStop, ToolCall
from live_memory.core.reading.observation import clean

__all__ = ["DraftCall", "ReplyDraft", "readable_events"]

# More characters than a token ever stands for on average: a model that ignores its limit is
# stopped there.
CHARACTERS_A_TOKEN = 16
_LONGEST_NAME = 200
# Longer arguments are cut here; they are no JSON any more, and the model is told so.
_LONGEST_ARGUMENTS = 64 * 1024
_MOST_CALLS = 128


@dataclass(slots=True)
class DraftCall:
    """A tool call while it arrives."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, piece: str) -> None:
        """Take the next piece of the arguments."""
        if self.length <= _LONGEST_ARGUMENTS:
            self.pieces.append(piece[: _LONGEST_ARGUMENTS + 1])
        self.length += len(piece)


@dataclass(slots=True)
class ReplyDraft:
    """What was read so far; `stop` stays empty until the endpoint says why it stopped.

    `is_complete` once the endpoint said that nothing follows, `is_overflow` where it stopped
    because the window was full.
    """

    spoken: SpokenText
    calls: list[DraftCall] = field(default_factory=list)
    stop: ReplyStop | None = None
    usage: ModelUsage | None = None
    model: str = ""
    echo: dict[str, object] = field(default_factory=dict)
    is_complete: bool = False
    is_overflow: bool = False

    @property
    def is_begun(self) -> bool:
        """Whether anything came of a reply, which has its price from then on."""
        said = self.spoken.text or self.calls or self.echo
        return bool(said or self.usage or self.stop or self.model)

    @classmethod
    def within(cls, max_output_tokens: int) -> "ReplyDraft":
        """An empty draft of a reply that was asked to be this long at most."""
        return cls(SpokenText(longest=max_output_tokens * CHARACTERS_A_TOKEN))

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, each with an id of its own."""
        seen: set[str] = set()
        made = []
        for number, call in enumerate(self.calls[:_MOST_CALLS], 1):
            name = clean(call.id)[:_LONGEST_NAME]
            while not name or name in seen:
                name = f"{name or 'call'}_{number}"
            seen.add(name)
            arguments = clean("".join(call.pieces))[:_LONGEST_ARGUMENTS]
            made.append(ToolCall(name, clean(call.name)[:_LONGEST_NAME], arguments))
        return tuple(made)

    def counted(self, **numbers: int) -> None:
        """Take in usage; numbers that did not come with this event stay as they were."""
        old = self.usage or ModelUsage()
        known: Mapping[str, int] = {name: n for name, n in numbers.items() if n}
        self.usage = ModelUsage(
            input=known.get("input", old.input),
            cache_read=known.get("cache_read", old.cache_read),
            cache_write=known.get("cache_write", old.cache_write),
            output=known.get("output", old.output),
        )


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

    The SDKs' readers bound nothing, stop at bytes that are no UTF-8, at events without data and at
    replies that came whole, and one of them copies an event again at each of its lines.

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
