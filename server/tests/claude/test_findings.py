"""What one session concludes, the next one is told first: real client, real hooks, no model."""

import pytest

from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, Stage

_TOOLS = ["Read", "Edit", "Bash", ASK]
_CONCLUSION = (
    "Failed calls are repeated as often as `RETRY_LIMIT` says, a module constant that is 7 "
    "(`settings.py:{line}`). `send` hands it to whoever calls it (client.py:4), so nothing in the "
    "client itself counts attempts. Let me know if you want it configurable."
)


@pytest.mark.real("claude")
@pytest.mark.promise("never-falsely-fresh")
def test_a_later_session_is_led_by_what_an_earlier_one_concluded_until_its_lines_change(
    stage: Stage,
) -> None:
    at = str(stage.project)
    lines = (stage.project / "settings.py").read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.startswith("RETRY_LIMIT"))
    again = "How many attempts are made before giving up?"
    work: list[Turn] = [
        ("Read", {"file_path": f"{at}/settings.py"}),
        ("Read", {"file_path": f"{at}/client.py"}),
        _CONCLUSION.format(line=line),
        (ASK, {"question": again}),
        "done",
        (
            "Edit",
            {"file_path": f"{at}/settings.py", "old_string": "= 7", "new_string": "= 9"},
        ),
        ("Bash", {"command": "sleep 2.5", "description": "let the file rest"}),
        (ASK, {"question": again}),
        "done",
    ]
    session = ["--plugin-dir", str(stage.plugin), "--permission-mode", "acceptEdits"]
    allowed = ["--allowedTools", *_TOOLS]

    outcome = stage.play(
        ["-p", "how often is a failed call repeated?", *session, *allowed],
        ["-p", "ask memory", *session, *allowed],
        ["-p", "change it and ask again", *session, *allowed],
        turns=work,
        then=["/stats", "/v1/facts"],
    )

    assert [run.returncode for run in outcome.runs] == [0, 0, 0], outcome.runs
    before, after = outcome.answers()
    assert before.startswith("Established "), before
    assert "by the agent, still true" in before
    assert 'asked: "how often is a failed call repeated?"' in before
    assert f"{line}|RETRY_LIMIT = 7" in before
    assert "Let me know" not in before
    assert "RETRY_LIMIT = 7" not in after
    assert "that is 7" not in after
    assert "changed since" in after
    assert f"{line}|RETRY_LIMIT = 9" in after
    stats, facts = outcome.told
    assert stats["findings"] == len(facts["facts"]) == 2
    assert {fact["author"] for fact in facts["facts"]} == {"agent"}
    assert stats["questions_answered_by_findings"] >= 1
    assert stats["model_calls"] == 0
