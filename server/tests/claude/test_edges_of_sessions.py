"""One session ends, and the next one hears of what it left: real client, real hooks, no model."""

import json

import pytest

from live_memory.core.memory.notebook import Handoff
from live_memory.core.memory.window import HandoffLeft
from live_memory.core.saving.journal import EventApplied, records_in
from live_memory.core.saving.snapshot import Memory, from_form, unsealed
from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, Client, Stage

pytestmark = pytest.mark.real("claude")

_LINE = "Live Memory: 1 open handoff for this workspace; `handoff` with action list shows it."
_ASKED = "CANARY: raise the limit to 9."


def _session(stage: Stage, prompt: str, *more: str) -> list[str]:
    mode = ["--permission-mode", "acceptEdits", "--allowedTools", "Read", "Edit", "Bash", ASK]
    return ["-p", prompt, "--plugin-dir", str(stage.plugin), *mode, *more]


def _work(stage: Stage) -> list[Turn]:
    file = str(stage.project / "settings.py")
    return [
        (ASK, {"question": "Where is RETRY_LIMIT set?"}),  # by then the server is there
        ("Read", {"file_path": file}),
        ("Edit", {"file_path": file, "old_string": "= 7", "new_string": "= 9"}),
        ("Bash", {"command": "python3 -c 'raise SystemExit(3)'", "description": "fails"}),
        "RETRY_LIMIT = 9 stands at settings.py:4.",
    ]


def _left(stage: Stage) -> list[Handoff]:
    """What is kept."""
    found: dict[str, Handoff] = {}
    for folder in (stage.data_dir / "workspaces").iterdir():
        snapshot = folder / "snapshot.json"
        memory = (
            from_form(unsealed(snapshot.read_bytes())).memory if snapshot.exists() else Memory()
        )
        found |= {one.id: one for one in memory.window.notebook.handoffs}
        for file in folder.glob("journal*.jsonl"):
            for record in records_in(file.read_bytes()):
                if isinstance(record, EventApplied) and isinstance(record.event, HandoffLeft):
                    found[record.event.handoff.id] = record.event.handoff
    return list(found.values())


def test_what_the_first_session_left_the_second_hears_of_in_its_first_request(
    stage: Stage,
) -> None:
    first = stage.play(_session(stage, _ASKED), turns=_work(stage))
    assert first.runs[0].returncode == 0, first.runs[0]
    (one,) = _left(stage)
    assert one.is_automatic
    assert one.files == ("settings.py:1-4",)
    assert f'Its last prompt: "{_ASKED}"' in one.summary
    assert "- \"python3 -c 'raise SystemExit(3)'\"" in one.summary
    assert one.writer.host == "claude-code"

    # The server is not running when this one begins.
    second = stage.play(_session(stage, "What is open?"), turns=["done"])

    assert second.runs[0].returncode == 0, second.runs[0]
    (said, *_) = [text for text in second.said() if "What is open?" in text]
    assert said.count(_LINE) == 1
    assert "CANARY" not in json.dumps(second.requests)
    # It did nothing, so it left nothing.
    assert len(_left(stage)) == 1


def test_sessions_that_follow_at_once_hear_of_it(stage: Stage) -> None:
    """On a busy machine the hook may not wait until the disk has it; then the next one hears."""
    outcome = stage.play(
        _session(stage, _ASKED),
        Client(_session(stage, "What is open?")),
        Client(_session(stage, "Is there more?")),
        turns=[*_work(stage), "done", "done"],
    )
    (said, *_) = [text for text in outcome.said() if "Is there more?" in text]
    assert said.count(_LINE) == 1
    (one,) = _left(stage)
    # What it said last was checked meanwhile.
    assert one.summary.splitlines()[-2:] == [
        "What it found:",
        "- RETRY_LIMIT = 9 stands at settings.py:4.",
    ]


def test_where_it_is_off_nothing_is_left_and_nothing_is_said(stage: Stage) -> None:
    config = stage.folder / "home/.config/live-memory/config.toml"
    config.write_text(config.read_text() + "handoffs = false\n")
    outcome = stage.play(
        _session(stage, _ASKED),
        Client(_session(stage, "What is open?")),
        turns=[*_work(stage), "done"],
    )
    assert [run.returncode for run in outcome.runs] == [0, 0]
    assert "open handoff" not in json.dumps(outcome.requests)
    assert _left(stage) == []
