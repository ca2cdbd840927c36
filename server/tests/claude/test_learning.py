"""The agent works as it always does, and memory fills: real client, real hooks, no model."""

import subprocess

import pytest

from tests.claude.fake_anthropic import Turn
from tests.claude.stage import ASK, Stage

_TOOLS = ["Read", "Edit", "Write", "Bash", ASK]


@pytest.mark.real("claude")
@pytest.mark.promise("ingest-is-free")
def test_what_the_agent_reads_edits_and_looks_at_in_the_shell_is_known(stage: Stage) -> None:
    subprocess.run(["git", "init", "-q", str(stage.project)], check=True)
    lines = "".join(f"value_{n} = {n}\n" for n in range(1, 41))
    (stage.project / "values.py").write_text(lines)
    (stage.project / "part.py").write_text(lines)
    at = str(stage.project)
    work: list[Turn] = [
        ("Read", {"file_path": f"{at}/settings.py"}),
        ("Read", {"file_path": f"{at}/part.py", "offset": 5, "limit": 3}),
        ("Bash", {"command": "sed -n '10,20p' values.py", "description": "look"}),
        (
            "Edit",
            {"file_path": f"{at}/settings.py", "old_string": "= 7", "new_string": "= 9"},
        ),
        ("Bash", {"command": "sleep 2.5", "description": "let the file rest"}),
        (ASK, {"question": "Where is RETRY_LIMIT set?"}),
        "done",
    ]
    session = ["-p", "go", "--plugin-dir", str(stage.plugin), "--permission-mode", "acceptEdits"]

    outcome = stage.play(
        [*session, "--allowedTools", *_TOOLS],
        turns=work,
        then=["/stats", "/v1/timeline", "/v1/answers"],
    )

    assert outcome.runs[0].returncode == 0, outcome.runs[0]
    assert "RETRY_LIMIT = 9" in outcome.tool_result()
    stats, timeline, answers = outcome.told
    assert stats["known_files"] == 3, (timeline, stage.server_log())
    assert (stats["model_calls"], stats["dropped_events"], stats["questions"]) == (0, 0, 1)
    assert isinstance(stats["last_hook_at"], float)
    seen = {
        (entry["path"], entry["start"], entry["end"])
        for entry in timeline["entries"]
        if entry["kind"] == "file"
    }
    assert {("settings.py", 1, 4), ("part.py", 5, 7), ("values.py", 10, 20)} <= seen
    assert len(answers["answers"]) == 1
