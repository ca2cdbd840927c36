"""The client's stream-json: what we write to it, and what its lines mean to us.

It offers our tools to its model as those of an MCP server inside the program that started it,
whose messages travel on the same two pipes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from live_memory.adapters.llm.wire import loose
from live_memory.core.companion.chat import ToolResult, ToolSpec

__all__ = [
    "Answered",
    "Asked",
    "Ended",
    "Failing",
    "Heard",
    "Json",
    "Started",
    "Streamed",
    "beginning",
    "heard_in",
    "interruption",
    "listed",
    "reply_to",
    "result_of",
    "user_says",
]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Started:
    """The client is ready; `has_key` where it uses an API key and no subscription."""

    has_key: bool


@dataclass(frozen=True, slots=True)
class Streamed:
    """An event of the Messages API, passed on."""

    event: Json

    @property
    def is_start(self) -> bool:
        """Whether a new reply begins."""
        return self.event.get("type") == "message_start"


@dataclass(frozen=True, slots=True)
class Asked:
    """The client sends our tool server a message; it wants an answer to each."""

    id: str
    message: Json

    @property
    def call_id(self) -> str:
        """The model's own id of a tool call."""
        params = loose.mapping(self.message.get("params"))
        return loose.string(loose.mapping(params.get("_meta")).get("claudecode/toolUseId"))


@dataclass(frozen=True, slots=True)
class Answered:
    """The client did what a control request of ours asked for."""

    id: str


@dataclass(frozen=True, slots=True)
class Failing:
    """The client says in a reply's place what went wrong; `kind` is its own word for it."""

    kind: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn is over; `is_aborted` where it was interrupted."""

    is_error: bool
    is_aborted: bool
    status: int
    text: str


Heard = Started | Streamed | Asked | Answered | Failing | Ended | None


def heard_in(line: bytes) -> Heard:
    """What a line means, or nothing where it means nothing to us."""
    said = loose.mapping(loose.parse(line.decode("utf-8", "replace")))
    match said.get("type"), said.get("subtype"):
        case "stream_event", _:
            return Streamed(loose.mapping(said.get("event")))
        case "control_request", _:
            asked = loose.mapping(said.get("request"))
            return Asked(loose.string(said.get("request_id")), loose.mapping(asked.get("message")))
        case "control_response", _:
            return Answered(loose.string(loose.mapping_in(said, "response").get("request_id")))
        case "system", "init":
            return Started(loose.string(said.get("apiKeySource")) not in ("", "none", "oauth"))
        case "assistant", _ if said.get("error"):
            return Failing(loose.string(said["error"]))
        case "result", subtype:
            return Ended(
                is_error=said.get("is_error") is True,
                is_aborted=subtype == "error_during_execution",
                status=loose.count(said.get("api_error_status")),
                text=loose.string(said.get("result")),
            )
        case _:
            return None


def beginning(system: str) -> Json:
    """The first message; the prompt travels here and not among the words that others can see."""
    return _control("begin", {"subtype": "initialize", "systemPrompt": system})


def interruption(id: str) -> Json:  # noqa: A002 - its name in the protocol
    """Break off the turn."""
    return _control(id, {"subtype": "interrupt"})


def user_says(content: Sequence[Json]) -> Json:
    """Say something; while a turn runs, the model hears it together with the next results."""
    message = {"role": "user", "content": list(content)}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": ""}


def reply_to(asked: Asked, result: Json | None) -> Json:
    """Answer a message to our tool server; no result means that it knows no such request."""
    answer: dict[str, object] = {"jsonrpc": "2.0", "id": asked.message.get("id")}
    if result is not None:
        answer["result"] = result
    else:
        answer["error"] = {"code": -32601, "message": "there is no such method"}
    if "id" not in asked.message:
        answer = {"jsonrpc": "2.0", "result": {}}
    response = {
        "subtype": "success",
        "request_id": asked.id,
        "response": {"mcp_response": answer},
    }
    return {"type": "control_response", "response": response}


def listed(tools: Sequence[ToolSpec]) -> Json:
    """Our tools; those that only read may be called side by side."""
    return {
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.schema,
                "annotations": {"readOnlyHint": True, "openWorldHint": False},
                "_meta": {"anthropic/alwaysLoad": True},
            }
            for tool in tools
        ]
    }


def result_of(result: ToolResult) -> Json:
    """What a call gave."""
    return {"content": [{"type": "text", "text": result.text}], "isError": result.is_error}


def _control(id: str, request: Json) -> Json:  # noqa: A002 - its name in the protocol
    return {"type": "control_request", "request_id": id, "request": request}
