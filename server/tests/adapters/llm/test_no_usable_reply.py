"""A reply that says nothing, or that nobody can read: what it is, and how often it is asked for."""

import gzip

import pytest

from live_memory.adapters.llm import pace
from live_memory.adapters.llm.pace import Pace
from live_memory.adapters.llm.retry import MOST_TRIES, Retrying
from live_memory.core.errors import ModelSilent, ModelUnreachable
from tests.support.asking_models import ASKED, Make, chat_at, messages_at
from tests.support.scripted_endpoint import Body, Play, Raw, ScriptedEndpoint, Status, Text

MAKES = pytest.mark.parametrize("make", [chat_at, messages_at], ids=["chat", "messages"])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_FIRST_PAUSE_S", 0.0)


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
