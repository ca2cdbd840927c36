"""Requests and models that the provider tests share."""

from collections.abc import Callable, Sequence

from live_memory.adapters.llm.anthropic import anthropic_model
from live_memory.adapters.llm.endpoint import Credential, EndpointQuirks, Endpoints, Target
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.streaming import StreamingModel
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    ModelRequest,
    ToolCall,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserTurn,
)
from tests.support.scripted_endpoint import Channel, Play, Received

__all__ = [
    "AFTER_TOOLS",
    "ASKED",
    "KEY",
    "READ",
    "WITH_TOOLS",
    "Make",
    "chat_at",
    "messages_at",
    "naming",
    "sent",
]

KEY = "sk-test-0123456789"
READ = ToolSpec("Read", "Read a file.", {"type": "object", "properties": {}})
ASKED = ModelRequest((Block("You answer."),), (UserTurn((Block("Why?"),)),))
WITH_TOOLS = ModelRequest(ASKED.system, ASKED.messages, (READ,))
AFTER_TOOLS = ModelRequest(
    ASKED.system,
    (
        *ASKED.messages,
        AssistantTurn(
            "Looking.", (ToolCall("t1", "Read", '{"path": "a"}'),), {"reasoning_content": "hm"}
        ),
        ToolResults((ToolResult("t1", "text of a"),)),
    ),
    (READ,),
)

Make = Callable[[Channel], StreamingModel]


def chat_at(channel: Channel, lessons: EndpointQuirks | None = None) -> StreamingModel:
    """A model behind the channel's Chat Completions."""
    target = Target(channel.base_url + "/v1", "m", Credential(KEY))
    return openai_compatible_model(target, lessons or Endpoints().lessons(target))


def messages_at(channel: Channel, lessons: EndpointQuirks | None = None) -> StreamingModel:
    """A model behind the channel's Messages API."""
    target = Target(channel.base_url, "m", Credential(KEY))
    return anthropic_model(target, lessons or Endpoints().lessons(target))


def naming(field: str, refusal: Play) -> Callable[[Received], Play | None]:
    """A rule: whoever sends this field gets this refusal."""
    return lambda received: refusal if field in received.raw.decode() else None


def sent(channel: Channel) -> Sequence[dict[str, object]]:
    """The bodies of all requests."""
    return [received.body for received in channel.requests]
