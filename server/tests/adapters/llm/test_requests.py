"""The whole request, as each provider gets it."""

import pytest
from inline_snapshot import snapshot

from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    ModelRequest,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolResults,
    UserTurn,
)
from tests.support.asking_models import READ, Make, chat_at, messages_at, sent
from tests.support.scripted_endpoint import ScriptedEndpoint, Text

WHOLE = ModelRequest(
    system=(Block("You answer.", is_cache_end=True), Block("Facts.", is_cache_end=True)),
    messages=(
        UserTurn(
            (
                Block("File a.\n", is_cache_end=True),
                Block("File b.\n", is_cache_end=True),
                Block(""),
            )
        ),
        AssistantTurn(
            "Looking. ", (ToolCall("t1", "Read", '{"path": "a"}'), ToolCall("t2", "Read", "{"))
        ),
        ToolResults((ToolResult("t1", "text"), ToolResult("t2", "bad JSON", is_error=True))),
        UserTurn((Block("Conclude \ud83d now.", is_cache_end=True),)),
    ),
    tools=(READ,),
    max_output_tokens=300,
    reply_schema={"type": "object"},
    tool_choice=ToolChoice.REQUIRED,
)


WHOLE_MESSAGES_REQUEST = snapshot(
    {
        "max_tokens": 300,
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "File a.\n",
                        "cache_control": {"type": "ephemeral"},
                    },
                    {
                        "type": "text",
                        "text": "File b.\n",
                        "cache_control": {"type": "ephemeral"},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}},
                    {
                        "type": "tool_use",
                        "id": "t2",
                        "name": "Read",
                        "input": {"unreadable": "{"},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "text"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "t2",
                        "content": "bad JSON",
                        "is_error": True,
                    },
                    {
                        "type": "text",
                        "text": "Conclude � now.",
                        "cache_control": {"type": "ephemeral"},
                    },
                ],
            },
        ],
        "model": "m",
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "stream": True,
        "system": [
            {"type": "text", "text": "You answer."},
            {"type": "text", "text": "Facts.", "cache_control": {"type": "ephemeral"}},
        ],
        "tool_choice": {"type": "any"},
        "tools": [
            {
                "name": "Read",
                "description": "Read a file.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
    }
)


async def test_the_whole_request_to_the_messages_api(endpoint: ScriptedEndpoint) -> None:
    """Only the last four of five cache marks are sent, empty text never is."""
    channel = endpoint.open(Text("ok"))
    model = messages_at(channel)
    await model.complete(WHOLE)
    await model.aclose()
    assert sent(channel)[0] == WHOLE_MESSAGES_REQUEST


async def test_the_whole_request_to_chat_completions(endpoint: ScriptedEndpoint) -> None:
    channel = endpoint.open(Text("{}"))
    model = chat_at(channel)
    await model.complete(WHOLE)
    await model.aclose()
    assert sent(channel)[0] == snapshot(
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "You answer.Facts."},
                {
                    "role": "user",
                    "content": """\
File a.
File b.
""",
                },
                {
                    "role": "assistant",
                    "content": "Looking. ",
                    "tool_calls": [
                        {
                            "id": "t1",
                            "type": "function",
                            "function": {"name": "Read", "arguments": '{"path": "a"}'},
                        },
                        {
                            "id": "t2",
                            "type": "function",
                            "function": {"name": "Read", "arguments": "{"},
                        },
                    ],
                },
                {"role": "tool", "tool_call_id": "t1", "content": "text"},
                {"role": "tool", "tool_call_id": "t2", "content": "bad JSON"},
                {"role": "user", "content": "Conclude � now."},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 300,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "Read",
                        "description": "Read a file.",
                        "parameters": {"type": "object", "properties": {}},
                    },
                }
            ],
            "parallel_tool_calls": True,
            "tool_choice": "required",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
            },
        }
    )


async def test_a_longer_talk_extends_the_request_byte_for_byte(endpoint: ScriptedEndpoint) -> None:
    """What providers cache is a prefix of bytes."""
    for make in (chat_at, messages_at):
        channel = endpoint.open(Text("ok"))
        model = make(channel)
        for length in (1, 2, 3):
            await model.complete(ModelRequest(WHOLE.system[1:], WHOLE.messages[:length]))
        await model.aclose()
        texts = [str(body["messages"]).removesuffix("]") for body in sent(channel)]
        assert texts[1].startswith(texts[0])
        assert texts[2].startswith(texts[1])


CHAT_ORDER = (
    "model messages stream stream_options max_tokens tools parallel_tool_calls tool_choice "
    "response_format"
)
MESSAGES_ORDER = "max_tokens messages model output_config stream system tool_choice tools"


@pytest.mark.parametrize(("make", "order"), [(chat_at, CHAT_ORDER), (messages_at, MESSAGES_ORDER)])
async def test_the_fields_of_a_request_keep_their_order(
    make: Make, order: str, endpoint: ScriptedEndpoint
) -> None:
    """What is sent is bytes, and the SDKs have an order of their own for some fields."""
    channel = endpoint.open(Text("{}"))
    model = make(channel)
    await model.complete(WHOLE)
    await model.aclose()
    assert " ".join(sent(channel)[0]) == order
