"""A reply while it arrives, before anyone judged it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from live_memory.adapters.llm.wire.spoken import SpokenText
from live_memory.core.companion.chat import ModelUsage, ReplyStop, ToolCall
from live_memory.core.reading.text import clean

__all__ = ["CHARACTERS_A_TOKEN", "Draft", "DraftCall"]

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
class Draft:
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
    def within(cls, max_output_tokens: int) -> "Draft":
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
