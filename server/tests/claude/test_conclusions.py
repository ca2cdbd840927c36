"""What the agent and its helper conclude reaches memory: real client, real hooks, no model."""

import pytest

from live_memory.core.hosts.notices import Conclusion
from live_memory.core.saving.journal import HostNotice, records_in
from live_memory.core.values import Author
from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, Stage

_PROMPT = "How often is it sent again?"
_TASK = "Find where the limit is set."
_FOUND = "RETRY_LIMIT is set in settings.py:4."
_SAID = "RETRY_LIMIT = 7 stands at settings.py:4 and is used in client.py:4."


@pytest.mark.real("claude")
@pytest.mark.parametrize("background", [False, True])
def test_what_the_agent_and_its_helper_concluded_is_heard(stage: Stage, background: bool) -> None:
    helper = {"description": "find", "prompt": _TASK, "subagent_type": "general-purpose"}
    work: list[Turn] = [
        (ASK, {"question": "Where is RETRY_LIMIT set?"}),
        ("Agent", {**helper, "run_in_background": background}),
        _FOUND,
        _SAID,
        "It is as was said.",
    ]
    session = ["-p", _PROMPT, "--plugin-dir", str(stage.plugin)]

    outcome = stage.play(
        [*session, "--allowedTools", "Agent", ASK], turns=work, then=["/stats", "/stats"]
    )

    assert outcome.runs[0].returncode == 0, outcome.runs[0]
    assert outcome.told[-1]["hook_events_not_understood"] == 0
    journals = (stage.data_dir / "workspaces").glob("*/journal*.jsonl")
    records = [record for file in journals for record in records_in(file.read_bytes())]
    heard = {
        (one.author, one.text, one.task)
        for record in records
        if isinstance(record, HostNotice)
        for one in record.subjects
        if isinstance(one, Conclusion)
    }
    # In the background either of them may be answered first, and this helper may have ended before
    # the host said that it began.
    assert {task for author, _, task in heard if author is Author.AGENT} == {_PROMPT}
    tasks = {task for author, _, task in heard if author is Author.SUBAGENT}
    assert _TASK in tasks if not background else tasks <= {"", _TASK}, heard
    assert {text for _, text, _ in heard} == {_SAID, _FOUND}
