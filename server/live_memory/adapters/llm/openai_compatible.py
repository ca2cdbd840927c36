"""Chat Completions, for its maker, DeepSeek, gateways and local servers."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import httpx2

from live_memory.adapters.llm import quirks
from live_memory.adapters.llm.endpoint import EndpointQuirks, ReasoningEcho, Target
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
    ToolResults,
    ToolSpec,
    UserTurn,
)
from live_memory.core.reading.observation import clean

__all__ = ["openai_compatible_model"]

_STOPS = {
    "length": ReplyStop.LENGTH,
    "max_tokens": ReplyStop.LENGTH,
    "content_filter": ReplyStop.REFUSED,
    "tool_calls": ReplyStop.TOOL_CALLS,
    "function_call": ReplyStop.TOOL_CALLS,
}


class ChatChunks:
    """Reads the events of one reply into its draft."""

    def __init__(self, draft: ReplyDraft) -> None:
        self._draft = draft
        self._by_index: dict[int, DraftCall] = {}
        self._reasoning: list[str] = []

    def take(self, event: Mapping[str, object]) -> str:
        """Take the next event, or a reply that came whole, and give what may be shown of it."""
        self._draft.model = quirks.string(event.get("model")) or self._draft.model
        self._count(event.get("usage") or quirks.mapping_in(event, "x_groq", "usage"))
        choices = quirks.items(event.get("choices"))
        choice = quirks.mapping(choices[0]) if choices else {}
        shown = self._hear(quirks.mapping(choice.get("delta") or choice.get("message")))
        self._stop(quirks.string(choice.get("finish_reason")))
        return shown

    def _hear(self, delta: Mapping[str, object]) -> str:
        for field in ("reasoning_content", "reasoning"):
            if piece := quirks.string(delta.get(field)):
                self._reasoning.append(piece)
                self._draft.echo["reasoning_content"] = "".join(self._reasoning)
                break
        for part in quirks.items(delta.get("tool_calls")):
            self._call(quirks.mapping(part))
        if refusal := quirks.string(delta.get("refusal")):
            self._draft.stop = ReplyStop.REFUSED
            return self._draft.spoken.add(refusal)
        return self._draft.spoken.add(_content(delta.get("content")))

    def _call(self, part: Mapping[str, object]) -> None:
        function = quirks.mapping(part.get("function"))
        call_id, name = quirks.string(part.get("id")), quirks.string(function.get("name"))
        index = quirks.count(part.get("index")) if "index" in part else len(self._by_index) - 1
        call = self._by_index.get(index)
        # Some endpoints give every call the same index, or none, and tell them apart by id.
        if call is None or (call_id and call.id and call_id != call.id):
            index = index if index not in self._by_index and index >= 0 else len(self._by_index)
            call = DraftCall()
            self._by_index[index] = call
            self._draft.calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        arguments = function.get("arguments")
        if arguments is not None:
            call.add(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _count(self, usage: object) -> None:
        numbers = quirks.mapping(usage)
        details = quirks.mapping(numbers.get("prompt_tokens_details"))
        if not numbers:
            return
        self._draft.counted(
            input=quirks.count(numbers.get("prompt_tokens")),
            cache_read=quirks.count(details.get("cached_tokens"))
            or quirks.count(numbers.get("prompt_cache_hit_tokens")),
            cache_write=quirks.count(details.get("cache_write_tokens")),
            output=quirks.count(numbers.get("completion_tokens")),
        )

    def _stop(self, reason: str) -> None:
        if reason == "insufficient_system_resource":
            raise ProviderError(503, reason, {})
        if reason and self._draft.stop is not ReplyStop.REFUSED:
            self._draft.stop = _STOPS.get(reason, ReplyStop.END)


def _content(value: object) -> str:
    """Text, which some endpoints send as a list of parts."""
    if isinstance(value, str):
        return value
    return "".join(quirks.string(quirks.mapping(part).get("text")) for part in quirks.items(value))


Json = dict[str, object]


def chat_payload(request: ModelRequest, target: Target, lessons: EndpointQuirks) -> Json:
    """Write the body; blocks are joined, because these endpoints find cached prefixes alone."""
    limit = min(request.max_output_tokens, lessons.output_limit or request.max_output_tokens)
    payload: Json = {
        **target.extra_body,
        "model": target.model,
        "messages": _messages(request, lessons),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    # The newest models of the maker refuse the old name, most other servers the new one.
    payload["max_completion_tokens" if "max_tokens" in lessons.refused_fields else "max_tokens"] = (
        limit
    )
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
        payload["parallel_tool_calls"] = True
        if request.tool_choice is not ToolChoice.AUTO:
            payload["tool_choice"] = str(request.tool_choice)
    if request.reply_schema is not None:
        schema = {"name": "reply", "strict": True, "schema": request.reply_schema}
        payload["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {name: value for name, value in payload.items() if name not in lessons.refused_fields}


def _messages(request: ModelRequest, lessons: EndpointQuirks) -> list[Json]:
    system = _text(request.system)
    messages = [said for message in request.messages for said in _message(message, lessons)]
    if not system:
        return messages
    if lessons.has_system_role:
        return [{"role": "system", "content": system}, *messages]
    if messages and messages[0]["role"] == "user":
        return [{"role": "user", "content": f"{system}\n\n{messages[0]['content']}"}, *messages[1:]]
    return [{"role": "user", "content": system}, *messages]


def _message(message: Message, lessons: EndpointQuirks) -> Sequence[Json]:
    match message:
        case UserTurn(blocks):
            return [{"role": "user", "content": _text(blocks)}]
        case AssistantTurn():
            return [_assistant(message, lessons)]
        case ToolResults(results):
            return [
                {"role": "tool", "tool_call_id": result.call_id, "content": clean(result.text)}
                for result in results
            ]


def _assistant(turn: AssistantTurn, lessons: EndpointQuirks) -> Json:
    said: Json = {"role": "assistant", "content": clean(turn.text)}
    if turn.tool_calls:
        said["tool_calls"] = [_call(call) for call in turn.tool_calls]
        reasoning = turn.echo.get("reasoning_content")
        if lessons.echo is ReasoningEcho.ALWAYS or (
            reasoning and lessons.echo is ReasoningEcho.AS_GIVEN
        ):
            said["reasoning_content"] = reasoning if isinstance(reasoning, str) else ""
    return said


def _call(call: ToolCall) -> Json:
    function = {"name": clean(call.name), "arguments": clean(call.arguments)}
    return {"id": clean(call.id), "type": "function", "function": function}


def _tool(tool: ToolSpec) -> Json:
    function: Mapping[str, object] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
    }
    return {"type": "function", "function": function}


def _text(blocks: Sequence[Block]) -> str:
    return clean("".join(block.text for block in blocks))


def openai_compatible_model(target: Target, lessons: EndpointQuirks) -> StreamingModel:
    """A model behind Chat Completions; `target.base_url` is what comes before the route."""
    return StreamingModel(Dialect(_Connection, chat_payload, ChatChunks), target, lessons)


class _Connection:
    """The SDK without a credential of its own: the transport adds it when a request is sent."""

    def __init__(self, target: Target, http: httpx2.AsyncClient) -> None:
        import openai  # noqa: PLC0415 - takes half a second; see `Dialect.connect`

        self._sdk = openai
        self._client = openai.AsyncOpenAI(
            api_key="added-by-the-transport",
            base_url=target.base_url,
            max_retries=0,
            http_client=http,
        )
        # Else it finds out at the first request by running `uname`, and tells the provider.
        self._client._platform = "Unknown"

    @asynccontextmanager
    async def open(self, payload: Mapping[str, object]) -> AsyncIterator[AsyncIterator[object]]:
        """Send a request and give the events of the reply."""
        # Not `chat.completions.create`, whose typed chunks hold what the API's maker would send.
        try:
            async with await self._client.post(
                "/chat/completions",
                body={"model": "", "messages": [], **payload},
                cast_to=object,
                stream=True,
                stream_cls=self._sdk.AsyncStream[object],
            ) as stream:
                yield aiter(stream)
        except self._sdk.APIStatusError as error:
            answer = error.response
            raise ProviderError(answer.status_code, answer.text, answer.headers) from None
        except self._sdk.APIConnectionError as error:
            raise httpx2.TransportError(str(error.__cause__ or error)) from None
        except self._sdk.APIError as error:  # inside the stream
            raise ProviderError(0, json.dumps({"error": error.body}), {}) from None
        except (json.JSONDecodeError, RecursionError):
            raise httpx2.DecodingError("an event is no JSON") from None

    async def close(self) -> None:
        await self._client.close()
