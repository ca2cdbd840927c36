"""Streams that are not as the SDKs want them, from endpoints that other clients can use."""

import gzip
import json

import httpx2
import pytest

from live_memory.adapters.llm.endpoint import Target
from live_memory.adapters.llm.transport import GuardedTransport
from live_memory.core.companion.chat import ReplyStop
from live_memory.core.errors import ModelOverloaded, ModelUnreachable
from tests.support.asking_models import ASKED, Make, chat_at, messages_at
from tests.support.scripted_endpoint import Body, Play, Raw, ScriptedEndpoint

_STOP = {"choices": [{"delta": {"content": "It is so."}, "finish_reason": "stop"}]}
_MESSAGES = (
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 5}}},
    {"type": "content_block_delta", "index": 0, "delta": {"text": "It is so."}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
)
CHAT = f"data: {json.dumps(_STOP)}\n\n".encode()
# Without names of events, which iterating over the SDK's stream leaves out.
MESSAGES = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in _MESSAGES)
BOTH = pytest.mark.parametrize(
    ("make", "stream"), [(chat_at, CHAT), (messages_at, MESSAGES)], ids=["chat", "messages"]
)


@BOTH
@pytest.mark.parametrize(
    "around",
    [
        b"",
        b"retry: 3000\n\n",
        b"id: 1\n: ping\n\n\n\n",
        b"event: ping\n\n",
        b"Warning: something odd\n\n",
        b"data:\n\n",
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_what_holds_no_data_is_passed_over(
    make: Make, stream: bytes, around: bytes, end: bytes, endpoint: ScriptedEndpoint
) -> None:
    raw = (around + stream + around).replace(b"\n", end)
    for pieces in ([raw], [raw[n : n + 1] for n in range(len(raw))]):
        model = make(endpoint.open(Raw(pieces)))
        reply = await model.complete(ASKED)
        await model.aclose()
        assert (reply.turn.text, reply.stop) == ("It is so.", ReplyStop.END)


@BOTH
async def test_the_last_event_needs_no_end(
    make: Make, stream: bytes, endpoint: ScriptedEndpoint
) -> None:
    model = make(endpoint.open(Raw([stream.rstrip()])))
    assert (await model.complete(ASKED)).turn.text == "It is so."
    await model.aclose()


@BOTH
@pytest.mark.parametrize(
    ("play", "said"),
    [
        (Raw([b"data: [\n" * 200_000]), "longer than any answer"),
        (Raw([b"data: 1,\n" * 300, b"\n"]), "longer than any answer"),
        (Body('{"status": "ok"}'), "check 'base_url'"),
        (Raw([b'data: {"status": "ok"}\n\n']), "check 'base_url'"),
        (Body("<html>\n\n<p>Welcome</p>\n\n</html>"), "check 'base_url'"),
        (Raw([b"data: " + b'{"a":' * 100_000 + b"\n\n"]), "no JSON"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_what_no_sdk_should_read_is_refused_with_a_reason(
    make: Make, stream: bytes, play: Play, said: str, endpoint: ScriptedEndpoint
) -> None:
    """The many lines are copied once for each of them by a reader that gets them."""
    model = make(endpoint.open(play))
    with pytest.raises(ModelUnreachable, match=said):
        await model.complete(ASKED)
    await model.aclose()


@BOTH
async def test_an_error_that_came_whole_is_that_error(
    make: Make, stream: bytes, endpoint: ScriptedEndpoint
) -> None:
    error = {"error": {"type": "rate_limit_error", "message": "Slow down"}}
    model = make(endpoint.open(Body(json.dumps(error, indent=1))))
    with pytest.raises(ModelOverloaded, match="Slow down"):
        await model.complete(ASKED)
    await model.aclose()


@pytest.mark.parametrize(("status", "length"), [(200, len(CHAT)), (500, 1024 * 1024)])
async def test_what_is_compressed_unasked_is_read_within_the_same_bounds(
    status: int, length: int
) -> None:
    body = gzip.compress(CHAT if status == 200 else b"x" * 50_000_000, mtime=0)
    headers = {"content-encoding": "gzip"}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(status, headers=headers, content=body))
    async with httpx2.AsyncClient(
        transport=GuardedTransport(Target("http://127.0.0.1:1", "m"), inner)
    ) as client:
        assert len((await client.post("http://127.0.0.1:1/v1")).content) == length
