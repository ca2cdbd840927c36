"""Replies of Chat Completions endpoints in all the shapes that real servers send."""

import json
from collections.abc import Sequence

import anyio
import pytest

from live_memory.adapters.llm.streaming import StreamingModel
from live_memory.core.companion.chat import Block, ModelRequest, ModelUsage, ReplyStop, UserTurn
from live_memory.core.errors import ModelOverloaded, ModelUnreachable, PromptTooLong
from tests.support.asking_models import ASKED, WITH_TOOLS, chat_at
from tests.support.scripted_endpoint import (
    Body,
    Events,
    Json,
    Play,
    Raw,
    ScriptedEndpoint,
    Status,
    Text,
    Tools,
)


def _delta(delta: Json, finish: str | None = None) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            },
            ModelUsage(100, 60, 10, 5),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36,
            },
            ModelUsage(100, 64, 0, 5),
        ),
        (
            {"prompt_tokens": "many", "completion_tokens": -1, "prompt_tokens_details": None},
            ModelUsage(),
        ),
    ],
    ids=["details", "hit and miss", "nonsense"],
)
async def test_cached_tokens_are_counted_in_both_shapes(
    endpoint: ScriptedEndpoint, usage: Json, expected: ModelUsage
) -> None:
    model = chat_at(endpoint.open(Text("ok", usage=usage)))
    assert (await model.complete(ASKED)).usage == expected
    await model.aclose()


async def test_usage_that_was_not_reported_is_marked_as_our_guess(
    endpoint: ScriptedEndpoint,
) -> None:
    events: list[Json | str] = [_delta({"content": "fine"}), _delta({}, "stop"), "[DONE]"]
    model = chat_at(endpoint.open(Events(events)))
    usage = (await model.complete(ASKED)).usage
    await model.aclose()
    assert usage.is_estimated
    assert usage.input > 0


