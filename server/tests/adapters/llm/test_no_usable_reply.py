"""A reply that says nothing, or that nobody can read: what it is, and how often it is asked for."""

import gzip
from contextlib import suppress

import pytest

from live_memory.adapters.llm import retry
from live_memory.adapters.llm.retry import MOST_TRIES, Pace, Retrying
from live_memory.core.companion.chat import Caps
from live_memory.core.errors import ModelSilent, ModelUnavailable, ModelUnreachable
from live_memory.flow.model_slot import Meter, SpendLimiter
from tests.support.asking_models import ASKED, Make, chat_at, messages_at
from tests.support.memory import House
from tests.support.scripted_endpoint import (
    Body,
    Events,
    Play,
    Raw,
    ScriptedEndpoint,
    Status,
    Text,
    Tools,
)

MAKES = pytest.mark.parametrize("make", [chat_at, messages_at], ids=["chat", "messages"])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_PAUSE_S", 0.0)


async def _calls(make: Make, endpoint: ScriptedEndpoint, play: Play) -> tuple[int, Exception]:
    channel = endpoint.open(play)
    model = make(channel)
    with pytest.raises(ModelUnreachable) as raised:
        await Retrying(model, pace=Pace(random=lambda: 0.0)).complete(ASKED)
    await model.aclose()
    return len(channel.requests), raised.value


@MAKES
@pytest.mark.parametrize(
    "play",
    [
        Text(""),
        Text(" \n\t"),
        Text("<think>What may it be?</think>"),
        Text("", stop=None),
        Body(""),
        Body("\n\n", "text/event-stream"),
        Raw([b": ping\n\n", b": ping\n\n"]),
    ],
    ids=["no text", "blanks", "thoughts", "no reason", "no body", "no event", "comments"],
)
async def test_an_empty_reply_costs_one_more_call(
    make: Make, endpoint: ScriptedEndpoint, play: Play
) -> None:
    """B12 of security-2."""
    calls, problem = await _calls(make, endpoint, play)
    assert calls == 2
    assert isinstance(problem, ModelSilent)


_COUNTED = {
    "usage": {
        "prompt_tokens": 900,
        "completion_tokens": 7,
        "input_tokens": 900,
        "output_tokens": 7,
    }
}
_CHAT = {"choices": [{"delta": {}, "finish_reason": "stop"}], **_COUNTED}
_MESSAGE = {"type": "message_start", "message": {"content": [], **_COUNTED}}


@MAKES
@pytest.mark.parametrize(
    ("plays", "times"),
    [
        ([Text("")], 2),
        ([Text("<think>What may it be?</think>")], 2),
        ([Text(""), Text("It is so.")], 2),
        ([Events([_CHAT, _MESSAGE, "no JSON"]), Text("It is so.")], 2),
        ([Events([_CHAT, _MESSAGE, {"type": "error", "error": {"message": "it is down"}}])], 1),
        ([Status(500, "it is down"), Text("It is so.")], 1),
        ([Tools([("Read", "{}")], stop=None)], 2),
    ],
    ids=["empty", "thoughts", "then said", "malformed", "failed inside", "refused", "cut calls"],
)
async def test_every_reply_that_began_is_paid(
    make: Make, endpoint: ScriptedEndpoint, plays: list[Play], times: int
) -> None:
    """A cap on spending sees them all; what was refused before it began costs nothing."""
    channel = endpoint.open(*plays)
    model, purse = make(channel), SpendLimiter(Caps(tokens_an_hour=1_000_000), clock=House())
    meter = Meter(Retrying(model, pace=Pace(random=lambda: 0.0)), purse)
    with suppress(ModelUnavailable):
        await meter.complete(ASKED)
    await model.aclose()
    assert len(purse.spend.recent) >= times
    assert purse.spend.by_cause[ASKED.cause].calls == len(purse.spend.recent)
    assert all(payment.tokens for payment in purse.spend.recent)
    assert meter.usage.input + meter.usage.output == sum(p.tokens for p in purse.spend.recent)


@MAKES
@pytest.mark.parametrize(
    "play",
    [
        Status(200, "this is no gzip", {"content-encoding": "gzip"}),
        Status(200, "this is no deflate", {"content-encoding": "deflate"}),
        Status(500, "this is no gzip", {"content-encoding": "gzip"}),
        Status(401, "this is no gzip", {"content-encoding": "gzip, gzip"}),
        Raw([b"\xff\xfe\x00data: \xc3(\n\n"]),
        Raw([gzip.compress(b"data: {}\n\n", mtime=0)]),
        Body("it is", "text/event-stream; charset=of-no-kind"),
        *(
            Status(500, "it is \\x down", {"content-type": f"text/plain; charset={name}"})
            for name in ("of-no-kind", "undefined", "base64", "zlib", "rot13", "punycode", "idna")
        ),
    ],
    ids=str,
)
async def test_a_body_that_cannot_be_decoded_is_a_failure_of_the_endpoint(
    make: Make, endpoint: ScriptedEndpoint, play: Play
) -> None:
    """B7 of security-2."""
    calls, problem = await _calls(make, endpoint, play)
    assert calls == MOST_TRIES
    assert not isinstance(problem, ModelSilent)
    assert str(problem).isprintable()
