"""What Chat Completions endpoints refuse, and that each refusal is needed only once."""

import pytest

from live_memory.core.companion.chat import AssistantTurn, ModelRequest, ToolCall, ToolChoice
from live_memory.core.errors import ModelLacksTools, ModelRefused
from tests.support.asking_models import AFTER_TOOLS, ASKED, WITH_TOOLS, chat_at, naming, sent
from tests.support.scripted_endpoint import Received, ScriptedEndpoint, Status, Text

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
FULL = ModelRequest(
    ASKED.system,
    ASKED.messages,
    WITH_TOOLS.tools,
    reply_schema=SCHEMA,
    tool_choice=ToolChoice.REQUIRED,
)


def _refusal(field: str) -> Status:
    return Status(400, {"error": {"message": f"Unrecognized request argument supplied: {field}"}})


@pytest.mark.parametrize(
    "field",
    ["tool_choice", "parallel_tool_calls", "stream_options", "response_format", "max_tokens"],
)
async def test_a_field_refused_by_name_is_left_out_and_never_sent_again(
    endpoint: ScriptedEndpoint, field: str
) -> None:
    """C38."""
    channel = endpoint.open(Text("ok"), rules=[naming(f'"{field}"', _refusal(field))])
    model = chat_at(channel)
    for _ in range(2):
        assert (await model.complete(FULL)).turn.text == "ok"
    await model.aclose()
    assert [field in body for body in sent(channel)] == [True, False, False]


async def test_several_refused_fields_are_learnt_one_after_the_other(
    endpoint: ScriptedEndpoint,
) -> None:
    fields = ("tool_choice", "parallel_tool_calls", "stream_options", "response_format")
    rules = [naming(f'"{field}"', _refusal(field)) for field in fields]
    channel = endpoint.open(Text("ok"), rules=rules)
    model = chat_at(channel)
    assert (await model.complete(FULL)).turn.text == "ok"
    await model.aclose()
    assert len(channel.requests) == len(fields) + 1


async def test_a_validator_that_lists_the_extra_field_is_understood(
    endpoint: ScriptedEndpoint,
) -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "parallel_tool_calls"], "msg": "Extra"}]
    refusal = Status(422, {"detail": detail})
    channel = endpoint.open(Text("ok"), rules=[naming('"parallel_tool_calls"', refusal)])
    model = chat_at(channel)
    assert (await model.complete(WITH_TOOLS)).turn.text == "ok"
    await model.aclose()


async def test_the_other_name_of_the_limit_is_used_where_one_is_refused(
    endpoint: ScriptedEndpoint,
) -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    refusal = Status(400, {"error": {"message": message, "param": "max_tokens"}})
    channel = endpoint.open(Text("ok"), rules=[naming('"max_tokens"', refusal)])
    model = chat_at(channel)
    await model.complete(ASKED)
    await model.aclose()
    assert sent(channel)[-1]["max_completion_tokens"] == 2_000


async def test_a_smaller_output_limit_is_kept_to(endpoint: ScriptedEndpoint) -> None:
    message = "max_tokens is too large: 2000. This model supports at most 1024 completion tokens."
    channel = endpoint.open(Status(400, {"error": {"message": message}}), Text("ok"))
    model = chat_at(channel)
    await model.complete(ASKED)
    await model.aclose()
    assert [body["max_tokens"] for body in sent(channel)] == [2_000, 1_024]


