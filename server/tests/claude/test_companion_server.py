"""A whole server whose companion is the user's own client: `provider=claude-cli`, end to end."""

from pathlib import Path

import pytest

from tests.claude.fake_anthropic import FakeAnthropic, Turn
from tests.support.server import running_server

pytestmark = pytest.mark.real("claude")

_OURS = "mcp__live-memory__"


@pytest.mark.promise("citations-checked")
def test_a_question_is_answered_through_the_users_own_client(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "limits.py").write_text('"""Limits."""\n\nMAX_RETRIES = 7\n')
    turns: list[Turn] = [
        (f"{_OURS}Read", {"path": "limits.py"}),
        "`MAX_RETRIES` is 7 (limits.py:1), see ghost.py:4.",
    ]
    with FakeAnthropic(turns) as api:
        settings = {
            "LIVE_MEMORY_PROVIDER": "claude-cli",
            "ANTHROPIC_BASE_URL": api.base_url,
            "ANTHROPIC_API_KEY": "dummy-key",
        }
        with running_server(tmp_path, **settings) as server:
            body = {"question": "Where is MAX_RETRIES set?", "cwd": str(project)}
            last = server.request("POST", "/v1/ask", body, timeout_s=90).lines[-1]
    answer = last["answer"]
    assert isinstance(answer, dict)
    assert answer["answer"] == "`MAX_RETRIES` is 7 (limits.py:3), see ghost.py:4 (not found there)."
    assert answer["mode"] == "companion"
    assert answer["usage"]["tool_calls"] == 1
    assert not list((tmp_path / "home").rglob("*.jsonl"))  # no session in the user's list
