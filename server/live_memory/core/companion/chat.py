"""Messages, tool calls, requests and replies, in no provider's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = [
    "Abilities",
    "AssistantTurn",
    "Block",
    "Cause",
    "Message",
    "ModelReply",
    "ModelRequest",
    "ModelUsage",
    "ReplyStop",
    "ToolCall",
    "ToolChoice",
    "ToolResult",
    "ToolResults",
    "ToolSpec",
    "UserTurn",
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
