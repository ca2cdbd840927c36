"""Sessions of the real client that tell each other something."""

import re

import pytest

from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, Stage
from tests.support.stdio_client import bridged, said

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


def test_what_one_session_decided_and_left_another_takes_over_and_a_second_client_shares(
    stage: Stage,
) -> None:
    session = ["-p", "go on", "--plugin-dir", str(stage.plugin), "--allowedTools", f"{_OURS}*"]
    first, second = (f"{n}1111111-1111-4111-8111-111111111111" for n in "12")
    left = stage.play(
        [*session, "--session-id", first],
        turns=[
            (f"{_OURS}remember", {"text": _NOTE, "category": "decision"}),
            (f"{_OURS}remember", {"text": "Test it with 9, too.", "category": "todo"}),
            (f"{_OURS}handoff", {"action": "leave", "summary": "Half is done."}),
            "done",
        ],
    )
    (handoff,) = re.findall(r"\bh[0-9a-f]{12}\b", left.tool_results()[-1])

    taken = stage.play(
        [*session, "--session-id", second],
        ["-p", "/live-memory-stats", "--plugin-dir", str(stage.plugin)],
        turns=[
            (f"{_OURS}handoff", {"action": "claim", "id": handoff}),
            (ASK, {"question": "Why is RETRY_LIMIT 7 in settings.py?"}),
            "done",
            "done",
        ],
    )

    assert [run.returncode for run in (*left.runs, *taken.runs)] == [0, 0, 0]
    (began, *_) = [text for text in taken.said() if "go on" in text]
    assert began.count("Live Memory: 1 open handoff for this workspace;") == 1
    assert "Half is done" not in began
    assert re.search(rf"{handoff} .*\n(?:.*\n)*\| Half is done\.", taken.tool_result())
    by = r"decision, by claude-code \(session 111111\), (?:a|\d+) \w+ ago, n\w{12}: "
    assert re.search(rf"^\| {by}{re.escape(_NOTE)}$", taken.tool_result(), re.MULTILINE)
    assert re.search(r"told +2 notes, 0 open handoffs", "\n".join(taken.said()))

    environ = {"HOME": str(stage.folder / "home"), "PATH": "/usr/bin:/bin"}
    with bridged(environ, stage.project) as client:
        client.hello()
        arguments = {"text": "why are requests sent 7 times"}
        heard = said(client.reply(client.begin("tools/call", name="recall", arguments=arguments)))
        again = {"action": "claim", "id": handoff}
        lost = said(client.reply(client.begin("tools/call", name="handoff", arguments=again)))
    assert _NOTE in heard
    assert f"Not yours: {handoff} was claimed by claude-code" in lost
