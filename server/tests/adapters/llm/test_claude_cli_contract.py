"""The contract of `LanguageModel` over the installed client, played by its stand-in.

The suite's failures are told by HTTP replies, which the client turns into its own words: those are
in `test_claude_cli`.
"""

from pathlib import Path
from typing import assert_never

import pytest

from live_memory.adapters.llm.claude_cli import ClaudeCli
from live_memory.adapters.llm.retry import Pace, Retrying
from live_memory.core.companion.chat import ReplyStop
from live_memory.ports import LanguageModel
from tests.contracts.test_language_model import (  # noqa: F401 - collected here for this model
    Story,
    Telling,
    test_a_cut_reply_keeps_its_text_and_says_so,
    test_a_talk_with_results_goes_on,
    test_abilities_are_known_before_the_first_call,
    test_cancelling_lets_go_of_the_connection,
    test_many_calls_at_once_do_not_mix,
    test_several_calls_come_back_in_order_with_their_raw_arguments,
    test_text_comes_back_whole_and_is_heard_on_its_way,
    test_text_is_heard_before_the_reply_ends,
    test_usage_is_counted,
)
from tests.support.doubles.scripted import Calls, Fails, Says, Stalls, Turn
from tests.support.fake_claude import Json, fake_claude
from tests.support.scripted_endpoint import Channel


def _played(turn: Turn) -> Json:
    match turn:
        case Says(pieces, stop=stop):
            text: Json = {"text": list(pieces)}
            return {**text, "exit": 1} if stop is ReplyStop.CUT else text
        case Calls(calls, said):
            named = [[f"mcp__live-memory__{name}", arguments] for name, arguments in calls]
            return {"text": said, "calls": named}
        case Stalls(text=heard):
            return {"text": heard, "stall": True}
        case Fails():
            raise AssertionError("told in test_claude_cli")
        case _:
            assert_never(turn)


@pytest.fixture
def channels() -> list[Channel]:
    return []


@pytest.fixture(params=[False, True], ids=["bare", "retried"])
def telling(request: pytest.FixtureRequest, tmp_path: Path) -> Telling:
    def tell(*stories: Story) -> LanguageModel:
        client = fake_claude(tmp_path / "fake", *(_played(story.turn) for story in stories))
        model = ClaudeCli(client.program, tmp_path / "ours")
        return Retrying(model, pace=Pace(random=lambda: 0.0)) if request.param else model

    return tell
