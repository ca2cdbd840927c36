"""A request in the words of the Messages API, with the places where its cache may end."""

import json
from collections.abc import Iterator, Mapping, Sequence

from live_memory.adapters.llm.endpoint import Lessons, Target
from live_memory.adapters.llm.wire import loose
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    Message,
    ModelRequest,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserTurn,
)
from live_memory.core.reading.text import clean

__all__ = ["messages_payload"]

Json = dict[str, object]

# The API takes at most this many marks; the last ones reach furthest.
_MOST_MARKS = 4
_MARK = {"type": "ephemeral"}
_CHOICES = {ToolChoice.REQUIRED: "any", ToolChoice.NONE: "none"}
# What is shown of arguments that are no JSON object, where the API wants one.
_SHOWN_ARGUMENTS = 500


def messages_payload(request: ModelRequest, target: Target, lessons: Lessons) -> Json:
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
    content = [dict(loose.mapping(block)) for block in loose.items(turn.echo.get("thinking"))]
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
    value = loose.parse(text)
    if not isinstance(value, dict):
        return {"unreadable": clean(text)[:_SHOWN_ARGUMENTS]}
    # An escaped half of a character inside JSON becomes a real one when it is parsed.
    return loose.mapping(loose.parse(clean(json.dumps(value, ensure_ascii=False))))


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
    for block in loose.items(message["content"]):
        if isinstance(block, dict):
            yield block


def _keep_last_marks(blocks: Sequence[Json], lessons: Lessons) -> None:
    marked = [block for block in blocks if "cache_control" in block]
    kept = 0 if "cache_control" in lessons.refused_fields else _MOST_MARKS
    for block in marked[: len(marked) - kept]:
        del block["cache_control"]
