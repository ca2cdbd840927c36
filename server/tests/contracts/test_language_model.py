"""The contract of `LanguageModel`, over every implementation and over a retry around each."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio
import anyio.to_thread
import pytest

from live_memory.adapters.llm.anthropic import anthropic_model
from live_memory.adapters.llm.endpoint import Credential, Endpoints, Target
from live_memory.adapters.llm.openai_compatible import openai_compatible_model
from live_memory.adapters.llm.retry import Pace, Retrying
from live_memory.core.companion.chat import (
    AssistantTurn,
    Block,
    ModelReply,
    ModelRequest,
    ModelUsage,
    ReplyStop,
    ToolResult,
    ToolResults,
    ToolSpec,
    UserTurn,
)
from live_memory.core.errors import ModelOverloaded, ModelRefused, ModelUnavailable, PromptTooLong
from live_memory.ports import LanguageModel
from tests.support.doubles.scripted import Calls, Fails, Says, Scripted, Stalls, Turn
from tests.support.scripted_endpoint import (
    Channel,
    Play,
    ScriptedEndpoint,
    Status,
    Text,
    Tools,
    serving,
)

READ = ToolSpec("Read", "Read a file.", {"type": "object", "properties": {}})
ASKED = ModelRequest((Block("You answer.", is_cache_end=True),), (UserTurn((Block("Why?"),)),))
WITH_TOOLS = ModelRequest(ASKED.system, ASKED.messages, (READ,))


@dataclass(frozen=True, slots=True)
class Story:
    """The same happening, told to an endpoint and to the scripted model."""

    play: Play
    turn: Turn


TALK = Story(Text("It is so.", pieces=3), Says(("It ", "is ", "so.")))
TWO_CALLS = Story(
    Tools([("Read", '{"path": "a"}'), ("Grep", "{not json")], text="Let me see."),
    Calls([("Read", '{"path": "a"}'), ("Grep", "{not json")], text="Let me see."),
)
CUT = Story(Text("It is", stop=None), Says(("It is",), stop=ReplyStop.CUT))
BROKEN = Story(Text("It is", then="reset"), Says(("It is",), stop=ReplyStop.CUT))
STALL = Story(Text("It is", pieces=1, then="stall"), Stalls("It is"))
BAD_KEY = Story(
    Status(401, {"error": {"type": "authentication_error", "message": "invalid key"}}),
    Fails(ModelRefused("no")),
)
BUSY = Story(
    Status(429, {"error": {"message": "slow down"}}, {"retry-after": "3600"}),
    Fails(ModelOverloaded("busy", retry_after_s=3600.0)),
)
TOO_LONG = Story(
    Status(400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
    Fails(PromptTooLong("too long", limit_tokens=200_000)),
)


class Telling(Protocol):
    """Makes a model that lives through these stories."""

    def __call__(self, *stories: Story) -> LanguageModel: ...


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with serving() as running:
        yield running


@pytest.fixture
def channels() -> list[Channel]:
    return []


def _over_http(
    make: Callable[[Target], LanguageModel], suffix: str
) -> Callable[[Sequence[Story], ScriptedEndpoint, list[Channel]], LanguageModel]:
    def model(
        stories: Sequence[Story], endpoint: ScriptedEndpoint, channels: list[Channel]
    ) -> LanguageModel:
        channels.append(endpoint.open(*(story.play for story in stories)))
        return make(Target(channels[-1].base_url + suffix, "m", Credential("sk-test")))

    return model


def _scripted(
    stories: Sequence[Story], _endpoint: ScriptedEndpoint, _channels: list[Channel]
) -> LanguageModel:
    return Scripted([story.turn for story in stories])


MODELS = {
    "anthropic": _over_http(lambda t: anthropic_model(t, Endpoints().lessons(t)), ""),
    "openai_compatible": _over_http(
        lambda t: openai_compatible_model(t, Endpoints().lessons(t)), "/v1"
    ),
    "scripted": _scripted,
}


@pytest.fixture(params=[(name, retried) for name in MODELS for retried in (False, True)], ids=str)
async def telling(
    request: pytest.FixtureRequest, endpoint: ScriptedEndpoint, channels: list[Channel]
) -> AsyncIterator[Telling]:
    name, is_retried = request.param
    made: list[LanguageModel] = []

    def tell(*stories: Story) -> LanguageModel:
        model = MODELS[name](stories, endpoint, channels)
        if is_retried:
            model = Retrying(model, pace=Pace(random=lambda: 0.0))
        made.append(model)
        return model

    yield tell
    for model in made:
        await model.aclose()


async def test_text_comes_back_whole_and_is_heard_on_its_way(telling: Telling) -> None:
    heard: list[str] = []
    reply = await telling(TALK).complete(ASKED, heard=heard.append)
    assert reply.turn == AssistantTurn("It is so.")
    assert reply.stop is ReplyStop.END
    assert "".join(heard) == "It is so."
    assert len(heard) > 1


async def test_text_is_heard_before_the_reply_ends(telling: Telling) -> None:
    heard: list[str] = []
    with anyio.move_on_after(30) as scope:

        def hear(text: str) -> None:
            heard.append(text)
            scope.cancel()

        await telling(STALL).complete(ASKED, heard=hear)
    assert heard == ["It is"]


async def test_several_calls_come_back_in_order_with_their_raw_arguments(telling: Telling) -> None:
    reply = await telling(TWO_CALLS).complete(WITH_TOOLS)
    assert reply.stop is ReplyStop.TOOL_CALLS
    assert reply.turn.text == "Let me see."
    assert [(c.name, c.arguments) for c in reply.turn.tool_calls] == [
        ("Read", '{"path": "a"}'),
        ("Grep", "{not json"),
    ]
    assert len({call.id for call in reply.turn.tool_calls}) == 2


async def test_a_talk_with_results_goes_on(telling: Telling) -> None:
    model = telling(TWO_CALLS, TALK)
    first = await model.complete(WITH_TOOLS)
    results = tuple(ToolResult(call.id, "seen") for call in first.turn.tool_calls)
    messages = (*WITH_TOOLS.messages, first.turn, ToolResults(results))
    second = await model.complete(ModelRequest(WITH_TOOLS.system, messages, (READ,)))
    assert second.turn.text == "It is so."


async def test_usage_is_counted(telling: Telling) -> None:
    reply = await telling(TALK).complete(ASKED)
    assert isinstance(reply.usage, ModelUsage)
    assert reply.usage.input > 0
    assert reply.usage.output > 0
    assert reply.model


async def test_a_reply_that_is_given_up_on_its_way_is_told_with_what_it_took(
    telling: Telling,
) -> None:
    """A cap on spending counts it: whoever gives up has paid for the prompt and for what came."""
    lost: list[ModelReply] = []
    with anyio.move_on_after(30) as scope:
        await telling(STALL).complete(ASKED, heard=lambda _: scope.cancel(), lost=lost.append)
    (reply,) = lost
    assert reply.usage.input > 0
    assert reply.usage.output > 0
    assert reply.model


async def test_a_reply_that_is_given_is_not_lost(telling: Telling) -> None:
    lost: list[ModelReply] = []
    await telling(TALK).complete(ASKED, lost=lost.append)
    assert lost == []


@pytest.mark.parametrize("story", [CUT, BROKEN], ids=["no reason", "connection broke"])
async def test_a_cut_reply_keeps_its_text_and_says_so(telling: Telling, story: Story) -> None:
    reply = await telling(story).complete(WITH_TOOLS)
    assert reply.stop is ReplyStop.CUT
    assert reply.turn == AssistantTurn("It is")


@pytest.mark.parametrize(
    ("story", "kind"),
    [
        (BAD_KEY, ModelRefused),
        (BUSY, ModelOverloaded),
        (TOO_LONG, PromptTooLong),
    ],
    ids=["key", "busy", "too long"],
)
async def test_a_failure_is_of_the_kind_that_says_what_helps(
    telling: Telling, story: Story, kind: type[ModelUnavailable]
) -> None:
    with anyio.fail_after(30), pytest.raises(kind) as caught:
        await telling(story).complete(ASKED)
    if isinstance(caught.value, ModelOverloaded):
        assert caught.value.retry_after_s == 3600
    if isinstance(caught.value, PromptTooLong):
        assert caught.value.limit_tokens == 200_000


async def test_cancelling_lets_go_of_the_connection(
    telling: Telling, channels: list[Channel]
) -> None:
    model = telling(STALL)
    with anyio.move_on_after(30) as scope:
        await model.complete(ASKED, heard=lambda _text: scope.cancel())
    assert scope.cancelled_caught
    for channel in channels:
        gone = channel.requests[-1].gone
        assert await anyio.to_thread.run_sync(gone.wait, 5)


async def test_abilities_are_known_before_the_first_call(telling: Telling) -> None:
    abilities = telling(TALK).abilities
    assert abilities.context_tokens > 0
    assert abilities.has_tools


async def test_many_calls_at_once_do_not_mix(telling: Telling) -> None:
    model = telling(*[Story(Text(f"n{n}"), Says((f"n{n}",))) for n in range(6)])
    said: list[str] = []

    async def ask() -> None:
        said.append((await model.complete(ASKED)).turn.text)

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(ask)
    assert sorted(said) == [f"n{n}" for n in range(6)]