async def test_without_a_system_role_the_first_question_carries_it(
    endpoint: ScriptedEndpoint,
) -> None:
    refusal = Status(400, {"error": {"message": "System role not supported"}})
    channel = endpoint.open(Text("ok"), rules=[naming('"system"', refusal)])
    model = chat_at(channel)
    await model.complete(ASKED)
    await model.aclose()
    assert sent(channel)[-1]["messages"] == [{"role": "user", "content": "You answer.\n\nWhy?"}]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use. Try disabling Read."),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (500, "tools param requires --jinja flag"),
        (400, "Function calling is not enabled for this model"),
        (422, '[{"loc": ["body", "tools"], "msg": "extra fields not permitted"}]'),
    ],
)
async def test_a_model_without_tools_is_asked_with_them_only_once(
    endpoint: ScriptedEndpoint, status: int, message: str
) -> None:
    """C38."""
    refusal = Status(status, {"error": {"message": message}})
    channel = endpoint.open(Text("ok"), rules=[naming('"tools"', refusal)])
    model = chat_at(channel)
    for _ in range(2):
        with pytest.raises(ModelLacksTools):
            await model.complete(WITH_TOOLS)
    assert not model.abilities.has_tools
    assert (await model.complete(ASKED)).turn.text == "ok"
    await model.aclose()
    assert ["tools" in body for body in sent(channel)] == [True, False]


async def test_a_schema_that_is_refused_is_known_from_then_on(endpoint: ScriptedEndpoint) -> None:
    message = "This response_format type is unavailable now"
    channel = endpoint.open(Status(400, {"error": {"message": message}}), Text("plain"))
    model = chat_at(channel)
    await model.complete(FULL)
    await model.aclose()
    assert not model.abilities.enforces_schema


@pytest.mark.parametrize(("text", "is_enforced"), [('{"answer": "x"}', True), ("Well, x.", False)])
async def test_a_schema_counts_as_enforced_when_the_reply_has_its_shape(
    endpoint: ScriptedEndpoint, text: str, *, is_enforced: bool
) -> None:
    model = chat_at(endpoint.open(Text(text)))
    await model.complete(ModelRequest(ASKED.system, ASKED.messages, reply_schema=SCHEMA))
    await model.aclose()
    assert model.abilities.enforces_schema is is_enforced


def _needs_reasoning(received: Received) -> Status | None:
    message = "The reasoning_content in the thinking mode must be passed back to the API."
    missing = Status(400, {"error": {"message": message}})
    return None if b"reasoning_content" in received.raw else missing


async def test_reasoning_is_sent_back_to_an_endpoint_that_wants_it(
    endpoint: ScriptedEndpoint,
) -> None:
    """C35: also where the turn came from a reply without any."""
    channel = endpoint.open(Text("ok"), rules=[_needs_reasoning])
    model = chat_at(channel)
    assert (await model.complete(AFTER_TOOLS)).turn.text == "ok"
    assert len(channel.requests) == 1
    bare = AssistantTurn("Looking.", (ToolCall("t1", "Read", "{}"),))
    messages = (AFTER_TOOLS.messages[0], bare, AFTER_TOOLS.messages[2])
    again = ModelRequest(AFTER_TOOLS.system, messages, AFTER_TOOLS.tools)
    assert (await model.complete(again)).turn.text == "ok"
    await model.aclose()
    assert len(channel.requests) == 3


async def test_reasoning_is_kept_from_an_endpoint_that_refuses_it(
    endpoint: ScriptedEndpoint,
) -> None:
    """C35."""
    message = "Unexpected field reasoning_content in messages[2]"
    refusal = Status(400, {"error": {"message": message}})
    channel = endpoint.open(Text("ok"), rules=[naming("reasoning_content", refusal)])
    model = chat_at(channel)
    for _ in range(2):
        assert (await model.complete(AFTER_TOOLS)).turn.text == "ok"
    await model.aclose()
    assert len(channel.requests) == 3


async def test_an_endpoint_that_refuses_both_ways_is_not_asked_for_ever(
    endpoint: ScriptedEndpoint,
) -> None:
    channel = endpoint.open(Status(400, {"error": {"message": "reasoning_content is wrong"}}))
    model = chat_at(channel)
    with pytest.raises(ModelRefused, match="reasoning_content"):
        await model.complete(AFTER_TOOLS)
    await model.aclose()
    assert len(channel.requests) == 2
