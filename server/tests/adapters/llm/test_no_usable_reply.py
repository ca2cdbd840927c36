"""A reply that says nothing: what it is, and how often it is asked for."""

import pytest

from live_memory.adapters.llm import pace
from live_memory.adapters.llm.pace import Pace
from live_memory.adapters.llm.retry import Retrying
from live_memory.core.errors import ModelSilent, ModelUnreachable
from tests.support.asking_models import ASKED, Make, chat_at, messages_at
from tests.support.scripted_endpoint import Body, Play, Raw, ScriptedEndpoint, Text

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
