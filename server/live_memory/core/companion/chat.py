"""Messages, tool calls, requests and replies, in no provider's words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from live_memory.core.values import Instant

__all__ = [
    "DAY_S",
    "Abilities",
    "AssistantTurn",
    "Block",
    "Caps",
    "Cause",
    "Conversation",
    "Message",
    "ModelReply",
    "ModelRequest",
    "ModelUsage",
    "Payment",
    "ReplyStop",
    "Spend",
    "ToolCall",
    "ToolChoice",
    "ToolResult",
    "ToolResults",
    "ToolSpec",
    "UserTurn",
    "both",
]


class Cause(StrEnum):
    """What tokens and money are spent on."""

    ASK = "ask"
    COMPACTION = "compaction"
    KEEP_WARM = "keep-warm"


class ToolChoice(StrEnum):
    """What the model may do with its tools; a wish, because not every endpoint obeys it."""

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


class ReplyStop(StrEnum):
    """Why a model stopped writing.

    `CUT` is a reply that ended without saying so; it holds the text that came, and no tool calls.
    """

    END = "end"
    TOOL_CALLS = "tool calls"
    LENGTH = "length"
    REFUSED = "refused"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of prompt; a provider's cache may end after one that is marked so."""

    text: str
    is_cache_end: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `schema` is a JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it: `arguments` is its raw text, which may not even be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave."""

    call_id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What we say."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """What the model said; `echo` holds provider fields that some endpoints want back (JSON)."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    echo: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResults:
    """What all calls of one turn gave, in their order."""

    results: tuple[ToolResult, ...]


Message = UserTurn | AssistantTurn | ToolResults


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. `reply_schema` asks for a JSON reply of that shape where the endpoint can.

    `estimated_tokens` is our own count of the whole prompt, for an endpoint that reports none.
    """

    system: tuple[Block, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int = 2_000
    reply_schema: Mapping[str, object] | None = None
    cause: Cause = Cause.ASK
    tool_choice: ToolChoice = ToolChoice.AUTO
    estimated_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of one call; `input` includes what the cache read and wrote.

    `is_estimated` marks our own guess, where an endpoint reported nothing: it counts as spent and
    calibrates nothing.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back, with the price in US dollars where it is known."""

    turn: AssistantTurn
    stop: ReplyStop
    usage: ModelUsage
    model: str
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Abilities:
    """What is known of a model at its endpoint; it grows by what the endpoint taught us.

    `context_tokens` is the size of its window, `is_subscription` a plan without a price a call.
    """

    model: str
    context_tokens: int
    has_tools: bool
    enforces_schema: bool
    is_subscription: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said so far, and how many replies there were."""

    system: tuple[Block, ...]
    messages: tuple[Message, ...]
    replies: int = 0

    def request(self, tools: tuple[ToolSpec, ...], *, max_output_tokens: int) -> ModelRequest:
        """The next call; tools stay the same through a talk, or the cache would be lost."""
        return ModelRequest(self.system, self.messages, tools, max_output_tokens)

    def heard(self, reply: ModelReply) -> Self:
        """Add the model's turn."""
        return replace(self, messages=(*self.messages, reply.turn), replies=self.replies + 1)

    def saw(self, results: tuple[ToolResult, ...]) -> Self:
        """Add what its calls gave."""
        return replace(self, messages=(*self.messages, ToolResults(results)))

    def told(self, text: str) -> Self:
        """Add a sentence of ours."""
        return replace(self, messages=(*self.messages, UserTurn((Block(text),))))


_HOUR_S, DAY_S = 3_600, 86_400


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be spent: tokens within an hour, US dollars within a day; 0 is no cap."""

    tokens_an_hour: int = 0
    usd_a_day: float = 0.0


@dataclass(frozen=True, slots=True)
class SpentLately:
    """What counts against the caps now: tokens of the last hour, US dollars of the last day."""

    tokens_an_hour: int
    usd_a_day: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What one cause took; `unpriced_calls` are those whose price is not known."""

    calls: int = 0
    tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0

    def plus(self, usage: ModelUsage, cost_usd: float | None) -> Self:
        """Add one call."""
        return replace(
            self,
            calls=self.calls + 1,
            tokens=self.tokens + usage.input + usage.output,
            cached_tokens=self.cached_tokens + usage.cache_read,
            cost_usd=self.cost_usd + (cost_usd or 0.0),
            unpriced_calls=self.unpriced_calls + (cost_usd is None),
        )


@dataclass(frozen=True, slots=True)
class Payment:
    """What one call took, and when."""

    at: Instant
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Spend:
    """All that was spent since the start, by cause, and the payments of the last day."""

    by_cause: Mapping[Cause, Spent] = field(default_factory=lambda: MappingProxyType({}))
    recent: tuple[Payment, ...] = ()

    def paid(
        self, cause: Cause, usage: ModelUsage, cost_usd: float | None, *, now: Instant
    ) -> Self:
        """Add one call."""
        spent = self.by_cause.get(cause, Spent()).plus(usage, cost_usd)
        kept = tuple(p for p in self.recent if now - p.at < DAY_S)
        payment = Payment(now, usage.input + usage.output, cost_usd or 0.0)
        by_cause = MappingProxyType({**self.by_cause, cause: spent})
        return replace(self, by_cause=by_cause, recent=(*kept, payment))

    def with_earlier(self, payments: Iterable[Payment]) -> Self:
        """Add what was paid before the start: it counts for the caps, and for nothing else."""
        return replace(self, recent=(*payments, *self.recent))

    def of_day(self, now: Instant) -> tuple[Payment, ...]:
        """What was paid in each of the last 24 hours, the oldest first; `at` is where it begins."""
        hours = [Payment(Instant(now - n * _HOUR_S), 0, 0.0) for n in range(24, 0, -1)]
        for paid in self.recent:
            back = int((now - paid.at) // _HOUR_S)
            if 0 <= back < len(hours):
                hour = hours[-1 - back]
                tokens, cost_usd = hour.tokens + paid.tokens, hour.cost_usd + paid.cost_usd
                hours[-1 - back] = Payment(hour.at, tokens, cost_usd)
        return tuple(hours)

    def lately(self, now: Instant) -> SpentLately:
        """What counts against the caps."""
        return SpentLately(
            sum(p.tokens for p in self.recent if 0 <= now - p.at < _HOUR_S),
            sum(p.cost_usd for p in self.recent if 0 <= now - p.at < DAY_S),
        )

    def refusal(self, caps: Caps, *, now: Instant) -> str | None:
        """Why nothing may be spent now, if so."""
        lately = self.lately(now)
        if caps.tokens_an_hour and lately.tokens_an_hour >= caps.tokens_an_hour:
            return f"the hourly cap of {caps.tokens_an_hour} tokens is reached"
        if caps.usd_a_day and lately.usd_a_day >= caps.usd_a_day:
            return f"the daily cap of ${caps.usd_a_day:.2f} is reached"
        return None


def both(a: ModelUsage, b: ModelUsage) -> ModelUsage:
    """What two calls took together."""
    return ModelUsage(
        a.input + b.input,
        a.cache_read + b.cache_read,
        a.cache_write + b.cache_write,
        a.output + b.output,
        a.is_estimated or b.is_estimated,
    )
