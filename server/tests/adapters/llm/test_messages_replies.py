"""Replies of Messages API endpoints, and what such endpoints refuse."""

import json

import pytest

from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolCall,
)
from live_memory.core.errors import (
    ModelLacksTools,
    ModelOverloaded,
    ModelRefused,
    ModelUnavailable,
    ModelUnreachable,
    PromptTooLong,
)
from tests.support.asking_models import ASKED, WITH_TOOLS, messages_at, naming, sent
from tests.support.scripted_endpoint import (
    Body,
    Events,
    Json,
    Play,
    Raw,
    ScriptedEndpoint,
    Status,
    Text,
)


def _error(kind: str, message: str = "no") -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


async def test_what_the_cache_read_and_wrote_counts_as_input(endpoint: ScriptedEndpoint) -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 1,
    }
    model = messages_at(endpoint.open(Text("ok", usage=usage)))
    assert (await model.complete(ASKED)).usage == ModelUsage(240, 200, 30, 7)
    await model.aclose()


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", ReplyStop.END),
        ("stop_sequence", ReplyStop.END),
        ("max_tokens", ReplyStop.LENGTH),
        ("refusal", ReplyStop.REFUSED),
        ("pause_turn", ReplyStop.CUT),
        ("of_next_year", ReplyStop.END),
        (None, ReplyStop.CUT),
    ],
)
async def test_every_reason_to_stop_has_a_meaning(
    endpoint: ScriptedEndpoint, reason: str | None, stop: ReplyStop
) -> None:
    model = messages_at(endpoint.open(Text("some", stop=reason)))
    assert (await model.complete(ASKED)).stop is stop
    await model.aclose()


@pytest.mark.parametrize(
    ("play", "kind"),
    [
        (Events([_error("overloaded_error")]), ModelOverloaded),
        (Events([_error("rate_limit_error")]), ModelOverloaded),
        (Events([_error("api_error")]), ModelUnreachable),
        (Events([_error("timeout_error")]), ModelUnreachable),
        (Events([_error("authentication_error")]), ModelRefused),
        (Events([_error("billing_error")]), ModelRefused),
        (Events([_error("invalid_request_error")]), ModelRefused),
        (Events([_error("invalid_request_error", "prompt is too long")]), PromptTooLong),
        (Text("some", stop="model_context_window_exceeded"), PromptTooLong),
        (Text("Prompt is too long"), PromptTooLong),
        (Status(413, _error("request_too_large")), PromptTooLong),
        (Status(529, _error("overloaded_error")), ModelOverloaded),
        (Status(402, _error("billing_error")), ModelRefused),
        (Status(400, _error("x", "Your credit balance is too low to access")), ModelRefused),
        (Status(404, _error("not_found_error", "model: m")), ModelRefused),
        (Raw([b"event: message_start\ndata: {}\n\n"]), ModelUnreachable),
        (Body("<html>502</html>", "text/html"), ModelUnreachable),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_every_failure_is_of_the_kind_that_says_what_helps(
    endpoint: ScriptedEndpoint, play: Play, kind: type[ModelUnavailable]
) -> None:
    channel = endpoint.open(play)
    model = messages_at(channel)
    with pytest.raises(kind):
        await model.complete(ASKED)
    await model.aclose()
    assert len(channel.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        "This credential is only authorized for use with Claude Code.",
        "OAuth authentication is currently not supported.",
    ],
)
async def test_a_subscription_token_that_is_refused_needs_a_person(
    endpoint: ScriptedEndpoint, message: str
) -> None:
    """C11."""
    for status in (400, 401):
        model = messages_at(endpoint.open(Status(status, _error("x", message))))
        with pytest.raises(ModelRefused, match=message[:20]):
            await model.complete(ASKED)
        await model.aclose()


async def test_an_overload_after_text_leaves_the_text_as_cut(endpoint: ScriptedEndpoint) -> None:
    events: list[Json | str] = [
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "It is"}},
        _error("overloaded_error"),
    ]
    model = messages_at(endpoint.open(Events(events)))
    reply = await model.complete(ASKED)
    await model.aclose()
    assert (reply.turn.text, reply.stop) == ("It is", ReplyStop.CUT)


async def test_thoughts_go_back_with_the_calls_they_led_to(endpoint: ScriptedEndpoint) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    parts = [("thinking", "thinking", "hm"), ("signature", "signature", "abc")]
    events: list[Json | str] = [
        {"type": "content_block_start", "index": 0, "content_block": thought},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}}
            for kind, key, text in parts
        ),
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    channel = endpoint.open(Events(events), Text("ok"))
    model = messages_at(channel)
    turn = (await model.complete(WITH_TOOLS)).turn
    await model.complete(ModelRequest((), (*ASKED.messages, turn), WITH_TOOLS.tools))
    await model.aclose()
    assert sent(channel)[1]["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Why?"}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm", "signature": "abc"}, call],
        },
    ]


async def test_a_reply_that_came_whole_is_taken_too(endpoint: ScriptedEndpoint) -> None:
    content = [{"type": "text", "text": "whole"}]
    whole = {"type": "message", "content": content, "stop_reason": "end_turn", "usage": {}}
    model = messages_at(endpoint.open(Body(json.dumps(whole))))
    assert (await model.complete(ASKED)).turn.text == "whole"
    await model.aclose()


async def test_a_gateway_without_cache_marks_is_asked_without_them(
    endpoint: ScriptedEndpoint,
) -> None:
    refusal = Status(400, _error("x", "system.0.cache_control: Extra inputs are not permitted"))
    channel = endpoint.open(Text("ok"), rules=[naming("cache_control", refusal)])
    model = messages_at(channel)
    marked = Block("You answer.", is_cache_end=True)
    for _ in range(2):
        await model.complete(ModelRequest((marked,), ASKED.messages))
    await model.aclose()
    assert len(channel.requests) == 3


async def test_a_gateway_model_without_tools_is_known(endpoint: ScriptedEndpoint) -> None:
    refusal = Status(400, _error("x", "this model does not support tools"))
    model = messages_at(endpoint.open(Text("ok"), rules=[naming('"tools"', refusal)]))
    with pytest.raises(ModelLacksTools):
        await model.complete(WITH_TOOLS)
    await model.aclose()
    assert not model.abilities.has_tools


async def test_arguments_that_are_no_object_are_shown_to_the_model_as_such(
    endpoint: ScriptedEndpoint,
) -> None:
    """C36: the API takes objects only, and a lone half of a character nowhere."""
    channel = endpoint.open(Text("ok"))
    model = messages_at(channel)
    for arguments, expected in (
        ('{"path": "src/a', {"unreadable": '{"path": "src/a'}),
        ("[]", {"unreadable": "[]"}),
        ('{"path": "\\ud83d"}', {"path": "\ufffd"}),
    ):
        turn = AssistantTurn("", (ToolCall("t1", "Read", arguments),))
        await model.complete(ModelRequest((), (turn,), WITH_TOOLS.tools))
        call = {"type": "tool_use", "id": "t1", "name": "Read", "input": expected}
        assert sent(channel)[-1]["messages"] == [{"role": "assistant", "content": [call]}]
    await model.aclose()