CALL = '{"name": "Read", "arguments": {"path": "a"}}'


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"I look.\n```json\n{CALL}\n```", "I look."),
        (f"<tool_call>\n{CALL}\n</tool_call>", ""),
        (f"<tool_call>{CALL}", ""),
        (CALL, ""),
        (f"[{CALL}]", ""),
        (json.dumps({"type": "function", "function": json.loads(CALL)}), ""),
        (CALL.replace("arguments", "parameters"), ""),
        (f"<think>I should read.</think>\n\n{CALL}", ""),
    ],
)
async def test_a_call_written_as_text_is_a_call(
    endpoint: ScriptedEndpoint, text: str, rest: str
) -> None:
    heard: list[str] = []
    model = chat_at(endpoint.open(Text(text, pieces=5)))
    reply = await model.complete(WITH_TOOLS, heard=heard.append)
    await model.aclose()
    assert reply.stop is ReplyStop.TOOL_CALLS
    assert [(c.name, json.loads(c.arguments)) for c in reply.turn.tool_calls] == [
        ("Read", {"path": "a"})
    ]
    assert reply.turn.text == rest
    if not rest:
        assert heard == []


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "Bash", "arguments": {}}\n```',
        '```json\n{"name": "Read", "version": "1.0"}\n```',
        "Use `Read` with a path.",
        "{not json",
    ],
)
async def test_json_that_is_no_call_of_an_offered_tool_stays_text(
    endpoint: ScriptedEndpoint, text: str
) -> None:
    model = chat_at(endpoint.open(Text(text)))
    reply = await model.complete(WITH_TOOLS)
    await model.aclose()
    assert (reply.turn.text, reply.turn.tool_calls) == (text, ())


async def test_where_no_tools_were_offered_nothing_is_a_call(endpoint: ScriptedEndpoint) -> None:
    model = chat_at(endpoint.open(Text(CALL)))
    reply = await model.complete(ASKED)
    await model.aclose()
    assert (reply.turn.text, reply.stop) == (CALL, ReplyStop.END)


@pytest.mark.parametrize(
    "arguments", ['{"path": "src/a', "", "null", "[]", '"x"', '{"path": 5}', "{'a': 1,}"]
)
async def test_arguments_arrive_as_the_model_wrote_them(
    endpoint: ScriptedEndpoint, arguments: str
) -> None:
    """C36: what is wrong with them is for the toolbox to say."""
    model = chat_at(endpoint.open(Tools([("Read", arguments)])))
    (call,) = (await model.complete(WITH_TOOLS)).turn.tool_calls
    await model.aclose()
    assert call.arguments == arguments


async def test_enormous_arguments_and_names_are_cut(endpoint: ScriptedEndpoint) -> None:
    """C36, S40."""
    huge = json.dumps({"path": "a" * 2_000_000})
    model = chat_at(endpoint.open(Tools([("Read", huge), ("x" * 10_000, "{}")])))
    read, odd = (await model.complete(WITH_TOOLS)).turn.tool_calls
    await model.aclose()
    assert len(read.arguments) == 64 * 1024
    assert len(odd.name) == 200


async def test_calls_are_told_apart_without_an_index_and_with_the_same_id(
    endpoint: ScriptedEndpoint,
) -> None:
    def call(call_id: str | None) -> Json:
        return {"id": call_id, "function": {"name": "Read", "arguments": {"path": "a"}}}

    whole = {"role": "assistant", "tool_calls": [call("one"), call("two"), call(None)]}
    events: list[Json | str] = [_delta(whole), _delta({}, "stop"), "[DONE]"]
    doubled = [
        _delta({"tool_calls": [{"index": n, **call("same")} for n in range(2)]}, "tool_calls")
    ]
    first = chat_at(endpoint.open(Events(events)))
    second = chat_at(endpoint.open(Events(doubled)))
    one = (await first.complete(WITH_TOOLS)).turn.tool_calls
    two = (await second.complete(WITH_TOOLS)).turn.tool_calls
    await first.aclose()
    await second.aclose()
    assert [c.id for c in one][:2] == ["one", "two"]
    assert json.loads(one[0].arguments) == {"path": "a"}
    assert len({c.id for c in two}) == 2


async def test_reasoning_is_kept_beside_calls_and_out_of_the_text(
    endpoint: ScriptedEndpoint,
) -> None:
    """C35."""
    play = Tools([("Read", "{}")], extra={"reasoning_content": "I must read."})
    model = chat_at(endpoint.open(play))
    turn = (await model.complete(WITH_TOOLS)).turn
    await model.aclose()
    assert turn.text == ""
    assert turn.echo == {"reasoning_content": "I must read."}


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", ReplyStop.END),
        ("eos", ReplyStop.END),
        ("length", ReplyStop.LENGTH),
        ("content_filter", ReplyStop.REFUSED),
    ],
)
async def test_every_reason_to_stop_has_a_meaning(
    endpoint: ScriptedEndpoint, reason: str, stop: ReplyStop
) -> None:
    model = chat_at(endpoint.open(Text("some", stop=reason)))
    assert (await model.complete(ASKED)).stop is stop
    await model.aclose()


async def test_characters_split_anywhere_arrive_whole(endpoint: ScriptedEndpoint) -> None:
    """C18: bytes of a character in two pieces, and its two escaped halves in two events."""
    event = 'data: {"choices": [{"delta": {"content": "é😀"}, "finish_reason": "stop"}]}\n\n'
    raw = event.encode()
    bytewise = chat_at(endpoint.open(Raw([raw[n : n + 1] for n in range(len(raw))])))
    halves = [
        'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n',
        'data: {"choices": [{"delta": {"content": "\\ude00 \\ud83d"}}]}\n\n',
        'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n',
    ]
    halved = chat_at(endpoint.open(Raw([half.encode() for half in halves])))
    heard: list[str] = []
    assert (await bytewise.complete(ASKED)).turn.text == "é😀"
    assert (await halved.complete(ASKED, heard=heard.append)).turn.text == "😀 \ufffd"
    await bytewise.aclose()
    await halved.aclose()
    assert heard == ["😀 "]


async def test_bytes_that_are_no_utf8_do_no_harm(endpoint: ScriptedEndpoint) -> None:
    raw = b'data: {"choices": [{"delta": {"content": "a\xff\xfeb"}, "finish_reason": "stop"}]}\n\n'
    model = chat_at(endpoint.open(Raw([raw])))
    assert (await model.complete(ASKED)).turn.text == "a\ufffd\ufffdb"
    await model.aclose()


async def test_a_model_that_ignores_its_limit_is_stopped(endpoint: ScriptedEndpoint) -> None:
    channel = endpoint.open(Text("word " * 10_000, pieces=100, then="stall"))
    model = chat_at(channel)
    request = ModelRequest(ASKED.system, ASKED.messages, max_output_tokens=100)
    with anyio.fail_after(10):
        reply = await model.complete(request)
    await model.aclose()
    assert reply.stop is ReplyStop.LENGTH
    assert len(reply.turn.text) <= 1_600


@pytest.mark.parametrize(
    "play",
    [
        Raw([b"data: " + b"x" * 9_000_000]),
        Raw([b": " + b"x" * 1_000_000 + b"\n\n"] * 34),
        Raw([b"data: {broken\n\n"]),
        Raw([b"data: 7\n\n"]),
        Raw([b""]),
        Body("<html><h1>Welcome</h1></html>", "text/html"),
        Body("OK", "text/plain"),
        Body("[" * 100_000),
        Status(502, "<html><h1>502 Bad Gateway</h1></html>"),
        Status(500, ""),
        Status(408, "timeout"),
        Events([{"error": {"code": 502, "message": "upstream died"}}]),
        Text("   "),
    ],
    ids=lambda play: str(play)[:30],
)
async def test_what_is_no_reply_is_an_unreachable_endpoint(
    endpoint: ScriptedEndpoint, play: Play
) -> None:
    model = chat_at(endpoint.open(play))
    with anyio.fail_after(10), pytest.raises(ModelUnreachable):
        await model.complete(ASKED)
    await model.aclose()


@pytest.mark.parametrize(
    "play",
    [
        Status(
            503,
            {"error": {"type": "unavailable_error", "code": 503, "message": "Loading model"}},
        ),
        Status(429, "slow down"),
        Status(529, "overloaded"),
        Events([{"error": {"code": 429, "message": "Rate limit exceeded"}}]),
        Events([_delta({}, "insufficient_system_resource")]),
    ],
    ids=lambda play: str(play)[:30],
)
async def test_a_busy_endpoint_is_overloaded(endpoint: ScriptedEndpoint, play: Play) -> None:
    model = chat_at(endpoint.open(play))
    with pytest.raises(ModelOverloaded):
        await model.complete(ASKED)
    await model.aclose()


async def test_an_error_after_text_leaves_the_text_as_cut(endpoint: ScriptedEndpoint) -> None:
    events = [_delta({"content": "It is"}), {"error": {"code": 502, "message": "gone"}}]
    model = chat_at(endpoint.open(Events(events)))
    reply = await model.complete(ASKED)
    await model.aclose()
    assert (reply.turn.text, reply.stop) == ("It is", ReplyStop.CUT)


async def test_a_reply_that_came_whole_is_taken_too(endpoint: ScriptedEndpoint) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "whole"}]}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
    model = chat_at(endpoint.open(Body(json.dumps(whole, indent=1))))
    assert (await model.complete(ASKED)).turn.text == "whole"
    await model.aclose()


OVERFLOWS = [
    (Text("Prompt is too long"), None),
    (Text("API Error: the prompt is too long."), None),
    (
        Status(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "the request exceeds the available context size",
                    "type": "exceed_context_size_error",
                    "n_prompt_tokens": 9030,
                    "n_ctx": 8192,
                }
            },
        ),
        8_192,
    ),
    (
        Status(
            400,
            {
                "error": {
                    "message": "This model's maximum context length is 32768 tokens. However, you "
                    "requested 40000 tokens.",
                    "code": "context_length_exceeded",
                }
            },
        ),
        32_768,
    ),
    (Status(400, {"error": {"code": "context_length_exceeded", "message": "no"}}), None),
    (Status(413, "too big"), None),
    (Status(422, {"detail": "inputs tokens + max_new_tokens must be <= 8193"}), 8_193),
    (
        Status(
            400,
            {
                "error": "The input token count (1200000) exceeds the maximum number of tokens "
                "allowed (1048576)."
            },
        ),
        1_048_576,
    ),
    (
        Status(
            400,
            {
                "error": "Trying to keep the first 9000 tokens when context the overflows. "
                "However, the model is loaded with context length of only 4096 tokens"
            },
        ),
        4_096,
    ),
    (Status(429, {"error": {"message": "Request too large for m on tokens per min"}}), None),
]


@pytest.mark.parametrize(("play", "limit"), OVERFLOWS, ids=lambda value: str(value)[:40])
async def test_an_overflow_is_known_in_every_shape(
    endpoint: ScriptedEndpoint, play: Play, limit: int | None
) -> None:
    """C32, S42."""
    channel = endpoint.open(play)
    model = chat_at(channel)
    with pytest.raises(PromptTooLong) as caught:
        await model.complete(ASKED)
    await model.aclose()
    assert caught.value.limit_tokens == limit
    assert len(channel.requests) == 1
    if limit:
        assert model.abilities.context_tokens == min(limit, 8_192)


@pytest.mark.parametrize(
    "text",
    [
        "The prompt is too long error is raised in `src/limits.py:12` when it exceeds the cap.",
        "Prompt is too long is what `check()` says.",
        "Nothing is too long.",
    ],
)
async def test_an_answer_about_overflows_is_an_answer(
    endpoint: ScriptedEndpoint, text: str
) -> None:
    model = chat_at(endpoint.open(Text(text)))
    assert (await model.complete(ASKED)).turn.text == text
    await model.aclose()


def _of(*lengths: int) -> ModelRequest:
    """A prompt whose messages have so many characters of prose."""
    texts = (("word " * n)[:n] for n in lengths)
    return ModelRequest(ASKED.system, tuple(UserTurn((Block(text),)) for text in texts))


def _counting(endpoint: ScriptedEndpoint, *counts: int) -> StreamingModel:
    return chat_at(endpoint.open(*(Text("ok", usage={"prompt_tokens": n}) for n in counts)))


async def test_a_prompt_that_was_silently_cut_is_too_long(endpoint: ScriptedEndpoint) -> None:
    model = _counting(endpoint, 4_096)
    with pytest.raises(PromptTooLong, match="read 4096 tokens of a prompt of 1") as caught:
        await model.complete(_of(100_000))
    await model.aclose()
    assert caught.value.limit_tokens == 4_096
    assert model.abilities.context_tokens == 4_096


@pytest.mark.parametrize(
    ("first", "then"),
    [
        # The same prompt with more behind it, and a longer one that is counted to the token alike.
        ((20_000,), (20_000, 4_000)),
        ((20_000,), (24_000,)),
    ],
)
async def test_a_count_that_stands_still_while_prompts_grow_is_a_cut(
    endpoint: ScriptedEndpoint, first: tuple[int, ...], then: tuple[int, ...]
) -> None:
    model = _counting(endpoint, 4_096, 4_096)
    await model.complete(_of(*first))
    with pytest.raises(PromptTooLong):
        await model.complete(_of(*then))
    await model.aclose()


@pytest.mark.parametrize(
    ("lengths", "counts"),
    [
        # Four bytes a token, then what another tokenizer would count of like lengths.
        (((20_000,), (20_000, 4_000)), (5_000, 6_000)),
        (((40_000,), (44_000,), (12_000,)), (18_000, 11_000, 3_000)),
        # What the cache held is not counted.
        (((40_000,), (40_000, 8_000), (40_000, 8_000, 9_000)), (10_000, 2_000, 2_050)),
        # Another prompt of about the length.
        (((40_000,), (41_000,)), (10_000, 10_000)),
    ],
)
async def test_another_way_of_counting_is_not_taken_for_a_cut(
    endpoint: ScriptedEndpoint, lengths: Sequence[tuple[int, ...]], counts: Sequence[int]
) -> None:
    model = _counting(endpoint, *counts)
    for each in lengths:
        assert (await model.complete(_of(*each))).turn.text == "ok"
    await model.aclose()
