"""Sessions of the real client that tell each other something."""

import re

import pytest

from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, Stage

pytestmark = pytest.mark.real("claude")

_OURS = ASK.removesuffix("ask_live_memory")
_NOTE = "We send 7 times (settings.py:4), because the gateway drops three in a row."


def test_what_one_session_tells_the_next_one_hears_with_whose_it_is(stage: Stage) -> None:
    session = ["-p", "go", "--plugin-dir", str(stage.plugin), "--allowedTools", f"{_OURS}*"]
    told: list[Turn] = [
        (f"{_OURS}remember", {"text": _NOTE, "category": "decision"}),
        (f"{_OURS}handoff", {"action": "leave", "summary": "Half is done."}),
        "done",
    ]
    heard: list[Turn] = [
        (f"{_OURS}recall", {"text": "why are requests sent 7 times"}),
        (f"{_OURS}handoff", {"action": "list"}),
        "done",
    ]

    outcome = stage.play(
        *([*session, "--session-id", f"{n}1111111-1111-4111-8111-111111111111"] for n in "12"),
        turns=told + heard,
    )

    assert [run.returncode for run in outcome.runs] == [0, 0], outcome.runs
    assert f"{_OURS}handoff" in outcome.tools_offered_first()
    recalled, listed = outcome.tool_results()
    by = r"by claude-code \(session 111111\), \w+ \w+ ago; told, not checked\n\| "
    assert re.search(rf"note n\w+ \(decision\) {by}{re.escape(_NOTE)}", recalled), recalled
    assert re.search(rf"handoff h\w+ \(open, 4 weeks left\) {by}Half is done\.", listed), listed
