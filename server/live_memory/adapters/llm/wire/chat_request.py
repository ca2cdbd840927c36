"""A request in the words of Chat Completions, within what the endpoint is known to take."""

from collections.abc import Mapping, Sequence

from live_memory.adapters.llm.endpoint import Echo, Lessons, Target
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    Message,
    ModelRequest,
    ToolCall,
    ToolChoice,
    ToolResults,
    ToolSpec,
    UserTurn,
)
from live_memory.core.reading.text import clean

__all__ = ["chat_payload"]

Json = dict[str, object]


def chat_payload(request: ModelRequest, target: Target, lessons: Lessons) -> Json:
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


def _messages(request: ModelRequest, lessons: Lessons) -> list[Json]:
    system = _text(request.system)
    messages = [said for message in request.messages for said in _message(message, lessons)]
    if not system:
        return messages
    if lessons.has_system_role:
        return [{"role": "system", "content": system}, *messages]
    if messages and messages[0]["role"] == "user":
        return [{"role": "user", "content": f"{system}\n\n{messages[0]['content']}"}, *messages[1:]]
    return [{"role": "user", "content": system}, *messages]


def _message(message: Message, lessons: Lessons) -> Sequence[Json]:
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


def _assistant(turn: AssistantTurn, lessons: Lessons) -> Json:
    said: Json = {"role": "assistant", "content": clean(turn.text)}
    if turn.tool_calls:
        said["tool_calls"] = [_call(call) for call in turn.tool_calls]
        reasoning = turn.echo.get("reasoning_content")
        if lessons.echo is Echo.ALWAYS or (reasoning and lessons.echo is Echo.AS_GIVEN):
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
