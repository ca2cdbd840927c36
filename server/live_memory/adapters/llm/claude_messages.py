"""The client's stream-json: what we write to it, and what its lines mean to us.

It offers our tools to its model as those of an MCP server inside the program that started it,
whose messages travel on the same two pipes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.quirks import cleaned
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    Message,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserTurn,
)
from live_memory.core.companion.prompt import quoted
from live_memory.core.errors import (
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)

__all__ = [
    "ClientMessage",
    "ClientReady",
    "ControlReply",
    "Ended",
    "Failing",
    "Json",
    "Streamed",
    "ToolServerMessage",
    "beginning",
    "content_of",
    "ended_early",
    "failure",
    "heard_in",
    "interruption",
    "listed",
    "refuses_marks",
    "reply_to",
    "result_of",
    "retold",
    "user_says",
]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ClientReady:
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
class ToolServerMessage:
    """The client sends our tool server a message; it wants an answer to each."""

    id: str
    message: Json

    @property
    def call_id(self) -> str:
        """The model's own id of a tool call."""
        params = quirks.mapping(self.message.get("params"))
        return quirks.string(quirks.mapping(params.get("_meta")).get("claudecode/toolUseId"))


@dataclass(frozen=True, slots=True)
class ControlReply:
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


ClientMessage = ClientReady | Streamed | ToolServerMessage | ControlReply | Failing | Ended | None


def heard_in(line: bytes) -> ClientMessage:
    """What a line means, or nothing where it means nothing to us."""
    said = quirks.mapping(quirks.parse(line.decode("utf-8", "replace")))
    match said.get("type"), said.get("subtype"):
        case "stream_event", _:
            return Streamed(quirks.mapping(said.get("event")))
        case "control_request", _:
            asked = quirks.mapping(said.get("request"))
            return ToolServerMessage(
                quirks.string(said.get("request_id")), quirks.mapping(asked.get("message"))
            )
        case "control_response", _:
            return ControlReply(
                quirks.string(quirks.mapping_in(said, "response").get("request_id"))
            )
        case "system", "init":
            return ClientReady(quirks.string(said.get("apiKeySource")) not in ("", "none", "oauth"))
        case "assistant", _ if said.get("error"):
            return Failing(quirks.string(said["error"]))
        case "result", subtype:
            return Ended(
                is_error=said.get("is_error") is True,
                is_aborted=subtype == "error_during_execution",
                status=quirks.count(said.get("api_error_status")),
                text=quirks.string(said.get("result")),
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


def reply_to(asked: ToolServerMessage, result: Json | None) -> Json:
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


_TOO_LONG = re.compile(r"(?:prompt|input|request) is too (?:long|large)", re.IGNORECASE)
_LIMIT = re.compile(r"limit (\d{4,9})|> (\d{4,9}) maximum")
_LOGIN = re.compile(
    r"not logged in|/login|invalid api key|only authorized for use with|disabled .{0,40} access"
    r"|authentication is currently not supported|oauth",
    re.IGNORECASE,
)
_LOGIN_KINDS = ("authentication_failed", "oauth_org_not_allowed")
_BUSY_KINDS, _BUSY = ("rate_limit", "overloaded"), (429, 503, 529)
_REFUSED_KINDS = ("billing_error", "model_not_found", "invalid_request")
_INSTEAD = "or set 'provider' to something else"


def failure(kind: str, status: int, text: str) -> ModelUnavailable:
    """Turn the client's word for a failure, its status and its text into our error."""
    said = cleaned(text) or kind or "no message"
    if _TOO_LONG.search(text):
        found = _LIMIT.search(text)
        limit = int(found.group(1) or found.group(2)) if found else None
        return PromptTooLong(f"The prompt is too long: {said}", limit_tokens=limit)
    if kind in _LOGIN_KINDS or status in (401, 403) or _LOGIN.search(text):
        return ModelRefused(
            f"Claude Code may not answer (auth): {said}. Run `claude` and log in, {_INSTEAD}"
        )
    if kind in _BUSY_KINDS or status in _BUSY:
        return ModelOverloaded(f"Claude is busy, or its plan's limit is reached (limit): {said}")
    if kind in _REFUSED_KINDS or 400 <= status < 500:
        return ModelRefused(f"Claude Code was refused: {said}. Check `claude`, {_INSTEAD}")
    return ModelUnreachable(f"Claude Code failed (provider): {said}")


def ended_early(code: int | None, last_words: str, *, has_spoken: bool) -> ModelUnavailable:
    """Say why a client that ended by itself gives no reply."""
    said = cleaned(last_words) or "it did not say why"
    if code and code > 0 and not has_spoken:
        return ModelRefused(
            f"Claude Code does not start (code {code}): {said}. Run `claude update`, {_INSTEAD}"
        )
    return ModelUnreachable(f"Claude Code ended before it answered (provider): {said}")


def refuses_marks(text: str) -> bool:
    """Whether our cache mark was one too many beside those that the client sets."""
    return "cache_control" in text


def content_of(turn: UserTurn, *, has_mark: bool) -> list[Json]:
    """Our words; of the cache's marks the last is kept, for the client sets three of its four."""
    blocks = [block for block in turn.blocks if block.text.strip()]
    last = max((n for n, block in enumerate(blocks) if block.is_cache_end), default=None)
    return [_block(block, is_marked=has_mark and n == last) for n, block in enumerate(blocks)]


def retold(messages: Sequence[Message], *, has_mark: bool) -> list[Json]:
    """A whole talk, as one turn of ours.

    The client takes only a user's words. So when a talk must go on in a new client, what its model
    said and saw before is told to it, behind the same first turn, which a provider's cache knows.
    """
    first, *rest = messages
    if not isinstance(first, UserTurn):
        first, rest = UserTurn(()), list(messages)
    content = content_of(first, has_mark=has_mark)
    content += [_block(Block(text), is_marked=False) for text in map(_told, rest)]
    return content


def _told(message: Message) -> str:
    match message:
        case UserTurn(blocks):
            return "".join(block.text for block in blocks)
        case AssistantTurn(text, tool_calls):
            calls = "".join(f"{call.name} {call.arguments}\n" for call in tool_calls)
            return f"=== you said so far\n{quoted(text)}=== you called\n{quoted(calls)}"
        case ToolResults(results):
            return "".join(f"=== result\n{quoted(result.text)}" for result in results)
        case _:
            assert_never(message)


def _block(block: Block, *, is_marked: bool) -> Json:
    text: Json = {"type": "text", "text": block.text}
    return {**text, "cache_control": {"type": "ephemeral"}} if is_marked else text
