"""The Messages API, with explicit cache marks, for its maker and for gateways that speak it."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.endpoint import Credential, EndpointQuirks, HeaderStyle, Target
from live_memory.adapters.llm.quirks import ProviderError
from live_memory.adapters.llm.reply_assembly import DraftCall, ReplyDraft
from live_memory.adapters.llm.streaming import Dialect, StreamingModel
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    Message,
    ModelRequest,
    ReplyStop,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserTurn,
)
from live_memory.core.errors import ModelUnavailable
from live_memory.core.reading.observation import clean

__all__ = ["MessagesEvents", "anthropic_model"]

# `pause_turn` is a turn that the model meant to go on with, so it is cut.
_STOPS = {
    "max_tokens": ReplyStop.LENGTH,
    "tool_use": ReplyStop.TOOL_CALLS,
    "refusal": ReplyStop.REFUSED,
    "pause_turn": ReplyStop.CUT,
}
_FULL = "model_context_window_exceeded"


class MessagesEvents:
    """Reads the events of one reply; their input count leaves the cache out, ours does not."""

    def __init__(self, draft: ReplyDraft) -> None:
        self._draft = draft
        self._calls: dict[int, DraftCall] = {}
        self._thinking: dict[int, dict[str, str]] = {}
        self._input: dict[str, int] = {}

    def take(self, event: Mapping[str, object]) -> str:
        """Take the next event, or a reply that came whole, and give what may be shown of it."""
        index, kind = quirks.count(event.get("index")), quirks.string(event.get("type"))
        if kind == "error" or event.get("error"):
            raise ProviderError(0, json.dumps({"error": event.get("error")}), {})
        match kind:
            case "message_start":
                return self._start(quirks.mapping(event.get("message")))
            case "content_block_start":
                return self._open(index, quirks.mapping(event.get("content_block")))
            case "content_block_delta":
                return self._hear(index, quirks.mapping(event.get("delta")))
            case "message_delta":
                self._stop(quirks.string(quirks.mapping_in(event, "delta").get("stop_reason")))
                self._count(quirks.mapping(event.get("usage")))
            case "message_stop":
                self._draft.is_complete = True
            case _ if "content" in event:
                shown = self._start(event)
                self._stop(quirks.string(event.get("stop_reason")))
                return shown
            case _:
                pass
        return ""

    def _start(self, message: Mapping[str, object]) -> str:
        self._draft.model = quirks.string(message.get("model")) or self._draft.model
        self._count(quirks.mapping(message.get("usage")))
        blocks = enumerate(quirks.items(message.get("content")))
        return "".join(self._open(index, quirks.mapping(block)) for index, block in blocks)

    def _open(self, index: int, block: Mapping[str, object]) -> str:
        match block.get("type"):
            case "tool_use":
                call = DraftCall(quirks.string(block.get("id")), quirks.string(block.get("name")))
                self._calls[index] = call
                self._draft.calls.append(call)
                if block.get("input"):
                    call.add(json.dumps(block["input"]))
            case "thinking" | "redacted_thinking":
                texts = {key: value for key, value in block.items() if isinstance(value, str)}
                self._thinking[index] = texts
                self._draft.echo["thinking"] = list(self._thinking.values())
            case "text":
                return self._draft.spoken.add(quirks.string(block.get("text")))
        return ""

    def _hear(self, index: int, delta: Mapping[str, object]) -> str:
        if piece := quirks.string(delta.get("text")):
            return self._draft.spoken.add(piece)
        if (piece := quirks.string(delta.get("partial_json"))) and index in self._calls:
            self._calls[index].add(piece)
        for key in ("thinking", "signature"):
            if (piece := quirks.string(delta.get(key))) and index in self._thinking:
                thought = self._thinking[index]
                thought[key] = thought.get(key, "") + piece
        return ""

    def _count(self, usage: Mapping[str, object]) -> None:
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            self._input[key] = quirks.count(usage.get(key)) or self._input.get(key, 0)
        if usage:
            self._draft.counted(
                input=sum(self._input.values()),
                cache_read=self._input["cache_read_input_tokens"],
                cache_write=self._input["cache_creation_input_tokens"],
                output=quirks.count(usage.get("output_tokens")),
            )

    def _stop(self, reason: str) -> None:
        self._draft.is_overflow = reason == _FULL
        if reason:
            self._draft.stop = _STOPS.get(reason, ReplyStop.END)


Json = dict[str, object]

# The API takes at most this many marks; the last ones reach furthest.
_MOST_MARKS = 4
_MARK = {"type": "ephemeral"}
_CHOICES = {ToolChoice.REQUIRED: "any", ToolChoice.NONE: "none"}
# What is shown of arguments that are no JSON object, where the API wants one.
_SHOWN_ARGUMENTS = 500


def messages_payload(request: ModelRequest, target: Target, lessons: EndpointQuirks) -> Json:
    """Write the body."""
    system = [_block(block) for block in request.system if block.text.strip()]
    messages = _merged(_messages(request.messages))
    _keep_last_marks([*system, *(block for m in messages for block in _blocks_of(m))], lessons)
    payload: Json = {
        **target.extra_body,
        "model": target.model,
        "max_tokens": min(
            request.max_output_tokens, lessons.output_limit or request.max_output_tokens
        ),
        "messages": messages,
        "stream": True,
    }
    if system:
        payload["system"] = system
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
        if choice := _CHOICES.get(request.tool_choice):
            payload["tool_choice"] = {"type": choice}
    if request.reply_schema is not None:
        shape = {"type": "json_schema", "schema": request.reply_schema}
        payload["output_config"] = {"format": shape}
    dropped = lessons.refused_fields - {"max_tokens"}
    return {name: value for name, value in payload.items() if name not in dropped}


def _messages(messages: Sequence[Message]) -> Iterator[tuple[str, list[Json]]]:
    for message in messages:
        match message:
            case UserTurn(blocks):
                yield "user", [_block(block) for block in blocks if block.text.strip()]
            case AssistantTurn():
                yield "assistant", _assistant(message)
            case ToolResults(results):
                yield "user", [_result(result) for result in results]


def _merged(said: Iterator[tuple[str, list[Json]]]) -> list[Json]:
    """One message a change of speaker; empty ones, which the API refuses, are left out."""
    merged: list[tuple[str, list[Json]]] = []
    for role, content in said:
        if merged and merged[-1][0] == role:
            merged[-1][1].extend(content)
        elif content:
            merged.append((role, content))
    return [{"role": role, "content": content} for role, content in merged]


def _assistant(turn: AssistantTurn) -> list[Json]:
    content = [dict(quirks.mapping(block)) for block in quirks.items(turn.echo.get("thinking"))]
    if turn.text.strip():
        content.append({"type": "text", "text": clean(turn.text).rstrip()})
    return [*content, *(_call(call) for call in turn.tool_calls)]


def _block(block: Block) -> Json:
    mark = {"cache_control": _MARK} if block.is_cache_end else {}
    return {"type": "text", "text": clean(block.text), **mark}


def _call(call: ToolCall) -> Json:
    return {
        "type": "tool_use",
        "id": clean(call.id),
        "name": clean(call.name),
        "input": _arguments(call.arguments),
    }


def _arguments(text: str) -> Mapping[str, object]:
    value = quirks.parse(text)
    if not isinstance(value, dict):
        return {"unreadable": clean(text)[:_SHOWN_ARGUMENTS]}
    # An escaped half of a character inside JSON becomes a real one when it is parsed.
    return quirks.mapping(quirks.parse(clean(json.dumps(value, ensure_ascii=False))))


def _result(result: ToolResult) -> Json:
    error = {"is_error": True} if result.is_error else {}
    return {
        "type": "tool_result",
        "tool_use_id": clean(result.call_id),
        "content": clean(result.text) or "(nothing)",
        **error,
    }


def _tool(tool: ToolSpec) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _blocks_of(message: Json) -> Iterator[Json]:
    for block in quirks.items(message["content"]):
        if isinstance(block, dict):
            yield block


def _keep_last_marks(blocks: Sequence[Json], lessons: EndpointQuirks) -> None:
    marked = [block for block in blocks if "cache_control" in block]
    kept = 0 if "cache_control" in lessons.refused_fields else _MOST_MARKS
    for block in marked[: len(marked) - kept]:
        del block["cache_control"]


if TYPE_CHECKING:
    from anthropic import AsyncStream
    from anthropic.types import RawMessageStreamEvent


# Gateways that want `x-api-key` know the API's first version.
_OLD_VERSION = {"anthropic-version": "2023-06-01"}


def anthropic_model(target: Target, lessons: EndpointQuirks) -> StreamingModel:
    """A model behind the Messages API; `target.base_url` is what comes before `/v1/messages`."""
    return StreamingModel(Dialect(_Connection, messages_payload, MessagesEvents), target, lessons)


class _Connection:
    """The SDK without a credential of its own: the transport adds it when a request is sent."""

    def __init__(self, target: Target, http: httpx2.AsyncClient) -> None:
        import anthropic  # noqa: PLC0415 - takes a second; see `Dialect.connect`

        key = target.credential if isinstance(target.credential, Credential) else None
        is_old = key is not None and key.style is HeaderStyle.X_API_KEY
        self._sdk = anthropic
        self._client = anthropic.AsyncAnthropic(
            api_key="added-by-the-transport",
            base_url=target.base_url,
            max_retries=0,
            http_client=http,
            default_headers=_OLD_VERSION if is_old else None,
            open_telemetry=False,
        )
        # The SDK imports the rest of itself when it is first touched.
        self._messages = self._client.messages

    @asynccontextmanager
    async def open(self, payload: Mapping[str, object]) -> AsyncIterator[AsyncIterator[object]]:
        """Send a request and give the events of the reply."""
        try:
            async with await self._messages.create(
                model="", max_tokens=1, messages=[], stream=True, extra_body=payload
            ) as stream:
                yield _events(stream)
        except self._sdk.APIStatusError as error:
            answer = error.response
            raise ProviderError(answer.status_code, answer.text, answer.headers) from None
        except self._sdk.APIConnectionError as error:
            if isinstance(error.__cause__, ModelUnavailable):
                raise error.__cause__ from None
            raise httpx2.TransportError(str(error.__cause__ or error)) from None

    async def close(self) -> None:
        await self._client.close()


async def _events(stream: "AsyncStream[RawMessageStreamEvent]") -> AsyncIterator[object]:
    """Each event's JSON, with the event's name as its type where it names none itself.

    Iterating over the stream itself would leave out events without a name.
    """
    async for event in stream.raw_events(stream.response):
        value = quirks.parse(event.data)
        yield {"type": event.event, **value} if isinstance(value, dict) else value
